#include "compiler/ir/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace msc {
namespace {

constexpr std::size_t kAlignment = 64;

/// Rounds up because std::aligned_alloc requires a multiple of the alignment. Returns at least one
/// line, so that the pointer is never null.
std::size_t Rounded(std::size_t bytes) {
  return (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

std::byte* NewMemory(std::size_t rounded) {
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void Tensor::Free::operator()(std::byte* bytes) const noexcept {
  std::free(bytes);
}

Tensor::Tensor(DType dtype, Dims dims) : dtype_(dtype), dims_(std::move(dims)) {
  if (dtype == DType::kUndefined) throw UserError("a tensor needs an element type");
  size_ = ElementCount(dims_);
  Allocate();
}

void Tensor::Allocate() {
  if (dtype_ == DType::kString) {
    strings_.resize(static_cast<std::size_t>(size_));
    return;
  }
  buffer_ = Buffer(NewMemory(Rounded(bytes())));
  std::memset(buffer_.get(), 0, Rounded(bytes()));
}

Tensor::Tensor(const Tensor& other)
    : dtype_(other.dtype_), dims_(other.dims_), size_(other.size_), strings_(other.strings_) {
  if (!other.buffer_) return;
  buffer_ = Buffer(NewMemory(Rounded(bytes())));
  std::memcpy(buffer_.get(), other.buffer_.get(), Rounded(bytes()));
}

Tensor::Tensor(Tensor&& other) noexcept
    : dtype_(std::exchange(other.dtype_, DType::kUndefined)),
      dims_(std::exchange(other.dims_, {})),
      size_(std::exchange(other.size_, 0)),
      buffer_(std::move(other.buffer_)),
      strings_(std::exchange(other.strings_, {})) {}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  if (this == &other) return *this;
  dtype_ = std::exchange(other.dtype_, DType::kUndefined);
  dims_ = std::exchange(other.dims_, {});
  size_ = std::exchange(other.size_, 0);
  buffer_ = std::move(other.buffer_);
  strings_ = std::exchange(other.strings_, {});
  return *this;
}

Tensor& Tensor::operator=(const Tensor& other) {
  if (this != &other) *this = Tensor(other);
  return *this;
}

std::size_t Tensor::bytes() const noexcept {
  return static_cast<std::size_t>(size_) * ByteSize(dtype_);
}

std::span<const std::byte> Tensor::Raw() const noexcept {
  return {buffer_.get(), bytes()};
}

std::span<std::byte> Tensor::MutableRaw() noexcept {
  return {buffer_.get(), bytes()};
}

Tensor Tensor::Reshaped(Dims dims) const {
  if (ElementCount(dims) != size_) {
    throw UserError("cannot reshape " + ToString(dims_) + " to " + ToString(dims));
  }
  Tensor copy = *this;
  copy.dims_ = std::move(dims);
  return copy;
}

bool Tensor::operator==(const Tensor& other) const {
  if (dtype_ != other.dtype_ || dims_ != other.dims_ || strings_ != other.strings_) return false;
  return bytes() == 0 || std::memcmp(buffer_.get(), other.buffer_.get(), bytes()) == 0;
}

}  // namespace msc
