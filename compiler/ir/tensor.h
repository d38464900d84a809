#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "compiler/base/dtype.h"
#include "compiler/base/error.h"
#include "compiler/base/shape.h"

namespace msc {

/// Returns whether Tensor::Values<T> may be called for `dtype`. f16 and bf16 are read as
/// std::uint16_t, bool as std::uint8_t.
template <class T>
[[nodiscard]] bool Holds(DType dtype);

/// Dense row-major array, 64-byte aligned. A copy copies the values; weights are shared as
/// std::shared_ptr<const Tensor>. A tensor owns its bytes or views bytes of someone else, which it
/// copies before it changes them.
class Tensor {
 public:
  Tensor() = default;
  /// Makes a tensor of zeros (or empty strings). Throws UserError for an undefined type or invalid
  /// dims.
  Tensor(DType dtype, Dims dims);
  Tensor(const Tensor& other);
  Tensor& operator=(const Tensor& other);
  /// Moves the tensor; the source equals a default-constructed one afterwards.
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor() = default;
  /// Makes a tensor from one value per element, in order. Throws UserError if the counts differ.
  template <class T>
  [[nodiscard]] static Tensor From(DType dtype, Dims dims, std::span<const T> values);

  /// Makes a tensor that views `bytes`, which must be 64-byte aligned and have the size that type
  /// and dims need (else InternalError). `owner` keeps them alive and nobody may change them.
  /// Copies of the tensor view the same bytes. Throws UserError for strings, an undefined type or
  /// invalid dims.
  [[nodiscard]] static Tensor View(DType dtype, Dims dims, std::span<const std::byte> bytes,
                                   std::shared_ptr<const void> owner);

  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] const Dims& dims() const noexcept { return dims_; }
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }  ///< elements
  [[nodiscard]] std::size_t bytes() const noexcept;

  /// Returns the elements. T must match the type (see Holds), else InternalError.
  template <class T>
  [[nodiscard]] std::span<const T> Values() const;
  /// As Values and Raw, to change the elements. A view first gets a copy of its bytes, so that
  /// spans from before the first such call keep showing what was there.
  template <class T>
  [[nodiscard]] std::span<T> MutableValues();
  /// Returns the bytes of the elements; empty for strings.
  [[nodiscard]] std::span<const std::byte> Raw() const noexcept;
  [[nodiscard]] std::span<std::byte> MutableRaw();
  /// Returns whether the tensor views bytes that it does not own.
  [[nodiscard]] bool is_view() const noexcept { return view_ != nullptr; }
  [[nodiscard]] const std::vector<std::string>& strings() const noexcept { return strings_; }
  [[nodiscard]] std::vector<std::string>& mutable_strings() noexcept { return strings_; }

  /// Returns a copy with other dims of equal element count; otherwise throws UserError.
  [[nodiscard]] Tensor Reshaped(Dims dims) const;
  /// Returns whether type, dims and bytes are equal.
  bool operator==(const Tensor& other) const;

 private:
  struct Free {
    void operator()(std::byte* bytes) const noexcept;
  };
  using Buffer = std::unique_ptr<std::byte[], Free>;  // NOLINT(modernize-avoid-c-arrays)

  void Allocate();
  [[nodiscard]] const std::byte* first_byte() const noexcept {
    return view_ ? view_.get() : buffer_.get();
  }
  [[nodiscard]] std::byte* own_bytes() {
    if (view_) CopyView();
    return buffer_.get();
  }
  /// Replaces the view by a copy of its bytes.
  void CopyView();

  DType dtype_ = DType::kUndefined;
  Dims dims_;
  std::int64_t size_ = 0;
  Buffer buffer_;                          ///< empty for a view
  std::shared_ptr<const std::byte> view_;  ///< the first byte, with its owner
  std::vector<std::string> strings_;
};

template <class T>
bool Holds(DType dtype) {
  if constexpr (std::is_same_v<T, float>) return dtype == DType::kF32;
  if constexpr (std::is_same_v<T, double>) return dtype == DType::kF64;
  if constexpr (std::is_same_v<T, std::int8_t>) return dtype == DType::kI8;
  if constexpr (std::is_same_v<T, std::uint8_t>)
    return dtype == DType::kU8 || dtype == DType::kBool;
  if constexpr (std::is_same_v<T, std::int16_t>) return dtype == DType::kI16;
  if constexpr (std::is_same_v<T, std::uint16_t>) {
    return dtype == DType::kU16 || dtype == DType::kF16 || dtype == DType::kBF16;
  }
  if constexpr (std::is_same_v<T, std::int32_t>) return dtype == DType::kI32;
  if constexpr (std::is_same_v<T, std::uint32_t>) return dtype == DType::kU32;
  if constexpr (std::is_same_v<T, std::int64_t>) return dtype == DType::kI64;
  if constexpr (std::is_same_v<T, std::uint64_t>) return dtype == DType::kU64;
  return false;
}

template <class T>
std::span<const T> Tensor::Values() const {
  Check(Holds<T>(dtype_), "Tensor::Values is asked for the type the tensor has");
  return {reinterpret_cast<const T*>(first_byte()), static_cast<std::size_t>(size_)};
}

template <class T>
std::span<T> Tensor::MutableValues() {
  Check(Holds<T>(dtype_), "Tensor::MutableValues is asked for the type the tensor has");
  return {reinterpret_cast<T*>(own_bytes()), static_cast<std::size_t>(size_)};
}

template <class T>
Tensor Tensor::From(DType dtype, Dims dims, std::span<const T> values) {
  Tensor tensor(dtype, std::move(dims));
  if (static_cast<std::size_t>(tensor.size()) != values.size()) {
    throw UserError("a tensor of shape " + ToString(tensor.dims()) + " was given " +
                    std::to_string(values.size()) + " values");
  }
  const std::span<T> out = tensor.MutableValues<T>();
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = values[i];
  return tensor;
}

}  // namespace msc
