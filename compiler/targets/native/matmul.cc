#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/targets/native/packing.h"
#include "compiler/targets/native/product.h"
#include "compiler/targets/native/rules.h"

namespace msc::native {
namespace {

/// The last two axes behind exactly two batch axes; nothing where more than two batch axes lie so
/// that they cannot be joined.
std::optional<View> AsBatch(const View& view, const Dims& batch) {
  Dims dims = batch;
  dims.insert(dims.end(), view.dims.end() - 2, view.dims.end());
  View wide = Broadcast(view, dims);
  // Broadcast gives axes of one entry stride 0; the matrix axes keep theirs.
  while (wide.rank() < 4) {
    wide.dims.insert(wide.dims.begin(), 1);
    wide.strides.insert(wide.strides.begin(), 0);
  }
  while (wide.rank() > 4) {
    if (wide.dims[0] != 1 && wide.strides[0] != wide.strides[1] * wide.dims[1]) return std::nullopt;
    wide.dims[1] *= wide.dims[0];
    wide.dims.erase(wide.dims.begin());
    wide.strides.erase(wide.strides.begin());
  }
  wide.halo = Halo(wide.rank());
  return wide;
}

/// [n, g, rows, columns] as the n, g, c, h, w of a product: columns are channels, rows go along w.
View AsProduct(const View& view) {
  View product = view;
  product.dims = {view.dims[0], view.dims[1], view.dims[3], 1, view.dims[2]};
  product.strides = {view.strides[0], view.strides[1], view.strides[3], 0, view.strides[2]};
  product.halo = Halo(product.dims.size());
  return product;
}

}  // namespace

// [..., rows, depth] x [..., depth, columns], neither a constant: the second matrix is put into the
// order of packed weights, for each entry of the batch, by the kernel itself.
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
  std::vector<std::size_t> order(y_dims.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
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
