#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace msc {

/// Sizes of a tensor, outermost dimension first. Every entry is >= 0; empty means a scalar.
using Dims = std::vector<std::int64_t>;

/// Returns the product of all entries. Throws UserError if an entry is negative or the product
/// exceeds 2^40.
[[nodiscard]] std::int64_t ElementCount(std::span<const std::int64_t> dims);
/// Formats `dims` as "[1,3,224,224]".
[[nodiscard]] std::string ToString(const Dims& dims);

/// One dimension of a tensor type: a number, a symbolic name that a caller binds later, or unknown.
class Dim {
 public:
  Dim() = default;  ///< unknown
  /// Makes a dimension of `size`; a negative size means unknown.
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
/// Sizes that a caller gives to symbolic dimensions, by name.
using ShapeBindings = std::map<std::string, std::int64_t>;

/// Returns the sizes, or nullopt if a dimension is not a number.
[[nodiscard]] std::optional<Dims> StaticDims(const Shape& shape);
/// Replaces symbols named in `bindings` by their sizes; keeps the other dimensions.
[[nodiscard]] Shape Bind(const Shape& shape, const ShapeBindings& bindings);
[[nodiscard]] Shape ToShape(std::span<const std::int64_t> dims);
/// Formats `shape` as "[batch,3,?,8]".
[[nodiscard]] std::string ToString(const Shape& shape);

}  // namespace msc
