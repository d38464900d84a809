#include "cost/quality/choose_form.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/ir/sample_axes.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/samples.h"
#include "cost/quality/find_boxes.h"
#include "cost/quality/look.h"
#include "cost/quality/name_hints.h"
#include "cost/quality/output_end.h"

namespace msc::cost {
namespace {

/// An output whose form is chosen.
struct Output {
  const std::string& name;
  const Graph& graph;
  const Tensor& tensor;  // rows, [N, ...]
  OutputEnd end;         // its axis is one of `tensor`
  [[nodiscard]] const Dims& dims() const { return tensor.dims(); }
  [[nodiscard]] std::int64_t rank() const { return std::ssize(tensor.dims()); }
  [[nodiscard]] NameHint hint() const { return HintOf(name); }
};

/// Sizes that feature vectors have and numbers of classes rarely.
bool IsEmbeddingSize(std::int64_t size) {
  return size >= 64 && size % 64 == 0;
}

/// The form of numbers whose end is not known: a score each, or a number without decisions. Scores
/// before a sigmoid have both signs and a moderate size.
OutputForm OfSingleNumbers(const Output& output) {
  const Tensor& tensor = output.tensor;
  const NameHint hint = output.hint();
  if (hint == NameHint::kClasses || hint == NameHint::kMask) {
    const bool probabilities = ShareWithin(tensor, 0, 1) == 1;
    return {.kind = probabilities ? OutputKind::kBinary : OutputKind::kLogit};
  }
  if (AreWhole(tensor)) return {.kind = OutputKind::kIntegers};
  if (hint == NameHint::kNumbers) return {.kind = OutputKind::kRegression};
  constexpr double kShare = 0.1;
  constexpr double kLargest = 15;
  constexpr std::int64_t kFew = 16;
  const double positive = ShareWithin(tensor, std::numeric_limits<double>::denorm_min(), INFINITY);
  const bool moderate = ShareWithin(tensor, -kLargest, kLargest) == 1;
  // Numbers smaller than 1 decide nothing with confidence.
  const bool decided = ShareWithin(tensor, -1, 1) < 1;
  const bool logit =
      tensor.size() >= kFew && positive >= kShare && positive <= 1 - kShare && moderate && decided;
  return {.kind = logit ? OutputKind::kLogit : OutputKind::kRegression};
}

/// The form of vectors along `axis` whose end is not known: of [N, C] and its like with axes of 1,
/// or of [N, T, C] and [N, C, T].
OutputForm OfVectors(const Output& output, std::int64_t axis) {
  const Dims& dims = output.dims();
  const std::int64_t size = dims[static_cast<std::size_t>(axis)];
  if (size <= 1) return OfSingleNumbers(output);
  const bool steps = output.tensor.size() != dims[0] * size;
  const Look look = LookAt(RowsAlong(output.tensor, axis));
  const bool is_last = axis + 1 == output.rank();
  OutputForm classes{.kind = OutputKind::kLogits, .axis = axis};
  OutputForm numbers{.kind = steps && is_last ? OutputKind::kSeries : OutputKind::kRegression};
  // Embeddings lie along the last axis, behind which others may have one entry.
  OutputForm vectors{.kind = OutputKind::kEmbedding, .axis = axis};
  if (steps && !is_last) vectors = numbers;
  if (look.probabilities) return {.kind = OutputKind::kProbabilities, .axis = axis};
  if (look.unit && size >= 8) return vectors;
  const NameHint hint = output.hint();
  if (hint == NameHint::kEmbedding) return vectors;
  if (hint == NameHint::kNumbers) return numbers;
  if (AreWhole(output.tensor)) return {.kind = OutputKind::kIntegers};
  if (hint == NameHint::kClasses || hint == NameHint::kMask) return classes;
  constexpr double kConfident = 0.5;
  if (IsEmbeddingSize(size) && look.confidence < kConfident) return vectors;
  constexpr double kLevels = 20;
  constexpr double kUnits = 30;
  constexpr double kAlways = 0.95;
  if ((look.levels > kLevels && look.most_frequent > kAlways) || look.units > kUnits) {
    return numbers;
  }
  // A trained network tells the class of a time step with confidence; the states of a series only
  // happen to look like logits, or are larger than these.
  constexpr double kConfidentStep = 0.8;
  constexpr double kLarge = 30;
  if (steps && (look.confidence < kConfidentStep || look.most_frequent > kAlways ||
                look.magnitude > kLarge)) {
    return numbers;
  }
  return classes;
}

/// Returns the axis of the channels of [N, C, H, W] or [N, H, W, C]. Images are often square, and
/// have more positions than channels.
std::int64_t ChannelAxis(const Output& output) {
  if (output.end.axis) return *output.end.axis;
  const Dims& dims = output.dims();
  const std::int64_t rank = output.rank();
  const std::int64_t height = dims[static_cast<std::size_t>(rank - 2)];
  if (height == dims.back()) return 1;
  const bool last = dims[1] == height || (dims.back() < dims[1] && dims[1] >= 8 && height >= 8);
  return last ? rank - 1 : 1;
}

/// Returns whether an input of the model has as many channels: images that are denoised, enlarged
/// or restored.
bool IsLikeAnInput(const Output& output, std::int64_t axis) {
  return std::ranges::any_of(output.graph.inputs(), [&](ValueId input) {
    const auto& shape = output.graph.type(input).shape;
    if (!shape || std::ssize(*shape) != output.rank()) return false;
    const Dim& dim = (*shape)[static_cast<std::size_t>(axis)];
    return dim.known() && dim.size() == output.dims()[static_cast<std::size_t>(axis)];
  });
}

/// The form of maps whose end is not known.
OutputForm OfMaps(const Output& output) {
  OutputForm numbers{.kind = OutputKind::kRegression};
  const NameHint hint = output.hint();
  if (hint == NameHint::kNumbers || hint == NameHint::kEmbedding) return numbers;
  if (output.end.function == EndFunction::kCorrection) return numbers;
  // Candidates of several anchors, [N, anchors, H, W, numbers], have no classes that exclude each
  // other.
  if (output.rank() > 4 && !output.end.axis) return OfSingleNumbers(output);
  const std::int64_t axis = ChannelAxis(output);
  const std::int64_t channels = output.dims()[static_cast<std::size_t>(axis)];
  if (channels <= 1) return OfSingleNumbers(output);
  const Look look = LookAt(RowsAlong(output.tensor, axis));
  if (look.probabilities) return {.kind = OutputKind::kProbabilities, .axis = axis};
  OutputForm classes{.kind = OutputKind::kLogits, .axis = axis};
  if (hint == NameHint::kClasses || hint == NameHint::kMask) return classes;
  // Classes compete; the colours of an image rise and fall together.
  constexpr double kCompete = -0.2;
  constexpr double kTogether = 0.5;
  constexpr std::int64_t kColours = 3;
  if (channels == kColours && look.correlation > kTogether) return numbers;
  if (IsLikeAnInput(output, axis) && look.correlation > kCompete) return numbers;
  // Where no position prefers a class, as in heatmaps of key points, there are none.
  constexpr double kLeast = 0.03;
  const double even = 1 / static_cast<double>(channels);
  if (look.confidence < even + kLeast * (1 - even)) return numbers;
  return classes;
}

/// A row of class probabilities for each time step whose largest is mostly the first or the last
/// class: the blank.
OutputForm CtcOr(const OutputForm& form, const Output& output) {
  const bool classes = form.kind == OutputKind::kLogits || form.kind == OutputKind::kProbabilities;
  if (!classes || output.rank() != 3 || form.axis < 1) return form;
  constexpr std::int64_t kLeastClasses = 10;
  constexpr std::int64_t kLeastSteps = 8;
  const Dims& dims = output.dims();
  const std::int64_t size = dims[static_cast<std::size_t>(form.axis)];
  if (size < kLeastClasses || dims[static_cast<std::size_t>(3 - form.axis)] < kLeastSteps) {
    return form;
  }
  // Tokens have a class each, most often that of no name.
  for (const ValueId input : output.graph.inputs()) {
    const ValueType& type = output.graph.type(input);
    const bool integers = type.dtype == DType::kI64 || type.dtype == DType::kI32;
    if (integers && type.shape && type.shape->size() == 2) return form;
  }
  const Look look = LookAt(RowsAlong(output.tensor, form.axis));
  const bool outer = look.frequent == 0 || look.frequent == size - 1;
  constexpr double kOften = 0.3;
  if (!outer || look.most_frequent < kOften) return form;
  OutputForm ctc = form;
  ctc.kind = OutputKind::kCtc;
  ctc.logits = form.kind == OutputKind::kLogits;
  ctc.blank = look.frequent;
  return ctc;
}

/// The form of numbers that a sigmoid made: probabilities, or the brightness of an image like the
/// model's input, most of which is neither black nor white.
OutputForm OfSigmoids(const Output& output) {
  constexpr double kGrey = 0.1;
  constexpr double kMostly = 0.5;
  const bool map = output.rank() == 4 && output.hint() == NameHint::kNone;
  if (map && ShareWithin(output.tensor, kGrey, 1 - kGrey) > kMostly &&
      IsLikeAnInput(output, ChannelAxis(output))) {
    return {.kind = OutputKind::kRegression};
  }
  return {.kind = OutputKind::kBinary};
}

/// Integers count; bytes of three or four channels are pixels.
OutputForm OfIntegers(const Output& output) {
  const auto colours = [](std::int64_t size) { return size == 3 || size == 4; };
  const bool image = output.tensor.dtype() == DType::kU8 && output.rank() == 4 &&
                     (colours(output.dims()[1]) || colours(output.dims()[3]));
  return {.kind = image ? OutputKind::kRegression : OutputKind::kIntegers};
}

/// The form of numbers whose end says no more than the axis of its channels.
OutputForm OfNumbers(const Output& output) {
  const Dims& dims = output.dims();
  const std::int64_t rank = output.rank();
  if (rank < 2) return OfSingleNumbers(output);
  if (const auto selected = AsSelected(output.tensor)) return *selected;
  std::int64_t axis = rank - 1;  // of all but one position
  std::int64_t wide = 0;
  for (std::int64_t i = 1; i < rank; ++i) {
    if (dims[static_cast<std::size_t>(i)] == 1) continue;
    ++wide;
    axis = i;
  }
  if (wide > 1 && rank > 3) return OfMaps(output);
  if (wide > 1) return CtcOr(OfVectors(output, output.end.axis.value_or(rank - 1)), output);
  // A series of one number, [N, T, 1], has no classes.
  if (output.end.axis ? *output.end.axis != axis : rank == 3 && dims[2] == 1) {
    return OfSingleNumbers(output);
  }
  return OfVectors(output, axis);
}

OutputForm FormOf(const Output& output) {
  if (!IsFloat(output.tensor.dtype())) return OfIntegers(output);
  if (output.tensor.size() == 0) return {.kind = OutputKind::kRegression};
  const std::optional<std::int64_t> axis = output.end.axis;
  switch (output.end.function) {
    case EndFunction::kSoftmax:
      // A part of the probabilities of a sample, such as that of one class.
      if (!axis) return {.kind = OutputKind::kBinary};
      return CtcOr({.kind = OutputKind::kProbabilities, .axis = *axis}, output);
    case EndFunction::kLogSoftmax:
      if (!axis) break;
      return CtcOr({.kind = OutputKind::kLogits, .axis = *axis}, output);
    case EndFunction::kSigmoid:
      return OfSigmoids(output);
    case EndFunction::kUnitNorm:
      return {.kind = OutputKind::kEmbedding, .axis = output.rank() - 1};
    case EndFunction::kBoxes: {
      auto boxes = axis ? AsCandidates(output.tensor, *axis) : std::nullopt;
      if (!boxes) return {.kind = OutputKind::kRegression};
      boxes->objectness = output.end.objectness;
      return *boxes;
    }
    case EndFunction::kSelection:
      if (output.rank() == 3 && output.dims()[2] == 6) {
        return {.kind = OutputKind::kBoxes, .axis = 2, .corners = true, .selected = true};
      }
      return {.kind = OutputKind::kRegression};
    case EndFunction::kWhole:
      if (output.rank() != 4) return {.kind = OutputKind::kIntegers};
      break;
    case EndFunction::kCorrection:
    case EndFunction::kOther:
      break;
  }
  return OfNumbers(output);
}

/// Returns the axis of rows [N, ...] that is `axis` of the output itself; nothing for the axis of
/// samples.
std::optional<std::int64_t> AxisOfRows(const SampleAxis& samples,
                                       std::optional<std::int64_t> axis) {
  if (!axis || samples.counting == SampleCounting::kShared) return axis;
  if (samples.counting == SampleCounting::kWhole) return *axis + 1;
  if (*axis == samples.axis) return std::nullopt;
  return *axis < samples.axis ? *axis + 1 : *axis;
}

OutputForm FormOf(const std::string& name, const Graph& graph, ValueId value,
                  const Tensor& tensor) {
  OutputEnd end = FindOutputEnd(graph, value);
  end.axis = AxisOfRows(SampleAxisOf(graph, value), end.axis);
  // The axes that a graph declares may be others than those of its outputs.
  if (end.axis && *end.axis >= std::ssize(tensor.dims())) end.axis = std::nullopt;
  return FormOf({.name = name, .graph = graph, .tensor = tensor, .end = end});
}

[[noreturn]] void RefuseName(const std::string& name, const std::string& known) {
  throw UserError("the model has no output '" + name + "'; it has " + known);
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
      RefuseName(name, known);
    }
  }
  FindBoxes(outputs, given, forms);
  CheckBoxes(forms);
  return forms;
}

OutputForms ChooseForms(const Graph& graph, const SampleSource& samples, const CalibrationRun& run,
                        const TargetRegistry& registry,
                        const std::map<std::string, OutputForm>& given) {
  const std::int64_t most = std::max(kMostLookedAt, FixedBatch(graph).value_or(1));
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

std::string FormatForms(const OutputForms& forms) {
  std::string text;
  for (const NamedForm& output : forms) {
    const NamedForm* const boxes = FindBoxesOf(forms, output.name);
    text +=
        (text.empty() ? "output '" : "; output '") + output.name + "': " +
        (boxes != nullptr ? "part of the boxes in '" + boxes->name + "'" : FormatForm(output.form));
  }
  return text;
}

}  // namespace msc::cost
