#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ir/tensor.h"
#include "compiler/targets/register.h"

namespace msc {

inline TargetRegistry Targets() {
  TargetRegistry registry;
  RegisterAllTargets(registry);
  return registry;
}

/// Returns seeded, normally distributed values.
inline Tensor RandomTensor(const Dims& dims, std::uint64_t seed) {
  Tensor tensor(DType::kF32, dims);
  Rng rng(seed);
  for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng.Normal());
  return tensor;
}

/// Returns the largest difference relative to the largest magnitude of `wanted`.
inline double Error(const Tensor& got, const Tensor& wanted) {
  EXPECT_EQ(got.dims(), wanted.dims());
  double largest = 1e-9;
  double difference = 0;
  const auto a = got.Values<float>();
  const auto b = wanted.Values<float>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(b[i])));
    difference = std::max(difference, std::abs(static_cast<double>(a[i]) - b[i]));
  }
  return difference / largest;
}

/// Returns the message of the UserError that `call` throws, or "accepted".
template <class Call>
std::string Refusal(const Call& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace msc
