#pragma once

// Expressions numbered as in TVM, to compare with tables of what its Collage finds. The number of a
// node is its place in depth-first post-order, in which parameters, operator names and the function
// itself are nodes as well.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/partition/dataflow.h"

namespace msc::test {

using Members = std::vector<std::size_t>;

/// A node that is no call has one of the operators below, which begin with '%'.
struct Expr;
using ExprPtr = std::shared_ptr<Expr>;
struct Expr {
  std::string op = {};
  std::vector<ExprPtr> operands = {};
};

inline ExprPtr Do(const std::string& op, std::vector<ExprPtr> operands) {
  return std::make_shared<Expr>(Expr{.op = op, .operands = std::move(operands)});
}
inline ExprPtr Param() {
  return Do("%param", {});
}
inline ExprPtr Const() {
  return Do("%const", {});
}
/// A constant that is written into the code of its readers.
inline ExprPtr Scalar() {
  return Do("%scalar", {});
}
inline ExprPtr TupleExpr(std::vector<ExprPtr> fields) {
  return Do("%tuple", std::move(fields));
}
inline ExprPtr Get(ExprPtr tuple) {
  return Do("%get", {std::move(tuple)});
}

inline bool IsCall(const std::string& op) {
  return !op.starts_with('%');
}

inline OpKind KindOfOp(const std::string& op) {
  static const std::map<std::string, OpKind> kinds = {
      {"relu", OpKind::kElementwise},    {"abs", OpKind::kElementwise},
      {"tanh", OpKind::kElementwise},    {"leaky", OpKind::kElementwise},
      {"add", OpKind::kBroadcast},       {"sub", OpKind::kBroadcast},
      {"mul", OpKind::kBroadcast},       {"power", OpKind::kBroadcast},
      {"expand", OpKind::kBroadcast},    {"reshape", OpKind::kInjective},
      {"transpose", OpKind::kInjective}, {"concat", OpKind::kInjective},
      {"split", OpKind::kInjective},     {"conv", OpKind::kAnchor},
      {"dense", OpKind::kAnchor},        {"%const", OpKind::kElementwise},
      {"%scalar", OpKind::kElementwise}, {"%tuple", OpKind::kInjective},
      {"%get", OpKind::kInjective}};
  const auto it = kinds.find(op);
  return it == kinds.end() ? OpKind::kOpaque : it->second;
}

class Numbering {
 public:
  DataflowGraph Function(const std::vector<ExprPtr>& params, const ExprPtr& body) {
    for (const ExprPtr& param : params) Visit(param);
    Visit(body);
    std::vector<FlowIndex> inputs;
    for (const ExprPtr& param : params) inputs.push_back(numbers_.at(param.get()));
    inputs.push_back(numbers_.at(body.get()));
    const FlowIndex function = Put({.name = {}, .op = "%function", .inputs = inputs});
    tensors_[function].leaves = true;
    return {std::move(nodes_), std::move(tensors_)};
  }

 private:
  FlowIndex Put(FlowNode node) {
    const auto number = static_cast<FlowIndex>(nodes_.size());
    node.name = std::to_string(number);
    node.outputs = {number};
    nodes_.push_back(std::move(node));
    tensors_.push_back({.name = std::to_string(number)});
    return number;
  }

  // Names of operators have numbers but no readers. Scalars are weights of their readers.
  void Visit(const ExprPtr& expr) {
    if (numbers_.contains(expr.get())) return;
    if (IsCall(expr->op) && operators_.insert(expr->op).second) {
      Put({.name = {}, .op = "%operator"});
    }
    FlowNode node{.name = {}, .op = expr->op, .kind = KindOfOp(expr->op)};
    for (std::uint32_t i = 0; i < expr->operands.size(); ++i) {
      const ExprPtr& operand = expr->operands[i];
      Visit(operand);
      if (operand->op == "%scalar") {
        node.weights.push_back(i);
      } else {
        node.inputs.push_back(numbers_.at(operand.get()));
      }
    }
    numbers_[expr.get()] = Put(std::move(node));
  }

  std::vector<FlowNode> nodes_;
  std::vector<FlowTensor> tensors_;
  std::map<const Expr*, FlowIndex> numbers_;
  std::set<std::string> operators_;
};

inline DataflowGraph Fn(const std::vector<ExprPtr>& params, const ExprPtr& body) {
  return Numbering().Function(params, body);
}

/// Returns a graph of these tests by name.
inline DataflowGraph GraphNamed(const std::string& name) {
  const ExprPtr a = Param();
  const ExprPtr b = Param();
  const ExprPtr c = Param();
  const ExprPtr d = Param();
  if (name == "sub") return Fn({a, b, c, d}, Do("sub", {Do("add", {a, b}), Do("add", {c, d})}));
  if (name == "layer") {
    const ExprPtr sum = Do("add", {Do("conv", {a, b}), c});
    return Fn({a, b, c, d}, Do("sub", {Do("relu", {sum}), d}));
  }
  const ExprPtr conv = Do("conv", {a, b});
  if (name == "diamond") {
    return Fn({a, b}, Do("add", {Do("relu", {Do("relu", {conv})}), Do("leaky", {conv})}));
  }
  if (name == "tap") return Fn({a, b}, Do("add", {Do("relu", {conv}), conv}));
  if (name == "chain of adds") {
    return Fn({a, b}, Do("add", {Do("add", {Do("add", {a, b}), b}), b}));
  }
  const auto relu = [](const ExprPtr& x) { return Do("relu", {x}); };
  if (name == "labels" || name == "nested tap") {
    const ExprPtr r4 = relu(relu(a));
    const ExprPtr r5 = relu(r4);
    const ExprPtr s7 = Do("add", {r5, relu(r4)});
    const ExprPtr s10 = Do("add", {relu(s7), relu(s7)});
    return Fn({a}, name == "labels" ? relu(s10) : Do("add", {r5, s10}));
  }
  if (name == "S") return Fn({a}, relu(relu(Do("abs", {a}))));
  if (name == "V") {
    return Fn({a}, Do("shape_of", {Do("add", {Do("abs", {a}), a})}));
  }
  if (name == "ops") {
    const ExprPtr shaped = Do("reshape", {Do("add", {Do("dense", {a, Const()}), Const()})});
    const ExprPtr half = Do("mul", {shaped, Scalar()});
    const ExprPtr cube = Do("mul", {Do("power", {shaped, Scalar()}), Scalar()});
    const ExprPtr inner = Do("mul", {Do("add", {shaped, cube}), Scalar()});
    return Fn({a}, Do("mul", {half, Do("add", {Do("tanh", {inner}), Scalar()})}));
  }
  if (name == "tuples") {
    const ExprPtr split = Do("split", {a});
    const auto branch = [&] {
      return Do("expand", {Do("transpose", {Do("reshape", {Get(split)})})});
    };
    return Fn({a}, Do("concat", {TupleExpr({branch(), branch()})}));
  }
  if (name == "cycle") {
    const ExprPtr x = Do("relu", {a});
    const ExprPtr y = Do("abs", {b});
    return Fn({a, b}, TupleExpr({Do("add", {x, y}), Do("mul", {x, y})}));
  }
  if (name == "fan-in") return Fn({a, b}, Do("add", {relu(a), relu(b)}));
  if (name == "P1") return Fn({a}, relu(a));
  if (name == "P3") {
    const ExprPtr five = Do("abs", {relu(a)});
    return Fn({a}, Do("add", {five, relu(five)}));
  }
  if (name == "P4") return Fn({a}, relu(relu(relu(a))));
  if (name == "P6") {
    const ExprPtr two = relu(a);
    const ExprPtr three = relu(two);
    return Fn({a}, TupleExpr({two, three, Do("abs", {three})}));
  }
  if (name == "P7") {
    const ExprPtr three = relu(a);
    return Fn({a}, Do("concat", {TupleExpr({three, relu(three)})}));
  }
  if (name == "P8") {
    const ExprPtr sum = Do("add", {relu(relu(a)), relu(Do("abs", {a}))});
    return Fn({a}, Do("abs", {relu(sum)}));
  }
  if (name == "P9" || name == "P10") {
    const ExprPtr first = relu(a);
    const ExprPtr second = name == "P9" ? Do("abs", {first}) : relu(first);
    return Fn({a}, Do("add", {second, Do("add", {first, second})}));
  }
  if (name == "wide") {
    const auto branch = [&] { return relu(relu(relu(a))); };
    ExprPtr sum = branch();
    for (int i = 0; i < 3; ++i) sum = Do("add", {sum, branch()});
    return Fn({a}, sum);
  }
  if (name ==
      "products") {  // one value times three weights, followed by two convolutions in series
    const auto product = [&] { return Do("dense", {a, Scalar()}); };
    const ExprPtr sum = Do("add", {Do("add", {product(), product()}), product()});
    return Fn({a}, Do("conv", {Do("conv", {sum, Scalar()}), Scalar()}));
  }
  throw InternalError("no such graph: " + name, __FILE__, __LINE__);
}

inline IndexSet Set(const DataflowGraph& flow, const Members& members) {
  return {flow.size(), members};
}

}  // namespace msc::test
