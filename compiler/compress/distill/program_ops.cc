#include "compiler/compress/distill/program_ops.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "compiler/ops/eval.h"
#include "compiler/ops/fused.h"
#include "compiler/ops/infer.h"

namespace msc::detail {
namespace {

using Ints = std::vector<std::int64_t>;

/// A node with helpers for the readers below.
struct Site : TrainSite {
  [[nodiscard]] bool Has(std::size_t input) const { return node.HasInput(input); }
  [[nodiscard]] const Shape& ShapeOf(ValueId value) const {
    const auto& shape = graph.type(value).shape;
    if (!shape) RejectNode(node, "the rank of '" + graph.value(value).name + "' is not known");
    return *shape;
  }
  [[nodiscard]] const Shape& In(std::size_t input = 0) const { return ShapeOf(node.inputs[input]); }
  [[nodiscard]] const Shape& Out() const { return ShapeOf(node.outputs[0]); }
  [[nodiscard]] std::int64_t Axis(std::int64_t otherwise) const {
    return static_cast<std::int64_t>(
        NormalAxis(node, AttrOr(node, "axis", otherwise), In().size()));
  }
  /// Returns the integers of a constant input, or `otherwise` if the input is absent.
  [[nodiscard]] Ints Constant(std::size_t input, Ints otherwise = {}) const {
    if (!Has(input)) return otherwise;
    const TensorPtr tensor = graph.constant(node.inputs[input]);
    if (!tensor) RejectNode(node, "its input " + std::to_string(input) + " is not a constant");
    Ints list;
    for (std::int64_t i = 0; i < tensor->size(); ++i) {
      list.push_back(static_cast<std::int64_t>(NumberAt(*tensor, i)));
    }
    return list;
  }
  [[nodiscard]] double Number(std::size_t input, double otherwise) const {
    if (!Has(input)) return otherwise;
    const TensorPtr tensor = graph.constant(node.inputs[input]);
    if (!tensor || tensor->size() != 1) {
      RejectNode(node, "its input " + std::to_string(input) + " is not one constant number");
    }
    return NumberAt(*tensor, 0);
  }
  /// Keeps the first `count` inputs as operands.
  void Keep(std::size_t count) const {
    if (made.in.size() > count) made.in.resize(count);
  }
  void Append(const Ints& list) const {
    made.ints.insert(made.ints.end(), list.begin(), list.end());
  }
};

Dims Sizes(const Site& site, std::size_t input, std::size_t from) {
  const Shape& shape = site.In(input);
  const auto dims =
      StaticDims(Shape(shape.begin() + static_cast<std::ptrdiff_t>(from), shape.end()));
  if (dims) return *dims;
  RejectNode(site.node, "the sizes of '" + site.graph.value(site.node.inputs[input]).name +
                            "' are not known but for the batch; give them with --shape");
}

void Nothing(const Site& /*site*/) {}

/// ints: group, then strides, dilations, pads at the begin, pads at the end, one per spatial axis.
void Conv(const Site& site) {
  const Dims weights = Sizes(site, 1, 0);
  Dims spatial;
  for (std::size_t i = 2; i < site.In().size(); ++i) {
    spatial.push_back(site.In()[i].known() ? site.In()[i].size() : -1);
  }
  const std::string mode = AttrOr(site.node, "auto_pad", std::string("NOTSET"));
  // The padding of SAME follows from the spatial sizes.
  if (mode.starts_with("SAME") && !spatial.empty()) (void)Sizes(site, 0, 2);
  const Window window = ReadWindow(site.node, spatial, Dims(weights.begin() + 2, weights.end()));
  site.made.ints = {window.group};
  for (const auto* list :
       {&window.strides, &window.dilations, &window.pads_begin, &window.pads_end}) {
    site.Append(*list);
  }
}

/// ints: kernel, strides, dilations, pads at the begin, pads at the end, two each; ceil_mode;
/// whether padding counts.
void Pool(const Site& site) {
  if (site.In().size() != 4) RejectNode(site.node, "is trained with two spatial axes alone");
  const Window window = ReadWindow(site.node, Sizes(site, 0, 2), {});
  for (const auto* list :
       {&window.kernel, &window.strides, &window.dilations, &window.pads_begin, &window.pads_end}) {
    site.Append(*list);
  }
  const bool counts = AttrOr(site.node, "count_include_pad", std::int64_t{0}) != 0;
  // libtorch pads both ends alike, and zeros that are added beforehand would count in the mean.
  const bool mean = site.node.op == "AveragePool";
  if (mean && window.dilations != std::vector<std::int64_t>{1, 1}) {
    RejectNode(site.node, "is not trained with dilations");
  }
  if (mean && !counts && window.pads_begin != window.pads_end) {
    RejectNode(site.node, "is not trained with padding that differs at both ends");
  }
  site.Append({AttrOr(site.node, "ceil_mode", std::int64_t{0}), counts ? 1 : 0});
}

/// ints: transA, transB; reals: alpha, beta.
void Gemm(const Site& site) {
  site.made.ints = {AttrOr(site.node, "transA", std::int64_t{0}),
                    AttrOr(site.node, "transB", std::int64_t{0})};
  site.made.reals = {static_cast<double>(AttrOr(site.node, "alpha", 1.0F)),
                     static_cast<double>(AttrOr(site.node, "beta", 1.0F))};
}

/// reals: epsilon.
void BatchNorm(const Site& site) {
  if (AttrOr(site.node, "training_mode", std::int64_t{0}) != 0) {
    RejectNode(site.node, "is in training mode; fold it into the layer before it");
  }
  site.made.reals = {static_cast<double>(AttrOr(site.node, "epsilon", 1e-5F))};
}

/// ints: the normalized sizes; reals: epsilon.
void LayerNorm(const Site& site) {
  site.made.ints = Sizes(site, 0, static_cast<std::size_t>(site.Axis(-1)));
  site.made.reals = {static_cast<double>(AttrOr(site.node, "epsilon", 1e-5F))};
}

template <int kAlpha1000>
void Alpha(const Site& site) {  // reals: alpha
  site.made.reals = {
      static_cast<double>(AttrOr(site.node, "alpha", static_cast<float>(kAlpha1000) / 1000.0F))};
}

void HardSigmoid(const Site& site) {  // reals: alpha, beta
  site.made.reals = {static_cast<double>(AttrOr(site.node, "alpha", 0.2F)),
                     static_cast<double>(AttrOr(site.node, "beta", 0.5F))};
}

void Clip(const Site& site) {  // reals: least, most
  constexpr double kAny = std::numeric_limits<double>::infinity();
  site.made.reals = {site.Number(1, -kAny), site.Number(2, kAny)};
  site.Keep(1);
}

/// ints: the sizes of the output, -1 for the one that is unknown.
void Reshape(const Site& site) {
  for (const Dim& dim : site.Out()) site.made.ints.push_back(dim.known() ? dim.size() : -1);
  if (std::count(site.made.ints.begin(), site.made.ints.end(), -1) > 1) {
    RejectNode(site.node, "makes a shape " + ToString(site.Out()) +
                              " of which more than the batch is unknown; give the model its sizes "
                              "with --shape");
  }
  site.Keep(1);
  site.made.op = "Reshape";
}

void Transpose(const Site& site) {  // ints: perm
  Ints reversed;
  for (std::size_t i = site.In().size(); i-- > 0;) {
    reversed.push_back(static_cast<std::int64_t>(i));
  }
  site.made.ints = AttrOr(site.node, "perm", Ints());
  if (site.made.ints.empty()) site.made.ints = reversed;
}

template <int kOtherwise>
void WithAxis(const Site& site) {  // ints: axis
  site.made.ints = {site.Axis(kOtherwise)};
}

/// ints: keepdims, then the axes.
void Reduce(const Site& site) {
  Ints axes = AttrOr(site.node, "axes", Ints());
  if (site.Has(1)) axes = site.Constant(1);
  if (axes.empty()) {
    if (AttrOr(site.node, "noop_with_empty_axes", std::int64_t{0}) != 0) {
      RejectNode(site.node, "reduces nothing");
    }
    for (std::size_t i = 0; i < site.In().size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  site.made.ints = {AttrOr(site.node, "keepdims", std::int64_t{1})};
  for (const std::size_t axis : NormalAxes(site.node, axes, site.In().size())) {
    site.made.ints.push_back(static_cast<std::int64_t>(axis));
  }
  site.Keep(1);
}

void GlobalPool(const Site& site) {
  site.made.op = site.node.op == "GlobalMaxPool" ? "ReduceMax" : "ReduceMean";
  site.made.ints = {1};
  for (std::size_t i = 2; i < site.In().size(); ++i) {
    site.made.ints.push_back(static_cast<std::int64_t>(i));
  }
}

/// ints: pads at the begin of all axes, then those at the end; reals: the padding value.
void Pad(const Site& site) {
  if (AttrOr(site.node, "mode", std::string("constant")) != "constant") {
    RejectNode(site.node, "is trained in mode 'constant' alone");
  }
  site.made.ints = site.Constant(1);
  site.made.reals = {site.Number(2, 0.0)};
  site.Keep(1);
}

/// ints: number, start, end and step > 0 of every sliced axis.
void Slice(const Site& site) {
  const Ints starts = site.Constant(1);
  const Ints ends = site.Constant(2);
  Ints axes = site.Constant(3);
  const Ints steps = site.Constant(4, Ints(starts.size(), 1));
  for (std::size_t i = axes.size(); i < starts.size(); ++i) {
    axes.push_back(static_cast<std::int64_t>(i));
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (steps.at(i) < 1) RejectNode(site.node, "is trained with steps forward alone");
    const auto axis = NormalAxis(site.node, axes.at(i), site.In().size());
    site.Append({static_cast<std::int64_t>(axis), starts[i], ends.at(i), steps[i]});
  }
  site.Keep(1);
}

void Split(const Site& site) {  // ints: axis, sizes
  site.made.ints = {site.Axis(0)};
  for (const ValueId out : site.node.outputs) {
    const Dim size =
        out == kNoValue ? Dim() : site.ShapeOf(out)[static_cast<std::size_t>(site.made.ints[0])];
    if (!size.known()) RejectNode(site.node, "the sizes of its parts are not known");
    site.made.ints.push_back(size.size());
  }
  site.Keep(1);
}

/// ints: axis, whether the axis is removed, indices.
void Gather(const Site& site) {
  const std::int64_t axis = site.Axis(0);
  const TensorPtr indices = site.graph.constant(site.node.inputs[1]);
  if (!indices || indices->dims().size() > 1) {
    RejectNode(site.node, "is trained with a constant list of indices alone");
  }
  const Dim size = site.In()[static_cast<std::size_t>(axis)];
  site.made.ints = {axis, indices->dims().empty() ? 1 : 0};
  for (std::int64_t index : site.Constant(1)) {
    if (index < 0 && !size.known()) RejectNode(site.node, "counts from an end that is not known");
    site.made.ints.push_back(index < 0 ? index + size.size() : index);
  }
  site.Keep(1);
}

/// Adapts a reader to the signature of the table.
template <void (*kRead)(const Site&)>
void Via(const TrainSite& site) {
  kRead(Site{site});
}

constexpr std::array kRows = {
    TrainRow{"Abs", Via<Nothing>},
    TrainRow{"Add", Via<Nothing>, 3},
    TrainRow{"AveragePool", Via<Pool>},
    TrainRow{"BatchNormalization", Via<BatchNorm>, 6},
    TrainRow{"Clip", Via<Clip>},
    TrainRow{"Concat", Via<WithAxis<0>>},
    TrainRow{"Conv", Via<Conv>, 6},
    TrainRow{"Div", Via<Nothing>},
    TrainRow{"Dropout", Via<Nothing>},
    TrainRow{"Elu", Via<Alpha<1000>>},
    TrainRow{"Erf", Via<Nothing>},
    TrainRow{"Exp", Via<Nothing>},
    TrainRow{"Flatten", Via<Reshape>},
    TrainRow{"Gather", Via<Gather>},
    TrainRow{"Gemm", Via<Gemm>, 6},
    TrainRow{"GlobalAveragePool", Via<GlobalPool>},
    TrainRow{"GlobalMaxPool", Via<GlobalPool>},
    TrainRow{"HardSigmoid", Via<HardSigmoid>},
    TrainRow{"HardSwish", Via<Nothing>},
    TrainRow{"Identity", Via<Nothing>},
    TrainRow{"LayerNormalization", Via<LayerNorm>, 6},
    TrainRow{"LeakyRelu", Via<Alpha<10>>},
    TrainRow{"Log", Via<Nothing>},
    TrainRow{"LogSoftmax", Via<WithAxis<-1>>},
    TrainRow{"MatMul", Via<Nothing>, 3},
    TrainRow{"Max", Via<Nothing>},
    TrainRow{"MaxPool", Via<Pool>},
    TrainRow{"Min", Via<Nothing>},
    TrainRow{"Mul", Via<Nothing>},
    TrainRow{"Neg", Via<Nothing>},
    TrainRow{"PRelu", Via<Nothing>, 2},
    TrainRow{"Pad", Via<Pad>},
    TrainRow{"Pow", Via<Nothing>},
    TrainRow{"Reciprocal", Via<Nothing>},
    TrainRow{"ReduceMax", Via<Reduce>},
    TrainRow{"ReduceMean", Via<Reduce>},
    TrainRow{"ReduceSum", Via<Reduce>},
    TrainRow{"Relu", Via<Nothing>},
    TrainRow{"Reshape", Via<Reshape>},
    TrainRow{"Sigmoid", Via<Nothing>},
    TrainRow{"Slice", Via<Slice>},
    TrainRow{"Softmax", Via<WithAxis<-1>>},
    TrainRow{"Softplus", Via<Nothing>},
    TrainRow{"Split", Via<Split>},
    TrainRow{"Sqrt", Via<Nothing>},
    TrainRow{"Squeeze", Via<Reshape>},
    TrainRow{"Sub", Via<Nothing>},
    TrainRow{"Tanh", Via<Nothing>},
    TrainRow{"Transpose", Via<Transpose>},
    TrainRow{"Unsqueeze", Via<Reshape>},
};

}  // namespace

const TrainRow* FindTrainRow(const Node& node) {
  if (!node.domain.empty()) return nullptr;
  const auto* const row =
      std::find_if(kRows.begin(), kRows.end(), [&](const TrainRow& r) { return r.op == node.op; });
  return row == kRows.end() ? nullptr : row;
}

}  // namespace msc::detail
