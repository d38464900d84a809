#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/import/onnx/lift.h"
#include "compiler/import/onnx/steps.h"

// Operators of ai.onnx.ml that others compose. Source: ONNX, Operators-ml.md:
// ArrayFeatureExtractor-1, Binarizer-1, LabelEncoder-4.

namespace msc::detail {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::string_view kDomain = "ai.onnx.ml";

/// Takes the columns of X that Y names.
void LiftFeatureExtractor(Lift& lift) {
  const auto shape = lift.InputType(0).shape;
  if (!shape || shape->empty()) lift.Reject("needs an input whose number of axes is known");
  std::string x = lift.Input(0);
  Steps steps(lift);
  // One row of a list is an output with two axes.
  if (shape->size() == 1) x = steps.Add("Unsqueeze", {x, steps.List({0}, "first")}, "row");
  const std::string columns =
      steps.Add("Reshape", {lift.Input(1), steps.List({-1}, "flat")}, "columns");
  steps.End("Gather", {x, columns}, {{"axis", std::int64_t{-1}}});
}

/// Gives 1 above the threshold, and 0 elsewhere.
void LiftBinarizer(Lift& lift) {
  const float threshold = lift.Take("threshold", 0.0F);
  const std::string x = lift.Input(0);
  Steps steps(lift);
  const std::string limit = steps.Number(threshold, lift.InputType(0).dtype, "threshold");
  steps.End("CastLike", {steps.Add("Greater", {x, limit}, "above"), x});
}

/// Takes the list NAME_strings, NAME_int64s, NAME_floats or NAME_tensor; rejects a node with none
/// or several.
Tensor TakeList(Lift& lift, const std::string& name) {
  std::vector<Tensor> lists;
  const auto strings = lift.node.attrs.find(name + "_strings");
  if (strings != lift.node.attrs.end()) {
    const auto* texts = std::get_if<std::vector<std::string>>(&strings->second);
    if (texts == nullptr) lift.Reject("attribute '" + name + "_strings' has the wrong type");
    Tensor list(DType::kString, {std::ssize(*texts)});
    list.mutable_strings() = *texts;
    lists.push_back(std::move(list));
    lift.node.attrs.erase(strings);
  }
  if (lift.node.attrs.contains(name + "_int64s")) {
    const Ints ints = lift.Take(name + "_int64s", Ints{});
    lists.push_back(Tensor::From<std::int64_t>(DType::kI64, {std::ssize(ints)}, ints));
  }
  if (lift.node.attrs.contains(name + "_floats")) {
    const auto floats = lift.Take(name + "_floats", std::vector<float>{});
    lists.push_back(Tensor::From<float>(DType::kF32, {std::ssize(floats)}, floats));
  }
  const auto tensor = lift.node.attrs.find(name + "_tensor");
  if (tensor != lift.node.attrs.end()) {
    const auto* given = std::get_if<TensorPtr>(&tensor->second);
    if (given == nullptr) lift.Reject("attribute '" + name + "_tensor' has the wrong type");
    lists.push_back(**given);
    lift.node.attrs.erase(tensor);
  }
  if (lists.size() != 1) lift.Reject("needs one list of " + name);
  return std::move(lists.front());
}

/// Takes the value for keys that are not listed.
Tensor TakeOtherwise(Lift& lift, DType dtype) {
  const auto text = lift.Take("default_string", std::string("_Unused"));
  const std::int64_t integer = lift.Take("default_int64", std::int64_t{-1});
  const float number = lift.Take("default_float", -0.0F);
  const auto at = lift.node.attrs.find("default_tensor");
  if (at != lift.node.attrs.end()) {
    const auto* given = std::get_if<TensorPtr>(&at->second);
    if (given == nullptr || *given == nullptr || (*given)->size() != 1) {
      lift.Reject("attribute 'default_tensor' must be a tensor of one element");
    }
    Tensor tensor = (*given)->Reshaped({});
    lift.node.attrs.erase(at);
    if (tensor.dtype() != dtype) lift.Reject("default_tensor is not of the type of the values");
    return tensor;
  }
  Tensor tensor(dtype, {});
  switch (dtype) {
    case DType::kString:
      tensor.mutable_strings()[0] = text;
      return tensor;
    case DType::kI64:
      tensor.MutableValues<std::int64_t>()[0] = integer;
      return tensor;
    case DType::kF32:
      tensor.MutableValues<float>()[0] = number;
      return tensor;
    case DType::kI16:
      tensor.MutableValues<std::int16_t>()[0] = static_cast<std::int16_t>(
          std::clamp<std::int64_t>(integer, std::numeric_limits<std::int16_t>::min(),
                                   std::numeric_limits<std::int16_t>::max()));
      return tensor;
    default:
      lift.Reject("needs default_tensor for its type of values");
  }
}

/// Gives each element the value of its key: compares it with all keys, and takes the value of the
/// first one that is equal.
void LiftLabelEncoder(Lift& lift) {
  const std::string x = lift.Input(0);
  Tensor keys = TakeList(lift, "keys");
  Tensor values = TakeList(lift, "values");
  if (keys.size() != values.size() || keys.size() == 0) {
    lift.Reject("needs as many values as keys, and one at least");
  }
  Tensor otherwise = TakeOtherwise(lift, values.dtype());
  const bool floats = keys.dtype() == DType::kF32 || keys.dtype() == DType::kF64;
  const Dims dims = {keys.size()};
  Steps steps(lift);
  const std::string last = steps.List({-1}, "last");
  const std::string each = steps.Add("Unsqueeze", {x, last}, "each");
  const std::string all = steps.Constant(keys.Reshaped(dims), "keys");
  std::string equal = steps.Add("Equal", {each, all}, "equal");
  if (floats) {
    // A key that is no number is equal to all of these.
    const std::string nans = steps.Add(
        "And", {steps.Add("IsNaN", {each}, "nan"), steps.Add("IsNaN", {all}, "nan_key")}, "nans");
    equal = steps.Add("Or", {equal, nans}, "same");
  }
  const std::string counted =
      steps.Add("Cast", {equal}, "counted", {{"to", static_cast<std::int64_t>(DType::kI32)}});
  const AttrMap along = {{"axis", std::int64_t{-1}}, {"keepdims", std::int64_t{0}}};
  const std::string place = steps.Add("ArgMax", {counted}, "place", along);
  const std::string most = steps.Add("ReduceMax", {counted}, "most",
                                     {{"axes", Ints{-1}}, {"keepdims", std::int64_t{0}}});
  const std::string found =
      steps.Add("Cast", {most}, "found", {{"to", static_cast<std::int64_t>(DType::kBool)}});
  const std::string value =
      steps.Add("Gather", {steps.Constant(values.Reshaped(dims), "values"), place}, "value");
  steps.End("Where", {found, value, steps.Constant(std::move(otherwise), "otherwise")});
}

constexpr std::array<LiftRule, 3> kRules = {{
    {"ArrayFeatureExtractor", kNoEnd, LiftFeatureExtractor, 1, kDomain},
    {"Binarizer", kNoEnd, LiftBinarizer, 1, kDomain},
    {"LabelEncoder", kNoEnd, LiftLabelEncoder, 1, kDomain},
}};

}  // namespace

std::span<const LiftRule> MlLifts() {
  return kRules;
}

}  // namespace msc::detail
