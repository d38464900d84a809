#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace msc {

/// Sizes of a concrete tensor, outermost first. Every entry >= 0; empty means a scalar.
using Dims = std::vector<std::int64_t>;

/// Product of all entries. Throws UserError if one is negative or the product overflows 2^40.
[[nodiscard]] std::int64_t ElementCount(std::span<const std::int64_t> dims);
/// "[1,3,224,224]".
[[nodiscard]] std::string ToString(const Dims& dims);

/// One dimension of a type: a number, a name that a caller binds later, or unknown.
class Dim {
 public:
  Dim() = default;  ///< unknown
  /// A negative size is an unknown one.
  Dim(std::int64_t size)  // NOLINT(google-explicit-constructor): Shape{1, 3, 8, 8}
      : size_(size < 0 ? -1 : size) {}
  [[nodiscard]] static Dim Symbol(std::string name);

  [[nodiscard]] bool known() const noexcept { return size_ >= 0; }
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }  ///< -1 unless known()
  [[nodiscard]] const std::string& symbol() const noexcept { return symbol_; }  ///< or empty
  bool operator==(const Dim&) const = default;

 private:
  std::int64_t size_ = -1;
  std::string symbol_;
};

using Shape = std::vector<Dim>;
/// What a caller says of symbolic dimensions, by name.
using ShapeBindings = std::map<std::string, std::int64_t>;

/// The numbers, if every dimension is one.
[[nodiscard]] std::optional<Dims> StaticDims(const Shape& shape);
/// Replaces bound symbols by their numbers; leaves the rest.
[[nodiscard]] Shape Bind(const Shape& shape, const ShapeBindings& bindings);
[[nodiscard]] Shape ToShape(std::span<const std::int64_t> dims);
/// "[batch,3,?,8]".
[[nodiscard]] std::string ToString(const Shape& shape);

}  // namespace msc
