#include "compiler/ops/lstm.h"

#include <array>
#include <span>
#include <vector>

#include "compiler/targets/onednn/epilogue.h"
#include "compiler/targets/onednn/rules.h"

namespace msc::onednn {
namespace {

using dnnl::lstm_forward;

struct Lstm {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t inputs = 0;
  std::int64_t hidden = 0;
  std::int64_t directions = 1;
  dnnl::rnn_direction direction = dnnl::rnn_direction::unidirectional_left2right;
};

bool IsGiven(const std::vector<ValueId>& values, std::size_t index) {
  return index < values.size() && values[index] != kNoValue;
}

bool IsF32(const Graph& graph, ValueId value) {
  const auto desc = DenseDescOf(graph, value);
  return desc && ElemOf(*desc) == Elem::f32;
}

/// Reads an LSTM in f32 with constant weights, sequences of full length and no peepholes; nullopt
/// for others.
std::optional<Lstm> ReadLstm(const Graph& graph, const Node& node) {
  const ValueId x = node.inputs[kLstmX];
  if (!IsF32(graph, x) || graph.constant(x)) return std::nullopt;
  if (IsGiven(node.inputs, kLstmLengths) || IsGiven(node.inputs, kLstmP)) return std::nullopt;
  for (const std::size_t i : {kLstmW, kLstmR, kLstmB}) {
    if (IsGiven(node.inputs, i) && !ConstantFloats(graph, node.inputs[i])) return std::nullopt;
  }
  for (const std::size_t i : {kLstmH, kLstmC}) {
    if (IsGiven(node.inputs, i) && !IsF32(graph, node.inputs[i])) return std::nullopt;
  }
  const Dims x_dims = DimsOf(graph, x);
  Lstm lstm{.steps = x_dims[0],
            .batch = x_dims[1],
            .inputs = x_dims[2],
            .hidden = DimsOf(graph, node.inputs[kLstmR])[2],
            .directions = LstmDirections(node)};
  if (lstm.hidden == 0) return std::nullopt;
  if (lstm.directions == 2) lstm.direction = dnnl::rnn_direction::bidirectional_concat;
  if (AttrOr(node, "direction", std::string("forward")) == "reverse") {
    lstm.direction = dnnl::rnn_direction::unidirectional_right2left;
  }
  return lstm;
}

/// Indices of ONNX's gates in the order of the library's gates.
constexpr std::array<std::size_t, kLstmGates> kOrder = {kLstmGateI, kLstmGateF, kLstmGateC,
                                                        kLstmGateO};

/// Converts [D, 4 H, columns] with gates i, o, f, c to [1, D, columns, 4, H] with gates i, f, c, o.
std::vector<float> Turned(const Lstm& lstm, std::span<const float> rows, std::int64_t columns) {
  std::vector<float> turned;
  turned.reserve(rows.size());
  const std::int64_t gates = kLstmGates;
  for (std::int64_t d = 0; d < lstm.directions; ++d) {
    for (std::int64_t column = 0; column < columns; ++column) {
      for (const std::size_t gate : kOrder) {
        for (std::int64_t k = 0; k < lstm.hidden; ++k) {
          const std::int64_t row = (d * gates + static_cast<std::int64_t>(gate)) * lstm.hidden + k;
          turned.push_back(rows[static_cast<std::size_t>(row * columns + column)]);
        }
      }
    }
  }
  return turned;
}

/// Adds the two biases in [D, 8 H] and converts the sum like the weights.
std::vector<float> AddedBiases(const Lstm& lstm, std::span<const float> biases) {
  const auto rows = static_cast<std::size_t>(kLstmGates * lstm.hidden);
  std::vector<float> added;
  for (std::size_t d = 0; d < static_cast<std::size_t>(lstm.directions); ++d) {
    const auto own = biases.subspan(2 * d * rows, 2 * rows);
    for (std::size_t i = 0; i < rows; ++i) added.push_back(own[i] + own[rows + i]);
  }
  return Turned(lstm, added, 1);
}

}  // namespace

bool LowerLstm(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Graph& graph = lowering.graph();
  const auto lstm = ReadLstm(graph, node);
  if (!lstm) return false;
  const auto dense = [](const Dims& dims) { return DenseDesc(dims, Elem::f32); };
  const std::int64_t width = lstm->directions * lstm->hidden;
  const Dims w_dims = {1, lstm->directions, lstm->inputs, kLstmGates, lstm->hidden};
  const Dims r_dims = {1, lstm->directions, lstm->hidden, kLstmGates, lstm->hidden};
  const Dims b_dims = {1, lstm->directions, kLstmGates, lstm->hidden};
  const Desc state = dense({1, lstm->directions, lstm->batch, lstm->hidden});
  const Desc src = dense({lstm->steps, lstm->batch, lstm->inputs});
  const Desc dst = dense({lstm->steps, lstm->batch, width});
  const bool starts = IsGiven(node.inputs, kLstmH) || IsGiven(node.inputs, kLstmC);
  const bool ends = IsGiven(node.outputs, 1) || IsGiven(node.outputs, 2);
  const bool biased = IsGiven(node.inputs, kLstmB);
  const auto pd = TryMake([&] {
    const Desc before = starts ? state : Desc();
    const Desc after = ends ? state : Desc();
    const lstm_forward::desc desc(dnnl::prop_kind::forward_inference, lstm->direction, src, before,
                                  before, AnyDesc(w_dims, Elem::f32), AnyDesc(r_dims, Elem::f32),
                                  biased ? dense(b_dims) : Desc(), dst, after, after);
    return lstm_forward::primitive_desc(desc, Lowering::NewAttr(), lowering.engine());
  });
  if (!pd) return false;

  const auto floats = [&](std::size_t input) { return *ConstantFloats(graph, node.inputs[input]); };
  std::vector<Argument> arguments = {
      {DNNL_ARG_SRC_LAYER, src, lowering.In(node.inputs[kLstmX], src)},
      {DNNL_ARG_WEIGHTS_LAYER, pd->weights_layer_desc(),
       lowering.NewConstant(w_dims, Turned(*lstm, floats(kLstmW), lstm->inputs),
                            pd->weights_layer_desc())},
      {DNNL_ARG_WEIGHTS_ITER, pd->weights_iter_desc(),
       lowering.NewConstant(r_dims, Turned(*lstm, floats(kLstmR), lstm->hidden),
                            pd->weights_iter_desc())}};
  if (biased) {
    arguments.push_back({DNNL_ARG_BIAS, dense(b_dims),
                         lowering.NewConstant(b_dims, AddedBiases(*lstm, floats(kLstmB)))});
  }
  // The library takes both initial states or none; a missing one is zero.
  const Dims own = {lstm->directions, lstm->batch, lstm->hidden};
  const auto initial = [&](std::size_t input) {
    if (IsGiven(node.inputs, input)) return lowering.In(node.inputs[input], dense(own));
    return lowering.NewConstant(own,
                                std::vector<float>(static_cast<std::size_t>(ElementCount(own))));
  };
  if (starts) {
    arguments.push_back({DNNL_ARG_SRC_ITER, state, initial(kLstmH)});
    arguments.push_back({DNNL_ARG_SRC_ITER_C, state, initial(kLstmC)});
  }
  // The library writes the directions of one time step and sample next to each other.
  const Desc y({lstm->steps, lstm->directions, lstm->batch, lstm->hidden}, Elem::f32,
               Dims{lstm->batch * width, lstm->hidden, width, 1});
  const auto out = [&](std::size_t output, const Desc& made) {
    return IsGiven(node.outputs, output) ? lowering.Out(node.outputs[output], made)
                                         : lowering.Scratch(made);
  };
  arguments.push_back({DNNL_ARG_DST_LAYER, dst, out(0, y)});
  if (ends) {
    arguments.push_back({DNNL_ARG_DST_ITER, state, out(1, dense(own))});
    arguments.push_back({DNNL_ARG_DST_ITER_C, state, out(2, dense(own))});
  }
  lowering.AddPrimitive<lstm_forward>(*pd, std::move(arguments), lowering.LabelOf(id, Elem::f32));
  for (std::size_t i = 0; i < 3; ++i) {
    if (IsGiven(node.outputs, i)) lowering.Finish(node.outputs[i]);
  }
  return true;
}

}  // namespace msc::onednn
