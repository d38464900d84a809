#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/ops/eval.h"

namespace msc {

/// Computes y[i] = fn(a[i], b[i]) with numpy broadcasting. Both shapes must broadcast to those of
/// `y`.
template <class A, class B, class Y, class Fn>
void BroadcastInto(const Tensor& a, const Tensor& b, Tensor& y, Fn fn) {
  const Dims& dims = y.dims();
  const A* from_a = a.Values<A>().data();
  const B* from_b = b.Values<B>().data();
  Y* to = y.MutableValues<Y>().data();
  if (a.dims() == dims && b.dims() == dims) {
    for (std::int64_t i = 0; i < y.size(); ++i) to[i] = static_cast<Y>(fn(from_a[i], from_b[i]));
    return;
  }
  const Dims stride_a = BroadcastStrides(a.dims(), dims);
  const Dims stride_b = BroadcastStrides(b.dims(), dims);
  const std::int64_t row = dims.empty() ? 1 : dims.back();
  const std::int64_t step_a = dims.empty() ? 0 : stride_a.back();
  const std::int64_t step_b = dims.empty() ? 0 : stride_b.back();
  ForEachRow(dims, {stride_a, stride_b}, [&](std::span<const std::int64_t> at) {
    for (std::int64_t i = 0; i < row; ++i, ++to) {
      *to = static_cast<Y>(fn(from_a[at[0] + i * step_a], from_b[at[1] + i * step_b]));
    }
  });
}

}  // namespace msc
