#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// Operators that change dims but not the order of elements. Source: ONNX operator pages Reshape-14,
// Flatten-13, Squeeze-13, Unsqueeze-13, Identity-16, Dropout-13.

namespace msc {
namespace {

/// Returns the size of the entry -1: the dims of X without those that other entries of the request
/// take.
Dim RestOf(const Node& node, std::vector<Dim> have, const std::vector<Dim>& taken) {
  std::int64_t divisor = 1;
  bool open = false;
  for (const Dim& dim : taken) {
    const auto same = dim.known() ? have.end() : std::find(have.begin(), have.end(), dim);
    if (same != have.end() && !dim.symbol().empty()) {
      have.erase(same);
    } else if (!dim.known()) {
      open = true;
    } else if (__builtin_mul_overflow(divisor, dim.size(), &divisor)) {
      RejectNode(node, "the requested shape is too large");
    }
  }
  if (open) return {};
  std::int64_t count = 1;
  std::vector<Dim> symbols;
  for (const Dim& dim : have) {
    if (!dim.known()) {
      symbols.push_back(dim);
    } else if (__builtin_mul_overflow(count, dim.size(), &count)) {
      RejectNode(node, "the input is too large");
    }
  }
  if (symbols.size() == 1 && count == divisor && count != 0) return symbols.front();
  if (!symbols.empty()) return {};
  if (divisor == 0 || count % divisor != 0) {
    RejectNode(node, "cannot derive the entry -1: " + std::to_string(count) +
                         " elements do not divide by " + std::to_string(divisor));
  }
  return count / divisor;
}

Shape ResolveReshape(const Node& node, const Shape& x, const std::vector<std::int64_t>& request) {
  const bool allow_zero = AttrOr(node, "allowzero", std::int64_t{0}) != 0;
  Shape y;
  std::vector<Dim> have(x.begin(), x.end());
  std::vector<Dim> taken;
  std::vector<std::size_t> copied;
  std::ptrdiff_t derived = -1;
  for (std::size_t i = 0; i < request.size(); ++i) {
    const std::int64_t entry = request[i];
    if (entry < -1) RejectNode(node, "cannot reshape to " + ToString(Dims(request)));
    if (entry == -1) {
      if (derived >= 0) RejectNode(node, "only one entry may be -1");
      derived = static_cast<std::ptrdiff_t>(i);
      y.emplace_back();
    } else if (entry == 0 && !allow_zero) {
      if (i >= x.size()) RejectNode(node, "entry 0 has no dimension to copy");
      y.push_back(x[i]);
      copied.push_back(i);
    } else {
      y.emplace_back(entry);
      taken.emplace_back(entry);
    }
  }
  // A copied dimension cancels its source, even if its size is unknown, unless it is 0: then the
  // entry -1 cannot be derived.
  std::sort(copied.rbegin(), copied.rend());
  for (const std::size_t i : copied) {
    if (x[i] == Dim(0)) {
      taken.emplace_back(0);
    } else {
      have.erase(have.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  if (derived >= 0) y[static_cast<std::size_t>(derived)] = RestOf(node, have, taken);
  const auto from = StaticDims(x);
  const auto to = StaticDims(y);
  if (from && to && ElementCount(*from) != ElementCount(*to)) {
    RejectNode(node, "cannot reshape " + ToString(x) + " to " + ToString(y));
  }
  return y;
}

std::vector<ValueType> InferReshape(const InferInput& in) {
  RequireType(in, 1, {DType::kI64});
  const Shape* x = ShapeOf(in, 0);
  const auto request = ConstantInts(in, 1);
  if (!request) {
    const auto rank = ListLength(in, 1);
    return OneOutput(TypeOf(in, 0), rank ? std::optional(Shape(*rank)) : std::nullopt);
  }
  if (x != nullptr) return OneOutput(TypeOf(in, 0), ResolveReshape(*in.node, *x, *request));
  Shape y;
  for (const std::int64_t entry : *request) y.push_back(entry > 0 ? Dim(entry) : Dim());
  return OneOutput(TypeOf(in, 0), std::move(y));
}

std::vector<ValueType> InferFlatten(const InferInput& in) {
  const Shape* x = ShapeOf(in, 0);
  if (x == nullptr) return OneOutput(TypeOf(in, 0), Shape(2));
  const std::int64_t axis = AttrOr(*in.node, "axis", std::int64_t{1});
  // The rank itself is a valid axis: all dims go to the front.
  const std::size_t split =
      axis == std::ssize(*x) ? x->size() : NormalAxis(*in.node, axis, x->size());
  return OneOutput(TypeOf(in, 0), Shape{ProductOf(*in.node, *x, 0, split),
                                        ProductOf(*in.node, *x, split, x->size())});
}

std::vector<ValueType> InferSqueeze(const InferInput& in) {
  const Node& node = *in.node;
  const Shape* x = ShapeOf(in, 0);
  const auto given = ConstantInts(in, 1);
  if (x == nullptr || (HasInput(in, 1) && !given)) return OneOutput(TypeOf(in, 0), std::nullopt);
  std::vector<std::size_t> axes;
  if (given) {
    axes = NormalAxes(node, *given, x->size());
  } else {
    for (std::size_t i = 0; i < x->size(); ++i) {
      if (!(*x)[i].known()) return OneOutput(TypeOf(in, 0), std::nullopt);
      if ((*x)[i] == Dim(1)) axes.push_back(i);
    }
  }
  Shape y;
  for (std::size_t i = 0; i < x->size(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) {
      y.push_back((*x)[i]);
    } else if ((*x)[i].known() && (*x)[i].size() != 1) {
      RejectNode(node, "axis " + std::to_string(i) + " of " + ToString(*x) + " is not 1");
    }
  }
  return OneOutput(TypeOf(in, 0), std::move(y));
}

std::vector<ValueType> InferUnsqueeze(const InferInput& in) {
  const Shape* x = ShapeOf(in, 0);
  const auto given = ConstantInts(in, 1);
  if (x == nullptr || !given) return OneOutput(TypeOf(in, 0), std::nullopt);
  const std::size_t rank = x->size() + given->size();
  const std::vector<std::size_t> axes = NormalAxes(*in.node, *given, rank);
  Shape y;
  for (std::size_t i = 0, from = 0; i < rank; ++i) {
    y.push_back(std::binary_search(axes.begin(), axes.end(), i) ? Dim(1) : (*x)[from++]);
  }
  return OneOutput(TypeOf(in, 0), std::move(y));
}

/// Returns the elements of input 0 with the inferred dims.
template <std::vector<ValueType> (*kInfer)(const InferInput&)>
std::vector<Tensor> EvalSameElements(const Node& node, EvalInputs inputs) {
  const ValueType type = InferFor(kInfer, node, inputs).front();
  const auto dims = type.shape ? StaticDims(*type.shape) : std::nullopt;
  if (!dims) RejectNode(node, "the shape of its output does not follow from its inputs");
  return {inputs[0]->Reshaped(*dims)};
}

bool IsTrue(const Tensor& tensor) {
  return tensor.dtype() == DType::kBool && tensor.size() == 1 &&
         tensor.Values<std::uint8_t>()[0] != 0;
}

/// Rejects a Dropout that would drop elements at random.
std::vector<ValueType> InferDropout(const InferInput& in) {
  const auto known = [&](std::size_t i) {
    return i < in.constants.size() ? in.constants[i] : nullptr;
  };
  const TensorPtr ratio = known(1);
  const bool open_ratio = HasInput(in, 1) && ratio == nullptr;
  const bool drops = ratio == nullptr || ratio->size() != 1 || NumberAt(*ratio, 0) != 0.0;
  if (known(2) != nullptr && IsTrue(*known(2)) && drops && !open_ratio) {
    RejectNode(*in.node, "training is not supported: export the model for inference");
  }
  std::vector<ValueType> types = SameAsFirst(in);
  types.push_back({.dtype = DType::kBool, .shape = types[0].shape});
  return types;
}

std::vector<Tensor> EvalDropout(const Node& node, EvalInputs inputs) {
  Tensor mask = std::move(NewOutputs(InferDropout, node, inputs)[1]);
  for (std::uint8_t& kept : mask.MutableValues<std::uint8_t>()) kept = 1;
  return {*inputs[0], std::move(mask)};
}

OpDef Reshaping(std::string name, std::size_t max_inputs, InferFn infer, EvalFn eval) {
  return {.name = std::move(name),
          .inputs = {1, max_inputs},
          .infer = std::move(infer),
          .eval = std::move(eval)};
}

}  // namespace

void RegisterReshapeOps(OpRegistry& ops) {
  OpDef identity = Reshaping("Identity", 1, SameAsFirst, EvalSameElements<SameAsFirst>);
  identity.eval_values = [](const Node& /*node*/, std::span<const RunValue* const> inputs,
                            const CapturedValues& /*captured*/) {
    return std::vector<RunValue>{*inputs[0]};
  };
  ops.Add(std::move(identity));
  OpDef reshape = Reshaping("Reshape", 2, InferReshape, EvalSameElements<InferReshape>);
  reshape.inputs.least = 2;
  reshape.attrs = {{.name = "allowzero", .otherwise = std::int64_t{0}}};
  ops.Add(std::move(reshape));
  OpDef flatten = Reshaping("Flatten", 1, InferFlatten, EvalSameElements<InferFlatten>);
  flatten.attrs = {{.name = "axis", .otherwise = std::int64_t{1}}};
  ops.Add(std::move(flatten));
  ops.Add(Reshaping("Squeeze", 2, InferSqueeze, EvalSameElements<InferSqueeze>));
  OpDef unsqueeze = Reshaping("Unsqueeze", 2, InferUnsqueeze, EvalSameElements<InferUnsqueeze>);
  unsqueeze.inputs.least = 2;
  ops.Add(std::move(unsqueeze));
  OpDef dropout = Reshaping("Dropout", 3, InferDropout, EvalDropout);
  dropout.max_outputs = 2;
  dropout.attrs = {{.name = "seed", .otherwise = std::int64_t{0}}};
  ops.Add(std::move(dropout));
}

}  // namespace msc
