#pragma once

// Tensors for op_cases.cc, the same in every run.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/rng.h"
#include "compiler/ir/graph.h"

namespace msc {

using Ints = std::vector<std::int64_t>;

/// Values of -2 to 2 in steps of 1/8.
inline Tensor F32(Dims dims, std::uint64_t seed = 1) {
  Tensor tensor(DType::kF32, std::move(dims));
  Rng rng(seed);
  for (float& value : tensor.MutableValues<float>()) {
    value = (static_cast<float>(rng.Below(33)) - 16.0F) / 8.0F;
  }
  return tensor;
}

/// Values of 1/8 to 4.
inline Tensor Positive(Dims dims) {
  Tensor tensor = F32(std::move(dims));
  for (float& value : tensor.MutableValues<float>()) value = value + 2.125F;
  return tensor;
}

inline Tensor BF16(Dims dims) {
  const Tensor wide = F32(std::move(dims));
  Tensor tensor(DType::kBF16, wide.dims());
  const auto to = tensor.MutableValues<std::uint16_t>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = ToBF16(wide.Values<float>()[i]);
  return tensor;
}

inline Tensor I8(Dims dims) {
  Tensor tensor(DType::kI8, std::move(dims));
  Rng rng(2);
  for (std::int8_t& value : tensor.MutableValues<std::int8_t>()) {
    value = static_cast<std::int8_t>(static_cast<int>(rng.Below(256)) - 128);
  }
  return tensor;
}

inline Tensor U8(Dims dims) {
  Tensor tensor(DType::kU8, std::move(dims));
  Rng rng(3);
  for (std::uint8_t& value : tensor.MutableValues<std::uint8_t>()) {
    value = static_cast<std::uint8_t>(rng.Below(256));
  }
  return tensor;
}

inline Tensor Bool(Dims dims) {
  Tensor tensor(DType::kBool, std::move(dims));
  Rng rng(4);
  for (std::uint8_t& value : tensor.MutableValues<std::uint8_t>()) {
    value = static_cast<std::uint8_t>(rng.Below(2));
  }
  return tensor;
}

inline Tensor I64(const Ints& values) {
  return Tensor::From<std::int64_t>(DType::kI64, {static_cast<std::int64_t>(values.size())},
                                    values);
}

inline Tensor Scalar(std::int64_t value) {
  return I64({value}).Reshaped({});
}

inline Tensor Scalar(float value) {
  return Tensor::From<float>(DType::kF32, {}, std::vector<float>{value});
}

inline Tensor Strings(Dims dims, std::vector<std::string> values) {
  Tensor tensor(DType::kString, std::move(dims));
  tensor.mutable_strings() = std::move(values);
  return tensor;
}

}  // namespace msc
