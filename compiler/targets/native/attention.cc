#include "compiler/ops/attention.h"

#include <optional>
#include <utility>

#include "compiler/targets/native/packing.h"
#include "compiler/targets/native/product.h"
#include "compiler/targets/native/quantize.h"
#include "compiler/targets/native/row_writer.h"
#include "compiler/targets/native/rules.h"

namespace msc::native {
namespace {

using kernel::Access;
using kernel::Binary;
using kernel::Float;
using kernel::Int;
using kernel::Op;

std::vector<std::int64_t> Inverse(const std::vector<std::int64_t>& perm) {
  std::vector<std::int64_t> inverse(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) {
    inverse[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  }
  return inverse;
}

/// The views that one attention reads, each [n, g, ...].
struct Views {
  View q;                         ///< [queries, depth]
  View k;                         ///< [depth, keys]
  View v;                         ///< [keys, width]
  std::optional<View> mask = {};  ///< [queries, keys]
  Dims batch;                     ///< the axes merged into n and g
};

std::optional<Views> ReadViews(Lowering& lowering, const Node& node) {
  const Graph& graph = lowering.graph();
  for (const ValueId value : node.inputs) {
    if (value == kNoValue) continue;
    const DType dtype = graph.type(value).dtype;
    if (dtype != DType::kF32 && dtype != DType::kBF16) return std::nullopt;
  }
  const std::size_t rank = lowering.DimsOf(node.inputs[kAttentionQ]).size();
  if (rank < 2 || ElementCount(lowering.DimsOf(node.outputs[0])) == 0) return std::nullopt;
  const AttentionAttrs attrs = ReadAttentionAttrs(node, rank);
  Dims batch;
  // Heads are strides. A copy is made only if the innermost axis is not the depth.
  const auto matrix = [&](AttentionInput input, const std::vector<std::int64_t>& perm) {
    const auto inner = static_cast<std::size_t>(perm.back());
    const View view = Transpose(lowering.WhereUnit(node.inputs[input], inner, Halo(rank)), perm);
    if (batch.empty()) batch.assign(view.dims.begin(), view.dims.end() - 2);
    return AsBatch(view, batch);
  };
  const auto q = matrix(kAttentionQ, attrs.q_perm);
  const auto k = matrix(kAttentionK, attrs.k_perm);
  const auto v = matrix(kAttentionV, attrs.v_perm);
  if (!q || !k || !v || q->dims[3] == 0 || k->dims[2] == 0) return std::nullopt;
  Views views{.q = *q, .k = *k, .v = *v, .batch = batch};
  std::swap(views.k.dims[2], views.k.dims[3]);
  std::swap(views.k.strides[2], views.k.strides[3]);
  if (node.HasInput(kAttentionMask)) {
    const ValueId mask = node.inputs[kAttentionMask];
    const std::size_t mask_rank = lowering.DimsOf(mask).size();
    if (mask_rank == 0) return std::nullopt;
    Dims dims = batch;
    dims.push_back(views.q.dims[2]);
    dims.push_back(views.k.dims[3]);
    const View wide = Broadcast(lowering.WhereUnit(mask, mask_rank - 1, Halo(mask_rank)), dims);
    Dims matrix_batch(wide.dims.begin(), wide.dims.end() - 2);
    views.mask = AsBatch(wide, matrix_batch);
    if (!views.mask) return std::nullopt;
    // Restores stride 0 for broadcast axes.
    views.mask->strides[2] = wide.strides[wide.rank() - 2];
    views.mask->strides[3] = wide.strides[wide.rank() - 1];
  }
  return views;
}

/// Returns the epilogue with views in the form of the product that computes the result; nullopt if
/// the views do not allow it.
std::optional<Epilogue> HeadEpilogue(Lowering& lowering, const Group& group, const Dims& batch) {
  const ValueId result = ResultOf(lowering.graph(), group);
  const std::size_t rank = lowering.DimsOf(result).size();
  const std::vector<std::int64_t> perm =
      Inverse(ReadAttentionAttrs(lowering.node(group.anchor), rank).y_perm);
  const auto width = static_cast<std::size_t>(perm.back());
  Epilogue epilogue(lowering, group, lowering.Out(result, RowMajor(rank)), width);
  const bool mapped = epilogue.Remap([&](const View& view) -> std::optional<View> {
    const auto heads = AsBatch(Transpose(view, perm), batch);
    return heads ? std::optional(AsProduct(*heads)) : std::nullopt;
  });
  if (!mapped || !epilogue.out().IsUnit(2)) return std::nullopt;
  return epilogue;
}

/// Computes the softmax of scale * row + mask in place for every row of `scores` [rows, columns].
/// These are the rows of the mask from `begin` on.
void WriteWeights(KernelWriter& writer, int lanes, const View& scores, const AttentionAttrs& attrs,
                  const std::optional<View>& mask, const Expr& n, const Expr& g, const Expr& begin,
                  Body& body) {
  const kernel::BufferRef buffer = writer.Use(scores, Access::kScratch);
  const std::int64_t columns = scores.dims[1];
  RowWriter row(writer, lanes, columns);
  // Every row in place: it holds scores, then exponentials, then weights.
  writer.Loop(scores.dims[0], body, [&](const Expr& r) {
    Body inside;
    const Expr first = writer.Bind(Int(scores.offset) + r * scores.strides[0], inside);
    const auto load = [&](const Expr& column, int width) {
      return kernel::Load(buffer, first + column, {DType::kF32, width});
    };
    const auto store = [&](const Expr& column, Expr value, Body& step) {
      step.push_back(
          {kernel::Store{.buffer = buffer, .index = first + column, .value = std::move(value)}});
    };
    const auto scaled = [&](const Expr& column, int width, Body& /*step*/) {
      // A mask of -infinity gives a weight of exactly 0, because kExp is 0 below -104; a row of
      // nothing else gives NaN.
      Expr value = load(column, width) * Float(static_cast<double>(attrs.scale), width);
      if (!mask) return value;
      const Place place{.at = {n, g, begin + r, column}, .axis = 3, .lanes = width, .valid = 0};
      const Expr added = kernel::Cast(LoadAt(writer, *mask, place), {DType::kF32, width});
      return std::move(value) + added;
    };
    const auto finish = [&](const Expr& column, Expr value, Body& step) {
      // Weights are not negative, and kMax returns its second operand for NaN.
      const int width = value->type.lanes;
      if (attrs.zero_nan) value = Binary(Op::kMax, std::move(value), Float(0, width));
      store(column, std::move(value), step);
    };
    WriteSoftmax(writer, row, {scaled, load, store, finish}, inside);
    return inside;
  });
}

/// Converts the queries of one head to f32 in the thread's memory. `wide` has stride 0 for n and g.
void WriteWide(KernelWriter& writer, int lanes, const View& queries, const View& wide,
               const Expr& n, const Expr& g, Body& body) {
  writer.Loop(queries.dims[2], body, [&](const Expr& row) {
    return LoopOver(writer, {queries.dims[3]}, lanes, [&](const Place& along, Body& one) {
      Place place = along;
      place.at = {n, g, row, along.at[0]};
      place.axis = 3;
      const Expr narrow = LoadAt(writer, queries, place);
      StoreAt(writer, wide, place, kernel::Cast(narrow, {DType::kF32, along.lanes}), one);
    });
  });
}

/// Returns the queries whose scores a thread keeps at a time: all, or as many as leave room for
/// other things in a second-level cache of 512 KiB, as some CPUs have it.
std::int64_t QueriesAtATime(std::int64_t queries, std::int64_t keys, const TileSchedule& tile) {
  // Numbers of scores: 512 KiB and 256 KiB.
  constexpr std::int64_t kWhole = std::int64_t{128} * 1024;
  constexpr std::int64_t kPart = std::int64_t{64} * 1024;
  // Each part reads all packed keys and values.
  constexpr std::int64_t kLeastTiles = 4;
  if (queries * keys <= kWhole) return queries;
  const std::int64_t tiles = std::max(kPart / keys / tile.columns, kLeastTiles);
  return std::min(queries, tiles * tile.columns);
}

/// Returns rows of a product, the first of which is row `begin`, as `parts` parts along h, each of
/// `count` rows.
View InParts(View view, std::int64_t begin, std::int64_t count, std::int64_t parts) {
  view.offset += begin * view.strides[4];
  view.dims[3] = parts;
  view.strides[3] = count * view.strides[4];
  view.dims[4] = count;
  return view;
}

/// Returns a thread's memory for an f32 matrix that every head overwrites: [n, g, rows, columns].
View HeadMemory(Lowering& lowering, const View& like, std::int64_t rows, std::int64_t columns) {
  std::int64_t elements = 0;
  View view = NewView(DType::kF32, {rows, columns}, RowMajor(2), Halo(2), elements);
  view.buffer = lowering.Scratch(DType::kF32, elements).buffer;
  view.dims = {like.dims[0], like.dims[1], rows, columns};
  view.strides = {0, 0, view.strides[0], 1};
  view.halo = Halo(4);
  return view;
}

}  // namespace

// One call computes a whole head, some queries at a time, so that the scores stay in cache between
// the two products.
bool LowerAttention(Lowering& lowering, const Group& group) {
  const Node& node = lowering.node(group.anchor);
  if (!node.Is("Attention", "msc")) return false;
  const std::optional<Views> views = ReadViews(lowering, node);
  if (!views) return false;
  const std::optional<Epilogue> epilogue = HeadEpilogue(lowering, group, views->batch);
  if (!epilogue) return false;
  const VectorUnit& unit = lowering.unit();
  const std::int64_t queries = views->q.dims[2];
  const std::int64_t depth = views->q.dims[3];
  const std::int64_t keys = views->k.dims[3];
  const std::int64_t width = views->v.dims[3];

  TileSchedule first_tile = DefaultTile({.rows = queries, .channels = keys, .depth = depth}, unit);
  TileSchedule second_tile = DefaultTile({.rows = queries, .channels = width, .depth = keys}, unit);
  // A tile of packed weights stays in cache while all rows use it.
  first_tile.order = LoopOrder::kChannelsOuter;
  second_tile.order = LoopOrder::kChannelsOuter;

  // Scores and weights stay f32 between the products, also for bf16. All scores of a query are
  // kept, so the softmax needs no online form: it sees a whole row.
  const std::int64_t at_a_time = QueriesAtATime(queries, keys, first_tile);
  const View scores_of = HeadMemory(lowering, views->q, at_a_time, keys);
  // The products read X as f32, one entry at a time.
  const bool narrow = views->q.dtype != DType::kF32;
  const View q = narrow ? HeadMemory(lowering, views->q, queries, depth) : views->q;

  const Product first{.x = AsProduct(q), .channels = keys};
  const Product second{.x = AsProduct(scores_of), .channels = width};

  KernelWriter writer = lowering.Writer("attention");
  const View packed_k = PackedMemory(lowering, first, first_tile);
  const View packed_v = PackedMemory(lowering, second, second_tile);
  for (const View& scratch : {scores_of, packed_k, packed_v}) {
    (void)writer.Use(scratch, Access::kScratch);
  }
  if (narrow) (void)writer.Use(q, Access::kScratch);
  const AttentionAttrs attrs = ReadAttentionAttrs(node, lowering.DimsOf(node.inputs[0]).size());
  const std::int64_t groups = views->q.dims[1];
  // Writes `parts` parts of `count` queries each, from query `begin` on.
  const auto write_parts = [&](std::int64_t begin, std::int64_t count, std::int64_t parts,
                               const Expr& n, const Expr& g, Body& inside) {
    Product to_scores = first;
    to_scores.x = InParts(first.x, begin, count, parts);
    View parts_of_scores = InParts(second.x, 0, count, parts);
    parts_of_scores.strides[3] = 0;  // each part overwrites them
    Product to_result = second;
    to_result.x = parts_of_scores;
    View scores = scores_of;
    scores.dims = {count, keys};
    scores.strides = {scores_of.strides[2], 1};
    Epilogue result = *epilogue;
    (void)result.Remap(
        [&](const View& view) { return std::optional(InParts(view, begin, count, parts)); });
    writer.Loop(parts, inside, [&](const Expr& part) {
      Body queries_of_part;
      const auto append = [&](Body from) {
        for (kernel::Stmt& stmt : from) queries_of_part.push_back(std::move(stmt));
      };
      // Scores: Q times K.
      append(ProductOf(writer, unit, to_scores, first_tile, packed_k,
                       Epilogue(lowering.graph(), parts_of_scores), n, g, part));
      // Weights: the softmax of each row of scores.
      const Expr row = writer.Bind(part * count + begin, queries_of_part);
      WriteWeights(writer, unit.lanes, scores, attrs, views->mask, n, g, row, queries_of_part);
      // Result: weights times V.
      append(ProductOf(writer, unit, to_result, second_tile, packed_v, result, n, g, part));
      return queries_of_part;
    });
  };
  Body body =
      writer.Loop(views->q.dims[0] * groups, kernel::LoopKind::kParallel, [&](const Expr& index) {
        Body inside;
        const Expr n = writer.Bind(Binary(Op::kDiv, index, Int(groups)), inside);
        const Expr g = writer.Bind(Binary(Op::kMod, index, Int(groups)), inside);
        if (narrow) WriteWide(writer, unit.lanes, views->q, q, n, g, inside);
        WritePacking(writer, unit, first_tile, views->k, packed_k, n, g, inside);
        WritePacking(writer, unit, second_tile, views->v, packed_v, n, g, inside);
        const std::int64_t parts = queries / at_a_time;
        const std::int64_t rest = queries % at_a_time;
        write_parts(0, at_a_time, parts, n, g, inside);
        if (rest > 0) write_parts(queries - rest, rest, 1, n, g, inside);
        return inside;
      });
  const auto heads = static_cast<double>(views->q.dims[0] * groups);
  // Five operations of the softmax for each score, as in LowerSoftmax.
  const double flops = heads * static_cast<double>(queries * keys) *
                       (2.0 * static_cast<double>(depth + width) + 5.0);
  lowering.AddCall(std::move(writer), std::move(body), flops,
                   lowering.LabelOf(group.nodes(), PrecisionOf(views->q.dtype)));
  lowering.Finish(ResultOf(lowering.graph(), group));
  return true;
}

}  // namespace msc::native
