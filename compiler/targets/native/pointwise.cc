#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "compiler/targets/native/conv_problem.h"
#include "compiler/targets/native/product.h"
#include "compiler/targets/native/quantize.h"
#include "compiler/targets/native/rules.h"

namespace msc::native {
namespace {

using kernel::Access;

/// Rows of the image whose X is made at once: what stays in cache between its writing and its
/// reading, and leaves threads something to share. A divisor of the height.
std::int64_t RowsAtOnce(const ConvProblem& problem) {
  constexpr std::int64_t kCacheBytes = std::int64_t{128} * 1024;
  constexpr std::int64_t kLeastBlocks = 14;
  const std::int64_t height = problem.out_dims[2];
  const std::int64_t row =
      problem.out_dims[3] * problem.depth() * static_cast<std::int64_t>(ByteSize(problem.shape.x));
  std::int64_t most = 1;
  for (std::int64_t rows = 2; rows * kLeastBlocks <= height && rows * row <= kCacheBytes; ++rows) {
    if (height % rows == 0) most = rows;
  }
  return most;
}

TileSchedule TileOf(const ConvProblem& problem, const VectorUnit& unit, std::int64_t rows) {
  const std::int64_t step = StepOf(problem.shape.x);
  return DefaultTile({.rows = rows * problem.out_dims[3],
                      .channels = problem.channels(),
                      .depth = (problem.depth() + step - 1) / step,
                      .x = problem.shape.x},
                     unit);
}

/// Windows of one pixel see every entry once for each tile of channels. Nothing where a strategy
/// chose the schedule: what it measured had X in memory.
std::optional<ConvProblem> ReadPointwise(const Lowering& lowering, const Node& node) {
  std::optional<ConvProblem> problem = ReadConv(lowering, node);
  if (!problem || problem->chosen || problem->window.group != 1) return std::nullopt;
  const ConvShape& shape = problem->shape;
  if (shape.kernel_height * shape.kernel_width != 1 || !shape.unit_steps || !shape.joinable) {
    return std::nullopt;
  }
  return problem;
}

}  // namespace

bool PointwiseTakesPrologue(const Lowering& lowering, const Node& node) {
  const std::optional<ConvProblem> problem = ReadPointwise(lowering, node);
  if (!problem) return false;
  // Every block reads all weights: they must stay in cache, as the tile's order says they do.
  const TileSchedule tile = TileOf(*problem, lowering.unit(), RowsAtOnce(*problem));
  return tile.order == LoopOrder::kRowsOuter;
}

// A block of pixels of X is made in memory of the thread, then multiplied with all weights.
bool LowerPointwise(Lowering& lowering, const Group& group) {
  const std::optional<ConvProblem> problem = ReadPointwise(lowering, lowering.node(group.anchor));
  if (!problem || group.prologue.empty()) return false;
  const std::int64_t depth = problem->depth();
  const int lanes = lowering.unit().lanes;
  const ValueId result = ResultOf(lowering.graph(), group);
  Epilogue epilogue(lowering, group, lowering.Out(result, AxisOrder(4)), 1);
  Chain chain(lowering, group.prologue.front(), Unplaced(problem->shape.x, problem->x_dims), 1);
  // Images as rows of so many pixels, where no gaps lie between them.
  const auto blocks_of = [](std::int64_t rows) {
    return [rows](const View& view) {
      const Dims& dims = view.dims;
      return Reshape(view, {dims[0], dims[1], dims[2] / rows, rows * dims[3]});
    };
  };
  std::int64_t rows = RowsAtOnce(*problem);
  const std::vector<View> apart = epilogue.views();
  if (!epilogue.Remap(blocks_of(rows)) || !chain.Remap(blocks_of(rows))) {
    epilogue.SetViews(apart);
    rows = 1;
  }
  (void)epilogue.Remap([](const View& view) { return std::optional(SplitGroups(view, 1)); });
  const TileSchedule tile = TileOf(*problem, lowering.unit(), rows);

  const std::int64_t pixels = rows * problem->out_dims[3];
  std::int64_t elements = 0;
  View block = NewView(problem->shape.x, {pixels, depth}, RowMajor(2), Halo(2), elements);
  block.buffer = lowering.Scratch(block.dtype, elements).buffer;
  Product product{.x = block,
                  .x_zero = problem->x_zero,
                  .bias = problem->whole_bias,
                  .channels = problem->channels()};
  product.x.dims = {problem->out_dims[0], 1, depth, problem->out_dims[2] / rows, pixels};
  product.x.strides = {0, 0, 1, 0, block.strides[0]};
  product.x.halo = Halo(5);
  const PackedWeights packed =
      PackWeights(lowering, product, tile,
                  [&](std::int64_t /*g*/, std::int64_t c, std::int64_t /*kh*/, std::int64_t /*kw*/,
                      std::span<float> out) { problem->ReadWeights(c, 0, out); });
  KernelWriter writer = lowering.Writer("pointwise");
  (void)writer.Use(block, Access::kScratch);
  product.fill = [&](const Expr& n, const Expr& h, Body& body) {
    writer.Loop(pixels, body, [&](const Expr& pixel) {
      Body inside;
      Body along = LoopOver(writer, {depth}, lanes, [&](const Place& k, Body& one) {
        Place from = k;
        from.at = {n, k.at[0], h, pixel};
        from.axis = 1;
        Place to = k;
        to.at = {pixel, k.at[0]};
        to.axis = 1;
        StoreAt(writer, block, to, chain.At(writer, from, one), one);
      });
      for (kernel::Stmt& stmt : along) inside.push_back(std::move(stmt));
      return inside;
    });
  };
  Body body = ProductBody(writer, lowering.unit(), product, tile, packed, epilogue);
  lowering.AddCall(std::move(writer), std::move(body), problem->flops(),
                   lowering.LabelOf(group.nodes(), PrecisionOf(problem->shape.x)));
  lowering.Finish(result);
  return true;
}

}  // namespace msc::native
