#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "compiler/ops/op.h"

namespace msc::testing {

/// A graph from text, types inferred.
inline Graph Parse(const std::string& text) {
  Graph graph = ParseGraph(text);
  InferTypes(graph);
  return graph;
}

/// Random inputs for all graph inputs, symbols bound to `batch`.
inline std::vector<Tensor> RandomInputs(const Graph& graph, std::uint64_t seed,
                                        std::int64_t batch = 2) {
  Rng rng(seed);
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs()) {
    Dims dims;
    for (const Dim& dim : *graph.type(id).shape) dims.push_back(dim.known() ? dim.size() : batch);
    Tensor tensor(graph.type(id).dtype, dims);
    const auto fill = [&](auto values) {
      for (auto& value : values) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, float>) {
          value = static_cast<float>(rng.Normal());
        } else if constexpr (sizeof(T) >= 4) {
          value = static_cast<T>(rng.Below(12)) - 6;  // indices, also outside of what they select
        } else {
          value = static_cast<T>(rng.Below(256));
        }
      }
    };
    switch (tensor.dtype()) {
      case DType::kF32:
        fill(tensor.MutableValues<float>());
        break;
      case DType::kF16:
        for (std::uint16_t& value : tensor.MutableValues<std::uint16_t>()) {
          value = ToF16(static_cast<float>(rng.Normal()));
        }
        break;
      case DType::kI8:
        fill(tensor.MutableValues<std::int8_t>());
        break;
      case DType::kU8:
        fill(tensor.MutableValues<std::uint8_t>());
        break;
      case DType::kI32:
        fill(tensor.MutableValues<std::int32_t>());
        break;
      case DType::kI64:
        fill(tensor.MutableValues<std::int64_t>());
        break;
      default:
        ADD_FAILURE() << "RandomInputs cannot fill " << Name(tensor.dtype());
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

/// The largest difference of two tensors of one type and shape, relative to the largest |expected|
/// of the tensor for f32 and f16, absolute for integers.
inline double Difference(const Tensor& expected, const Tensor& got) {
  EXPECT_EQ(Name(expected.dtype()), Name(got.dtype()));
  EXPECT_EQ(expected.dims(), got.dims());
  if (expected.dtype() != got.dtype() || expected.dims() != got.dims()) return INFINITY;
  double most = 0;
  double largest = 0;
  const auto compare = [&](auto a, auto b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(a[i])));
      most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    }
  };
  switch (expected.dtype()) {
    case DType::kF32:
      compare(expected.Values<float>(), got.Values<float>());
      return largest > 0 ? most / largest : most;
    case DType::kF16:
      for (std::size_t i = 0; i < expected.Values<std::uint16_t>().size(); ++i) {
        const auto a = static_cast<double>(FromF16(expected.Values<std::uint16_t>()[i]));
        const auto b = static_cast<double>(FromF16(got.Values<std::uint16_t>()[i]));
        largest = std::max(largest, std::abs(a));
        most = std::max(most, std::abs(a - b));
      }
      return largest > 0 ? most / largest : most;
    case DType::kI8:
      compare(expected.Values<std::int8_t>(), got.Values<std::int8_t>());
      break;
    case DType::kU8:
      compare(expected.Values<std::uint8_t>(), got.Values<std::uint8_t>());
      break;
    case DType::kI64:
      compare(expected.Values<std::int64_t>(), got.Values<std::int64_t>());
      break;
    default:
      return expected == got ? 0 : INFINITY;
  }
  return most;
}

/// Both graphs give the same outputs, by name order, for random inputs.
inline void ExpectSameNumbers(const Graph& before, const Graph& after, double tolerance = 1e-5) {
  for (const std::uint64_t seed : {1U, 2U}) {
    const std::vector<Tensor> inputs = RandomInputs(before, seed);
    const std::vector<Tensor> expected = Interpret(before, inputs);
    const std::vector<Tensor> got = Interpret(after, inputs);
    ASSERT_EQ(expected.size(), got.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_LE(Difference(expected[i], got[i]), tolerance) << "output " << i << " of\n"
                                                            << Print(after);
    }
  }
}

/// What every pass promises: the graph verifies and keeps the names of inputs and outputs, types
/// are those that inference gives, the numbers are the same, and a second run changes nothing.
inline void ExpectSound(const std::function<bool(Graph&)>& pass, const Graph& before,
                        double tolerance = 1e-5) {
  Graph after = before;
  const bool changed = pass(after);
  EXPECT_EQ(changed, !SameGraph(before, after));
  ASSERT_NO_THROW(Verify(after)) << Print(after);
  for (const NodeId id : after.order()) ASSERT_NO_THROW(CheckNode(after, id));
  const auto names = [](const Graph& graph, const std::vector<ValueId>& values) {
    std::vector<std::string> list;
    for (const ValueId id : values) list.push_back(graph.value(id).name);
    return list;
  };
  EXPECT_EQ(names(before, before.inputs()), names(after, after.inputs()));
  EXPECT_EQ(names(before, before.outputs()), names(after, after.outputs()));
  Graph inferred = after;
  ASSERT_NO_THROW(InferTypes(inferred)) << Print(after);
  EXPECT_EQ(Print(inferred), Print(after));
  ExpectSameNumbers(before, after, tolerance);
  Graph again = after;
  EXPECT_FALSE(pass(again)) << Print(after) << "became\n" << Print(again);
  EXPECT_TRUE(SameGraph(after, again));
}

/// The nodes alone, one a line, without types and attributes: "%y = msc.Conv(%x, %w, %b) @conv".
inline std::string Skeleton(const Graph& graph) {
  std::string text;
  const auto list = [&](const std::vector<ValueId>& ids) {
    std::string joined;
    for (const ValueId id : ids) {
      joined += (joined.empty() ? "" : ", ");
      joined += id == kNoValue
                    ? "_"
                    : graph.value(id).name + ":" + std::string(Name(graph.type(id).dtype));
    }
    return joined;
  };
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const std::string op = node.domain.empty() ? node.op : node.domain + "." + node.op;
    text += list(node.outputs) + " = " + op + "(" + list(node.inputs) + ") @" + node.name + "\n";
  }
  return text;
}

}  // namespace msc::testing
