#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "compiler/ir/narrow.h"
#include "compiler/targets/native/made_rows.h"
#include "compiler/targets/native/quantize.h"
#include "compiler/targets/native/rules.h"

namespace msc::native {
namespace {

/// Y[rows, channels] = X[rows, depth] * W with constant W.
struct Gemm {
  ValueId x = kNoValue;
  TensorPtr weights;
  std::int64_t depth = 0;
  std::int64_t channels = 0;
  bool transposed = false;  ///< weights are [channels, depth]
  bool quantized = false;   ///< X and the weights are integers
  std::int64_t x_zero = 0;
  std::vector<std::int32_t> whole_bias = {};  ///< result of WholeBias
  ProductShape shape = {};

  /// Reads W[c, k] for k = begin, begin + 1, ...
  void ReadWeights(std::int64_t c, std::int64_t begin, std::span<float> out) const {
    transposed ? ReadWeightsAt(*weights, c * depth + begin, 1, out)
               : ReadWeightsAt(*weights, begin * channels + c, channels, out);
  }
  [[nodiscard]] double flops() const {
    return 2.0 * static_cast<double>(shape.rows) * static_cast<double>(depth) *
           static_cast<double>(channels);
  }
};

/// Returns whether all inputs and the output of the node are f32.
bool IsAllF32(const Graph& graph, const Node& node) {
  const auto fits = [&](ValueId value) {
    return value == kNoValue || graph.type(value).dtype == DType::kF32;
  };
  return std::all_of(node.inputs.begin(), node.inputs.end(), fits) && fits(node.outputs[0]);
}

/// Returns whether a Gemm has alpha 1, no transA and no C. Others are unsupported: fusion turns a
/// Gemm with weights into msc.Gemm unless it has scales or a C that is not per column.
bool IsPlain(const Node& gemm) {
  return AttrOr(gemm, "alpha", 1.0F) == 1.0F && AttrOr<std::int64_t>(gemm, "transA", 0) == 0 &&
         (gemm.inputs.size() < 3 || gemm.inputs[2] == kNoValue);
}

/// Reads everything except the schedule.
std::optional<Gemm> ReadGemm(const Lowering& lowering, const Node& node) {
  const Graph& graph = lowering.graph();
  const bool fused = node.Is("Gemm", "msc");
  if (!fused && !node.Is("Gemm") && !node.Is("MatMul")) return std::nullopt;
  if (fused ? !TakesFused(graph, node) : !IsAllF32(graph, node)) return std::nullopt;
  if (node.Is("Gemm") && !IsPlain(node)) return std::nullopt;
  Gemm gemm{.x = node.inputs[0], .weights = graph.constant(node.inputs[1])};
  const DType x = graph.type(gemm.x).dtype;
  if (gemm.weights == nullptr || gemm.weights->dims().size() != 2) return std::nullopt;
  if (lowering.DimsOf(gemm.x).size() < 2) return std::nullopt;
  gemm.quantized = IsQuantized(x);
  if (gemm.quantized) {
    gemm.x_zero = ReadFusedAttrs(node).x.zero_point;
    gemm.whole_bias = WholeBias(graph, node);
  }
  gemm.transposed = fused || (node.Is("Gemm") && AttrOr<std::int64_t>(node, "transB", 0) != 0);
  const Dims& w = gemm.weights->dims();
  gemm.depth = gemm.transposed ? w[1] : w[0];
  gemm.channels = gemm.transposed ? w[0] : w[1];
  if (gemm.depth == 0 || gemm.channels == 0) return std::nullopt;
  // Deeper sums of bytes could exceed i32.
  if (gemm.quantized && gemm.depth > kDeepestBytes) return std::nullopt;
  if (ElementCount(lowering.DimsOf(node.outputs[0])) == 0) return std::nullopt;
  gemm.shape = {.rows = ElementCount(lowering.DimsOf(gemm.x)) / gemm.depth,
                .channels = gemm.channels,
                .depth = (gemm.depth + StepOf(x) - 1) / StepOf(x),
                .x = x,
                .narrow = gemm.quantized && lowering.unit().dot4_narrow && IsNarrow(*gemm.weights)};
  return gemm;
}

/// Returns the number of slices along the depth in which an f32 product is summed. Every tile of
/// channels reads all of X. If X exceeds a cache, each tile fetches it again from beyond that
/// cache; with slices, only the sums are read and written once per slice.
std::int64_t SlicesOf(const Gemm& gemm) {
  constexpr std::int64_t kCacheBytes = std::int64_t{1024} * 1024;
  // Leaves 384 KiB of the cache for sums and weights.
  constexpr std::int64_t kSliceBytes = std::int64_t{640} * 1024;
  // A slice reads and writes each sum once, for at least 256 products.
  constexpr std::int64_t kLeastDepth = 256;
  // Register tiles have at most 4 vectors of 16 channels, so at least four tiles read X.
  constexpr std::int64_t kLeastChannels = 256;
  const std::int64_t bytes = gemm.shape.rows * gemm.depth * 4;
  // Only f32 products can start from earlier sums (Product::start).
  if (gemm.shape.x != DType::kF32 || bytes <= kCacheBytes) return 1;
  if (gemm.channels < kLeastChannels) return 1;
  const std::int64_t slices = (bytes + kSliceBytes - 1) / kSliceBytes;
  return std::max<std::int64_t>(1, std::min(slices, gemm.depth / kLeastDepth));
}

/// Returns memory for f32 sums at the places of Y, with adjacent channels.
View SumsOf(Lowering& lowering, const Dims& dims) {
  constexpr std::array<std::size_t, 5> kOrder = {0, 1, 3, 4, 2};
  std::int64_t elements = 0;
  View view = NewView(DType::kF32, dims, kOrder, Halo(5), elements);
  view.buffer = lowering.Scratch(DType::kF32, elements).buffer;
  return view;
}

/// Returns X as blocks of rows that a prologue computes at once.
MadeRows RowsOf(const Gemm& gemm) {
  const auto bytes = static_cast<std::int64_t>(ByteSize(gemm.shape.x));
  const std::int64_t rows = RowsAtOnce(gemm.shape.rows, gemm.depth * bytes);
  return {.x_dims = {1, gemm.depth, gemm.shape.rows / rows, rows},
          .x = gemm.shape.x,
          .x_zero = gemm.x_zero,
          .bias = gemm.whole_bias,
          .narrow = gemm.shape.narrow,
          .channels = gemm.channels};
}

/// Returns whether a schedule fits a product: no other algorithm, no image rows to join, and
/// threads share tiles of channels.
bool Applies(const ConvSchedule& schedule) {
  return schedule.algorithm == ConvAlgorithm::kDirect && !schedule.join_rows &&
         schedule.tile.order == LoopOrder::kChannelsOuter;
}

}  // namespace

KernelChoices GemmChoices(const Lowering& lowering, const Node& node) {
  // ONNX operators have no attribute for a schedule.
  if (node.domain != "msc") return {};
  const std::optional<Gemm> gemm = ReadGemm(lowering, node);
  if (!gemm) return {};
  KernelChoices choices{
      .kernel = "product " + std::to_string(gemm->depth) + " > " + std::to_string(gemm->channels) +
                " of " + std::to_string(gemm->shape.rows) + " rows " +
                std::string(Name(gemm->shape.x)) + (gemm->shape.narrow ? " narrow" : "")};
  for (const ConvSchedule& schedule : GemmSchedules(gemm->shape, lowering.unit())) {
    choices.schedules.push_back(ToPlain(schedule));
  }
  return choices;
}

bool GemmTakesPrologue(const Lowering& lowering, const Node& node) {
  const std::optional<Gemm> gemm = ReadGemm(lowering, node);
  if (!gemm || ChosenFor(node)) return false;
  const MadeRows rows = RowsOf(*gemm);
  // A register tile needs enough rows to make reading its weights worthwhile.
  constexpr std::int64_t kLeastRows = 4;
  return rows.x_dims[3] >= kLeastRows && rows.Pays(lowering.unit());
}

bool LowerMadeGemm(Lowering& lowering, const Group& group) {
  const std::optional<Gemm> gemm = ReadGemm(lowering, lowering.node(group.anchor));
  if (!gemm || group.prologue.empty()) return false;
  const Dims x_dims = lowering.DimsOf(gemm->x);
  const std::size_t last = x_dims.size() - 1;
  const ValueId result = ResultOf(lowering.graph(), group);
  const std::vector<std::size_t> order = RowMajor(x_dims.size());
  Epilogue epilogue(lowering, group, lowering.Out(result, order), last);
  Chain chain(lowering, group.prologue.front(), Unplaced(gemm->shape.x, x_dims), last);
  const MadeRows rows = RowsOf(*gemm);
  // Views [..., channels] as n, channels, blocks, rows.
  const auto blocks = [&](const View& view) -> std::optional<View> {
    std::optional<View> image = Reshape(view, {rows.x_dims[2], rows.x_dims[3], view.dims.back()});
    if (!image) return std::nullopt;
    image->dims = {1, image->dims[2], image->dims[0], image->dims[1]};
    image->strides = {0, image->strides[2], image->strides[0], image->strides[1]};
    image->halo = Halo(4);
    return image;
  };
  if (!epilogue.Remap(blocks) || !chain.Remap(blocks)) return false;
  (void)epilogue.Remap([](const View& view) { return std::optional(SplitGroups(view, 1)); });
  KernelWriter writer = lowering.Writer("gemm");
  Body body =
      MadeRowsBody(lowering, writer, rows, chain, epilogue,
                   [&](std::int64_t /*g*/, std::int64_t c, std::int64_t /*kh*/, std::int64_t /*kw*/,
                       std::span<float> out) { gemm->ReadWeights(c, 0, out); });
  lowering.AddCall(std::move(writer), std::move(body), gemm->flops(),
                   lowering.LabelOf(group.nodes(), PrecisionOf(gemm->shape.x)));
  lowering.Finish(result);
  return true;
}

bool LowerGemm(Lowering& lowering, const Group& group) {
  const Node& node = lowering.node(group.anchor);
  const std::optional<Gemm> gemm = ReadGemm(lowering, node);
  if (!gemm) return false;
  const auto chosen = ChosenFor(node);
  if (chosen && !Applies(*chosen)) return false;
  const Dims x_dims = lowering.DimsOf(gemm->x);
  const std::size_t last = x_dims.size() - 1;
  const std::int64_t rows = gemm->shape.rows;
  // Views [..., channels] as n, group, channels, height, width with all rows along the width.
  const auto as_image = [rows](const View& view) -> std::optional<View> {
    const std::optional<View> matrix = Reshape(view, {rows, view.dims.back()});
    if (!matrix) return std::nullopt;
    View image = *matrix;
    image.dims = {1, 1, matrix->dims[1], 1, rows};
    image.strides = {0, 0, matrix->strides[1], 0, matrix->strides[0]};
    image.halo = Halo(image.dims.size());
    return image;
  };
  std::optional<View> x = as_image(lowering.WhereUnit(gemm->x, last, Halo(x_dims.size())));
  if (!x) x = as_image(lowering.WhereDense(gemm->x));
  const ValueId result = ResultOf(lowering.graph(), group);
  const std::vector<std::size_t> order = RowMajor(x_dims.size());
  Epilogue epilogue(lowering, group, lowering.Out(result, order), last);
  if (!x || !epilogue.Remap(as_image)) return false;

  const Product product{.x = *x,
                        .x_zero = gemm->x_zero,
                        .bias = gemm->whole_bias,
                        .narrow = gemm->shape.narrow,
                        .slack = lowering.HasSlack(*x),
                        .channels = gemm->channels};
  const TileSchedule tile = (chosen ? *chosen : DefaultGemm(gemm->shape, lowering.unit())).tile;
  // Slices of the depth, each a kernel.
  const std::int64_t slices = SlicesOf(*gemm);
  const std::int64_t slice = (gemm->depth + slices - 1) / slices;
  std::optional<View> sums;
  // Each slice continues the f32 sums of the previous one, so the products are added in the order
  // of one long sum. Only the last slice runs the epilogue.
  for (std::int64_t begin = 0; begin < gemm->depth; begin += slice) {
    Product part = product;
    part.x.dims[2] = std::min(slice, gemm->depth - begin);
    part.x.offset += begin * part.x.strides[2];
    part.start = sums;
    const PackedWeights packed = PackWeights(
        lowering, part, tile,
        [&](std::int64_t /*g*/, std::int64_t c, std::int64_t /*kh*/, std::int64_t /*kw*/,
            std::span<float> out) { gemm->ReadWeights(c, begin, out); });
    const bool closes = begin + slice >= gemm->depth;
    if (!closes && !sums) sums = SumsOf(lowering, epilogue.out().dims);
    KernelWriter writer = lowering.Writer("gemm");
    Body body = ProductBody(writer, lowering.unit(), part, tile, packed,
                            closes ? epilogue : Epilogue(lowering.graph(), *sums));
    const double share = static_cast<double>(part.depth()) / static_cast<double>(gemm->depth);
    lowering.AddCall(std::move(writer), std::move(body), share * gemm->flops(),
                     lowering.LabelOf(group.nodes(), PrecisionOf(gemm->shape.x)));
  }
  lowering.Finish(result);
  return true;
}

}  // namespace msc::native
