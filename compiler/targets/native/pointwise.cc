#include <optional>
#include <span>
#include <utility>

#include "compiler/targets/native/conv_problem.h"
#include "compiler/targets/native/made_rows.h"
#include "compiler/targets/native/quantize.h"
#include "compiler/targets/native/rules.h"

namespace msc::native {
namespace {

/// Reads a convolution with windows of one pixel, which read every entry once per tile of channels.
/// Returns nullopt if a strategy chose the schedule, because the strategy measured it with X in
/// memory.
std::optional<ConvProblem> ReadPointwise(const Lowering& lowering, const Node& node) {
  std::optional<ConvProblem> problem = ReadConv(lowering, node);
  if (!problem || problem->chosen || problem->window.group != 1) return std::nullopt;
  const ConvShape& shape = problem->shape;
  if (shape.kernel_height * shape.kernel_width != 1 || !shape.unit_steps || !shape.joinable) {
    return std::nullopt;
  }
  return problem;
}

/// Returns the problem with each `rows` rows of an image as one.
MadeRows RowsOf(const ConvProblem& problem, std::int64_t rows) {
  const Dims& out = problem.out_dims;
  return {.x_dims = {out[0], problem.depth(), out[2] / rows, rows * out[3]},
          .x = problem.shape.x,
          .x_zero = problem.x_zero,
          .bias = problem.whole_bias,
          .narrow = problem.shape.narrow,
          .channels = problem.channels()};
}

std::int64_t ImageRowsAtOnce(const ConvProblem& problem) {
  const auto bytes = static_cast<std::int64_t>(ByteSize(problem.shape.x));
  return RowsAtOnce(problem.out_dims[2], problem.out_dims[3] * problem.depth() * bytes);
}

}  // namespace

bool PointwiseTakesPrologue(const Lowering& lowering, const Node& node) {
  const std::optional<ConvProblem> problem = ReadPointwise(lowering, node);
  return problem && RowsOf(*problem, ImageRowsAtOnce(*problem)).Pays(lowering.unit());
}

bool LowerPointwise(Lowering& lowering, const Group& group) {
  const std::optional<ConvProblem> problem = ReadPointwise(lowering, lowering.node(group.anchor));
  if (!problem || group.prologue.empty()) return false;
  const ValueId result = ResultOf(lowering.graph(), group);
  Epilogue epilogue(lowering, group, lowering.Out(result, AxisOrder(4)), 1);
  Chain chain(lowering, group.prologue.front(), Unplaced(problem->shape.x, problem->x_dims), 1);
  // Views images as rows of `rows` image rows each, if there are no gaps between them.
  const auto blocks_of = [](std::int64_t rows) {
    return [rows](const View& view) {
      const Dims& dims = view.dims;
      return Reshape(view, {dims[0], dims[1], dims[2] / rows, rows * dims[3]});
    };
  };
  std::int64_t rows = ImageRowsAtOnce(*problem);
  const std::vector<View> apart = epilogue.views();
  if (!epilogue.Remap(blocks_of(rows)) || !chain.Remap(blocks_of(rows))) {
    epilogue.SetViews(apart);
    rows = 1;
  }
  (void)epilogue.Remap([](const View& view) { return std::optional(SplitGroups(view, 1)); });
  KernelWriter writer = lowering.Writer("pointwise");
  Body body =
      MadeRowsBody(lowering, writer, RowsOf(*problem, rows), chain, epilogue,
                   [&](std::int64_t /*g*/, std::int64_t c, std::int64_t /*kh*/, std::int64_t /*kw*/,
                       std::span<float> out) { problem->ReadWeights(c, 0, out); });
  lowering.AddCall(std::move(writer), std::move(body), problem->flops(),
                   lowering.LabelOf(group.nodes(), PrecisionOf(problem->shape.x)));
  lowering.Finish(result);
  return true;
}

}  // namespace msc::native
