#include <algorithm>
#include <utility>

#include "compiler/targets/xnnpack/rules.h"

namespace msc::xnnpack {
namespace {

/// Setup function of the library's operators on rows of channels.
using SetupRows = xnn_status (*)(xnn_operator_t, std::size_t, const float*, float*, pthreadpool_t);

void AddRows(Lowering& lowering, Operator op, SetupRows setup, std::size_t rows,
             const ActivationCall& call) {
  lowering.Add(
      std::move(op),
      [setup, rows](xnn_operator_t made, std::span<float* const> at, pthreadpool_t threads) {
        return setup(made, rows, at[0], at[1], threads);
      },
      {call.from, call.into}, call.node);
}

/// Returns the number of rows and channels of a value in `layout`.
std::pair<std::size_t, std::size_t> RowsOf(const Dims& dims, Layout layout) {
  const std::int64_t channels = layout == Layout::kChannelsLast && dims.size() == 4 ? dims[1]
                                : dims.empty()                                      ? 1
                                                                                    : dims.back();
  return {static_cast<std::size_t>(ElementCount(dims) / channels),
          static_cast<std::size_t>(channels)};
}

/// Returns one slope per channel; nullopt if the slope is neither a scalar nor per channel.
std::optional<std::vector<float>> SlopesOf(const Lowering& lowering, const ActivationCall& call,
                                           std::size_t channels) {
  if (call.slope == kNoValue) return std::nullopt;
  auto slopes = lowering.Constant(call.slope, Layout::kDense);
  const auto dims = lowering.DimsOf(call.slope);
  if (!slopes || !dims) return std::nullopt;
  if (slopes->size() == 1) {
    slopes->resize(channels, slopes->front());
    return slopes;
  }
  // Shapes: [C] for a fused layer, [C,1,1] or [1,C,1,1] for a PRelu of images, [C] for one of rows.
  const bool fused = lowering.graph().node(call.node).domain == "msc";
  const std::size_t from_end = fused || call.layout == Layout::kDense ? 1 : 3;
  if (slopes->size() != channels || dims->size() < from_end ||
      static_cast<std::size_t>(dims->at(dims->size() - from_end)) != channels) {
    return std::nullopt;
  }
  return slopes;
}

bool AddSwish(Lowering& lowering, const ActivationCall& call, const Dims& dims) {
  ActivationCall sigmoid = call;
  sigmoid.activation = {.op = "Sigmoid"};
  sigmoid.into = lowering.Scratch(call.like);
  const std::vector<std::size_t> shape = ShapeIn(dims, call.layout);
  return AddActivation(lowering, sigmoid) && AddBinary(lowering, {.op = "Mul",
                                                                  .a_shape = shape,
                                                                  .b_shape = shape,
                                                                  .a = call.from,
                                                                  .b = sigmoid.into,
                                                                  .into = call.into,
                                                                  .node = call.node});
}

Operator MakeBinary(const std::string& name, Clamp clamp, std::uint32_t flags) {
  const auto make = [&](auto create) {
    return MakeOperator(
        [&](xnn_operator_t* op) { return create(clamp.low, clamp.high, flags, op); });
  };
  if (name == "Add") return make(xnn_create_add_nd_f32);
  if (name == "Sub") return make(xnn_create_subtract_nd_f32);
  if (name == "Mul") return make(xnn_create_multiply_nd_f32);
  if (name == "Div") return make(xnn_create_divide_nd_f32);
  if (name == "Max") {
    return MakeOperator([&](xnn_operator_t* op) { return xnn_create_maximum_nd_f32(flags, op); });
  }
  return MakeOperator([&](xnn_operator_t* op) { return xnn_create_minimum_nd_f32(flags, op); });
}

auto SetupOf(const std::string& name) {
  if (name == "Add") return xnn_setup_add_nd_f32;
  if (name == "Sub") return xnn_setup_subtract_nd_f32;
  if (name == "Mul") return xnn_setup_multiply_nd_f32;
  if (name == "Div") return xnn_setup_divide_nd_f32;
  return name == "Max" ? xnn_setup_maximum_nd_f32 : xnn_setup_minimum_nd_f32;
}

/// Returns the activation that an unfused node computes.
std::optional<Activation> PlainActivation(const Lowering& lowering, const Node& node) {
  Activation activation{.op = node.op};
  if (node.op == "LeakyRelu") activation.alpha = AttrOr(node, "alpha", 0.01F);
  if (node.op != "Clip") return activation;
  const Clamp open;
  activation.alpha = open.low;
  activation.beta = open.high;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) continue;
    const auto bound = lowering.Constant(node.inputs[i], Layout::kDense);
    if (!bound || bound->size() != 1) return std::nullopt;
    (i == 1 ? activation.alpha : activation.beta) = bound->front();
  }
  return activation;
}

}  // namespace

std::optional<Clamp> ClampOf(const Activation& activation) {
  if (activation.op.empty()) return Clamp{};
  if (activation.op == "Relu") return Clamp{.low = 0.0F};
  if (activation.op == "Clip") return Clamp{.low = activation.alpha, .high = activation.beta};
  return std::nullopt;
}

std::vector<std::size_t> ShapeIn(const Dims& dims, Layout layout) {
  std::vector<std::size_t> shape(dims.begin(), dims.end());
  if (layout == Layout::kChannelsLast && shape.size() == 4) {
    std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
  }
  return shape;
}

Layout LayoutOf(const Dims& dims) {
  return dims.size() == 4 ? Layout::kChannelsLast : Layout::kDense;
}

bool AddActivation(Lowering& lowering, const ActivationCall& call) {
  const Activation& activation = call.activation;
  const Dims dims = lowering.DimsOf(call.like).value();
  const auto [rows, channels] = RowsOf(dims, call.layout);
  const std::uint32_t flags = lowering.Flags(call.node);
  const std::size_t c = channels;
  if (activation.op == "Swish") return AddSwish(lowering, call, dims);
  Operator op;
  SetupRows setup = nullptr;
  if (const std::optional<Clamp> clamp = ClampOf(activation)) {
    // The library refuses bounds that do not ascend; the negation also covers NaN.
    if (!(clamp->low < clamp->high)) return false;
    op = MakeOperator([&](xnn_operator_t* made) {
      return xnn_create_clamp_nc_f32(c, c, c, clamp->low, clamp->high, flags, made);
    });
    setup = xnn_setup_clamp_nc_f32;
  } else if (activation.op == "Sigmoid") {
    op = MakeOperator(
        [&](xnn_operator_t* made) { return xnn_create_sigmoid_nc_f32(c, c, c, flags, made); });
    setup = xnn_setup_sigmoid_nc_f32;
  } else if (activation.op == "HardSwish") {
    op = MakeOperator(
        [&](xnn_operator_t* made) { return xnn_create_hardswish_nc_f32(c, c, c, flags, made); });
    setup = xnn_setup_hardswish_nc_f32;
  } else if (activation.op == "LeakyRelu") {
    op = MakeOperator([&](xnn_operator_t* made) {
      return xnn_create_leaky_relu_nc_f32(c, c, c, activation.alpha, flags, made);
    });
    setup = xnn_setup_leaky_relu_nc_f32;
  } else if (activation.op == "PRelu") {
    const auto slopes = SlopesOf(lowering, call, c);
    if (!slopes) return false;
    op = MakeOperator([&](xnn_operator_t* made) {
      return xnn_create_prelu_nc_f32(c, c, c, slopes->data(), flags, made);
    });
    setup = xnn_setup_prelu_nc_f32;
  }
  if (!op) return false;
  AddRows(lowering, std::move(op), setup, rows, call);
  return true;
}

bool AddBinary(Lowering& lowering, const BinaryCall& call) {
  if (std::max(call.a_shape.size(), call.b_shape.size()) > XNN_MAX_TENSOR_DIMS) return false;
  Operator op = MakeBinary(call.op, call.clamp, lowering.Flags(call.node));
  if (!op) return false;
  lowering.Add(
      std::move(op),
      [setup = SetupOf(call.op), a = call.a_shape, b = call.b_shape](
          xnn_operator_t made, std::span<float* const> at, pthreadpool_t threads) {
        return setup(made, a.size(), a.data(), b.size(), b.data(), at[0], at[1], at[2], threads);
      },
      {call.a, call.b, call.into}, call.node);
  return true;
}

bool LowerActivation(Lowering& lowering, NodeId id) {
  const Node& node = lowering.graph().node(id);
  const auto x = lowering.DimsOf(node.inputs[0]);
  const std::optional<Activation> activation = PlainActivation(lowering, node);
  if (!x || !activation) return false;
  const Layout layout = LayoutOf(*x);
  const BufferId from = lowering.In(node.inputs[0], layout);
  const BufferId into = lowering.Out(node.outputs[0], layout);
  if (!AddActivation(lowering, {.activation = *activation,
                                .like = node.outputs[0],
                                .slope = node.op == "PRelu" ? node.inputs[1] : kNoValue,
                                .layout = layout,
                                .from = from,
                                .into = into,
                                .node = id})) {
    return false;
  }
  lowering.Finish(node.outputs[0]);
  return true;
}

bool LowerBinary(Lowering& lowering, NodeId id) {
  const Node& node = lowering.graph().node(id);
  if (node.inputs.size() != 2) return false;
  const auto a = lowering.DimsOf(node.inputs[0]);
  const auto b = lowering.DimsOf(node.inputs[1]);
  const auto y = lowering.DimsOf(node.outputs[0]);
  if (!a || !b || !y) return false;
  BinaryCall call{.op = node.op, .node = id};
  Activation activation;
  if (node.domain == "msc") {
    call.op = AttrOr(node, "op", std::string());
    const FusedAttrs attrs = ReadFusedAttrs(node);
    if (attrs.y_type != DType::kF32) return false;
    activation = attrs.activation;
  }
  const std::optional<Clamp> clamp = ClampOf(activation);
  call.clamp = clamp.value_or(Clamp{});
  // An operand of fewer dimensions stays dense: channels last would broadcast its other axes.
  const bool images = a->size() == 4 && b->size() == 4;
  const Layout layout = images ? Layout::kChannelsLast : Layout::kDense;
  call.a_shape = ShapeIn(*a, layout);
  call.b_shape = ShapeIn(*b, layout);
  call.a = lowering.In(node.inputs[0], layout);
  call.b = lowering.In(node.inputs[1], layout);
  const BufferId into = lowering.Out(node.outputs[0], layout);
  call.into = clamp ? into : lowering.Scratch(node.outputs[0]);
  if (!AddBinary(lowering, call)) return false;
  if (!clamp && !AddActivation(lowering, {.activation = activation,
                                          .like = node.outputs[0],
                                          .slope = kNoValue,
                                          .layout = layout,
                                          .from = call.into,
                                          .into = into,
                                          .node = id})) {
    return false;
  }
  lowering.Finish(node.outputs[0]);
  return true;
}

bool LowerConcat(Lowering& lowering, NodeId id) {
  const Node& node = lowering.graph().node(id);
  const auto y = lowering.DimsOf(node.outputs[0]);
  if (!y || y->empty()) return false;
  const auto rank = static_cast<std::int64_t>(y->size());
  std::int64_t axis = AttrOr(node, "axis", std::int64_t{0});
  if (axis < 0) axis += rank;
  // The library copies rows of channels into place with one call per operand.
  const Layout layout = LayoutOf(*y);
  // Only parts along the innermost axis of the layout are such rows.
  if (axis != (rank == 4 ? 1 : rank - 1)) return false;
  const auto [rows, all] = RowsOf(*y, layout);
  std::vector<Operator> copies;
  for (const ValueId input : node.inputs) {
    const auto x = lowering.DimsOf(input);
    if (!x) return false;
    const std::size_t c = RowsOf(*x, layout).second;
    copies.push_back(MakeOperator([&, stride = all](xnn_operator_t* made) {
      return xnn_create_copy_nc_x32(c, c, stride, lowering.Flags(id), made);
    }));
    if (!copies.back()) return false;
  }
  std::vector<BufferId> from;
  for (const ValueId input : node.inputs) from.push_back(lowering.In(input, layout));
  const BufferId into = lowering.Out(node.outputs[0], layout);
  std::size_t start = 0;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    lowering.Add(
        std::move(copies[i]),
        [start, count = rows](xnn_operator_t made, std::span<float* const> at,
                              pthreadpool_t threads) {
          return xnn_setup_copy_nc_x32(made, count, at[0], at[1] + start, threads);
        },
        {from[i], into}, id);
    start += RowsOf(*lowering.DimsOf(node.inputs[i]), layout).second;
  }
  lowering.Finish(node.outputs[0]);
  return true;
}

bool LowerSoftmax(Lowering& lowering, NodeId id) {
  const Node& node = lowering.graph().node(id);
  const auto x = lowering.DimsOf(node.inputs[0]);
  if (!x || x->empty()) return false;
  const std::int64_t axis = AttrOr(node, "axis", std::int64_t{-1});
  if (axis != -1 && axis + 1 != std::ssize(*x)) return false;
  const auto [rows, c] = RowsOf(*x, Layout::kDense);
  Operator op = MakeOperator([&, channels = c](xnn_operator_t* made) {
    return xnn_create_softmax_nc_f32(channels, channels, channels, lowering.Flags(id), made);
  });
  if (!op) return false;
  ActivationCall call{.like = node.outputs[0], .node = id};
  call.from = lowering.In(node.inputs[0], Layout::kDense);
  call.into = lowering.Out(node.outputs[0], Layout::kDense);
  AddRows(lowering, std::move(op), xnn_setup_softmax_nc_f32, rows, call);
  lowering.Finish(node.outputs[0]);
  return true;
}

}  // namespace msc::xnnpack
