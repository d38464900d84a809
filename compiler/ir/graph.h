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

/// Indices into one Graph. An id stays valid while its value or node lives and is never reused.
enum class ValueId : std::uint32_t {};
enum class NodeId : std::uint32_t {};

/// Stands for an absent optional input or an unused output.
inline constexpr ValueId kNoValue = ValueId{std::numeric_limits<std::uint32_t>::max()};
inline constexpr NodeId kNoNode = NodeId{std::numeric_limits<std::uint32_t>::max()};

/// Container of a value, as in ONNX TypeProto.
enum class Container : std::uint8_t { kTensor, kSequence, kOptional, kOptionalSequence };

/// Type of a value. `shape` is absent if the rank is unknown.
struct ValueType {
  DType dtype = DType::kUndefined;
  std::optional<Shape> shape = {};
  Container container = Container::kTensor;
  bool operator==(const ValueType&) const = default;
};

/// Formats `type` as "f32[batch,3,224,224]", "f32[*]" for an unknown rank, or "seq(i64[?])".
[[nodiscard]] std::string ToString(const ValueType& type);

/// Returns whether the bytes of a value are counted before a run: a tensor with all sizes known,
/// and elements of a known type other than strings.
[[nodiscard]] bool HasFixedSize(const ValueType& type);

struct Value {
  std::string name;  ///< unique in its graph
  ValueType type;
};

/// One operator. Domain "" has the operators of ONNX opset 17 (import converts older forms); domain
/// "msc" has MSCGym's fused operators. compiler/ops has the schemas.
struct Node {
  std::string name = {};              ///< unique in its graph; strategies refer to it
  std::string op = {};                ///< "Conv"
  std::string domain = {};            ///< "" is ai.onnx
  std::vector<ValueId> inputs = {};   ///< kNoValue for an absent optional input
  std::vector<ValueId> outputs = {};  ///< kNoValue for an unused output
  /// Values of this graph that the node's nested graphs read. The link is by name: each value in
  /// Graph::captured() of a nested graph stands for the value of the same name in this list.
  std::vector<ValueId> captures = {};
  AttrMap attrs = {};

  [[nodiscard]] bool Is(std::string_view op_name, std::string_view op_domain = "") const {
    return op == op_name && domain == op_domain;
  }
  /// Returns the input, or kNoValue if the node does not have it.
  [[nodiscard]] ValueId Input(std::size_t index) const {
    return index < inputs.size() ? inputs[index] : kNoValue;
  }
  [[nodiscard]] bool HasInput(std::size_t index) const { return Input(index) != kNoValue; }
};

/// One read of a value. `index` counts the node's inputs first, then its captures.
struct Use {
  NodeId node = kNoNode;
  std::size_t index = 0;
  bool operator==(const Use&) const = default;
};

/// MSCGraph: a model as a directed acyclic graph in topological order.
///
/// Every value has one origin: a node, a graph input, a constant (a weight), or a capture from an
/// outer graph. Mutators keep names unique and the order topological, and throw UserError if a call
/// would break that; Verify() in verifier.h checks all invariants. A copy duplicates the structure
/// and shares the weights. Not thread-safe while it changes.
class Graph {
 public:
  explicit Graph(std::string name = "main") : name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  // --- building ---
  ValueId AddInput(std::string name, ValueType type);
  ValueId AddConstant(std::string name, TensorPtr tensor);
  ValueId AddConstant(std::string name, Tensor tensor);
  /// Adds a value that a nested graph reads from its outer graph.
  ValueId AddCaptured(std::string name, ValueType type);
  /// Adds a value without a producer, for use as an output of the next AddNode.
  ValueId AddValue(std::string name, ValueType type);
  /// Adds the node at the end, or in front of `before`. Throws UserError unless all inputs are
  /// produced earlier. An empty name is replaced by a free one.
  NodeId AddNode(Node node, NodeId before = kNoNode);
  void AddOutput(ValueId value);
  /// Replaces all outputs.
  void SetOutputs(std::vector<ValueId> outputs);

  // --- reading ---
  [[nodiscard]] const Node& node(NodeId id) const;
  /// Returns whether this graph has made the node and not removed it.
  [[nodiscard]] bool IsLive(NodeId id) const noexcept;
  [[nodiscard]] const Value& value(ValueId id) const;
  [[nodiscard]] const ValueType& type(ValueId id) const { return value(id).type; }
  /// Returns live nodes in topological order. AddNode and RemoveNode invalidate the reference: copy
  /// it before calling them.
  [[nodiscard]] const std::vector<NodeId>& order() const noexcept { return order_; }
  [[nodiscard]] const std::vector<ValueId>& inputs() const noexcept { return inputs_; }
  [[nodiscard]] const std::vector<ValueId>& outputs() const noexcept { return outputs_; }
  [[nodiscard]] const std::vector<ValueId>& captured() const noexcept { return captured_; }
  /// Returns live values in order of creation.
  [[nodiscard]] std::vector<ValueId> values() const;
  /// Returns constants in order of creation.
  [[nodiscard]] std::vector<ValueId> constants() const;
  [[nodiscard]] NodeId producer(ValueId id) const;               ///< kNoNode if no node produces it
  [[nodiscard]] const std::vector<Use>& uses(ValueId id) const;  ///< excluding graph outputs
  [[nodiscard]] bool IsOutput(ValueId id) const;
  [[nodiscard]] bool IsInput(ValueId id) const;
  /// Returns the constant's tensor, or nullptr if `id` is not a constant or is kNoValue.
  [[nodiscard]] TensorPtr constant(ValueId id) const;
  [[nodiscard]] ValueId FindValue(std::string_view name) const;  ///< kNoValue if there is none
  [[nodiscard]] NodeId FindNode(std::string_view name) const;    ///< kNoNode if there is none
  /// Returns `stem` if it is free, else stem_i with i >= 1: the smallest free i if the names in use
  /// have no gaps.
  [[nodiscard]] std::string FreeValueName(std::string_view stem) const;
  [[nodiscard]] std::string FreeNodeName(std::string_view stem) const;

  // --- changing ---
  void SetType(ValueId id, ValueType type);
  void SetAttr(NodeId id, std::string name, Attr attr);
  void RemoveAttr(NodeId id, std::string_view name);
  void SetInput(NodeId id, std::size_t index, ValueId value);
  void SetConstant(ValueId id, TensorPtr tensor);
  /// Throws UserError if the name is in use or empty. Updates nested graphs that capture the value.
  void RenameValue(ValueId id, std::string name);
  /// Throws UserError if the name is in use or empty.
  void RenameNode(NodeId id, std::string name);
  /// Makes all readers of `from`, including graph outputs and nested graphs, read `to`. Throws
  /// UserError, without a change, if a reader precedes `to`.
  void ReplaceUses(ValueId from, ValueId to);
  /// Removes a node and its outputs. Throws UserError if an output is still read or is a graph
  /// output.
  void RemoveNode(NodeId id);
  /// Removes a constant that has no readers; otherwise InternalError.
  void RemoveConstant(ValueId id);

  /// Facts about the model's source, as text: producer name, original opset, "onnx.ir_version", ...
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const { return metadata_; }
  void SetMetadata(std::string key, std::string value);

 private:
  enum class Origin : std::uint8_t { kPending, kInput, kConstant, kCaptured, kNode, kDead };
  struct ValueSlot {
    Value value;
    Origin origin = Origin::kPending;
    NodeId producer = kNoNode;
    TensorPtr tensor;
    std::vector<Use> uses = {};
  };
  struct NodeSlot {
    Node node;
    std::uint64_t rank = 0;  ///< increases along order_, with gaps for insertions
    bool live = false;
  };

  ValueId NewValue(std::string name, ValueType type, Origin origin);
  [[nodiscard]] ValueSlot& slot(ValueId id);
  [[nodiscard]] const ValueSlot& slot(ValueId id) const;
  [[nodiscard]] NodeSlot& slot(NodeId id);
  void DropUse(ValueId value, Use use);
  [[nodiscard]] std::size_t PositionOf(NodeId id) const;
  /// Returns a rank for a node at `position` of order_; renumbers all nodes if no gap is left.
  [[nodiscard]] std::uint64_t MakeRank(std::size_t position);
  void CheckReadable(const std::string& reader, ValueId id, std::uint64_t rank) const;
  void CheckProducts(const Node& node) const;
  /// Makes nested graphs of `node` that capture `from` capture `to` instead.
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

/// Returns an attribute, or `otherwise` if it is absent. Throws UserError, which names the node, if
/// the attribute has another type.
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

/// Returns whether both graphs have the same structure, names, types, attributes and weights; ids
/// may differ.
[[nodiscard]] bool SameGraph(const Graph& a, const Graph& b);

/// Counts that `mscgym inspect` prints: nodes by operator, parameters, bytes.
struct GraphCounts {
  std::map<std::string, std::int64_t> nodes;  ///< by "Op" or "domain.Op"
  std::int64_t total_nodes = 0;               ///< including nested graphs
  std::int64_t parameters = 0;                ///< elements of all constants
  std::int64_t weight_bytes = 0;
};
[[nodiscard]] GraphCounts CountContents(const Graph& graph);

}  // namespace msc
