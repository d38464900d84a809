// What every registered operator must keep, whoever wrote it.

#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/ops/op.h"
#include "tests/contract/op_cases.h"

namespace msc {
namespace {

std::vector<Tensor> Given(const OpCase& op_case) {
  std::vector<Tensor> tensors;
  for (const auto& input : op_case.inputs) {
    if (input) tensors.push_back(*input);
  }
  return tensors;
}

/// Whether a type that inference gave, with `bindings` filled in, allows the tensor.
void ExpectAllows(const ValueType& type, const Tensor& tensor, const ShapeBindings& bindings) {
  if (type.dtype != DType::kUndefined) {
    EXPECT_EQ(Name(type.dtype), Name(tensor.dtype()));
  }
  if (!type.shape) return;
  const Shape shape = Bind(*type.shape, bindings);
  ASSERT_EQ(shape.size(), tensor.dims().size()) << ToString(shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].known()) {
      EXPECT_EQ(shape[i].size(), tensor.dims()[i]) << "axis " << i;
    }
  }
}

TEST(OpContract, EveryOperatorHasACase) {
  std::set<std::pair<std::string, std::string>> covered;
  for (const OpCase& op_case : OpCases()) covered.insert({op_case.domain, op_case.op});
  for (const OpDef* op : Ops().All()) {
    // A case is a call on tensors. Others: tests/compiler/ops/values_test.cc and ONNX's node tests.
    if (!op->computes_tensors) continue;
    if (op->name == "Refuse") continue;  // refuses every call: branches_test.cc
    EXPECT_TRUE(covered.contains({op->domain, op->name}))
        << "operator '" << op->name << "' needs a row in tests/contract/op_cases.cc";
  }
}

class OpContract : public testing::TestWithParam<OpCase> {};

TEST_P(OpContract, InferenceOfConstantInputsGivesTheTypesOfTheResults) {
  Graph graph = GraphOfCase(GetParam());
  InferTypes(graph);
  const std::vector<Tensor> outputs = Interpret(graph, {});
  ASSERT_EQ(outputs.size(), GetParam().outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(ToString(graph.type(graph.outputs()[i])), ToString(TypeOfTensor(outputs[i])));
  }
}

TEST_P(OpContract, InferenceOfTypesAloneNeverContradictsTheResults) {
  Graph graph = GraphOfCase(GetParam(),
                            [](std::size_t, const Tensor& tensor) { return TypeOfTensor(tensor); });
  InferTypes(graph);
  const std::vector<Tensor> outputs = Interpret(graph, Given(GetParam()));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    ExpectAllows(graph.type(graph.outputs()[i]), outputs[i], {});
  }
}

TEST_P(OpContract, InferenceOfASymbolicFirstDimensionNeverContradictsTheResults) {
  const auto& first = GetParam().inputs.front();
  if (first->dims().empty()) return;  // a scalar has no dimension to leave open
  Graph graph = GraphOfCase(GetParam(), [](std::size_t i, const Tensor& tensor) {
    ValueType type = TypeOfTensor(tensor);
    if (i == 0) type.shape->front() = Dim::Symbol("n");
    return type;
  });
  InferTypes(graph);
  const std::vector<Tensor> outputs = Interpret(graph, Given(GetParam()));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    ExpectAllows(graph.type(graph.outputs()[i]), outputs[i], {{"n", first->dims().front()}});
  }
}

TEST_P(OpContract, InferenceBearsInputsOfUnknownRankAndType) {
  for (const bool with_dtype : {true, false}) {
    Graph graph = GraphOfCase(GetParam(), [&](std::size_t, const Tensor& tensor) {
      return ValueType{.dtype = with_dtype ? tensor.dtype() : DType::kUndefined,
                       .shape = std::nullopt};
    });
    InferTypes(graph);
    const std::vector<Tensor> outputs = Interpret(graph, Given(GetParam()));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      ExpectAllows(graph.type(graph.outputs()[i]), outputs[i], {});
    }
  }
}

TEST_P(OpContract, ResultsAreTheSameEveryTime) {
  const Graph graph = GraphOfCase(GetParam());
  EXPECT_EQ(Interpret(graph, {}), Interpret(graph, {}));
}

TEST_P(OpContract, CostCountsEveryByteOnce) {
  Graph graph = GraphOfCase(GetParam());
  InferTypes(graph);
  double bytes = 0;
  for (const ValueId id : graph.values()) {
    const Shape& shape = *graph.type(id).shape;
    bytes += static_cast<double>(ElementCount(*StaticDims(shape)) *
                                 static_cast<std::int64_t>(ByteSize(graph.type(id).dtype)));
  }
  const OpCost cost = CostOf(graph, graph.order().front());
  EXPECT_EQ(cost.bytes, bytes);
  EXPECT_GE(cost.flops, 0);
}

TEST_P(OpContract, AnUnknownAttributeIsRefused) {
  OpCase wrong = GetParam();
  wrong.attrs["no_such_attribute"] = std::int64_t{1};
  const Graph graph = GraphOfCase(wrong);
  const std::string op = wrong.domain.empty() ? wrong.op : wrong.domain + "." + wrong.op;
  try {
    CheckNode(graph, graph.order().front());
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()),
              "node 'node' (" + op + "): has no attribute 'no_such_attribute'");
  }
}

INSTANTIATE_TEST_SUITE_P(AllOps, OpContract, testing::ValuesIn(OpCases()),
                         [](const auto& param) { return param.param.label; });

}  // namespace
}  // namespace msc
