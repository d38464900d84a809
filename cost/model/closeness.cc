#include "cost/model/closeness.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "compiler/ops/eval.h"

namespace msc::cost {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

double DifferenceOfFloats(const Tensor& wanted, const Tensor& got) {
  Closeness closeness;
  if (wanted.dtype() == DType::kF32) {
    const auto want = wanted.Values<float>();
    const auto have = got.Values<float>();
    for (std::size_t i = 0; i < want.size(); ++i) {
      closeness.Add(static_cast<double>(want[i]), static_cast<double>(have[i]));
    }
  } else {
    for (std::int64_t i = 0; i < wanted.size(); ++i) {
      closeness.Add(NumberAt(wanted, i), NumberAt(got, i));
    }
  }
  return closeness.Error();
}

/// Returns the share of elements that differ, byte by byte; for every type except strings.
double ShareThatDiffers(const Tensor& wanted, const Tensor& got) {
  if (wanted.size() == 0) return 0;
  const auto count = static_cast<std::size_t>(wanted.size());
  const std::size_t bytes = wanted.bytes() / count;
  std::size_t differ = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool same =
        std::memcmp(wanted.Raw().data() + i * bytes, got.Raw().data() + i * bytes, bytes) == 0;
    differ += same ? 0 : 1;
  }
  return static_cast<double>(differ) / static_cast<double>(count);
}

}  // namespace

void Closeness::Add(double wanted, double got) {
  if (!std::isfinite(wanted) || !std::isfinite(got)) {
    const bool same = wanted == got || (std::isnan(wanted) && std::isnan(got));
    apart_ += same ? 0 : 1;
    return;
  }
  low_ = finite_ == 0 ? wanted : std::min(low_, wanted);
  high_ = finite_ == 0 ? wanted : std::max(high_, wanted);
  ++finite_;
  const double difference = std::abs(got - wanted);
  largest_ = std::max(largest_, difference);
  relative_ = std::max(relative_, difference / std::max(std::abs(wanted), kLeastSize));
}

double Closeness::Error() const {
  if (apart_ > 0) return kInfinite;
  return std::min(largest_ / std::max(high_ - low_, kLeastSize), relative_);
}

double TensorDifference(const Tensor& wanted, const Tensor& got) {
  if (wanted.dtype() != got.dtype() || wanted.dims() != got.dims()) return kInfinite;
  if (wanted.dtype() == DType::kString) return wanted == got ? 0 : 1;
  return IsFloat(wanted.dtype()) ? DifferenceOfFloats(wanted, got) : ShareThatDiffers(wanted, got);
}

std::int64_t CountNotFinite(const Tensor& tensor) {
  if (!IsFloat(tensor.dtype())) return 0;
  std::int64_t count = 0;
  if (tensor.dtype() == DType::kF32) {
    for (const float x : tensor.Values<float>()) count += std::isfinite(x) ? 0 : 1;
    return count;
  }
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    count += std::isfinite(NumberAt(tensor, i)) ? 0 : 1;
  }
  return count;
}

}  // namespace msc::cost
