#include "compiler/compress/distill/torch/run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/div.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/round.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/slice.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/split_with_sizes.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tanh.h>

#include "compiler/compress/distill/torch/fake_quantize.h"

namespace msc::detail {
namespace {

using at::IntArrayRef;
using at::Tensor;
using Ints = std::vector<std::int64_t>;

const Tensor& In(const TrainOp& op, const Slots& slots, std::size_t i = 0) {
  return slots[static_cast<std::size_t>(op.in[i])];
}

c10::optional<Tensor> Maybe(const TrainOp& op, const Slots& slots, std::size_t i) {
  if (i >= op.in.size() || op.in[i] < 0) return c10::nullopt;
  return In(op, slots, i);
}

/// Returns `count` entries of op.ints from `first` on.
Ints Part(const TrainOp& op, std::size_t first, std::size_t count) {
  const auto begin = op.ints.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

/// Pads both ends of the last axes.
Tensor Padded(const Tensor& x, const Ints& begin, const Ints& end, double value) {
  Ints pads;  // libtorch expects the last axis first
  for (std::size_t i = begin.size(); i-- > 0;) {
    pads.push_back(begin[i]);
    pads.push_back(end[i]);
  }
  return at::constant_pad_nd(x, pads, value);
}

Tensor Conv(const TrainOp& op, const Slots& slots) {
  const std::size_t n = (op.ints.size() - 1) / 4;
  Ints begin = Part(op, 1 + 2 * n, n);
  const Ints end = Part(op, 1 + 3 * n, n);
  Tensor x = In(op, slots);
  if (begin != end) {
    x = Padded(x, begin, end, 0.0);
    begin.assign(n, 0);
  }
  return at::convolution(x, In(op, slots, 1), Maybe(op, slots, 2), Part(op, 1, n), begin,
                         Part(op, 1 + n, n), false, Ints(n, 0), op.ints[0]);
}

struct PoolShape {
  Ints kernel, strides, dilations, begin, end;
  bool ceil = false;
  bool counts = false;
};

PoolShape ReadPool(const TrainOp& op) {
  return {Part(op, 0, 2), Part(op, 2, 2),   Part(op, 4, 2),  Part(op, 6, 2),
          Part(op, 8, 2), op.ints[10] != 0, op.ints[11] != 0};
}

/// Returns whether libtorch can pad: its pools take equal padding of at most half the kernel.
bool PadsItself(const PoolShape& shape) {
  bool fits = shape.begin == shape.end;
  for (std::size_t i = 0; i < shape.begin.size(); ++i) {
    fits = fits && shape.begin[i] <= shape.kernel[i] / 2;
  }
  return fits;
}

Tensor MaxPool(const TrainOp& op, const Slots& slots) {
  PoolShape shape = ReadPool(op);
  Tensor x = In(op, slots);
  if (!PadsItself(shape)) {
    // Padding must never be the maximum.
    x = Padded(x, shape.begin, shape.end, -std::numeric_limits<double>::infinity());
    shape.begin.assign(2, 0);
  }
  return at::max_pool2d(x, shape.kernel, shape.strides, shape.begin, shape.dilations, shape.ceil);
}

Tensor AveragePool(const TrainOp& op, const Slots& slots) {
  PoolShape shape = ReadPool(op);
  if (shape.dilations != Ints{1, 1}) throw std::invalid_argument(op.node + ": dilated AveragePool");
  Tensor x = In(op, slots);
  if (!PadsItself(shape) && shape.counts) {
    x = Padded(x, shape.begin, shape.end, 0.0);
    shape.begin.assign(2, 0);
  }
  return at::avg_pool2d(x, shape.kernel, shape.strides, shape.begin, shape.ceil, shape.counts);
}

Tensor Gemm(const TrainOp& op, const Slots& slots) {
  const Tensor a = op.ints[0] != 0 ? In(op, slots).t() : In(op, slots);
  const Tensor b = op.ints[1] != 0 ? In(op, slots, 1).t() : In(op, slots, 1);
  Tensor y = at::matmul(a, b);
  if (op.reals[0] != 1) y = y * op.reals[0];
  const auto c = Maybe(op, slots, 2);
  if (c && op.reals[1] != 0) y = y + (op.reals[1] == 1 ? *c : *c * op.reals[1]);
  return y;
}

Tensor BatchNorm(const TrainOp& op, const Slots& slots) {
  return at::batch_norm(In(op, slots), In(op, slots, 1), In(op, slots, 2), In(op, slots, 3),
                        In(op, slots, 4), false, 0.0, op.reals[0], false);
}

/// Applies scale and bias separately, because libtorch's layer_norm does not broadcast them.
Tensor LayerNorm(const TrainOp& op, const Slots& slots) {
  const Tensor y = at::layer_norm(In(op, slots), op.ints, {}, {}, op.reals[0], false);
  const auto bias = Maybe(op, slots, 2);
  const Tensor scaled = y * In(op, slots, 1);
  return bias ? scaled + *bias : scaled;
}

Tensor PRelu(const TrainOp& op, const Slots& slots) {
  // The gradients of `where` take three times as long.
  const Tensor& x = In(op, slots);
  const Tensor positive = at::relu(x);
  return positive + In(op, slots, 1) * (x - positive);
}

Tensor Clip(const TrainOp& op, const Slots& slots) {
  // The gradient of `clamp` takes six times as long.
  return at::hardtanh(In(op, slots), at::Scalar(op.reals[0]), at::Scalar(op.reals[1]));
}

Tensor HardSigmoid(const TrainOp& op, const Slots& slots) {
  return at::clamp(In(op, slots) * op.reals[0] + op.reals[1], at::Scalar(0.0), at::Scalar(1.0));
}

template <Tensor (*kFunction)(const Tensor&)>
Tensor Unary(const TrainOp& op, const Slots& slots) {
  return kFunction(In(op, slots));
}

/// Combines one or more operands.
template <Tensor (*kFunction)(const Tensor&, const Tensor&)>
Tensor Fold(const TrainOp& op, const Slots& slots) {
  Tensor y = In(op, slots);
  for (std::size_t i = 1; i < op.in.size(); ++i) y = kFunction(y, In(op, slots, i));
  return y;
}

Tensor Plus(const Tensor& a, const Tensor& b) {
  return a + b;
}
Tensor Minus(const Tensor& a, const Tensor& b) {
  return a - b;
}
Tensor Softplus(const Tensor& x) {
  return at::softplus(x);
}
Tensor Same(const Tensor& x) {
  return x;
}

Tensor Concat(const TrainOp& op, const Slots& slots) {
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < op.in.size(); ++i) parts.push_back(In(op, slots, i));
  return at::cat(parts, op.ints[0]);
}

/// Returns the axes, which follow keepdims.
Ints Axes(const TrainOp& op) {
  return Part(op, 1, op.ints.size() - 1);
}

Tensor Gather(const TrainOp& op, const Slots& slots) {
  const Ints indices = Part(op, 2, op.ints.size() - 2);
  Tensor list = at::full({static_cast<std::int64_t>(indices.size())}, 0, at::kLong);
  std::copy(indices.begin(), indices.end(), list.data_ptr<std::int64_t>());
  const Tensor y = at::index_select(In(op, slots), op.ints[0], list);
  return op.ints[1] != 0 ? y.squeeze(op.ints[0]) : y;
}

Tensor Pad(const TrainOp& op, const Slots& slots) {
  const std::size_t rank = op.ints.size() / 2;
  return Padded(In(op, slots), Part(op, 0, rank), Part(op, rank, rank), op.reals[0]);
}

Tensor Slice(const TrainOp& op, const Slots& slots) {
  Tensor y = In(op, slots);
  for (std::size_t i = 0; i + 3 < op.ints.size(); i += 4) {
    y = at::slice(y, op.ints[i], op.ints[i + 1], op.ints[i + 2], op.ints[i + 3]);
  }
  return y;
}

Levels LevelsOf(std::int64_t zero_point, std::int64_t least, std::int64_t most, double reach) {
  return {static_cast<double>(least - zero_point), static_cast<double>(most - zero_point), reach};
}

/// Fake quantization of an activation, with LSQ's gradients, scaled by 1 / sqrt(elements * most).
Tensor Quantize(const TrainOp& op, const Slots& slots) {
  const Tensor& x = In(op, slots);
  const double scale =
      1 / std::sqrt(static_cast<double>(x.numel()) * static_cast<double>(op.ints[2]));
  return FakeQuantize(x, In(op, slots, 1), LevelsOf(op.ints[0], op.ints[1], op.ints[2], 0.5), 0,
                      scale);
}

/// Fake quantization of weights. Training::Update scales the step's gradient.
Tensor QuantizeWeights(const TrainOp& op, const Slots& slots) {
  return FakeQuantize(In(op, slots), In(op, slots, 1), LevelsOf(0, op.ints[1], op.ints[2], 0),
                      op.ints[0]);
}

/// Fake quantization of a bias. It has 32 bits, so nothing is clipped.
Tensor QuantizeBias(const TrainOp& op, const Slots& slots) {
  const Tensor& b = In(op, slots);
  const Tensor step = (In(op, slots, 1) * In(op, slots, 2)).detach();
  const Tensor rounded = at::round(b.detach() / step) * step;
  return b + (rounded - b).detach();
}

using Function = Tensor (*)(const TrainOp&, const Slots&);

struct Row {
  std::string_view op;
  Function function;
};

constexpr std::array kRows = {
    Row{"Abs", Unary<at::abs>},
    Row{"Add", Fold<Plus>},
    Row{"AveragePool", AveragePool},
    Row{"BatchNormalization", BatchNorm},
    Row{"Clip", Clip},
    Row{"Concat", Concat},
    Row{"Conv", Conv},
    Row{"Div", Fold<at::div>},
    Row{"Dropout", Unary<Same>},
    Row{"Elu", [](const TrainOp& op, const Slots& s) { return at::elu(In(op, s), op.reals[0]); }},
    Row{"Erf", Unary<at::erf>},
    Row{"Exp", Unary<at::exp>},
    Row{"Gather", Gather},
    Row{"Gemm", Gemm},
    Row{"HardSigmoid", HardSigmoid},
    Row{"HardSwish", Unary<at::hardswish>},
    Row{"Identity", Unary<Same>},
    Row{"LayerNormalization", LayerNorm},
    Row{"LeakyRelu",
        [](const TrainOp& op, const Slots& s) { return at::leaky_relu(In(op, s), op.reals[0]); }},
    Row{"Log", Unary<at::log>},
    Row{"LogSoftmax",
        [](const TrainOp& op, const Slots& s) { return at::log_softmax(In(op, s), op.ints[0]); }},
    Row{"MatMul", Fold<at::matmul>},
    Row{"Max", Fold<at::maximum>},
    Row{"MaxPool", MaxPool},
    Row{"Min", Fold<at::minimum>},
    Row{"Mul", Fold<at::mul>},
    Row{"Neg", Unary<at::neg>},
    Row{"PRelu", PRelu},
    Row{"Pad", Pad},
    Row{"Pow", Fold<at::pow>},
    Row{"Quantize", Quantize},
    Row{"QuantizeBias", QuantizeBias},
    Row{"QuantizeWeights", QuantizeWeights},
    Row{"Reciprocal", Unary<at::reciprocal>},
    Row{"ReduceMax", [](const TrainOp& op,
                        const Slots& s) { return at::amax(In(op, s), Axes(op), op.ints[0] != 0); }},
    Row{"ReduceMean",
        [](const TrainOp& op, const Slots& s) {
          return at::mean(In(op, s), IntArrayRef(Axes(op)), op.ints[0] != 0);
        }},
    Row{"ReduceSum",
        [](const TrainOp& op, const Slots& s) {
          return at::sum(In(op, s), IntArrayRef(Axes(op)), op.ints[0] != 0);
        }},
    Row{"Relu", Unary<at::relu>},
    Row{"Reshape", [](const TrainOp& op, const Slots& s) { return In(op, s).reshape(op.ints); }},
    Row{"RoundBf16", [](const TrainOp& op,
                        const Slots& s) { return In(op, s).to(at::kBFloat16).to(at::kFloat); }},
    Row{"Sigmoid", Unary<at::sigmoid>},
    Row{"Slice", Slice},
    Row{"Softmax",
        [](const TrainOp& op, const Slots& s) { return at::softmax(In(op, s), op.ints[0]); }},
    Row{"Softplus", Unary<Softplus>},
    Row{"Sqrt", Unary<at::sqrt>},
    Row{"Sub", Fold<Minus>},
    Row{"Tanh", Unary<at::tanh>},
    Row{"Transpose", [](const TrainOp& op, const Slots& s) { return In(op, s).permute(op.ints); }},
};

void RunOne(const TrainOp& op, Slots& slots) {
  const auto* const row =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.op == op.op; });
  At(slots, op.out.at(0)) = row->function(op, slots);
}

void RunSplit(const TrainOp& op, Slots& slots) {
  const std::vector<Tensor> parts =
      at::split_with_sizes(In(op, slots), Part(op, 1, op.ints.size() - 1), op.ints[0]);
  for (std::size_t i = 0; i < op.out.size(); ++i) {
    At(slots, op.out[i]) = parts.at(i);
  }
}

}  // namespace

Runner::Runner(const TrainProgram& program, std::vector<int> keep) : program_(program) {
  keep.insert(keep.end(), program.outputs.begin(), program.outputs.end());
  for (const TrainConstant& constant : program.constants) keep.push_back(constant.slot);
  // A slot is cleared after its last use unless it is kept, so that a forward pass holds only
  // values that are still needed.
  std::vector<std::size_t> last(static_cast<std::size_t>(program.slots), 0);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const TrainOp& op = program.ops[i];
    const bool known = op.op == "Split" || std::any_of(kRows.begin(), kRows.end(),
                                                       [&](const Row& r) { return r.op == op.op; });
    if (!known) throw std::invalid_argument("the trainer does not know operator " + op.op);
    steps_.push_back(op.op == "Split" ? RunSplit : RunOne);
    for (const auto* list : {&op.in, &op.out}) {
      for (const int slot : *list) {
        if (slot >= 0) last[static_cast<std::size_t>(slot)] = i;
      }
    }
  }
  spent_.resize(program.ops.size());
  for (int slot = 0; slot < program.slots && !program.ops.empty(); ++slot) {
    if (std::find(keep.begin(), keep.end(), slot) != keep.end()) continue;
    spent_[last[static_cast<std::size_t>(slot)]].push_back(slot);
  }
}

Slots Runner::NewSlots() const {
  Slots slots(static_cast<std::size_t>(program_.slots));
  for (const TrainConstant& constant : program_.constants) {
    At(slots, constant.slot) = CopyOf(constant.values.data(), constant.dims);
  }
  return slots;
}

void Runner::Run(Slots& slots, const std::function<void(int slot)>& after) const {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    steps_[i](program_.ops[i], slots);
    if (after) {
      for (const int slot : program_.ops[i].out) after(slot);
    }
    for (const int slot : spent_[i]) At(slots, slot) = Tensor();
  }
}

Tensor CopyOf(const float* data, const std::vector<std::int64_t>& dims) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the view lives for this line
  return at::from_blob(const_cast<float*>(data), dims, at::kFloat).clone();
}

std::vector<float> ValuesOf(const Tensor& tensor) {
  const Tensor dense = tensor.detach().contiguous();
  const float* const values = dense.data_ptr<float>();
  return {values, values + dense.numel()};
}

}  // namespace msc::detail
