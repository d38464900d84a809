#include "cost/quality/choose_form.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/ir/sample_axes.h"
#include "compiler/ops/eval.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/samples.h"
#include "cost/quality/distances.h"
#include "cost/quality/find_boxes.h"
#include "cost/quality/output_end.h"

namespace msc::cost {
namespace {

// More numbers would not change what these say.
constexpr std::int64_t kMostSamples = 256;
constexpr std::int64_t kMostNumbers = 1 << 22;

/// Rows [samples x positions, classes] of an output along one axis.
struct Rows {
  std::vector<double> numbers;
  std::size_t size = 1;  ///< of a row
  [[nodiscard]] std::size_t count() const { return numbers.size() / size; }
  [[nodiscard]] std::span<const double> operator[](std::size_t row) const {
    return std::span(numbers).subspan(row * size, size);
  }
};

Rows RowsAlong(const Tensor& tensor, std::int64_t axis) {
  const Dims& dims = tensor.dims();
  const auto at = dims.begin() + axis;
  const std::int64_t size = *at;
  const std::int64_t inner =
      std::accumulate(at + 1, dims.end(), std::int64_t{1}, std::multiplies<>());
  const std::int64_t each =
      std::accumulate(dims.begin() + 1, dims.end(), std::int64_t{1}, std::multiplies<>());
  const std::int64_t samples =
      std::min({dims[0], kMostSamples, std::max<std::int64_t>(kMostNumbers / each, 1)});
  Rows rows{.numbers = {}, .size = static_cast<std::size_t>(size)};
  rows.numbers.reserve(static_cast<std::size_t>(samples * each));
  for (std::int64_t outer = 0; outer < samples * each / (size * inner); ++outer) {
    for (std::int64_t i = 0; i < inner; ++i) {
      for (std::int64_t c = 0; c < size; ++c) {
        rows.numbers.push_back(NumberAt(tensor, (outer * size + c) * inner + i));
      }
    }
  }
  return rows;
}

/// What the numbers of rows look like.
struct Look {
  bool probabilities = false;  ///< every row has the sum 1, and no number is negative
  bool unit = false;           ///< every row has the Euclidean norm 1
  double confidence = 0;       ///< mean over rows of the largest probability after a softmax
  double most_frequent = 0;    ///< share of the rows whose largest number is at the same place
  std::int32_t frequent = 0;   ///< this place
  /// Variance of the means of the columns / mean variance of the columns: large where each column
  /// has a level of its own, like the coordinates of a landmark.
  double levels = 0;
  double units = 1;  ///< largest standard deviation of a column / least
};

Look LookAt(const Rows& rows) {
  constexpr double kClose = 1e-3;
  Look look{.probabilities = true, .unit = true};
  std::vector<double> counts(rows.size);
  std::vector<double> sums(rows.size);
  std::vector<double> squares(rows.size);
  for (std::size_t i = 0; i < rows.count(); ++i) {
    const std::span<const double> row = rows[i];
    double sum = 0;
    double norm = 0;
    const std::size_t best = ArgMax(row);
    double exps = 0;
    for (std::size_t c = 0; c < row.size(); ++c) {
      sum += row[c];
      norm += row[c] * row[c];
      exps += std::exp(row[c] - row[best]);
      sums[c] += row[c];
      squares[c] += row[c] * row[c];
      look.probabilities = look.probabilities && row[c] >= 0;
    }
    look.probabilities = look.probabilities && std::abs(sum - 1) < kClose;
    look.unit = look.unit && std::abs(norm - 1) < kClose;
    look.confidence += 1 / exps;
    counts[best] += 1;
  }
  const auto n = static_cast<double>(std::max<std::size_t>(rows.count(), 1));
  look.confidence /= n;
  const std::size_t most = ArgMax(counts);
  look.frequent = static_cast<std::int32_t>(most);
  look.most_frequent = counts[most] / n;
  double mean = 0;
  for (const double sum : sums) mean += sum / n;
  mean /= static_cast<double>(rows.size);
  double between = 0;
  double within = 0;
  double least = INFINITY;
  double largest = 0;
  for (std::size_t c = 0; c < rows.size; ++c) {
    const double level = sums[c] / n;
    const double variance = std::max(squares[c] / n - level * level, 0.0);
    between += (level - mean) * (level - mean);
    within += variance;
    least = std::min(least, variance);
    largest = std::max(largest, variance);
  }
  if (within > 0) look.levels = between / within;
  if (least > 0) look.units = std::sqrt(largest / least);
  return look;
}

bool NameHas(std::string name, std::span<const std::string_view> words) {
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(
      words, [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

constexpr std::array<std::string_view, 5> kClassWords = {"logit", "prob", "class", "score", "cls"};
constexpr std::array<std::string_view, 4> kEmbeddingWords = {"embed", "feat", "hidden", "pooler"};
constexpr std::array<std::string_view, 12> kNumberWords = {
    "box",  "landmark", "kps",   "depth", "angle",  "coord",
    "pose", "offset",   "value", "price", "regres", "forecast"};

/// Sizes that feature vectors have and numbers of classes rarely.
bool IsEmbeddingSize(std::int64_t size) {
  return size >= 64 && size % 64 == 0;
}

/// The form of numbers whose end is not known: a score each, or a number without decisions. Scores
/// before a sigmoid have both signs and a moderate size.
OutputForm OfSingleNumbers(const std::string& name, const Tensor& tensor) {
  if (NameHas(name, kClassWords)) return {.kind = OutputKind::kLogit};
  if (NameHas(name, kNumberWords)) return {.kind = OutputKind::kRegression};
  constexpr double kShare = 0.1;
  constexpr double kLargest = 15;
  constexpr std::int64_t kFew = 16;
  const std::int64_t count = std::min(tensor.size(), kMostNumbers);
  double positive = 0;
  double largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double number = NumberAt(tensor, i);
    positive += number > 0 ? 1 : 0;
    largest = std::max(largest, std::abs(number));
  }
  const double share = positive / static_cast<double>(std::max<std::int64_t>(count, 1));
  const bool logit = count >= kFew && share >= kShare && share <= 1 - kShare &&
                     largest <= kLargest && largest >= 1;
  return {.kind = logit ? OutputKind::kLogit : OutputKind::kRegression};
}

/// The form of [N, C] and [N, T, C] whose end is not known.
OutputForm OfVectors(const std::string& name, const Tensor& tensor) {
  const auto rank = static_cast<std::int64_t>(tensor.dims().size());
  const std::int64_t size = tensor.dims().back();
  if (size <= 1) return OfSingleNumbers(name, tensor);
  const Look look = LookAt(RowsAlong(tensor, rank - 1));
  const OutputForm classes{.kind = OutputKind::kLogits, .axis = rank - 1};
  const OutputForm numbers{.kind = rank == 2 ? OutputKind::kRegression : OutputKind::kSeries};
  const OutputForm vectors{.kind = OutputKind::kEmbedding, .axis = rank - 1};
  if (look.probabilities) return {.kind = OutputKind::kProbabilities, .axis = rank - 1};
  if (look.unit && size >= 8) return vectors;
  if (NameHas(name, kEmbeddingWords)) return vectors;
  if (NameHas(name, kNumberWords)) return numbers;
  if (NameHas(name, kClassWords)) return classes;
  constexpr double kConfident = 0.5;
  if (IsEmbeddingSize(size) && look.confidence < kConfident) return vectors;
  constexpr double kLevels = 20;
  constexpr double kUnits = 30;
  constexpr double kAlways = 0.95;
  if ((look.levels > kLevels && look.most_frequent > kAlways) || look.units > kUnits) {
    return numbers;
  }
  // A trained network tells the class of a time step with confidence; the states of a series only
  // happen to look like logits.
  constexpr double kConfidentStep = 0.8;
  if (rank == 3 && (look.confidence < kConfidentStep || look.most_frequent > kAlways)) {
    return numbers;
  }
  return classes;
}

/// The form of [N, C, H, W] and [N, H, W, C] whose end is not known.
OutputForm OfMaps(const std::string& name, const Tensor& tensor, const Graph& graph) {
  const Dims& dims = tensor.dims();
  const auto rank = static_cast<std::int64_t>(dims.size());
  if (NameHas(name, kNumberWords)) return {.kind = OutputKind::kRegression};
  const bool last =
      dims.back() < dims[1] && dims[1] >= 8 && dims[static_cast<std::size_t>(rank - 2)] >= 8;
  const std::int64_t axis = last ? rank - 1 : 1;
  const std::int64_t channels = dims[static_cast<std::size_t>(axis)];
  if (channels <= 1) return OfSingleNumbers(name, tensor);
  const Look look = LookAt(RowsAlong(tensor, axis));
  if (look.probabilities) return {.kind = OutputKind::kProbabilities, .axis = axis};
  // An image with as many channels as the input: denoised, enlarged, coloured.
  for (const ValueId input : graph.inputs()) {
    const auto& shape = graph.type(input).shape;
    if (!shape || static_cast<std::int64_t>(shape->size()) != rank) continue;
    const Dim& dim = (*shape)[static_cast<std::size_t>(axis)];
    if (dim.known() && dim.size() == channels) return {.kind = OutputKind::kRegression};
  }
  return {.kind = OutputKind::kLogits, .axis = axis};
}

/// A row of class probabilities for each time step whose largest is mostly the first or the last
/// class: the blank.
std::optional<OutputForm> AsCtc(const Tensor& tensor, const OutputForm& form) {
  const Dims& dims = tensor.dims();
  constexpr std::int64_t kLeastClasses = 10;
  constexpr std::int64_t kLeastSteps = 8;
  if (dims.size() != 3 || form.axis != 2 || dims[2] < kLeastClasses || dims[1] < kLeastSteps) {
    return std::nullopt;
  }
  const Look look = LookAt(RowsAlong(tensor, 2));
  const bool outer = look.frequent == 0 || look.frequent == dims[2] - 1;
  constexpr double kOften = 0.3;
  if (!outer || look.most_frequent < kOften) return std::nullopt;
  OutputForm ctc = form;
  ctc.kind = OutputKind::kCtc;
  ctc.logits = form.kind == OutputKind::kLogits;
  ctc.blank = look.frequent;
  return ctc;
}

OutputForm FormOf(const std::string& name, const Graph& graph, ValueId output,
                  const Tensor& tensor) {
  const Dims& dims = tensor.dims();
  const auto rank = static_cast<std::int64_t>(dims.size());
  if (!IsFloat(tensor.dtype())) return {.kind = OutputKind::kIntegers};
  const OutputEnd end = FindOutputEnd(graph, output);
  const bool behind = end.axis && *end.axis >= 1 && *end.axis < rank;
  switch (end.function) {
    case EndFunction::kSoftmax:
    case EndFunction::kLogSoftmax: {
      if (!behind) break;
      const bool logits = end.function == EndFunction::kLogSoftmax;
      const OutputForm form{.kind = logits ? OutputKind::kLogits : OutputKind::kProbabilities,
                            .axis = *end.axis};
      return AsCtc(tensor, form).value_or(form);
    }
    case EndFunction::kSigmoid:
      return {.kind = OutputKind::kBinary};
    case EndFunction::kUnitNorm:
      return {.kind = OutputKind::kEmbedding, .axis = rank - 1};
    case EndFunction::kBoxes:
      if (!behind) break;
      return {.kind = OutputKind::kBoxes, .axis = *end.axis, .objectness = end.objectness};
    case EndFunction::kSelection:
      if (rank == 3 && dims[2] == 6) {
        return {.kind = OutputKind::kBoxes, .axis = 2, .corners = true, .selected = true};
      }
      return {.kind = OutputKind::kRegression};
    case EndFunction::kOther:
      break;
  }
  if (rank < 2) return OfSingleNumbers(name, tensor);
  if (rank > 3) return OfMaps(name, tensor, graph);
  const OutputForm form = OfVectors(name, tensor);
  return AsCtc(tensor, form).value_or(form);
}

}  // namespace

OutputForms ChooseForms(const Graph& graph, std::span<const Tensor> outputs,
                        const std::map<std::string, OutputForm>& given) {
  OutputForms forms;
  std::string known;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = graph.value(graph.outputs()[i]).name;
    known += (i == 0 ? "'" : ", '") + name + "'";
    const auto found = given.find(name);
    forms.push_back({name, found != given.end()
                               ? found->second
                               : FormOf(name, graph, graph.outputs()[i], outputs[i])});
  }
  for (const auto& [name, form] : given) {
    if (std::ranges::find(forms, name, &NamedForm::name) == forms.end()) {
      throw UserError("the model has no output '" + name + "'; it has " + known);
    }
  }
  FindBoxes(outputs, given, forms);
  CheckBoxes(forms);
  return forms;
}

OutputForms ChooseForms(const Graph& graph, const SampleSource& samples, const CalibrationRun& run,
                        const TargetRegistry& registry,
                        const std::map<std::string, OutputForm>& given) {
  const std::int64_t most = std::max(kMostSamples, FixedBatch(graph).value_or(1));
  const std::vector<Tensor> first = samples.Read(0, std::min(samples.GroupEnd(0), most));
  std::vector<std::string> names;
  for (const ValueId id : graph.outputs()) names.push_back(graph.value(id).name);
  const SampleLayout layout = LayoutOf(graph);
  std::vector<std::vector<Tensor>> batches;
  ObserveValues(graph, names, TensorSamples(first), run, registry,
                [&](std::int64_t /*first*/, std::span<const Tensor> values) {
                  batches.push_back(RowsOfOutputs(layout, {values.begin(), values.end()}));
                });
  return ChooseForms(graph, JoinBatches(batches), given);
}

}  // namespace msc::cost
