#include "compiler/compress/distill/torch/fake_quantize.h"

#include <algorithm>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

// libtorch 1.13 computes this by a dozen passes over memory, or by a function whose forward pass
// alone takes five times as long as all of this.

namespace msc::detail {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Adding and subtracting it rounds a value below 2^22 to an integer, halves to even.
constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23
constexpr std::int64_t kPart = 32768;    // elements that one thread computes at a time

struct Range {
  float least = 0;
  float most = 0;
  float reach = 0;
};

void Round(const float* x, float* y, std::int64_t count, float step, Range range) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    float steps = x[i] / step;
    steps = steps < range.least ? range.least : steps;
    steps = steps > range.most ? range.most : steps;
    y[i] = ((steps + kRounder) - kRounder) * step;
  }
}

/// Returns the part's gradient of the step.
float RoundBackwards(const float* x, const float* dy, float* dx, std::int64_t count, float step,
                     Range range) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) {
    const float steps = x[i] / step;
    float clipped = steps < range.least ? range.least : steps;
    clipped = clipped > range.most ? range.most : clipped;
    const float rounded = (clipped + kRounder) - kRounder;
    const bool inside = steps >= range.least - range.reach && steps <= range.most + range.reach;
    dx[i] = inside ? dy[i] : 0.0F;
    sum += dy[i] * (rounded - (inside ? steps : 0.0F));
  }
  return sum;
}

/// Runs of elements that share a step, cut into parts of at most kPart.
class Parts {
 public:
  Parts(const Tensor& x, const Tensor& step, std::int64_t axis) : channels_(step.numel()) {
    inner_ = x.numel();
    if (channels_ == 1) return;
    inner_ = 1;
    for (std::int64_t i = axis + 1; i < x.dim(); ++i) inner_ *= x.size(i);
  }

  [[nodiscard]] std::int64_t count(const Tensor& x) const {
    return inner_ == 0 ? 0 : x.numel() / inner_ * PartsOfRun();
  }
  struct Part {
    std::int64_t first = 0;
    std::int64_t count = 0;
    std::int64_t channel = 0;
  };
  [[nodiscard]] Part At(std::int64_t index) const {
    const std::int64_t run = index / PartsOfRun();
    const std::int64_t begin = index % PartsOfRun() * kPart;
    return {run * inner_ + begin, std::min(kPart, inner_ - begin), run % channels_};
  }
  /// Returns how many parts a thread should take at least.
  [[nodiscard]] std::int64_t Grain() const { return std::max<std::int64_t>(1, kPart / inner_); }

 private:
  [[nodiscard]] std::int64_t PartsOfRun() const { return (inner_ + kPart - 1) / kPart; }

  std::int64_t channels_ = 1;
  std::int64_t inner_ = 1;  ///< elements of a run
};

/// Returns the tensor in a form without gaps, in which elements along an axis follow each other if
/// the axis has steps of its own.
Tensor Dense(const Tensor& x, const Tensor& step) {
  return step.numel() == 1 && x.is_non_overlapping_and_dense() ? x : x.contiguous();
}

class Function : public torch::autograd::Function<Function> {
 public:
  // NOLINTNEXTLINE(readability-identifier-naming): libtorch calls it
  static Tensor forward(AutogradContext* context, const Tensor& input, const Tensor& step,
                        double least, double most, double reach, std::int64_t axis, double factor) {
    const Tensor x = Dense(input, step);
    const Tensor steps = step.contiguous();
    context->save_for_backward({x, steps});
    context->saved_data["least"] = least;
    context->saved_data["most"] = most;
    context->saved_data["reach"] = reach;
    context->saved_data["axis"] = axis;
    context->saved_data["factor"] = factor;
    const Range range{static_cast<float>(least), static_cast<float>(most)};
    Tensor y = at::empty_like(x);
    const Parts parts(x, steps, axis);
    const auto* const from = x.data_ptr<float>();
    const auto* const of = steps.data_ptr<float>();
    auto* const to = y.data_ptr<float>();
    at::parallel_for(0, parts.count(x), parts.Grain(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const Parts::Part part = parts.At(i);
        Round(from + part.first, to + part.first, part.count, of[part.channel], range);
      }
    });
    return y;
  }

  // NOLINTNEXTLINE(readability-identifier-naming): libtorch calls it
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor& x = saved.at(0);
    const Tensor& steps = saved.at(1);
    const Range range{static_cast<float>(context->saved_data["least"].toDouble()),
                      static_cast<float>(context->saved_data["most"].toDouble()),
                      static_cast<float>(context->saved_data["reach"].toDouble())};
    const double factor = context->saved_data["factor"].toDouble();
    Tensor dy = gradients.at(0);
    if (dy.strides() != x.strides()) {
      const Tensor same = at::empty_like(x);
      same.copy_(dy);
      dy = same;
    }
    Tensor dx = at::empty_like(x);
    Tensor dstep = at::empty_like(steps);
    const Parts parts(x, steps, context->saved_data["axis"].toInt());
    const std::int64_t count = parts.count(x);
    std::vector<float> sums(static_cast<std::size_t>(count));
    const auto* const from = x.data_ptr<float>();
    const auto* const of = steps.data_ptr<float>();
    const auto* const by = dy.data_ptr<float>();
    auto* const to = dx.data_ptr<float>();
    at::parallel_for(0, count, parts.Grain(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const Parts::Part part = parts.At(i);
        sums[static_cast<std::size_t>(i)] =
            RoundBackwards(from + part.first, by + part.first, to + part.first, part.count,
                           of[part.channel], range);
      }
    });
    // In the order of the parts, whichever thread computed them.
    std::vector<double> totals(static_cast<std::size_t>(steps.numel()));
    for (std::int64_t i = 0; i < count; ++i) {
      totals[static_cast<std::size_t>(parts.At(i).channel)] +=
          static_cast<double>(sums[static_cast<std::size_t>(i)]);
    }
    auto* const out = dstep.data_ptr<float>();
    for (std::size_t c = 0; c < totals.size(); ++c) out[c] = static_cast<float>(totals[c] * factor);
    return {dx,      dstep.reshape(saved.at(1).sizes()), Tensor(), Tensor(), Tensor(), Tensor(),
            Tensor()};
  }
};

}  // namespace

Tensor FakeQuantize(const Tensor& x, const Tensor& step, Levels levels, std::int64_t axis,
                    double factor) {
  return Function::apply(x, step, levels.least, levels.most, levels.reach, axis, factor);
}

}  // namespace msc::detail
