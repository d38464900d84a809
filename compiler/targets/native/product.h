#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "compiler/targets/native/epilogue.h"
#include "compiler/targets/native/product_weights.h"
#include "compiler/targets/native/schedule.h"

namespace msc::native {

/// Y[n, g, c, h, w] = sum over taps (kh, kw) and depth k of
///     X[n, g, k, h*stride_h + kh*dilation_h, w*stride_w + kw*dilation_w] * W[g, c, k, kh, kw]
/// in f32, X and W f32 or bf16, or in i32, exactly, of X - x_zero where X is u8 or i8 and W is i8.
/// A matrix product is the case of one tap, its rows along w, its batch along n and g.
struct Product {
  View x;  ///< dims n, g, k, h, w with k side by side, from the first tap of the first pixel on
  /// Where given, writes the entries of X at one (n, h), before they are read. Rows are outer then.
  std::function<void(const Expr& n, const Expr& h, Body& body)> fill = {};
  std::int64_t x_zero = 0;
  std::vector<std::int32_t> bias = {};  ///< bytes: added to the sums, [groups * channels] or none
  std::optional<View> start = {};       ///< f32: what sums start from, where Y is: n, g, c, h, w
  bool slack = true;                    ///< bytes: whether three behind the last may be read
  std::int64_t channels = 1;            ///< c
  std::int64_t kernel_h = 1;
  std::int64_t kernel_w = 1;
  std::int64_t stride_h = 1;
  std::int64_t stride_w = 1;
  std::int64_t dilation_h = 1;
  std::int64_t dilation_w = 1;

  [[nodiscard]] std::int64_t groups() const { return x.dims[1]; }
  [[nodiscard]] std::int64_t depth() const { return x.dims[2]; }
  [[nodiscard]] bool bytes() const { return ByteSize(x.dtype) == 1; }
  /// Entries of X that one step of the sum takes.
  [[nodiscard]] std::int64_t step() const { return StepOf(x.dtype); }
  /// Whether the taps of one row lie side by side in X: they are one long depth.
  [[nodiscard]] bool joined() const { return dilation_w * x.strides[4] == depth(); }
  /// Runs of entries that lie side by side at one row of taps, how long each is, and its steps.
  [[nodiscard]] std::int64_t runs() const { return joined() ? 1 : kernel_w; }
  [[nodiscard]] std::int64_t run() const { return joined() ? kernel_w * depth() : depth(); }
  [[nodiscard]] std::int64_t run_steps() const { return (run() + step() - 1) / step(); }
  /// Steps of one sum, and weights that they take a channel.
  [[nodiscard]] std::int64_t steps() const { return kernel_h * runs() * run_steps(); }
  [[nodiscard]] std::int64_t weights() const { return steps() * step(); }
};
/// Products of bytes over so many entries fit 32 bits.
inline constexpr std::int64_t kDeepestBytes = 65536;

/// [n, channels, h, w] as [n, groups, channels of a group, h, w].
[[nodiscard]] View SplitGroups(const View& view, std::int64_t groups);

/// The loops: register tiles of tile.columns pixels by tile.vectors vectors of channels, all of the
/// depth summed in registers. Views of the epilogue have dims n, g, c, h, w. `kind` is that of the
/// outermost loop.
[[nodiscard]] Body ProductBody(KernelWriter& writer, const VectorUnit& unit, const Product& product,
                               const TileSchedule& tile, const PackedWeights& packed,
                               const Epilogue& epilogue,
                               kernel::LoopKind kind = kernel::LoopKind::kParallel);

/// The same in f32 for one n and group, with weights of that group alone.
[[nodiscard]] Body ProductOf(KernelWriter& writer, const VectorUnit& unit, const Product& product,
                             const TileSchedule& tile, const View& weights,
                             const Epilogue& epilogue, const Expr& n, const Expr& group);

}  // namespace msc::native
