#include "compiler/passes/move_axes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ops/eval.h"
#include "compiler/ops/op.h"
#include "tests/contract/op_cases.h"

namespace msc {
namespace {

Tensor Eval(const Node& node, const std::vector<std::optional<Tensor>>& inputs) {
  std::vector<const Tensor*> given;
  for (const auto& input : inputs) given.push_back(input ? &*input : nullptr);
  return Ops().Get(node).eval(node, given).front();
}

Tensor Transpose(const Tensor& tensor, const Perm& perm) {
  return Eval({.op = "Transpose", .attrs = {{"perm", perm}}}, {tensor});
}

/// Returns the operand that a Transpose makes `tensor` from, which may have fewer axes.
Tensor Before(const Tensor& tensor, const Perm& perm) {
  if (tensor.dims().empty()) return tensor;
  Dims dims(perm.size() - tensor.dims().size(), 1);
  dims.insert(dims.end(), tensor.dims().begin(), tensor.dims().end());
  return Transpose(tensor.Reshaped(dims), Inverse(perm));
}

void ExpectClose(const Tensor& found, const Tensor& wanted) {
  ASSERT_EQ(found.dtype(), wanted.dtype());
  ASSERT_EQ(found.dims(), wanted.dims());
  for (std::int64_t i = 0; i < wanted.size(); ++i) {
    const double want = NumberAt(wanted, i);
    const double have = NumberAt(found, i);
    if (std::isnan(want) && std::isnan(have)) continue;
    // Sums of 16-bit floats depend on their order.
    EXPECT_TRUE(have == want || std::abs(have - want) <= 1e-2 * std::abs(want) + 1e-5)
        << have << " " << want;
  }
}

// Every case of every operator: what the moved node makes of operands in another order is what the
// node makes, in another order.
TEST(MoveAxes, OfEveryOperatorGivesTheSameNumbers) {
  std::map<std::string, int> checked;
  for (const OpCase& op_case : OpCases()) {
    if (op_case.inputs.empty() || !op_case.inputs[0]) continue;
    const std::size_t rank = op_case.inputs[0]->dims().size();
    if (rank < 2 || op_case.inputs[0]->dtype() == DType::kString) continue;
    const Graph graph = GraphOfCase(op_case);
    const Node& node = graph.node(graph.order().front());
    Perm perm(rank);
    std::iota(perm.begin(), perm.end(), 0);
    for (int order = 0; order < 6 && std::next_permutation(perm.begin(), perm.end()); ++order) {
      const auto moved = MoveAxes(graph, node, perm);
      if (!moved) continue;
      std::vector<std::optional<Tensor>> inputs = op_case.inputs;
      const bool fits =
          std::all_of(moved->moved.begin(), moved->moved.end(),
                      [&](std::size_t index) { return inputs[index]->dims().size() <= rank; });
      if (!fits) continue;
      for (const std::size_t index : moved->moved) inputs[index] = Before(*inputs[index], perm);
      for (const auto& [index, tensor] : moved->constants) {
        if (inputs.size() <= index) inputs.resize(index + 1);
        inputs[index] = tensor;
      }
      Node now = node;
      now.attrs = moved->attrs;
      SCOPED_TRACE(op_case.label);
      ExpectClose(Transpose(Eval(now, inputs), moved->output), Eval(node, op_case.inputs));
      ++checked[op_case.op];
    }
  }
  for (const std::string op : {"Relu", "Add", "Where", "Concat", "Pad", "QuantizeLinear", "Slice",
                               "ReduceMean", "ReduceSum", "Softmax", "DequantizeLinear"}) {
    EXPECT_GT(checked[op], 0) << op;
  }
  EXPECT_GT(checked.size(), 60U);
}

TEST(MoveAxes, KnowsOrders) {
  const Perm there = {0, 2, 3, 1};
  EXPECT_EQ(Inverse(there), (Perm{0, 3, 1, 2}));
  EXPECT_TRUE(IsIdentity(Composed(there, Inverse(there))));
  EXPECT_EQ(Composed({1, 2, 0}, {2, 0, 1}), (Perm{0, 1, 2}));
  const ValueType flat{.dtype = DType::kF32, .shape = Shape{1, 1, 1, 8}};
  EXPECT_TRUE(IsReshape(flat, there));
  EXPECT_FALSE(IsReshape({.dtype = DType::kF32, .shape = Shape{1, 2, 1, 8}}, there));
  EXPECT_FALSE(IsReshape({.dtype = DType::kF32, .shape = Shape{1, 0, 1, 8}}, there));
}

}  // namespace
}  // namespace msc
