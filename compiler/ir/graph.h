#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/dtype.h"
#include "compiler/base/shape.h"
#include "compiler/ir/attr.h"
#include "compiler/ir/tensor.h"

namespace msc {

/// Indices into one Graph. Stable while the value or node lives; never reused.
enum class ValueId : std::uint32_t {};
enum class NodeId : std::uint32_t {};

/// An optional input that is not given, or an output nobody wants.
inline constexpr ValueId kNoValue = ValueId{std::numeric_limits<std::uint32_t>::max()};
inline constexpr NodeId kNoNode = NodeId{std::numeric_limits<std::uint32_t>::max()};

/// What a value may hold besides a tensor (ONNX TypeProto).
enum class Container : std::uint8_t { kTensor, kSequence, kOptional, kOptionalSequence };

/// Type of a value. `shape` is absent when even the rank is unknown.
struct ValueType {
  DType dtype = DType::kUndefined;
  std::optional<Shape> shape;
  std::string layout;  ///< axis letters such as "NCHW"; empty when nothing is known
  Container container = Container::kTensor;
  bool operator==(const ValueType&) const = default;
};

/// "f32[batch,3,224,224]", "f32[*]" without a rank, "seq(i64[?])"; " NCHW" follows a known layout.
[[nodiscard]] std::string ToString(const ValueType& type);

struct Value {
  std::string name;  ///< unique in its graph
  ValueType type;
};

/// One operator. The vocabulary is ONNX at opset 17 (import lifts older forms) in domain "", and
/// our fused operators in domain "msc"; ops/ has the schemas.
struct Node {
  std::string name;              ///< unique in its graph and stable: strategies refer to it
  std::string op;                ///< "Conv"
  std::string domain;            ///< "" is ai.onnx
  std::vector<ValueId> inputs;   ///< kNoValue where an optional input is absent
  std::vector<ValueId> outputs;  ///< kNoValue where an optional output is absent
  /// Values of this graph that the node's nested graphs read. Nested graphs name them: a value in
  /// Graph::captured() of a nested graph stands for the outer value of the same name.
  std::vector<ValueId> captures;
  AttrMap attrs;

  [[nodiscard]] bool Is(std::string_view op_name, std::string_view op_domain = "") const {
    return op == op_name && domain == op_domain;
  }
};

/// One place where a value is read. `index` counts inputs first, then captures.
struct Use {
  NodeId node = kNoNode;
  std::size_t index = 0;
  bool operator==(const Use&) const = default;
};

/// MSCGraph: a model as a directed acyclic graph in topological order.
///
/// Every value is produced once: by a node, as a graph input, as a constant (a weight), or captured
/// from an outer graph. Mutators keep names unique and the order topological, and throw UserError
/// where a caller breaks that; Verify() in verifier.h checks everything, types and attributes too.
/// Copying copies structure and shares weights. Not thread-safe while it changes.
class Graph {
 public:
  explicit Graph(std::string name = "main") : name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  // --- building ---
  ValueId AddInput(std::string name, ValueType type);
  /// `layout` as in ValueType.
  ValueId AddConstant(std::string name, TensorPtr tensor, std::string layout = "");
  ValueId AddConstant(std::string name, Tensor tensor);
  /// A value that a nested graph takes from the graph around it.
  ValueId AddCaptured(std::string name, ValueType type);
  /// A value without producer yet, to be named as an output of the next AddNode.
  ValueId AddValue(std::string name, ValueType type);
  /// Appends at the end, or in front of `before`. Every input must be produced earlier.
  NodeId AddNode(Node node, NodeId before = kNoNode);
  void AddOutput(ValueId value);
  /// Replaces the whole list.
  void SetOutputs(std::vector<ValueId> outputs);

  // --- reading ---
  [[nodiscard]] const Node& node(NodeId id) const;
  [[nodiscard]] const Value& value(ValueId id) const;
  [[nodiscard]] const ValueType& type(ValueId id) const { return value(id).type; }
  /// Live nodes in topological order. Invalidated by AddNode and RemoveNode: copy before mutating.
  [[nodiscard]] const std::vector<NodeId>& order() const noexcept { return order_; }
  [[nodiscard]] const std::vector<ValueId>& inputs() const noexcept { return inputs_; }
  [[nodiscard]] const std::vector<ValueId>& outputs() const noexcept { return outputs_; }
  [[nodiscard]] const std::vector<ValueId>& captured() const noexcept { return captured_; }
  /// Live values in order of creation.
  [[nodiscard]] std::vector<ValueId> values() const;
  /// Constants in order of creation.
  [[nodiscard]] std::vector<ValueId> constants() const;
  [[nodiscard]] NodeId producer(ValueId id) const;               ///< kNoNode if not made by a node
  [[nodiscard]] const std::vector<Use>& uses(ValueId id) const;  ///< graph outputs are not uses
  [[nodiscard]] bool IsOutput(ValueId id) const;
  [[nodiscard]] bool IsInput(ValueId id) const;
  /// The weight, or nullptr if `id` is not a constant (or is kNoValue).
  [[nodiscard]] TensorPtr constant(ValueId id) const;
  [[nodiscard]] ValueId FindValue(std::string_view name) const;  ///< kNoValue if there is none
  [[nodiscard]] NodeId FindNode(std::string_view name) const;    ///< kNoNode if there is none
  /// `stem` if free, else stem_i for an i >= 1 that is free: the next one where those taken have no
  /// gaps.
  [[nodiscard]] std::string FreeValueName(std::string_view stem) const;
  [[nodiscard]] std::string FreeNodeName(std::string_view stem) const;

  // --- changing ---
  void SetType(ValueId id, ValueType type);
  void SetAttr(NodeId id, std::string name, Attr attr);
  void RemoveAttr(NodeId id, std::string_view name);
  void SetInput(NodeId id, std::size_t index, ValueId value);
  void SetConstant(ValueId id, TensorPtr tensor);
  /// Unique name; UserError if taken. Nested graphs that capture the value follow.
  void RenameValue(ValueId id, std::string name);
  /// Unique name; UserError if taken. Nested graphs that capture the value follow.
  void RenameNode(NodeId id, std::string name);
  /// Every reader of `from`, graph outputs and nested graphs too, reads `to` instead. UserError,
  /// and nothing changed, if a reader stands before `to`.
  void ReplaceUses(ValueId from, ValueId to);
  /// Removes a node and its outputs. UserError if an output is still read or is a graph output.
  void RemoveNode(NodeId id);
  /// Removes a constant nobody reads.
  void RemoveConstant(ValueId id);

  /// Format-independent facts about the source: producer name, original opset, "onnx.ir_version",
  /// ...
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const { return metadata_; }
  void SetMetadata(std::string key, std::string value);

 private:
  enum class Origin : std::uint8_t { kPending, kInput, kConstant, kCaptured, kNode, kDead };
  struct ValueSlot {
    Value value;
    Origin origin = Origin::kPending;
    NodeId producer = kNoNode;
    TensorPtr tensor;
    std::vector<Use> uses;
  };
  struct NodeSlot {
    Node node;
    std::uint64_t rank = 0;  ///< increases along order_, with gaps: compares places at once
    bool live = false;
  };

  ValueId NewValue(std::string name, ValueType type, Origin origin);
  [[nodiscard]] ValueSlot& slot(ValueId id);
  [[nodiscard]] const ValueSlot& slot(ValueId id) const;
  [[nodiscard]] NodeSlot& slot(NodeId id);
  void DropUse(ValueId value, Use use);
  [[nodiscard]] std::size_t PositionOf(NodeId id) const;
  /// A rank for a node to be inserted at `position` of order_.
  [[nodiscard]] std::uint64_t MakeRank(std::size_t position);
  void CheckReadable(const std::string& reader, ValueId id, std::uint64_t rank) const;
  void CheckProducts(const Node& node) const;
  /// Nested graphs of `node` that capture `from` capture `to` instead.
  static void RenameCaptured(Node& node, const std::string& from, const std::string& to);

  std::string name_;
  std::vector<ValueSlot> values_;
  std::vector<NodeSlot> nodes_;
  std::vector<NodeId> order_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<ValueId> captured_;
  std::map<std::string, ValueId, std::less<>> value_names_;
  std::map<std::string, NodeId, std::less<>> node_names_;
  std::map<std::string, std::string> metadata_;
};

/// Reads an attribute, or `otherwise` if absent. UserError naming the node if the kind is another.
template <class T>
[[nodiscard]] T AttrOr(const Node& node, std::string_view name, T otherwise);
extern template std::int64_t AttrOr(const Node&, std::string_view, std::int64_t);
extern template float AttrOr(const Node&, std::string_view, float);
extern template std::string AttrOr(const Node&, std::string_view, std::string);
extern template std::vector<std::int64_t> AttrOr(const Node&, std::string_view,
                                                 std::vector<std::int64_t>);
extern template std::vector<float> AttrOr(const Node&, std::string_view, std::vector<float>);
extern template std::vector<std::string> AttrOr(const Node&, std::string_view,
                                                std::vector<std::string>);
extern template TensorPtr AttrOr(const Node&, std::string_view, TensorPtr);

/// Same structure, names, types, attributes and weights, whatever the ids.
[[nodiscard]] bool SameGraph(const Graph& a, const Graph& b);

/// What `mscgym inspect` prints: inputs, outputs, nodes by operator, parameters.
struct GraphCounts {
  std::map<std::string, std::int64_t> nodes;  ///< by "Op" or "domain.Op"
  std::int64_t total_nodes = 0;               ///< nested graphs included
  std::int64_t parameters = 0;                ///< elements of all constants
  std::int64_t weight_bytes = 0;
};
[[nodiscard]] GraphCounts Count(const Graph& graph);

}  // namespace msc
