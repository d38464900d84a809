#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "compiler/targets/native/product.h"
#include "compiler/targets/native/quantize.h"
#include "compiler/targets/native/rules.h"

namespace msc::native {
namespace {

/// Y[rows, channels] = X[rows, depth] * W, W a constant.
struct Gemm {
  ValueId x = kNoValue;
  TensorPtr weights;
  std::int64_t depth = 0;
  std::int64_t channels = 0;
  bool transposed = false;  ///< weights are [channels, depth]
  bool quantized = false;   ///< X and the weights are integers
  std::int64_t x_zero = 0;
  std::vector<std::int32_t> whole_bias = {};  ///< as WholeBias has it
  ProductShape shape = {};
};

/// Whether everything that the node has is f32.
bool IsAllF32(const Graph& graph, const Node& node) {
  const auto fits = [&](ValueId value) {
    return value == kNoValue || graph.type(value).dtype == DType::kF32;
  };
  return std::all_of(node.inputs.begin(), node.inputs.end(), fits) && fits(node.outputs[0]);
}

/// Fusion made msc.Gemm of all that has weights; what is left of ONNX's has scales or a wide C.
bool IsPlain(const Node& gemm) {
  return AttrOr(gemm, "alpha", 1.0F) == 1.0F && AttrOr<std::int64_t>(gemm, "transA", 0) == 0 &&
         (gemm.inputs.size() < 3 || gemm.inputs[2] == kNoValue);
}

/// All but what the attribute of the node chooses.
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
  if (gemm.quantized && gemm.depth > kDeepestBytes) return std::nullopt;
  if (ElementCount(lowering.DimsOf(node.outputs[0])) == 0) return std::nullopt;
  gemm.shape = {.rows = ElementCount(lowering.DimsOf(gemm.x)) / gemm.depth,
                .channels = gemm.channels,
                .depth = (gemm.depth + StepOf(x) - 1) / StepOf(x),
                .x = x};
  return gemm;
}

/// Products have no other algorithm, no rows of an image, and threads share tiles of channels.
bool Applies(const ConvSchedule& schedule) {
  return schedule.algorithm == ConvAlgorithm::kDirect && !schedule.join_rows &&
         schedule.tile.order == LoopOrder::kChannelsOuter;
}

}  // namespace

KernelChoices GemmChoices(const Lowering& lowering, const Node& node) {
  // Operators of ONNX have no attribute to hold a schedule.
  if (node.domain != "msc") return {};
  const std::optional<Gemm> gemm = ReadGemm(lowering, node);
  if (!gemm) return {};
  KernelChoices choices{.kernel = "product " + std::to_string(gemm->depth) + " > " +
                                  std::to_string(gemm->channels) + " of " +
                                  std::to_string(gemm->shape.rows) + " rows " +
                                  std::string(Name(gemm->shape.x)),
                        .schedules = {}};
  for (const ConvSchedule& schedule : GemmSchedules(gemm->shape, lowering.unit())) {
    choices.schedules.push_back(ToPlain(schedule));
  }
  return choices;
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
  // [..., channels] seen as n, group, channels, height, width with all rows along the width.
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
                        .slack = lowering.HasSlack(*x),
                        .channels = gemm->channels};
  const TileSchedule tile = (chosen ? *chosen : DefaultGemm(gemm->shape, lowering.unit())).tile;
  const PackedWeights packed =
      PackWeights(lowering, product, tile,
                  [&](std::int64_t /*g*/, std::int64_t c, std::int64_t /*kh*/, std::int64_t /*kw*/,
                      std::span<float> out) {
                    if (gemm->transposed) {
                      ReadWeightsAt(*gemm->weights, c * gemm->depth, 1, out);
                    } else {
                      ReadWeightsAt(*gemm->weights, c, gemm->channels, out);
                    }
                  });
  KernelWriter writer = lowering.Writer("gemm");
  Body body = ProductBody(writer, lowering.unit(), product, tile, packed, epilogue);
  const double flops = 2.0 * static_cast<double>(rows) * static_cast<double>(gemm->depth) *
                       static_cast<double>(gemm->channels);
  lowering.AddCall(std::move(writer), std::move(body), flops,
                   lowering.LabelOf(group.nodes(), PrecisionOf(gemm->shape.x)));
  lowering.Finish(result);
  return true;
}

}  // namespace msc::native
