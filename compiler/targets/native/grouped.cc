#include <utility>

#include "compiler/targets/native/conv_problem.h"
#include "compiler/targets/native/quantize.h"

namespace msc::native {
namespace {

using kernel::Access;
using kernel::Int;
using kernel::VarId;

/// Packs the weights as [channel vector][kernel_h][depth][kernel_w][lanes], in f32, which holds
/// sums of bytes exactly.
View PackedTaps(Lowering& lowering, const ConvProblem& problem) {
  const int lanes = lowering.unit().lanes;
  const std::int64_t channels = problem.channels();
  const std::int64_t depth = problem.depth();
  const std::int64_t kernel_w = problem.window.kernel[1];
  const std::int64_t taps = problem.window.kernel[0] * kernel_w;
  const std::int64_t vectors = (channels + lanes - 1) / lanes;
  return lowering.Constant(DType::kF32, vectors * taps * depth * lanes, [&](Tensor& tensor) {
    const std::span<float> out = tensor.MutableValues<float>();
    std::vector<float> row(static_cast<std::size_t>(depth));
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t t = 0; t < taps; ++t) {
        problem.ReadWeights(c, t, row);
        for (std::int64_t k = 0; k < depth; ++k) {
          const std::int64_t at = (t / kernel_w * depth + k) * kernel_w + t % kernel_w;
          out[static_cast<std::size_t>((c / lanes * taps * depth + at) * lanes + c % lanes)] =
              row[static_cast<std::size_t>(k)];
        }
      }
    }
  });
}

/// Computes the initial sums of groups of one channel: bias + sum (x - zero) w = bias - zero sum w
/// + sum x w.
View Starts(Lowering& lowering, const ConvProblem& problem) {
  const int lanes = lowering.unit().lanes;
  const std::int64_t channels = problem.channels();
  const std::int64_t taps = problem.window.kernel[0] * problem.window.kernel[1];
  const std::int64_t vectors = (channels + lanes - 1) / lanes;
  return lowering.Constant(DType::kF32, vectors * lanes, [&](Tensor& tensor) {
    // Whole numbers below 2^24 (ExactInF32), so the sums in f32 are exact.
    const std::span<float> out = tensor.MutableValues<float>();
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto at = static_cast<std::size_t>(c);
      if (!problem.whole_bias.empty()) out[at] = static_cast<float>(problem.whole_bias[at]);
      for (std::int64_t t = 0; t < taps; ++t) {
        out[at] -= static_cast<float>(problem.x_zero) * problem.weight(c, t);
      }
    }
  });
}

/// Writes one row of taps. Each entry of X is read once and added to all sums that use it. `w`
/// holds the weights of the taps; `load` reads an entry by its distance from the first.
template <class Load>
void AddTaps(KernelWriter& writer, const Window& window, const std::vector<VarId>& sums,
             const std::vector<Expr>& w, const Load& load, Body& body) {
  const std::int64_t stride = window.strides[1];
  const std::int64_t dilation = window.dilations[1];
  const auto columns = static_cast<std::int64_t>(sums.size());
  const auto taps = static_cast<std::int64_t>(w.size());
  for (std::int64_t seen = 0; seen <= (columns - 1) * stride + (taps - 1) * dilation; ++seen) {
    Expr value = nullptr;
    for (std::int64_t i = 0; i < columns; ++i) {
      // Column i starts at entry i * stride; its taps are `dilation` entries apart.
      const std::int64_t from = seen - i * stride;
      if (from < 0 || from % dilation != 0 || from / dilation >= taps) continue;
      if (value == nullptr) value = writer.Bind(load(seen), body);
      const VarId sum = sums[static_cast<std::size_t>(i)];
      const Expr& weight = w[static_cast<std::size_t>(from / dilation)];
      body.push_back(
          {kernel::Assign{.var = sum, .value = kernel::Var(sum, value->type) + value * weight}});
    }
  }
}

}  // namespace

void LowerGrouped(Lowering& lowering, const Group& group, const ConvProblem& problem) {
  const Window& window = problem.window;
  const int lanes = lowering.unit().lanes;
  const std::int64_t channels = problem.channels();
  const std::int64_t depth = problem.depth();
  const std::int64_t kernel_h = window.kernel[0];
  const std::int64_t kernel_w = window.kernel[1];
  const View x = FirstTaps(lowering, problem);
  const ValueId result = ResultOf(lowering.graph(), group);
  const Epilogue epilogue(lowering, group, lowering.Out(result, AxisOrder(4)), 1);

  const std::int64_t taps = kernel_h * kernel_w;
  const View weights = PackedTaps(lowering, problem);
  // Sums of f32 start at 0, and the epilogue adds a bias.
  const bool starts = problem.x_zero != 0 || !problem.whole_bias.empty();
  const View start = starts ? Starts(lowering, problem) : View();

  KernelWriter writer = lowering.Writer(depth == 1 ? "depthwise" : "grouped");
  const kernel::BufferRef x_buffer = writer.Use(x, Access::kRead);
  const kernel::BufferRef w_buffer = writer.Use(weights, Access::kRead);
  const kernel::Type vector{DType::kF32, lanes};
  const Dims& out = problem.out_dims;

  // Writes a register tile: `columns` pixels of a row by a vector of channels.
  const auto tile = [&](const Expr& n, const Expr& row, const Expr& column, const Expr& c,
                        int columns, int valid, Body& body) {
    std::vector<VarId> sums;
    Expr zero = kernel::Float(0, lanes);
    if (starts) {
      zero = writer.Bind(kernel::Load(writer.Use(start, Access::kRead), c * lanes, vector), body);
    }
    for (int i = 0; i < columns; ++i) {
      sums.push_back(writer.NewVar());
      body.push_back({kernel::Let{.var = sums.back(), .value = zero}});
    }
    const std::vector<Expr> at{n, c * lanes, row * window.strides[0], column * window.strides[1]};
    const Expr first = writer.Bind(KernelWriter::IndexOf(x, at), body);
    const Expr w_first = writer.Bind(c * (taps * depth * lanes), body);
    // Rows of taps one after the other; the sums stay in registers across them.
    writer.Loop(kernel_h, body, [&](const Expr& kh) {
      Body rows;
      const Expr x_row = writer.Bind(first + kh * (window.dilations[0] * x.strides[2]), rows);
      const Expr w_row = writer.Bind(w_first + kh * (kernel_w * depth * lanes), rows);
      // Every channel of a group adds the same input channel at a time.
      for (std::int64_t k = 0; k < depth; ++k) {
        std::vector<Expr> w;
        for (std::int64_t kw = 0; kw < kernel_w; ++kw) {
          const Expr index = w_row + (k * kernel_w + kw) * lanes;
          w.push_back(writer.Bind(kernel::Load(w_buffer, index, vector), rows));
        }
        const auto load = [&](std::int64_t column_seen) {
          const Expr index = x_row + column_seen * x.strides[3];
          const Expr all =
              kernel::Cast(kernel::Load(x_buffer, index, {x.dtype, lanes}, valid), vector);
          return kernel::GroupBroadcast(all, static_cast<int>(depth), static_cast<int>(k));
        };
        AddTaps(writer, window, sums, w, load, rows);
      }
      return rows;
    });
    for (int i = 0; i < columns; ++i) {
      const Place place{.at = {n, c * lanes, row, column + std::int64_t{i}},
                        .axis = 1,
                        .lanes = lanes,
                        .valid = valid};
      epilogue.Store(writer, place, kernel::Var(sums[static_cast<std::size_t>(i)], vector), body);
    }
  };

  const int columns = problem.schedule.tile.columns;
  // Writes a row of pixels for a vector of channels.
  const auto row_of = [&](const Expr& n, const Expr& row, const Expr& c, int valid, Body& body) {
    writer.Loop(out[3] / columns, body, [&](const Expr& t) {
      Body inside;
      tile(n, row, t * columns, c, columns, valid, inside);
      return inside;
    });
    const std::int64_t rest = out[3] % columns;
    if (rest > 0) {
      tile(n, row, Int(out[3] - rest), c, static_cast<int>(rest), valid, body);
    }
  };
  // Threads share the rows of all images.
  Body body = writer.Loop(out[0] * out[2], kernel::LoopKind::kParallel, [&](const Expr& index) {
    Body inside;
    const Expr n = writer.Bind(kernel::Binary(kernel::Op::kDiv, index, Int(out[2])), inside);
    const Expr row = writer.Bind(kernel::Binary(kernel::Op::kMod, index, Int(out[2])), inside);
    writer.Loop(channels / lanes, inside, [&](const Expr& c) {
      Body rows;
      row_of(n, row, c, 0, rows);
      return rows;
    });
    if (const auto rest = static_cast<int>(channels % lanes); rest > 0) {
      row_of(n, row, Int(channels / lanes), rest, inside);
    }
    return inside;
  });
  lowering.AddCall(std::move(writer), std::move(body), problem.flops(),
                   lowering.LabelOf(group.nodes(), PrecisionOf(problem.shape.x)));
  lowering.Finish(result);
}

}  // namespace msc::native
