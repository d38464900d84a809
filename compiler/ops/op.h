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
#include "compiler/ir/run_value.h"
#include "compiler/ir/tensor.h"

namespace msc {

/// Facts that shape inference may read. Absent inputs have default-constructed types.
struct InferInput {
  const Node* node = nullptr;
  std::vector<ValueType> types = {};      ///< one per input
  std::vector<TensorPtr> constants = {};  ///< one per input; nullptr unless the input is a constant
};

/// Work of one call, for rooflines and reports. 0 if dims are unknown.
struct OpCost {
  double flops = 0;  ///< a multiply and an add count as two
  double bytes = 0;  ///< inputs, weights and outputs, each counted once
};

/// Attribute that an operator may have. `otherwise` gives the attribute's type and, unless
/// `required`, its default; an empty list may mean that the value derives from the inputs.
struct AttrSpec {
  std::string name;
  Attr otherwise;
  bool required = false;
};

struct CountRange {
  std::size_t least = 0;
  std::size_t most = 0;
};

/// Values of outer graphs by name, which nested graphs read.
using CapturedValues = std::map<std::string, RunValue, std::less<>>;

/// Schema of one operator: all facts that the compiler has about it. register.cc lists the
/// operators.
struct OpDef {
  std::string name;
  std::string domain = {};
  CountRange inputs;  ///< `most` is kVariadic if unlimited
  std::size_t min_outputs = 1;
  std::size_t max_outputs = 1;
  std::vector<AttrSpec> attrs = {};
  /// Infers the output types. Throws UserError, which names the node, if the inputs do not fit.
  /// Symbolic and unknown dimensions of inputs give symbolic and unknown dimensions of outputs.
  std::function<std::vector<ValueType>(const InferInput&)> infer;
  /// Reference kernel: simple and accurate, but slow. Absent inputs are nullptr. Throws UserError
  /// for unsupported types. Pure and thread-safe.
  std::function<std::vector<Tensor>(const Node&, std::span<const Tensor* const>)> eval = {};
  /// Kernel of an operator that has nested graphs, or takes or gives sequences and optionals. It
  /// also gets the values that its nested graphs read. If `eval` is set too, that one computes
  /// tensors; if not, the registry makes one that refuses. Pure and thread-safe.
  std::function<std::vector<RunValue>(const Node&, std::span<const RunValue* const>,
                                      const CapturedValues&)>
      eval_values = {};
  bool computes_tensors = true;  ///< whether `eval` was given; the registry sets it
  /// Returns the flops for the input and output types; CostOf counts the bytes. May be empty (0
  /// flops).
  std::function<double(const Node&, std::span<const ValueType> in, std::span<const ValueType> out)>
      flops = {};

  static constexpr std::size_t kVariadic = 1000000;
};

/// Operators by domain and name. RegisterAllOps in register.h fills it.
class OpRegistry {
 public:
  /// Adds an operator. Throws InternalError if it exists.
  void Add(OpDef op);
  [[nodiscard]] const OpDef* Find(std::string_view domain, std::string_view name) const;
  /// Returns the schema. Throws UserError, which names node, operator and domain, if it is unknown.
  [[nodiscard]] const OpDef& Get(const Node& node) const;
  /// Returns all operators, sorted by domain, then name.
  [[nodiscard]] std::vector<const OpDef*> All() const;

 private:
  std::map<std::pair<std::string, std::string>, OpDef> ops_;
};

/// Returns the registry of all operators in this folder. Built once, immutable, thread-safe.
[[nodiscard]] const OpRegistry& Ops();

/// Checks inputs, outputs and attributes of one node against its schema. Throws UserError, which
/// names the node.
void CheckNode(const Graph& graph, NodeId id, const OpRegistry& ops = Ops());

/// Replaces bound symbols in all types, then infers the output types of every node in order.
/// Constant inputs inform operators such as Reshape; constant folding, not this function, evaluates
/// chains such as Shape and Gather. Keeps a known type where inference knows less.
void InferTypes(Graph& graph, const ShapeBindings& bindings = {}, const OpRegistry& ops = Ops());

/// Infers the output types of one node, without bindings.
void InferNodeTypes(Graph& graph, NodeId id, const OpRegistry& ops = Ops());

[[nodiscard]] OpCost CostOf(const Graph& graph, NodeId id, const OpRegistry& ops = Ops());

/// Runs a graph with the reference kernels. `inputs` are in the order of graph.inputs(); returns
/// graph.outputs(). `tap`, if not empty, receives the inputs and every value when it is computed.
/// Throws UserError if an input does not have the type of its graph input or a node rejects its
/// operands.
[[nodiscard]] std::vector<Tensor> Interpret(
    const Graph& graph, std::span<const Tensor> inputs,
    const std::function<void(ValueId, const Tensor&)>& tap = {}, const OpRegistry& ops = Ops());
/// Does the same for graphs whose inputs and outputs may be sequences and optionals. `captured` has
/// the values that a nested graph reads, by the names of graph.captured(). `tap` receives tensors.
[[nodiscard]] std::vector<RunValue> InterpretValues(
    const Graph& graph, std::span<const RunValue> inputs, const CapturedValues& captured = {},
    const std::function<void(ValueId, const Tensor&)>& tap = {});

}  // namespace msc
