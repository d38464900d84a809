#include "compiler/ops/eval.h"

#include <memory>
#include <utility>

#include "compiler/base/error.h"

namespace msc {
namespace {

constexpr double kMaxBytes = 16.0 * 1024 * 1024 * 1024;

bool IsHalf(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16;
}

}  // namespace

InferInput InferInputOf(const Node& node, EvalInputs inputs) {
  InferInput in{.node = &node};
  for (const Tensor* tensor : inputs) {
    if (tensor == nullptr) {
      in.types.emplace_back();
      in.constants.emplace_back();
      continue;
    }
    in.types.push_back({.dtype = tensor->dtype(), .shape = ToShape(tensor->dims())});
    // Non-owning pointer: no control block is allocated.
    in.constants.emplace_back(std::shared_ptr<const void>(), tensor);
  }
  return in;
}

std::vector<ValueType> InferFor(const InferFn& infer, const Node& node, EvalInputs inputs) {
  return infer(InferInputOf(node, inputs));
}

std::vector<Tensor> NewOutputs(const InferFn& infer, const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs;
  for (const ValueType& type : InferFor(infer, node, inputs)) {
    const auto dims = type.shape ? StaticDims(*type.shape) : std::nullopt;
    if (!dims || type.dtype == DType::kUndefined) {
      RejectNode(node, "the type of its output does not follow from its inputs");
    }
    const double bytes =
        static_cast<double>(ElementCount(*dims)) * static_cast<double>(ByteSize(type.dtype));
    if (bytes > kMaxBytes) RejectNode(node, "its output would take more than 16 GiB");
    outputs.emplace_back(type.dtype, *dims);
  }
  return outputs;
}

Tensor ToF32(const Tensor& tensor) {
  if (tensor.dtype() == DType::kF32) return tensor;
  Tensor out(DType::kF32, tensor.dims());
  const std::span<float> to = out.MutableValues<float>();
  if (tensor.dtype() == DType::kF64) {
    const auto from = tensor.Values<double>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(from[i]);
    return out;
  }
  Check(IsHalf(tensor.dtype()), "ToF32 widens floating point types");
  const auto from = tensor.Values<std::uint16_t>();
  const bool brain = tensor.dtype() == DType::kBF16;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = brain ? FromBF16(from[i]) : FromF16(from[i]);
  return out;
}

Tensor FromF32(const Tensor& tensor, DType dtype) {
  if (dtype == DType::kF32) return tensor;
  Check(IsHalf(dtype), "FromF32 rounds to f16 or bf16");
  Tensor out(dtype, tensor.dims());
  const auto from = tensor.Values<float>();
  const std::span<std::uint16_t> to = out.MutableValues<std::uint16_t>();
  const bool brain = dtype == DType::kBF16;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = brain ? ToBF16(from[i]) : ToF16(from[i]);
  return out;
}

double NumberAt(const Tensor& tensor, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  switch (tensor.dtype()) {
    case DType::kF32:
      return tensor.Values<float>()[at];
    case DType::kF64:
      return tensor.Values<double>()[at];
    case DType::kF16:
      return FromF16(tensor.Values<std::uint16_t>()[at]);
    case DType::kBF16:
      return FromBF16(tensor.Values<std::uint16_t>()[at]);
    case DType::kBool:
      return tensor.Values<std::uint8_t>()[at];
    default:
      break;
  }
  if (!IsInteger(tensor.dtype())) {
    throw UserError("a tensor of type " + std::string(Name(tensor.dtype())) + " has no numbers");
  }
  return WithInteger(tensor.dtype(),
                     [&]<class T>() { return static_cast<double>(tensor.Values<T>()[at]); });
}

std::int64_t IntegerAt(const Tensor& tensor, std::int64_t index) {
  if (tensor.dtype() == DType::kI64) {
    return tensor.Values<std::int64_t>()[static_cast<std::size_t>(index)];
  }
  return static_cast<std::int64_t>(NumberAt(tensor, index));
}

EvalFn ViaF32(EvalFn eval) {
  return [eval = std::move(eval)](const Node& node, EvalInputs inputs) {
    DType first = DType::kUndefined;  // of the floating-point inputs
    std::vector<Tensor> widened;
    widened.reserve(inputs.size());
    std::vector<const Tensor*> seen(inputs.begin(), inputs.end());
    for (const Tensor*& tensor : seen) {
      if (tensor == nullptr || !IsFloat(tensor->dtype())) continue;
      if (first == DType::kUndefined) first = tensor->dtype();
      if (IsHalf(tensor->dtype())) tensor = &widened.emplace_back(ToF32(*tensor));
    }
    std::vector<Tensor> outputs = eval(node, seen);
    if (!IsHalf(first)) return outputs;
    for (Tensor& tensor : outputs) {
      if (tensor.dtype() == DType::kF32) tensor = FromF32(tensor, first);
    }
    return outputs;
  };
}

Dims StridesOf(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * dims[i - 1];
  return strides;
}

Dims BroadcastStrides(const Dims& dims, const Dims& out) {
  const Dims own = StridesOf(dims);
  Dims strides(out.size(), 0);
  const std::size_t shift = out.size() - dims.size();
  for (std::size_t i = 0; i < dims.size(); ++i) strides[shift + i] = dims[i] == 1 ? 0 : own[i];
  return strides;
}

void ForEachRow(const Dims& dims, const std::vector<Dims>& strides,
                const std::function<void(std::span<const std::int64_t> offsets)>& visit) {
  if (ElementCount(dims) == 0) return;
  std::vector<std::int64_t> offsets(strides.size(), 0);
  const std::size_t outer = dims.empty() ? 0 : dims.size() - 1;
  Dims position(outer, 0);
  while (true) {
    visit(offsets);
    std::size_t axis = outer;
    while (axis > 0) {
      --axis;
      for (std::size_t k = 0; k < strides.size(); ++k) offsets[k] += strides[k][axis];
      if (++position[axis] < dims[axis]) break;
      for (std::size_t k = 0; k < strides.size(); ++k) {
        offsets[k] -= strides[k][axis] * dims[axis];
      }
      position[axis] = 0;
      if (axis == 0) return;
    }
    if (outer == 0) return;
  }
}

double ElementsOf(const ValueType& type) {
  const auto dims = type.shape ? StaticDims(*type.shape) : std::nullopt;
  return dims ? static_cast<double>(ElementCount(*dims)) : 0.0;
}

double OneFlopEach(const Node& /*node*/, std::span<const ValueType> /*in*/,
                   std::span<const ValueType> out) {
  return ElementsOf(out[0]);
}

void RejectType(const Node& node, DType dtype) {
  RejectNode(node, "has no kernel for type " + std::string(Name(dtype)));
}

}  // namespace msc
