#include "compiler/targets/blas/close.h"

#include <algorithm>
#include <cmath>

namespace msc::blas {
namespace {

/// One row: `act(value, column)` after bias and residual. A template, so that every kind of
/// activation gets a loop of its own that the compiler can vectorize.
template <class Act>
void CloseRow(const Closing& closing, std::int64_t row, const float* residual, std::int64_t columns,
              float* c, const Act& act) {
  const bool has_bias = !closing.bias.empty();
  if (has_bias && !closing.channel_is_row) {
    const float* const bias = closing.bias.data();
    for (std::int64_t i = 0; i < columns; ++i) c[i] += bias[i];
  }
  const float shift = has_bias && closing.channel_is_row
                          ? closing.bias[static_cast<std::size_t>(row % closing.channels)]
                          : 0.0F;
  if (residual != nullptr) {
    for (std::int64_t i = 0; i < columns; ++i) c[i] = act(c[i] + shift + residual[i], i);
  } else {
    for (std::int64_t i = 0; i < columns; ++i) c[i] = act(c[i] + shift, i);
  }
}

}  // namespace

void CloseRows(const Closing& closing, const float* residual, std::int64_t columns,
               std::int64_t begin, std::int64_t end, float* c) {
  const Activation& activation = closing.activation;
  const float alpha = activation.alpha;
  const float beta = activation.beta;
  const auto close = [&](const auto& act) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* const added = residual != nullptr ? residual + row * columns : nullptr;
      CloseRow(closing, row, added, columns, c + row * columns,
               [&](float v, std::int64_t column) { return act(v, row, column); });
    }
  };
  using Index = std::int64_t;
  if (activation.op.empty()) {
    close([](float v, Index, Index) { return v; });
  } else if (activation.op == "Relu") {
    close([](float v, Index, Index) { return v > 0 ? v : 0.0F; });
  } else if (activation.op == "Clip") {
    close([=](float v, Index, Index) { return std::min(std::max(v, alpha), beta); });
  } else if (activation.op == "LeakyRelu") {
    close([=](float v, Index, Index) { return v < 0 ? alpha * v : v; });
  } else if (activation.op == "HardSwish") {
    close([](float v, Index, Index) {
      return v * std::min(std::max(v * (1.0F / 6.0F) + 0.5F, 0.0F), 1.0F);
    });
  } else if (activation.op == "PRelu") {
    const float* const slopes = closing.slope.data();
    const Index channels = closing.channels;
    if (closing.channel_is_row) {
      close([=](float v, Index row, Index) { return v < 0 ? slopes[row % channels] * v : v; });
    } else {
      close([=](float v, Index, Index column) { return v < 0 ? slopes[column] * v : v; });
    }
  } else {
    close([&](float v, Index, Index) { return static_cast<float>(Activate(activation, v, 0)); });
  }
}

}  // namespace msc::blas
