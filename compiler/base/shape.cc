#include "compiler/base/shape.h"

#include <utility>

#include "compiler/base/error.h"

namespace msc {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

}  // namespace

std::int64_t ElementCount(std::span<const std::int64_t> dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0) throw UserError("a tensor has a negative dimension " + std::to_string(dim));
    if (__builtin_mul_overflow(count, dim, &count) || count > kMaxElements) {
      throw UserError("a tensor has more than 2^40 elements");
    }
  }
  return count;
}

std::string ToString(const Dims& dims) {
  return ToString(ToShape(dims));
}

Dim Dim::Symbol(std::string name) {
  Dim dim;
  dim.symbol_ = std::move(name);
  return dim;
}

std::optional<Dims> StaticDims(const Shape& shape) {
  Dims dims;
  dims.reserve(shape.size());
  for (const Dim& dim : shape) {
    if (!dim.known()) return std::nullopt;
    dims.push_back(dim.size());
  }
  return dims;
}

Shape Bind(const Shape& shape, const ShapeBindings& bindings) {
  Shape bound = shape;
  for (Dim& dim : bound) {
    const auto it = bindings.find(dim.symbol());
    if (!dim.symbol().empty() && it != bindings.end()) dim = Dim(it->second);
  }
  return bound;
}

Shape ToShape(std::span<const std::int64_t> dims) {
  return {dims.begin(), dims.end()};
}

std::string ToString(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) text += ',';
    if (shape[i].known()) {
      text += std::to_string(shape[i].size());
    } else {
      text += shape[i].symbol().empty() ? "?" : shape[i].symbol();
    }
  }
  return text + "]";
}

}  // namespace msc
