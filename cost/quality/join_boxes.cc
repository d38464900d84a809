#include "cost/quality/join_boxes.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/ops/eval.h"

namespace msc::cost {
namespace {

constexpr std::int64_t kCorners = 4;

std::size_t IndexOf(const OutputForms& forms, const std::string& name, const std::string& boxes) {
  const auto it = std::ranges::find(forms, name, &NamedForm::name);
  if (it != forms.end()) return static_cast<std::size_t>(it - forms.begin());
  throw UserError("output '" + boxes + "' has its scores or classes in '" + name +
                  "', which is no output of the model");
}

/// A part of each row of joined boxes: the position of number `c` of box `b` of a sample is
/// b * box + c * number.
struct Part {
  const OutputNumbers& numbers;
  std::int64_t size = 1;  ///< numbers for each box
  std::int64_t box = 1;
  std::int64_t number = 1;
};

/// Returns how an output holds numbers for `dims[1]` boxes; nothing if it does not.
std::optional<Part> PartOf(const OutputNumbers& numbers, const Dims& dims) {
  const Dims& own = numbers.dims;
  if (own.size() < 2 || own.size() > 3 || own[0] != dims[0]) return std::nullopt;
  if (own[1] == dims[1]) {
    const std::int64_t size = own.size() == 3 ? own[2] : 1;
    return Part{.numbers = numbers, .size = size, .box = size};
  }
  if (own.size() == 2 || own[2] != dims[1]) return std::nullopt;
  return Part{.numbers = numbers, .size = own[1], .number = dims[1]};
}

/// Returns boxes with their scores and classes.
OutputNumbers JoinBoxes(const OutputForms& forms, std::size_t boxes,
                        std::span<const OutputNumbers> outputs) {
  const auto& [name, form] = forms[boxes];
  const Dims& dims = outputs[boxes].dims;
  if (dims.size() != 3 || dims[2] != kCorners) {
    throw UserError("output '" + name + "', " + ToString(dims) +
                    ", does not hold boxes, [N, boxes, 4]");
  }
  std::vector<std::size_t> indices = {boxes, IndexOf(forms, form.scores, name)};
  if (!form.classes.empty()) indices.push_back(IndexOf(forms, form.classes, name));
  OutputNumbers joined{{}, {dims[0], dims[1], 0}};
  std::vector<Part> parts;
  for (const std::size_t index : indices) {
    const auto part = PartOf(outputs[index], dims);
    if (!part) {
      throw UserError("output '" + forms[index].name + "', " + ToString(outputs[index].dims) +
                      ", does not fit the boxes in '" + name + "', " + ToString(dims));
    }
    parts.push_back(*part);
    joined.dims[2] += part->size;
  }
  joined.values.reserve(static_cast<std::size_t>(dims[0] * dims[1] * joined.dims[2]));
  for (std::int64_t row = 0; row < dims[0] * dims[1]; ++row) {
    for (const Part& part : parts) {
      const std::int64_t first = row / dims[1] * dims[1] * part.size + row % dims[1] * part.box;
      for (std::int64_t c = 0; c < part.size; ++c) {
        joined.values.push_back(
            part.numbers.values[static_cast<std::size_t>(first + c * part.number)]);
      }
    }
  }
  return joined;
}

}  // namespace

OutputNumbers NumbersOf(const Tensor& tensor) {
  std::vector<double> numbers(static_cast<std::size_t>(tensor.size()));
  const auto copy = [&](const auto values) { std::ranges::copy(values, numbers.begin()); };
  switch (tensor.dtype()) {
    case DType::kF32:
      copy(tensor.Values<float>());
      break;
    case DType::kF64:
      copy(tensor.Values<double>());
      break;
    case DType::kI64:
      copy(tensor.Values<std::int64_t>());
      break;
    case DType::kUndefined:
    case DType::kString:
    case DType::kC64:
    case DType::kC128:
      throw UserError("an output of type " + std::string(Name(tensor.dtype())) +
                      " cannot be compared; numbers can");
    default:
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = NumberAt(tensor, static_cast<std::int64_t>(i));
      }
  }
  return {std::move(numbers), tensor.dims()};
}

bool HasScoresElsewhere(const OutputForm& form) {
  return form.kind == OutputKind::kBoxes && !form.scores.empty();
}

std::vector<ComparedOutput> JoinOutputs(const OutputForms& forms,
                                        std::vector<OutputNumbers> outputs) {
  std::vector<ComparedOutput> compared;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (!HasScoresElsewhere(forms[i].form)) continue;
    // Only this output becomes another one; its scores and classes stay for other readers.
    outputs[i] = JoinBoxes(forms, i, outputs);
  }
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (FindBoxesOf(forms, forms[i].name) != nullptr) continue;
    NamedForm named = forms[i];
    if (HasScoresElsewhere(named.form)) {
      named.form.axis = 2;
      named.form.scores.clear();
      named.form.classes.clear();
    }
    compared.push_back({std::move(named), std::move(outputs[i])});
  }
  return compared;
}

}  // namespace msc::cost
