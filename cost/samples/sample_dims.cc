#include "cost/samples/sample_dims.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "compiler/base/error.h"

namespace msc::cost {
namespace {

bool IsOne(const Dim& dim) {
  return dim.known() && dim.size() == 1;
}

/// Returns whether the ranks are equal and every size of `own` is that of `wanted` or left open
/// there.
bool Agrees(const Dims& own, const Shape& wanted) {
  return own.size() == wanted.size() &&
         std::equal(own.begin(), own.end(), wanted.begin(), [](std::int64_t size, const Dim& dim) {
           return !dim.known() || dim.size() == size;
         });
}

Dims WithoutOnes(const Dims& dims) {
  Dims longer;
  std::copy_if(dims.begin(), dims.end(), std::back_inserter(longer),
               [](std::int64_t size) { return size != 1; });
  return longer;
}

/// Returns the dims of `own` in the form of `wanted`, if they agree apart from axes of size 1.
std::optional<Dims> Matched(const Dims& own, const Shape& wanted) {
  if (Agrees(own, wanted)) return own;
  Shape longer;
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(longer),
               [](const Dim& dim) { return !IsOne(dim); });
  const Dims sizes = WithoutOnes(own);
  if (!Agrees(sizes, longer)) return std::nullopt;
  Dims dims;
  std::size_t at = 0;
  for (const Dim& dim : wanted) dims.push_back(IsOne(dim) ? 1 : sizes[at++]);
  return dims;
}

/// Returns whether one side is a flat list of the other side's elements. No order of axes can be
/// wrong then.
bool IsList(const Dims& own, const Dims& wanted) {
  return ElementCount(own) == ElementCount(wanted) &&
         (WithoutOnes(own).size() <= 1 || WithoutOnes(wanted).size() <= 1);
}

}  // namespace

Shape SampleShape(const InputForm& input) {
  if (input.axis.counting != SampleCounting::kAlong) return input.shape;
  const auto axis = static_cast<std::ptrdiff_t>(input.axis.axis);
  if (axis >= std::ssize(input.shape)) {
    throw UserError("the model's input '" + input.name + "', " + ToString(input.shape) +
                    ", has no axis " + std::to_string(axis) +
                    " that counts samples; give --batch-axis " + input.name +
                    "=none (in a config, \"batch_axis\": {\"" + input.name +
                    "\": -1}), or one number for all samples in 'constants'");
  }
  Shape shape = input.shape;
  shape.erase(shape.begin() + axis);
  return shape;
}

std::optional<Dims> FittedDims(const Dims& own, const Shape& wanted) {
  if (auto dims = Matched(own, wanted)) return dims;
  auto sizes = StaticDims(wanted);
  if (sizes && IsList(own, *sizes)) return sizes;
  return std::nullopt;
}

Dims FitDims(const Dims& own, const Shape& wanted, const std::string& path) {
  if (auto dims = FittedDims(own, wanted)) return *std::move(dims);
  Dims turned = own;
  if (!turned.empty()) std::rotate(turned.begin(), turned.end() - 1, turned.end());
  const bool channels_last = own.size() >= 2 && Matched(turned, wanted).has_value();
  throw UserError("one sample of '" + path + "' is " + ToString(own) +
                  "; the model's input needs " + ToString(wanted) +
                  (channels_last ? ". If channels are its last axis, give --layout hwc (in a "
                                   "config, \"layout\": \"hwc\")"
                                 : ""));
}

}  // namespace msc::cost
