#include "cost/learned/region_features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <set>
#include <string_view>

#include "compiler/ops/op.h"
#include "compiler/passes/narrowing.h"

namespace msc::cost {
namespace {

/// Sizes, to which the time of a region is roughly proportional.
enum Size : std::size_t {
  // Multiplications and additions of layers in f32.
  kPointwise,
  kSpatial,
  kDepthwise,
  kGrouped,
  kProduct,
  // The same with channels filled up to whole vectors.
  kFullPointwise,
  kFullSpatial,
  kFullDepthwise,
  // Multiplications and additions of layers in narrow types.
  kNarrow,
  kNarrowDepthwise,
  // Bytes that nodes read and write.
  kLayerBytes,
  kElementwise,  // behind a layer
  kApart,        // elementwise without a layer in front
  kCurved,       // elementwise with exponentials
  // copies in another order
  kMoved,
  kTurned,  // layout conversions on the boundary of the region
  kReduced,
  kOther,
  // Bytes that cross the boundary.
  kImagesIn,
  kImagesOut,
  kOthersIn,
  kOthersOut,
  kWeights,
  kSizes,
};

/// Counts of nodes by what they do.
enum Count : std::size_t {
  kPointwiseNodes,
  kSpatialNodes,
  kDepthwiseNodes,
  kGroupedNodes,
  kProducts,
  kElementwiseNodes,
  kApartNodes,
  kMoves,
  kViews,
  kTurns,
  kReductions,
  kOthers,
  kCounts,
};

constexpr std::size_t kSummed = std::size_t{kSizes} + std::size_t{kCounts};

/// Operators that have a count of their own; all others share one more count.
constexpr std::array<std::string_view, 14> kKinds = {
    "Conv",    "ConvTranspose", "Gemm",    "MatMul",  "Add",         "Mul",
    "Relu",    "Clip",          "Sigmoid", "MaxPool", "AveragePool", "GlobalAveragePool",
    "Softmax", "QuantizeLinear"};
constexpr std::size_t kShapes = 18;  ///< number of values that Shapes returns

/// Number of channels in a vector of f32; 16 with AVX-512.
constexpr double kVector = 16;

bool IsOneOf(std::string_view op, std::initializer_list<std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}
bool IsConvolution(std::string_view op) {
  return IsOneOf(op, {"Conv", "ConvTranspose"});
}
bool IsProduct(std::string_view op) {
  return IsOneOf(op, {"MatMul", "Gemm"});
}
bool IsCurved(std::string_view op) {
  return IsOneOf(
      op, {"Sigmoid", "HardSwish", "HardSigmoid", "Exp", "Gelu", "Swish", "Tanh", "Erf", "Pow"});
}
bool IsElementwise(std::string_view op) {
  return IsCurved(op) ||
         IsOneOf(op, {"Add", "Mul", "Sub", "Div", "Relu", "Clip", "LeakyRelu", "PRelu",
                      "BatchNormalization", "Cast", "Sqrt", "QuantizeLinear", "DequantizeLinear"});
}
bool IsMove(std::string_view op) {
  return IsOneOf(op, {"Transpose", "Concat", "Slice", "Split", "Resize", "Pad", "Gather"});
}
bool IsView(std::string_view op) {
  return IsOneOf(op, {"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Shape", "Identity"});
}
bool IsReduction(std::string_view op) {
  return IsOneOf(op, {"MaxPool", "AveragePool", "GlobalAveragePool", "ReduceMean"});
}

double Log(double size) {
  // Sizes span many orders of magnitude; the 1 maps an absent one to 0.
  return std::log2(1 + std::max(0.0, size));
}
double OfLog(double log) {
  return std::exp2(log) - 1;
}

double Elements(const ValueType& type) {
  const auto dims = type.shape ? StaticDims(*type.shape) : std::nullopt;
  if (!dims) return 0;
  double count = 1;
  for (const std::int64_t dim : *dims) count *= static_cast<double>(dim);
  return count;
}

double BytesOf(const ValueType& type) {
  return Elements(type) * static_cast<double>(ByteSize(type.dtype));
}

double Dim(const ValueType& type, std::size_t axis) {
  const auto dims = type.shape ? StaticDims(*type.shape) : std::nullopt;
  return dims && axis < dims->size() ? static_cast<double>((*dims)[axis]) : 0;
}

bool IsImage(const ValueType& type) {
  constexpr std::size_t kAxes = 4;
  const auto dims = type.shape ? StaticDims(*type.shape) : std::nullopt;
  return dims && dims->size() == kAxes && (*dims)[1] > 1 && (*dims)[2] * (*dims)[3] > 1;
}

/// Numbers that describe a layer.
struct Layer {
  double flops = 0;
  double kernel = 0;  ///< positions of the kernel
  double stride = 0;
  double groups = 0;
  double in = 0;  ///< input channels
  /// Output channels.
  double out = 0;
  double places = 0;  ///< output positions: elements of the output / output channels
  double row = 0;     ///< of these, the positions in a row
  double width = 0;   ///< bytes of an input element as it is stored
};

Layer LayerOf(const Graph& graph, const Node& node, double flops) {
  Layer layer;
  layer.flops = flops;
  if (node.inputs.empty() || node.inputs[0] == kNoValue) return layer;
  if (node.outputs.empty() || node.outputs[0] == kNoValue) return layer;
  const ValueType& read = graph.type(node.inputs[0]);
  const ValueType& made = graph.type(node.outputs[0]);
  layer.kernel = 1;
  for (const std::int64_t size : AttrOr(node, "kernel_shape", std::vector<std::int64_t>())) {
    layer.kernel *= static_cast<double>(size);
  }
  layer.stride = 1;
  for (const std::int64_t size : AttrOr(node, "strides", std::vector<std::int64_t>())) {
    layer.stride *= static_cast<double>(size);
  }
  layer.groups = static_cast<double>(AttrOr(node, "group", std::int64_t{1}));
  layer.in = Dim(read, 1);
  layer.out = Dim(made, 1);
  layer.places = layer.out > 0 ? Elements(made) / layer.out : Elements(made);
  layer.row = Dim(made, 3);
  const auto narrow = NarrowSource(graph, node.inputs[0]);
  layer.width = static_cast<double>(ByteSize(narrow ? narrow->form.dtype : read.dtype));
  return layer;
}

/// Returns the factor by which work grows if channels are filled up to whole vectors.
double Filled(double channels) {
  return channels > 0 ? kVector * std::ceil(channels / kVector) / channels : 1;
}

class Summer {
 public:
  explicit Summer(const Graph& region) : region_(region) {
    for (const NodeId id : region.order()) {
      const Node& node = region.node(id);
      if (Ops().Find(node.domain, node.op) != nullptr) Add(id, node);
    }
    for (const ValueId id : region.inputs()) {
      const ValueType& type = region.type(id);
      sizes_[IsImage(type) ? kImagesIn : kOthersIn] += BytesOf(type);
    }
    for (const ValueId id : region.outputs()) {
      const ValueType& type = region.type(id);
      sizes_[IsImage(type) ? kImagesOut : kOthersOut] += BytesOf(type);
    }
    for (const ValueId id : region.constants()) {
      sizes_[kWeights] += static_cast<double>(region.constant(id)->bytes());
    }
  }

  [[nodiscard]] std::vector<double> Features(std::int64_t cold_bytes) const {
    std::vector<double> features;
    for (const double size : sizes_) features.push_back(Log(size));
    features.insert(features.end(), counts_.begin(), counts_.end());
    const std::array<double, kShapes> shapes = Shapes(cold_bytes);
    features.insert(features.end(), shapes.begin(), shapes.end());
    features.insert(features.end(), kinds_.begin(), kinds_.end());
    return features;
  }

 private:
  [[nodiscard]] std::array<double, kShapes> Shapes(std::int64_t cold_bytes) const {
    return {Log(flops_),
            Log(moved_),
            Log(flops_) - Log(moved_),
            nodes_,
            static_cast<double>(region_.inputs().size()),
            static_cast<double>(region_.outputs().size()),
            Log(static_cast<double>(cold_bytes)),
            flops_ > 0 ? most_.flops / flops_ : 0,
            Log(most_.kernel),
            Log(most_.stride),
            Log(most_.groups),
            Log(most_.in),
            Log(most_.out),
            Log(most_.places),
            Log(most_.groups > 0 ? most_.in / most_.groups : 0),
            Log(most_.row),
            Filled(most_.in) * Filled(most_.out),
            most_.width};
  }

  void Add(NodeId id, const Node& node) {
    const OpCost cost = CostOf(region_, id);
    flops_ += cost.flops;
    moved_ += cost.bytes;
    nodes_ += 1;
    const auto kind = std::find(kKinds.begin(), kKinds.end(), node.op);
    kinds_[static_cast<std::size_t>(kind - kKinds.begin())] += 1;
    if (IsConvolution(node.op) || IsProduct(node.op)) {
      AddLayer(node, cost);
    } else if (IsElementwise(node.op)) {
      const bool behind = std::any_of(node.inputs.begin(), node.inputs.end(),
                                      [&](ValueId input) { return behind_.contains(input); });
      if (behind) behind_.insert(node.outputs.begin(), node.outputs.end());
      Add(behind ? kElementwise : kApart, behind ? kElementwiseNodes : kApartNodes, cost.bytes);
      if (IsCurved(node.op)) sizes_[kCurved] += cost.bytes;
    } else if (IsMove(node.op)) {
      const bool turns = node.op == "Transpose" && IsOnBoundary(node);
      Add(turns ? kTurned : kMoved, turns ? kTurns : kMoves, cost.bytes);
    } else if (IsView(node.op)) {
      counts_[kViews] += 1;
    } else {
      const bool reduces = IsReduction(node.op);
      Add(reduces ? kReduced : kOther, reduces ? kReductions : kOthers, cost.bytes);
    }
  }

  void Add(Size size, Count count, double bytes) {
    sizes_[size] += bytes;
    counts_[count] += 1;
  }

  void AddLayer(const Node& node, const OpCost& cost) {
    behind_.insert(node.outputs.begin(), node.outputs.end());
    const Layer layer = LayerOf(region_, node, cost.flops);
    if (layer.flops > most_.flops) most_ = layer;
    sizes_[kLayerBytes] += cost.bytes;
    const bool depthwise = layer.groups > 1 && layer.groups == layer.in;
    const bool narrow = layer.width < static_cast<double>(ByteSize(DType::kF32));
    const Size narrow_size = depthwise ? kNarrowDepthwise : kNarrow;
    const auto add = [&](Size size, Count count) {
      sizes_[narrow ? narrow_size : size] += cost.flops;
      counts_[count] += 1;
    };
    const auto full = [&](Size size, double factor) {
      if (!narrow) sizes_[size] += cost.flops * factor;
    };
    if (IsProduct(node.op)) {
      add(kProduct, kProducts);
    } else if (depthwise) {
      add(kDepthwise, kDepthwiseNodes);
      full(kFullDepthwise, Filled(layer.in));
    } else if (layer.groups > 1) {
      add(kGrouped, kGroupedNodes);
    } else {
      add(layer.kernel > 1 ? kSpatial : kPointwise,
          layer.kernel > 1 ? kSpatialNodes : kPointwiseNodes);
      full(layer.kernel > 1 ? kFullSpatial : kFullPointwise, Filled(layer.in) * Filled(layer.out));
    }
  }

  [[nodiscard]] bool IsOnBoundary(const Node& node) const {
    const auto has = [](const std::vector<ValueId>& values, const std::vector<ValueId>& of) {
      return std::any_of(of.begin(), of.end(), [&](ValueId value) {
        return std::find(values.begin(), values.end(), value) != values.end();
      });
    };
    return has(region_.inputs(), node.inputs) || has(region_.outputs(), node.outputs);
  }

  const Graph& region_;
  std::array<double, kSizes> sizes_{};
  std::array<double, kCounts> counts_{};
  std::array<double, kKinds.size() + 1> kinds_{};
  double flops_ = 0;
  double moved_ = 0;
  double nodes_ = 0;
  Layer most_;
  std::set<ValueId> behind_;  ///< outputs of layers and of the elementwise nodes that follow them
};

}  // namespace

std::size_t RegionFeatureCount() {
  return kSummed + kShapes + kKinds.size() + 1;
}

std::vector<double> RegionFeatures(const Graph& region, std::int64_t cold_bytes) {
  return Summer(region).Features(cold_bytes);
}

std::vector<double> WorkTerms(std::span<const double> features) {
  std::vector<double> terms;
  for (std::size_t i = 0; i < kSizes; ++i) terms.push_back(std::max(0.0, OfLog(features[i])));
  for (std::size_t i = kSizes; i < kSummed; ++i) terms.push_back(std::max(0.0, features[i]));
  terms.push_back(1);
  return terms;
}

bool HasLayer(std::span<const double> features) {
  return features[kLayerBytes] > 0;
}

}  // namespace msc::cost
