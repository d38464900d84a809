#include <optional>
#include <utility>

#include "compiler/targets/native/packing.h"
#include "compiler/targets/native/product.h"
#include "compiler/targets/native/rules.h"

namespace msc::native {

// Lowers [..., rows, depth] x [..., depth, columns] with no constant factor. The kernel itself
// packs the second matrix into the order of packed weights, for each entry of the batch.
bool LowerMatMul(Lowering& lowering, const Group& group) {
  const Node& node = lowering.node(group.anchor);
  const Graph& graph = lowering.graph();
  if (!node.Is("MatMul")) return false;
  for (const ValueId value : {node.inputs[0], node.inputs[1], node.outputs[0]}) {
    if (graph.type(value).dtype != DType::kF32) return false;
  }
  const Dims x_dims = lowering.DimsOf(node.inputs[0]);
  const Dims w_dims = lowering.DimsOf(node.inputs[1]);
  const Dims y_dims = lowering.DimsOf(node.outputs[0]);
  if (x_dims.size() < 2 || w_dims.size() < 2 || ElementCount(y_dims) == 0) return false;
  const std::int64_t depth = x_dims.back();
  if (depth == 0) return false;
  const Dims batch(y_dims.begin(), y_dims.end() - 2);

  auto x =
      AsBatch(lowering.WhereUnit(node.inputs[0], x_dims.size() - 1, Halo(x_dims.size())), batch);
  if (!x) x = AsBatch(lowering.WhereDense(node.inputs[0]), batch);
  auto w = AsBatch(lowering.Where(node.inputs[1]), batch);
  if (!w) w = AsBatch(lowering.WhereDense(node.inputs[1]), batch);
  if (!x || !w) return false;
  const ValueId result = ResultOf(graph, group);
  const std::vector<std::size_t> order = RowMajor(y_dims.size());
  Epilogue epilogue(lowering, group, lowering.Out(result, order), y_dims.size() - 1);
  const bool mapped = epilogue.Remap([&](const View& view) -> std::optional<View> {
    const auto wide = AsBatch(view, batch);
    return wide ? std::optional(AsProduct(*wide)) : std::nullopt;
  });
  if (!mapped) return false;

  const Product product{.x = AsProduct(*x), .channels = y_dims.back()};
  TileSchedule tile = DefaultTile(
      {.rows = product.x.dims[4], .channels = product.channels, .depth = depth}, lowering.unit());
  tile.order = LoopOrder::kChannelsOuter;
  KernelWriter writer = lowering.Writer("matmul");
  const View packed = PackedMemory(lowering, product, tile);
  (void)writer.Use(packed, kernel::Access::kScratch);
  const std::int64_t groups = product.groups();
  // Threads share the matrices of the batch; each packs into memory of its own.
  Body body =
      writer.Loop(product.x.dims[0] * groups, kernel::LoopKind::kParallel, [&](const Expr& index) {
        Body inside;
        const Expr n =
            writer.Bind(kernel::Binary(kernel::Op::kDiv, index, kernel::Int(groups)), inside);
        const Expr g =
            writer.Bind(kernel::Binary(kernel::Op::kMod, index, kernel::Int(groups)), inside);
        WritePacking(writer, lowering.unit(), tile, *w, packed, n, g, inside);
        for (kernel::Stmt& stmt :
             ProductOf(writer, lowering.unit(), product, tile, packed, epilogue, n, g)) {
          inside.push_back(std::move(stmt));
        }
        return inside;
      });
  const double flops = 2.0 * static_cast<double>(ElementCount(y_dims)) * static_cast<double>(depth);
  lowering.AddCall(std::move(writer), std::move(body), flops,
                   lowering.LabelOf(group.nodes(), "f32"));
  lowering.Finish(result);
  return true;
}

}  // namespace msc::native
