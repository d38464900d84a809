#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"

namespace msc {

/// What shape inference may look at. Types of absent inputs are default-constructed.
struct InferInput {
  const Node* node = nullptr;
  std::vector<ValueType> types;      ///< one per input
  std::vector<TensorPtr> constants;  ///< one per input; nullptr unless the input is a constant
};

/// Work of one call, for rooflines and reports. 0 where dims are unknown.
struct OpCost {
  double flops = 0;  ///< multiply and add counted apart
  double bytes = 0;  ///< inputs, weights and outputs, each once
};

/// An attribute that an operator may have. `otherwise` is its kind and, unless `required`, the
/// value that an absent attribute stands for (an empty list may stand for "derived from the
/// inputs").
struct AttrSpec {
  std::string name;
  Attr otherwise;
  bool required = false;
};

/// One operator: all that the rest of the compiler knows about it. Plain data, listed in
/// register.cc.
struct OpDef {
  std::string name;
  std::string domain = {};
  std::size_t min_inputs = 0;
  std::size_t max_inputs = 0;  ///< kVariadic for no limit
  std::size_t min_outputs = 1;
  std::size_t max_outputs = 1;
  std::vector<AttrSpec> attrs = {};
  /// Types of the outputs. Throws UserError naming the node where inputs do not fit. Symbolic and
  /// unknown dimensions in, symbolic and unknown dimensions out.
  std::function<std::vector<ValueType>(const InferInput&)> infer;
  /// The reference kernel: slow, simple, right. Absent inputs are nullptr. Throws UserError for
  /// types it does not take. Pure and thread-safe.
  std::function<std::vector<Tensor>(const Node&, std::span<const Tensor* const>)> eval;
  /// flops given the input and output types; bytes are counted by CostOf. May be empty (0 flops).
  std::function<double(const Node&, std::span<const ValueType> in, std::span<const ValueType> out)>
      flops = {};

  static constexpr std::size_t kVariadic = 1000000;
};

/// Operators by domain and name. A plain object: see RegisterAllOps in register.h.
class OpRegistry {
 public:
  /// InternalError if the operator is there already.
  void Add(OpDef op);
  [[nodiscard]] const OpDef* Find(std::string_view domain, std::string_view name) const;
  /// UserError naming node, operator and domain if it is unknown.
  [[nodiscard]] const OpDef& Get(const Node& node) const;
  /// Sorted by domain, then name.
  [[nodiscard]] std::vector<const OpDef*> All() const;

 private:
  std::map<std::pair<std::string, std::string>, OpDef> ops_;
};

/// The registry with every operator of this folder. Built once, immutable, thread-safe.
[[nodiscard]] const OpRegistry& Ops();

/// Checks arity and attributes of one node against its schema. UserError naming the node.
void CheckNode(const Graph& graph, NodeId id, const OpRegistry& ops = Ops());

/// Recomputes the type of every node output, in order, after replacing bound symbols in the types
/// of inputs. A constant-valued input (Shape, Gather ... chains are not evaluated here: see
/// constant folding) informs operators such as Reshape. Keeps what was known where inference knows
/// less.
void InferTypes(Graph& graph, const ShapeBindings& bindings = {}, const OpRegistry& ops = Ops());

/// The same for the outputs of one node.
void InferNodeTypes(Graph& graph, NodeId id, const OpRegistry& ops = Ops());

[[nodiscard]] OpCost CostOf(const Graph& graph, NodeId id, const OpRegistry& ops = Ops());

/// Runs a whole graph with the reference kernels. `inputs` in the order of graph.inputs(); returns
/// graph.outputs(). `tap`, where given, sees the inputs and every value as it is made. UserError
/// where an input does not have the type of its graph input, or a node refuses its operands.
[[nodiscard]] std::vector<Tensor> Interpret(
    const Graph& graph, std::span<const Tensor> inputs,
    const std::function<void(ValueId, const Tensor&)>& tap = {}, const OpRegistry& ops = Ops());

}  // namespace msc
