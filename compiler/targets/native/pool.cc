#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "compiler/kernel/integer.h"
#include "compiler/targets/native/conv_problem.h"
#include "compiler/targets/native/quantize.h"
#include "compiler/targets/native/rules.h"

namespace msc::native {
namespace {

using kernel::Binary;
using kernel::Float;
using kernel::Int;
using kernel::Op;
using kernel::VarId;

struct Pool {
  ValueId x = kNoValue;
  Window window;
  bool max = false;
  bool count_padding = false;
  bool global = false;
  QuantParams x_params;  ///< of X, if it is i8 or u8
  /// X and Y are codes of the same numbers, so that a maximum of codes is a code.
  bool same_codes = false;
  Dims x_dims;
  Dims out_dims;
};

/// Returns the most entries of a window: for bytes, as many as f32 sums exactly.
std::int64_t Most(DType x) {
  // A code differs from its zero point by at most 255.
  return IsQuantized(x) ? (std::int64_t{1} << 24U) / 255 : std::numeric_limits<std::int64_t>::max();
}

std::optional<Pool> ReadPool(const Lowering& lowering, const Node& node) {
  const Graph& graph = lowering.graph();
  std::string op = node.op;
  if (node.domain == "msc" && node.op == "Pool") {
    op = AttrOr(node, "op", std::string());
  } else if (!node.domain.empty()) {
    return std::nullopt;
  }
  Pool pool;
  pool.max = op == "MaxPool" || op == "GlobalMaxPool";
  pool.global = op == "GlobalAveragePool" || op == "GlobalMaxPool";
  if (!pool.max && !pool.global && op != "AveragePool") return std::nullopt;
  pool.x = node.inputs[0];
  pool.x_dims = lowering.DimsOf(pool.x);
  pool.out_dims = lowering.DimsOf(node.outputs[0]);
  const DType x = graph.type(pool.x).dtype;
  const DType y = graph.type(node.outputs[0]).dtype;
  pool.same_codes = pool.max && IsQuantized(x) && x == y;
  if (node.domain == "msc") {
    if (!TakesFused(graph, node)) return std::nullopt;
    const FusedAttrs attrs = ReadFusedAttrs(node);
    pool.x_params = attrs.x;
    pool.same_codes = pool.same_codes && attrs.x == attrs.y && attrs.activation.op.empty();
  } else if (!pool.same_codes && (x != DType::kF32 || y != DType::kF32)) {
    return std::nullopt;
  }
  if (pool.x_dims.size() != 4 || ElementCount(pool.out_dims) == 0) return std::nullopt;
  if (node.outputs.size() > 1 && node.outputs[1] != kNoValue) return std::nullopt;
  // A global pool is one window over the whole image.
  if (pool.global) {
    const Dims spatial(pool.x_dims.begin() + 2, pool.x_dims.end());
    pool.window = {.kernel = spatial,
                   .strides = {1, 1},
                   .dilations = {1, 1},
                   .pads_begin = {0, 0},
                   .pads_end = {0, 0},
                   .group = 1};
    const std::int64_t count = ElementCount(spatial);
    return count > 0 && count <= Most(x) ? std::optional(pool) : std::nullopt;
  }
  pool.window = ReadWindow(node, {pool.x_dims.begin() + 2, pool.x_dims.end()}, {});
  pool.count_padding = AttrOr<std::int64_t>(node, "count_include_pad", 0) != 0;
  if (ElementCount(pool.window.kernel) > Most(x)) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const Window& w = pool.window;
    const std::int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1;
    const std::int64_t last = (pool.out_dims[i + 2] - 1) * w.strides[i] - w.pads_begin[i];
    const bool hangs_over = last + reach > pool.x_dims[i + 2];
    // Every window must contain an entry, and an index clamped to the edge must stay in its window.
    if (last >= pool.x_dims[i + 2] || w.pads_begin[i] >= reach) return std::nullopt;
    if ((!pool.max || w.pads_begin[i] > 0 || hangs_over) && w.dilations[i] != 1) {
      return std::nullopt;
    }
    // Entries beyond the padding, which ceil_mode adds, never count.
    if (pool.count_padding && last + reach > pool.x_dims[i + 2] + w.pads_end[i]) {
      return std::nullopt;
    }
  }
  return pool;
}

/// The first index of a window along an axis, and the index after the last, clipped to the image.
struct Range {
  Expr begin;
  Expr end;
};

Range RangeOf(const Expr& out, const Window& window, std::size_t axis, std::int64_t size) {
  const Expr first = out * window.strides[axis] + Int(-window.pads_begin[axis]);
  return {Binary(Op::kMax, first, Int(0)),
          Binary(Op::kMin, first + ((window.kernel[axis] - 1) * window.dilations[axis] + 1),
                 Int(size))};
}

bool Padded(const Pool& pool) {
  for (std::size_t i = 0; i < 2; ++i) {
    const Window& w = pool.window;
    const std::int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1;
    const std::int64_t last = (pool.out_dims[i + 2] - 1) * w.strides[i] - w.pads_begin[i];
    if (w.pads_begin[i] > 0 || last + reach > pool.x_dims[i + 2]) return true;
  }
  return false;
}

/// Returns whether no entry belongs to two windows.
bool SeesEachOnce(const Pool& pool) {
  const Window& w = pool.window;
  return pool.global || (w.kernel[0] <= w.strides[0] && w.kernel[1] <= w.strides[1]);
}

}  // namespace

bool PoolTakesPrologue(const Lowering& lowering, const Node& node) {
  const std::optional<Pool> pool = ReadPool(lowering, node);
  return pool && SeesEachOnce(*pool);
}

bool LowerPool(Lowering& lowering, const Group& group) {
  const std::optional<Pool> pool = ReadPool(lowering, lowering.node(group.anchor));
  if (!pool) return false;
  const Window& window = pool->window;
  const DType x_type = lowering.graph().type(pool->x).dtype;
  // X is in memory, or computed by the prologue where a window reads it.
  View x = Unplaced(x_type, pool->x_dims);
  std::optional<Chain> chain;
  if (group.prologue.empty()) {
    x = lowering.WhereUnit(pool->x, 1, Halo(4));
  } else {
    chain.emplace(lowering, group.prologue.front(), x, 1);
  }
  // Compares codes directly, a whole register at a time; all other types are computed in f32.
  const bool codes = pool->same_codes;
  const bool alone = group.followers.empty() && group.prologue.empty();
  const int lanes = codes && alone ? WholeLanes(lowering.unit(), x_type) : lowering.unit().lanes;
  const ValueId result = ResultOf(lowering.graph(), group);
  const Epilogue epilogue(lowering, group, lowering.Out(result, AxisOrder(4)), 1);
  const bool padded = Padded(*pool);
  const double scale = IsQuantized(x_type) ? static_cast<double>(pool->x_params.scale) : 1;

  KernelWriter writer = lowering.Writer("pool");
  const kernel::Type vector{codes ? x_type : DType::kF32, lanes};
  const auto load = [&](const Place& from) {
    const kernel::BufferRef buffer = writer.Use(x, kernel::Access::kRead);
    const Expr index = KernelWriter::IndexOf(x, from.at);
    return kernel::Load(buffer, index, {x_type, from.lanes}, from.valid);
  };
  // Sums, or takes the maximum, over the window: with indices clamped to the image for a maximum,
  // and with the window cut at the edges of the image for a mean.
  const auto pixel = [&](const Place& at, Body& body) {
    const VarId sum = writer.NewVar();
    const Expr n = at.at[0];
    const Expr c = at.at[3];
    const Expr oh = at.at[1];
    const Expr ow = at.at[2];
    const double least = pool->max ? -std::numeric_limits<double>::infinity() : 0.0;
    body.push_back({kernel::Let{
        .var = sum,
        .value = codes ? Int(kernel::RangeOf(x_type).least, vector) : Float(least, lanes)}});
    // Only means of padded images use these bounds.
    const Range rows = RangeOf(oh, window, 0, pool->x_dims[2]);
    const Range columns = RangeOf(ow, window, 1, pool->x_dims[3]);
    const auto tap = [&](const Expr& ih, const Expr& iw, Body& inner) {
      const Place from{.at = {n, c, ih, iw}, .axis = 1, .lanes = lanes, .valid = at.valid};
      Expr value = chain ? chain->At(writer, from, inner) : load(from);
      // In units of the scale, which multiplies the result at the end.
      const QuantParams unscaled{.scale = 1, .zero_point = pool->x_params.zero_point};
      if (!codes) value = Dequantized(value, unscaled, 1);
      const Expr old = kernel::Var(sum, vector);
      inner.push_back({kernel::Assign{
          .var = sum, .value = pool->max ? Binary(Op::kMax, old, value) : old + value}});
    };
    if (pool->max || !padded) {
      const auto clamp = [&](const Expr& index, std::int64_t size) {
        // A clamped index repeats an entry of the window, which does not change the maximum.
        if (!padded) return index;
        return Binary(Op::kMin, Binary(Op::kMax, index, Int(0)), Int(size - 1));
      };
      writer.Loop(window.kernel[0], body, [&](const Expr& kh) {
        Body row;
        const Expr ih = writer.Bind(
            clamp(oh * window.strides[0] + Int(-window.pads_begin[0]) + kh * window.dilations[0],
                  pool->x_dims[2]),
            row);
        writer.Loop(window.kernel[1], row, [&](const Expr& kw) {
          Body inner;
          const Expr iw = writer.Bind(
              clamp(ow * window.strides[1] + Int(-window.pads_begin[1]) + kw * window.dilations[1],
                    pool->x_dims[3]),
              inner);
          tap(ih, iw, inner);
          return inner;
        });
        return row;
      });
    } else {
      writer.Loop(window.kernel[0], body, [&](const Expr& kh) {
        Body row;
        const Expr ih = writer.Bind(rows.begin + kh, row);
        Body columns_loop;
        writer.Loop(window.kernel[1], columns_loop, [&](const Expr& kw) {
          Body inner;
          const Expr iw = writer.Bind(columns.begin + kw, inner);
          Body taken;
          tap(ih, iw, taken);
          inner.push_back({kernel::If{.condition = Binary(Op::kLess, iw, columns.end),
                                      .body = std::move(taken),
                                      .otherwise = {}}});
          return inner;
        });
        row.push_back({kernel::If{.condition = Binary(Op::kLess, ih, rows.end),
                                  .body = std::move(columns_loop),
                                  .otherwise = {}}});
        return row;
      });
    }
    Expr value = kernel::Var(sum, vector);
    if (!pool->max) {
      const double all = static_cast<double>(window.kernel[0] * window.kernel[1]);
      if (pool->count_padding || !padded) {
        // Padding counts, or there is none: all windows have the same divisor.
        value = value * Float(1 / all, lanes);
      } else {
        // Windows at the edges hold fewer entries, so the divisor depends on the pixel.
        const Expr count = (rows.end - rows.begin) * (columns.end - columns.begin);
        const Expr real = kernel::Cast(count, {DType::kF32, 1});
        value = Binary(Op::kDiv, value, kernel::Broadcast(real, lanes));
      }
    }
    const Place place{.at = {n, c, oh, ow}, .axis = 1, .lanes = lanes, .valid = at.valid};
    // One multiplication converts from steps of X to the unit of the epilogue.
    if (!codes) value = std::move(value) * Float(scale / epilogue.unit(), lanes);
    epilogue.Store(writer, place, std::move(value), body);
  };
  const Dims& out = pool->out_dims;
  Body body = LoopOver(writer, {out[0], out[2], out[3], out[1]}, lanes, pixel);
  const double flops = static_cast<double>(ElementCount(out)) *
                       static_cast<double>(window.kernel[0] * window.kernel[1]);
  lowering.AddCall(std::move(writer), std::move(body), flops,
                   lowering.LabelOf(group.nodes(), PrecisionOf(x_type)));
  lowering.Finish(result);
  return true;
}

}  // namespace msc::native
