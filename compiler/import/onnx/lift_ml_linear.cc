#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/import/onnx/lift.h"
#include "compiler/import/onnx/steps.h"

// Linear models and their scaling. Source: ONNX, Operators-ml.md: LinearClassifier-1,
// LinearRegressor-1, Normalizer-1, Scaler-1; what they leave open is as in ONNX Runtime 1.31.

namespace msc::detail {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<std::int64_t>;

constexpr std::string_view kDomain = "ai.onnx.ml";

/// The input in f32, as all of them compute.
std::string AsFloat(Lift& lift, Steps& steps) {
  if (lift.InputType(0).dtype == DType::kF32) return lift.Input(0);
  return steps.Add("Cast", {lift.Input(0)}, "float",
                   {{"to", static_cast<std::int64_t>(DType::kF32)}});
}

std::string ListOf(Steps& steps, const Floats& values, std::string_view what) {
  return steps.Constant(Tensor::From<float>(DType::kF32, {std::ssize(values)}, values), what);
}

/// Gives (x - offset) * scale, with one number for all columns or one for each.
void LiftScaler(Lift& lift) {
  const Floats offset = lift.Take("offset", Floats{});
  const Floats scale = lift.Take("scale", Floats{});
  if (offset.empty() || scale.empty()) lift.Reject("needs attributes 'offset' and 'scale'");
  Steps steps(lift);
  const std::string moved =
      steps.Add("Sub", {AsFloat(lift, steps), ListOf(steps, offset, "offset")}, "moved");
  steps.End("Mul", {moved, ListOf(steps, scale, "scale")});
}

/// Gives x * transpose(coefficients) + intercepts, for `count` rows of coefficients.
std::string Products(Lift& lift, Steps& steps, std::int64_t count) {
  const Floats coefficients = lift.Take("coefficients", Floats{});
  Floats intercepts = lift.Take("intercepts", Floats{});
  if (count < 1 || coefficients.empty() || std::ssize(coefficients) % count != 0) {
    lift.Reject("has not as many coefficients for each of " + std::to_string(count) + " outputs");
  }
  if (intercepts.empty()) intercepts.resize(static_cast<std::size_t>(count), 0.0F);
  if (std::ssize(intercepts) != count) {
    lift.Reject("needs an intercept for each of " + std::to_string(count) + " outputs");
  }
  const auto shape = lift.InputType(0).shape;
  if (!shape || shape->empty() || shape->size() > 2) lift.Reject("needs rows of features");
  std::string x = AsFloat(lift, steps);
  // A list is one row.
  if (shape->size() == 1) x = steps.Add("Unsqueeze", {x, steps.List({0}, "first")}, "row");
  const Dims dims = {count, std::ssize(coefficients) / count};
  const std::string weights =
      steps.Constant(Tensor::From<float>(DType::kF32, dims, coefficients), "coefficients");
  return steps.Add("Gemm", {x, weights, ListOf(steps, intercepts, "intercepts")}, "products",
                   {{"transB", std::int64_t{1}}});
}

/// Makes `output`, the first of the node or another, what `post_transform` makes of the products.
void EndTransformed(Lift& lift, Steps& steps, const std::string& transform,
                    const std::string& products, std::size_t output) {
  std::string op;
  AttrMap attrs;
  if (transform == "NONE") op = "Identity";
  if (transform == "LOGISTIC") op = "Sigmoid";
  if (transform == "SOFTMAX") {
    op = "Softmax";
    attrs["axis"] = std::int64_t{-1};
  }
  if (op.empty()) {
    lift.Reject("post_transform '" + transform + "'; NONE, LOGISTIC and SOFTMAX are read");
  }
  if (output == 0) {
    steps.End(op, {products}, std::move(attrs));
  } else {
    steps.EndOutput(lift.node.outputs[output], op, {products}, "transformed", std::move(attrs));
  }
}

void LiftLinearRegressor(Lift& lift) {
  const std::int64_t targets = lift.Take("targets", std::int64_t{1});
  const auto transform = lift.Take("post_transform", std::string("NONE"));
  Steps steps(lift);
  EndTransformed(lift, steps, transform, Products(lift, steps, targets), 0);
}

/// Gives the label of the greatest product, and all products.
void LiftLinearClassifier(Lift& lift) {
  const Ints integers = lift.Take("classlabels_ints", Ints{});
  std::vector<std::string> texts;
  if (const auto at = lift.node.attrs.find("classlabels_strings"); at != lift.node.attrs.end()) {
    const auto* given = std::get_if<std::vector<std::string>>(&at->second);
    if (given == nullptr) lift.Reject("attribute 'classlabels_strings' has the wrong type");
    texts = *given;
    lift.node.attrs.erase(at);
  }
  if (integers.empty() == texts.empty()) lift.Reject("needs one list of class labels");
  (void)lift.Take("multi_class", std::int64_t{0});
  const auto transform = lift.Take("post_transform", std::string("NONE"));
  const std::int64_t classes = integers.empty() ? std::ssize(texts) : std::ssize(integers);
  const auto intercepts = lift.node.attrs.find("intercepts");
  const auto* given =
      intercepts == lift.node.attrs.end() ? nullptr : std::get_if<Floats>(&intercepts->second);
  if (classes < 2 || (given != nullptr && std::ssize(*given) < classes)) {
    lift.Reject("has one row of coefficients for two classes; export both rows");
  }
  Steps steps(lift);
  const std::string products = Products(lift, steps, classes);
  if (lift.node.outputs.size() > 1 && !lift.node.outputs[1].empty()) {
    EndTransformed(lift, steps, transform, products, 1);
  }
  Tensor labels = integers.empty() ? Tensor(DType::kString, {classes})
                                   : Tensor::From<std::int64_t>(DType::kI64, {classes}, integers);
  if (integers.empty()) labels.mutable_strings() = std::move(texts);
  const std::string greatest =
      steps.Add("ArgMax", {products}, "greatest",
                {{"axis", std::int64_t{-1}}, {"keepdims", std::int64_t{0}}});
  const std::string label = steps.Constant(std::move(labels), "labels");
  lift.node.outputs.resize(1);
  steps.End("Gather", {label, greatest});
}

/// Divides rows by their greatest number, the sum of their magnitudes, or their Euclidean length;
/// leaves rows alone where that is 0.
void LiftNormalizer(Lift& lift) {
  const auto norm = lift.Take("norm", std::string("MAX"));
  const std::string op = norm == "MAX"  ? "ReduceMax"
                         : norm == "L1" ? "ReduceL1"
                         : norm == "L2" ? "ReduceL2"
                                        : "";
  if (op.empty()) lift.Reject("norm '" + norm + "'; MAX, L1 and L2 are read");
  Steps steps(lift);
  const std::string x = AsFloat(lift, steps);
  const std::string size = steps.Add(op, {x}, "size", {{"axes", Ints{-1}}});
  const std::string none =
      steps.Add("Equal", {size, steps.Number(0.0, DType::kF32, "zero")}, "none");
  const std::string divisor =
      steps.Add("Where", {none, steps.Number(1.0, DType::kF32, "one"), size}, "divisor");
  steps.End("Div", {x, divisor});
}

void RejectZipMap(Lift& lift) {
  lift.Reject(
      "makes maps, which are not read; export the model without it, with skl2onnx by "
      "options={'zipmap': False}");
}

constexpr std::array<LiftRule, 5> kRules = {{
    {"LinearClassifier", kNoEnd, LiftLinearClassifier, 1, kDomain},
    {"LinearRegressor", kNoEnd, LiftLinearRegressor, 1, kDomain},
    {"Normalizer", kNoEnd, LiftNormalizer, 1, kDomain},
    {"Scaler", kNoEnd, LiftScaler, 1, kDomain},
    {"ZipMap", kNoEnd, RejectZipMap, 1, kDomain},
}};

}  // namespace

std::span<const LiftRule> MlLinearLifts() {
  return kRules;
}

}  // namespace msc::detail
