#include "compiler/targets/native/logic.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "compiler/base/error.h"

namespace msc::native {
namespace {

using kernel::Binary;
using kernel::Int;
using kernel::Op;
using kernel::Select;

constexpr std::array<std::string_view, 5> kComparisons = {"Equal", "Less", "LessOrEqual", "Greater",
                                                          "GreaterOrEqual"};

bool IsComparison(const Node& node) {
  return std::find(kComparisons.begin(), kComparisons.end(), node.op) != kComparisons.end();
}

Expr NotOf(const Expr& x) {
  return Select(x, Int(0, x->type), Int(1, x->type));
}

}  // namespace

bool IsLogic(const Graph& graph, const Node& node) {
  if (!node.domain.empty()) return false;
  const auto type = [&](std::size_t input) { return graph.type(node.inputs[input]).dtype; };
  if (IsComparison(node)) {
    const DType compared = type(0);
    return compared == DType::kF32 || compared == DType::kI32 || compared == DType::kI64;
  }
  if (node.op == "And" || node.op == "Or" || node.op == "Xor" || node.op == "Not") {
    return type(0) == DType::kBool;
  }
  if (node.op == "IsNaN") return type(0) == DType::kF32;
  return node.op == "Where" && type(1) == DType::kF32;
}

Expr LogicOf(const Node& node, std::span<const Expr> operands) {
  const Expr& x = operands[0];
  if (node.op == "Where") return Select(x, operands[1], operands[2]);
  if (node.op == "Not") return NotOf(x);
  if (node.op == "IsNaN") return NotOf(Binary(Op::kEqual, x, x));
  const Expr& y = operands[1];
  // NaN compares unequal and neither way, so each comparison has its own form.
  if (node.op == "Equal") return Binary(Op::kEqual, x, y);
  if (node.op == "Less") return Binary(Op::kLess, x, y);
  if (node.op == "LessOrEqual") return Binary(Op::kLessEqual, x, y);
  if (node.op == "Greater") return Binary(Op::kLess, y, x);
  if (node.op == "GreaterOrEqual") return Binary(Op::kLessEqual, y, x);
  if (node.op == "And") return Binary(Op::kAnd, x, y);
  if (node.op == "Or") return Binary(Op::kOr, x, y);
  Check(node.op == "Xor", "a logic operator that IsLogic knows");
  return Select(x, NotOf(y), y);
}

}  // namespace msc::native
