#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// Operators on the bits of elements. Source: ONNX operator pages BitwiseAnd-18, BitwiseNot-18,
// BitwiseOr-18, BitwiseXor-18, BitCast-26.

namespace msc {
namespace {

void RequireInteger(const InferInput& in, std::size_t index) {
  RequireType(in, index,
              {DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8, DType::kU16,
               DType::kU32, DType::kU64});
}

std::vector<ValueType> InferBinary(const InferInput& in) {
  RequireInteger(in, 0);
  RequireInteger(in, 1);
  const DType dtype = RequireSameType(in, 0, 1);
  return OneOutput(dtype, BroadcastInputs(in));
}

template <class Combine>
std::vector<Tensor> EvalBinary(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferBinary, node, inputs);
  const Dims& dims = outputs[0].dims();
  const Dims a_strides = BroadcastStrides(inputs[0]->dims(), dims);
  const Dims b_strides = BroadcastStrides(inputs[1]->dims(), dims);
  const std::int64_t count = dims.empty() ? 1 : dims.back();
  const std::int64_t a_step = dims.empty() ? 0 : a_strides.back();
  const std::int64_t b_step = dims.empty() ? 0 : b_strides.back();
  WithInteger(outputs[0].dtype(), [&]<class T>() {
    using Bits = std::make_unsigned_t<T>;
    const T* a = inputs[0]->Values<T>().data();
    const T* b = inputs[1]->Values<T>().data();
    T* y = outputs[0].template MutableValues<T>().data();
    const auto row = [&](std::span<const std::int64_t> offsets) {
      for (std::int64_t i = 0; i < count; ++i) {
        y[offsets[2] + i] =
            static_cast<T>(Combine()(static_cast<Bits>(a[offsets[0] + i * a_step]),
                                     static_cast<Bits>(b[offsets[1] + i * b_step])));
      }
    };
    ForEachRow(dims, {a_strides, b_strides, StridesOf(dims)}, row);
  });
  return outputs;
}

std::vector<ValueType> InferNot(const InferInput& in) {
  RequireInteger(in, 0);
  return SameAsFirst(in);
}

std::vector<Tensor> EvalNot(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferNot, node, inputs);
  WithInteger(outputs[0].dtype(), [&]<class T>() {
    using Bits = std::make_unsigned_t<T>;
    const auto x = inputs[0]->Values<T>();
    const auto y = outputs[0].template MutableValues<T>();
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<T>(~static_cast<Bits>(x[i]));
  });
  return outputs;
}

std::vector<ValueType> InferBitCast(const InferInput& in) {
  const Node& node = *in.node;
  const std::int64_t code = AttrOr(node, "to", std::int64_t{0});
  const bool known = code > 0 && code <= static_cast<std::int64_t>(DType::kBF16);
  const DType to = known ? static_cast<DType>(code) : DType::kUndefined;
  if (ByteSize(to) == 0) RejectNode(node, "attribute 'to' cannot be " + std::to_string(code));
  const DType from = TypeOf(in, 0);
  if (from != DType::kUndefined && ByteSize(from) != ByteSize(to)) {
    RejectNode(node, "cannot read the bits of " + std::string(Name(from)) + " as " +
                         std::string(Name(to)));
  }
  std::vector<ValueType> types = SameAsFirst(in);
  types[0].dtype = to;
  return types;
}

std::vector<Tensor> EvalBitCast(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferBitCast, node, inputs);
  std::ranges::copy(inputs[0]->Raw(), outputs[0].MutableRaw().begin());
  if (outputs[0].dtype() == DType::kBool) {
    for (const std::uint8_t value : outputs[0].Values<std::uint8_t>()) {
      if (value > 1) RejectNode(node, "a bool must be 0 or 1, not " + std::to_string(value));
    }
  }
  return outputs;
}

OpDef BinaryDef(std::string name, EvalFn eval) {
  return {.name = std::move(name),
          .inputs = {2, 2},
          .infer = InferBinary,
          .eval = std::move(eval),
          .flops = OneFlopEach};
}

}  // namespace

void RegisterBitOps(OpRegistry& ops) {
  ops.Add(BinaryDef("BitwiseAnd", EvalBinary<std::bit_and<>>));
  ops.Add(BinaryDef("BitwiseOr", EvalBinary<std::bit_or<>>));
  ops.Add(BinaryDef("BitwiseXor", EvalBinary<std::bit_xor<>>));
  ops.Add({.name = "BitwiseNot",
           .inputs = {1, 1},
           .infer = InferNot,
           .eval = EvalNot,
           .flops = OneFlopEach});
  ops.Add({.name = "BitCast",
           .inputs = {1, 1},
           .attrs = {{.name = "to", .otherwise = std::int64_t{0}, .required = true}},
           .infer = InferBitCast,
           .eval = EvalBitCast});
}

}  // namespace msc
