#include "cost/quality/bind_labels.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/pipeline/batch.h"
#include "cost/quality/alphabet.h"
#include "cost/quality/boxes.h"
#include "cost/quality/join_boxes.h"
#include "cost/quality/output_meter.h"

namespace msc::cost {
namespace {

constexpr std::int64_t kBoxNumbers = 5;  // x0, y0, x1, y1, class
/// Samples whose boxes decide about their units.
constexpr std::int64_t kLooked = 8;

/// An output as it is compared, with its numbers for the first samples.
struct Output {
  ComparedOutput compared;
  OutputMeter meter;
  [[nodiscard]] const OutputForm& form() const { return compared.named.form; }
  [[nodiscard]] std::string Text() const {
    return "output '" + compared.named.name + "' (" + FormatForm(form()) + ")";
  }
};

std::string NameOfSample(const SampleLabels& labels, std::int64_t sample) {
  return "'" + labels.path + "', sample " +
         std::to_string(labels.rows.at(static_cast<std::size_t>(sample))) + " (counted from 0)";
}

/// Returns whether all numbers are 0 or 1.
bool AreBits(const SampleLabels& labels) {
  return std::ranges::all_of(labels.numbers.values,
                             [](float number) { return number == 0 || number == 1; });
}

/// Returns what labels are for an output; nothing if it cannot have them, whatever their number.
std::optional<LabelKind> KindFor(const SampleLabels& labels, const Output& output) {
  const OutputKind kind = output.form().kind;
  const bool values = kind == OutputKind::kRegression || kind == OutputKind::kSeries;
  const bool yes_or_no = kind == OutputKind::kLogit || kind == OutputKind::kBinary;
  switch (labels.form) {
    case LabelForm::kTexts:
      if (kind == OutputKind::kCtc) return LabelKind::kSequences;
      return std::nullopt;
    case LabelForm::kBoxes:
      if (kind == OutputKind::kBoxes) return LabelKind::kBoxes;
      return std::nullopt;
    case LabelForm::kNumbers:
      if (values || (yes_or_no && !AreBits(labels))) return LabelKind::kValues;
      if (!yes_or_no) return std::nullopt;
      break;
    case LabelForm::kIntegers:
      if (values) return LabelKind::kValues;
      if (kind == OutputKind::kCtc) return LabelKind::kSequences;
      if (output.meter.decisions() == 0) return std::nullopt;
      break;
  }
  return output.meter.is_map() ? LabelKind::kMaps : LabelKind::kClasses;
}

/// Returns how many labels each sample needs; nothing if any number will do.
std::optional<std::int64_t> CountFor(LabelKind kind, const Output& output) {
  if (kind == LabelKind::kSequences || kind == LabelKind::kBoxes) return std::nullopt;
  return kind == LabelKind::kValues ? output.meter.size() : output.meter.decisions();
}

/// Returns the first sample that has another number of labels than `count`; nothing if none has, or
/// if samples differ and so may outputs.
std::optional<std::int64_t> Unfit(const SampleLabels& labels, std::int64_t count) {
  const std::int64_t first = std::ssize(labels.numbers.Of(0));
  for (std::int64_t i = 1; i < labels.numbers.size(); ++i) {
    if (std::ssize(labels.numbers.Of(i)) != first) return std::nullopt;
  }
  return first == count ? std::nullopt : std::optional<std::int64_t>(0);
}

std::string Describe(const SampleLabels& labels) {
  switch (labels.form) {
    case LabelForm::kIntegers:
      return "integers " + ToString(labels.dims) + " for each sample";
    case LabelForm::kNumbers:
      return "numbers " + ToString(labels.dims) + " for each sample";
    case LabelForm::kTexts:
      return "texts";
    case LabelForm::kBoxes:
      break;
  }
  return "boxes";
}

/// Returns what labels an output can have, for errors.
std::string Wants(const Output& output) {
  const std::string decisions = std::to_string(output.meter.decisions());
  switch (output.form().kind) {
    case OutputKind::kRegression:
    case OutputKind::kSeries:
      return std::to_string(output.meter.size()) + " numbers for each sample";
    case OutputKind::kCtc:
      return "texts or sequences of class numbers";
    case OutputKind::kBoxes:
      return "boxes (COCO JSON)";
    case OutputKind::kEmbedding:
      return "no labels";
    default:
      break;
  }
  if (output.meter.is_map()) {
    Dims dims = output.compared.numbers.dims;
    dims.erase(dims.begin());
    return "maps of " + decisions + " class numbers, the positions of " + ToString(dims);
  }
  return decisions == "1" ? "one class number for each sample"
                          : decisions + " class numbers for each sample";
}

[[noreturn]] void RejectAll(const SampleLabels& labels, const std::vector<Output>& outputs) {
  std::string wants;
  for (const Output& output : outputs) {
    if (!labels.output.empty() && output.compared.named.name != labels.output) continue;
    wants += (wants.empty() ? "" : "; ") + output.Text() + " takes " + Wants(output);
  }
  if (wants.empty()) {
    for (const Output& output : outputs) {
      wants += (wants.empty() ? "'" : ", '") + output.compared.named.name + "'";
    }
    throw UserError("labels '" + labels.path + "' are for output '" + labels.output +
                    "', which is none of those that are compared: " + wants);
  }
  throw UserError("labels '" + labels.path + "', " + Describe(labels) + ", do not fit: " + wants +
                  ". If an output is something else, say so with --output or 'quality.outputs'");
}

/// Returns the output that labels belong to.
const Output& OutputFor(const SampleLabels& labels, const std::vector<Output>& outputs) {
  for (const Output& output : outputs) {
    if (!labels.output.empty() && output.compared.named.name != labels.output) continue;
    const std::optional<LabelKind> kind = KindFor(labels, output);
    if (!kind) continue;
    const std::optional<std::int64_t> count = CountFor(*kind, output);
    if (!count || !Unfit(labels, *count)) return output;
  }
  RejectAll(labels, outputs);
}

/// Checks class numbers, and marks those that are none as -1.
void BindClasses(const SampleLabels& labels, const Output& output, OutputLabels& bound) {
  const std::int64_t choices = output.meter.choices();
  const std::int64_t blank =
      output.form().blank < 0 ? output.form().blank + choices : output.form().blank;
  const bool single = bound.kind == LabelKind::kClasses && output.meter.decisions() == 1;
  bound.numbers = labels.numbers;
  bool labelled = bound.kind == LabelKind::kSequences;  // may be empty
  for (std::int64_t i = 0; i < labels.size(); ++i) {
    const auto end = static_cast<std::size_t>(labels.numbers.ends[static_cast<std::size_t>(i)]);
    for (std::size_t at = end - labels.numbers.Of(i).size(); at < end; ++at) {
      const auto number = static_cast<std::int64_t>(labels.numbers.values[at]);
      const bool unlabelled_map =
          bound.kind == LabelKind::kMaps && number == 255 && choices > 0 && choices <= 255;
      if ((number == -1 && !single) || unlabelled_map) {
        bound.numbers.values[at] = -1;
        continue;
      }
      const std::string holds =
          "'" + labels.path + "' holds " + std::to_string(number) + " in row " +
          std::to_string(labels.rows[static_cast<std::size_t>(i)]) + ", counted from 0";
      if (number < 0) throw UserError(holds + ", which is not a class number");
      if (choices > 0 && number >= choices) {
        throw UserError(holds + "; " + output.Text() + " has " + std::to_string(choices) +
                        " classes, 0 to " + std::to_string(choices - 1));
      }
      labelled = true;
      if (bound.kind == LabelKind::kSequences && number == blank) {
        throw UserError(holds + ", which is the blank of " + output.Text() +
                        " and stands in no sequence");
      }
    }
  }
  if (!labelled) throw UserError("'" + labels.path + "' labels nothing: all numbers are -1 or 255");
}

void BindTexts(const SampleLabels& labels, const Output& output, OutputLabels& bound) {
  const Alphabet alphabet(labels.alphabet, labels.alphabet_path, output.meter.choices(),
                          output.form().blank);
  for (std::int64_t i = 0; i < labels.size(); ++i) {
    const std::string& text = labels.texts[static_cast<std::size_t>(i)];
    bound.numbers.Append(alphabet.ClassesOf(text, NameOfSample(labels, i)));
  }
}

/// Returns whether an output's boxes are shares of the picture, and whether it shows that.
std::optional<bool> LookAtUnits(const Output& output) {
  double most = 0;
  const auto each = static_cast<std::size_t>(output.meter.size());
  const std::span<const double> all = output.compared.numbers.values;
  for (std::size_t at = 0; at < all.size(); at += each) {
    for (const Box& box : output.meter.BoxesOf(all.subspan(at, each))) {
      most = std::max({most, box.x1, box.y1});
    }
  }
  constexpr double kMostShare = 2;  // boxes may reach beyond the picture
  return most == 0 ? std::nullopt : std::optional(most <= kMostShare);
}

/// Throws UserError if there are more categories than classes.
void CheckCategories(const SampleLabels& labels, const Output& output) {
  const OutputForm& form = output.form();
  if (form.selected) return;  // a row has the class itself
  const std::int64_t scores = output.meter.classes() - 4 - (form.objectness ? 1 : 0);
  const std::int64_t classes = scores - (form.background >= 0 && form.background < scores ? 1 : 0);
  // Without scores of classes there is one.
  if (scores <= 0 || labels.categories <= std::max<std::int64_t>(classes, 1)) return;
  throw UserError("'" + labels.path + "' has " + std::to_string(labels.categories) +
                  " categories; " + output.Text() + " has " + std::to_string(classes) + " classes");
}

/// Returns what is said about the units.
std::string BindBoxes(const SampleLabels& labels, const Output& output, OutputLabels& bound) {
  const OutputForm& form = output.form();
  CheckCategories(labels, output);
  const std::optional<bool> found = LookAtUnits(output);
  const bool unit =
      labels.units == BoxUnits::kAuto ? found.value_or(false) : labels.units == BoxUnits::kUnit;
  bound.numbers = labels.numbers;
  for (std::int64_t i = 0; i < labels.size(); ++i) {
    const auto& [width, height] = labels.inputs[static_cast<std::size_t>(i)];
    const auto end = static_cast<std::size_t>(labels.numbers.ends[static_cast<std::size_t>(i)]);
    for (std::size_t at = end - labels.numbers.Of(i).size(); at < end; at += kBoxNumbers) {
      float* const box = &bound.numbers.values[at];
      if (form.background >= 0 && box[4] >= static_cast<float>(form.background)) box[4] += 1;
      if (!unit) continue;
      for (const std::size_t side : {0, 2}) box[side] /= width;
      for (const std::size_t side : {1, 3}) box[side] /= height;
    }
  }
  const std::string why = labels.units != BoxUnits::kAuto ? "as given"
                          : found ? "found by the uncompressed model's boxes"
                                  : "assumed, as the uncompressed model finds no boxes on the "
                                    "first samples";
  return std::string(unit ? ", the output's in shares of the input's sides ("
                          : ", the output's in pixels of the input (") +
         why + "; 'box_units' or --box-units sets it)";
}

}  // namespace

void HashLabels(std::span<const OutputLabels> labels, Sha256& hash) {
  for (const OutputLabels& each : labels) {
    hash.Add(each.output + "\n" + StringForm<LabelKind>::Write(each.kind) + "\n");
    hash.Add(std::as_bytes(std::span(each.numbers.ends)));
    hash.Add(std::as_bytes(std::span(each.numbers.values)));
  }
}

BoundLabels BindLabels(const std::vector<SampleLabels>& labels, const OutputForms& forms,
                       std::span<const Tensor> outputs) {
  BoundLabels bound;
  if (labels.empty()) return bound;
  std::vector<OutputNumbers> numbers;
  for (const Tensor& output : outputs) {
    numbers.push_back(NumbersOf(Rows(output, 0, std::min(output.dims().at(0), kLooked))));
  }
  std::vector<Output> compared;
  for (ComparedOutput& output : JoinOutputs(forms, std::move(numbers))) {
    OutputMeter meter(output.named, output.numbers.dims);
    compared.push_back({std::move(output), std::move(meter)});
  }
  for (const SampleLabels& file : labels) {
    const Output& output = OutputFor(file, compared);
    const std::string& name = output.compared.named.name;
    if (std::ranges::find(bound.outputs, name, &OutputLabels::output) != bound.outputs.end()) {
      throw UserError("labels '" + file.path + "' fit output '" + name +
                      "', which has others; say which output they are for");
    }
    OutputLabels& to =
        bound.outputs.emplace_back(OutputLabels{.output = name, .kind = *KindFor(file, output)});
    std::string units;
    if (file.form == LabelForm::kTexts) {
      BindTexts(file, output, to);
    } else if (to.kind == LabelKind::kBoxes) {
      units = BindBoxes(file, output, to);
    } else if (to.kind == LabelKind::kValues) {
      to.numbers = file.numbers;
    } else {
      BindClasses(file, output, to);
    }
    std::string note = "labels '" + file.path + "' of output '" + name + "': ";
    note += StringForm<LabelKind>::Write(to.kind);
    bound.notes.push_back(note + units);
  }
  return bound;
}

}  // namespace msc::cost
