#include "compiler/ir/tensor.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "compiler/base/large_memory.h"

namespace msc {
namespace {

constexpr std::size_t kAlignment = 64;

/// Returns whole lines, at least one, so that the pointer is never null.
std::size_t Rounded(std::size_t bytes) {
  return (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

/// Returns aligned memory, with the pointer to free in front of it. Not std::aligned_alloc: up to
/// glibc 2.37 it takes no free block of the very size that it needs, so that a program that frees
/// and makes large tensors grows.
std::byte* NewMemory(std::size_t rounded) {
  static_assert(alignof(std::max_align_t) >= sizeof(void*));
  void* const block = std::malloc(rounded + kAlignment);
  if (block == nullptr) throw std::bad_alloc();
  auto* const start = static_cast<std::byte*>(block);
  const std::size_t behind = reinterpret_cast<std::uintptr_t>(start) % kAlignment;
  std::byte* const memory = start + (kAlignment - behind);
  if (rounded >= kBytesWithOwnHugePages) AskForHugePages(memory, rounded);
  std::memcpy(memory - sizeof(block), &block, sizeof(block));
  return memory;
}

}  // namespace

void Tensor::Free::operator()(std::byte* bytes) const noexcept {
  void* block = nullptr;
  std::memcpy(&block, bytes - sizeof(block), sizeof(block));
  std::free(block);
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

Tensor Tensor::View(DType dtype, Dims dims, std::span<const std::byte> bytes,
                    std::shared_ptr<const void> owner) {
  if (dtype == DType::kUndefined) throw UserError("a tensor needs an element type");
  if (dtype == DType::kString) throw UserError("a tensor of strings cannot view bytes");
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.size_ = ElementCount(dims);
  tensor.dims_ = std::move(dims);
  Check(bytes.size() == tensor.bytes(), "a view has the bytes that its type and dims need");
  Check(bytes.data() != nullptr && reinterpret_cast<std::uintptr_t>(bytes.data()) % kAlignment == 0,
        "the bytes of a view are aligned");
  tensor.view_ = std::shared_ptr<const std::byte>(std::move(owner), bytes.data());
  return tensor;
}

Tensor::Tensor(const Tensor& other)
    : dtype_(other.dtype_),
      dims_(other.dims_),
      size_(other.size_),
      view_(other.view_),
      strings_(other.strings_) {
  if (!other.buffer_) return;
  buffer_ = Buffer(NewMemory(Rounded(bytes())));
  std::memcpy(buffer_.get(), other.buffer_.get(), Rounded(bytes()));
}

Tensor::Tensor(Tensor&& other) noexcept
    : dtype_(std::exchange(other.dtype_, DType::kUndefined)),
      dims_(std::exchange(other.dims_, {})),
      size_(std::exchange(other.size_, 0)),
      buffer_(std::move(other.buffer_)),
      view_(std::move(other.view_)),
      strings_(std::exchange(other.strings_, {})) {}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  if (this == &other) return *this;
  dtype_ = std::exchange(other.dtype_, DType::kUndefined);
  dims_ = std::exchange(other.dims_, {});
  size_ = std::exchange(other.size_, 0);
  buffer_ = std::move(other.buffer_);
  view_ = std::move(other.view_);
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
  return {first_byte(), bytes()};
}

std::span<std::byte> Tensor::MutableRaw() {
  return {own_bytes(), bytes()};
}

void Tensor::CopyView() {
  buffer_ = Buffer(NewMemory(Rounded(bytes())));
  std::memcpy(buffer_.get(), view_.get(), bytes());
  std::memset(buffer_.get() + bytes(), 0, Rounded(bytes()) - bytes());
  view_.reset();
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
  return bytes() == 0 || std::memcmp(first_byte(), other.first_byte(), bytes()) == 0;
}

}  // namespace msc
