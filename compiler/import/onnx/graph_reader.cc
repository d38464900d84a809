#include "compiler/import/onnx/graph_reader.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/base/error.h"
#include "compiler/import/onnx/attribute.h"
#include "compiler/import/onnx/lift.h"
#include "compiler/import/onnx/order.h"
#include "compiler/import/onnx/tensor_proto.h"
#include "compiler/import/onnx/text.h"

namespace msc::detail {
namespace {

class GraphReader {
 public:
  GraphReader(const onnx::GraphProto& proto, const GraphSource& source, const OpRegistry& ops)
      : proto_(proto),
        opset_(source.opset),
        options_(source.options),
        ops_(ops),
        graph_(GraphName(proto)) {}

  Graph Run() {
    CheckSizes();
    NameNodes();
    ReadDeclaredTypes();
    AddInitializers();
    AddInputs();
    CountReads();
    for (int i = 0; i < proto_.node_size(); ++i) DeclareOutputs(proto_.node(i), i);
    for (const std::size_t position : Order()) AddNode(position);
    AddOutputs();
    return std::move(graph_);
  }

 private:
  static std::string GraphName(const onnx::GraphProto& proto) {
    return proto.name().empty() ? "main" : proto.name();
  }

  [[nodiscard]] std::string Where(std::size_t position) const {
    const auto& node = proto_.node(static_cast<int>(position));
    return "node " + std::to_string(position) + " " + QuoteForeign(node_names_[position]) + " (" +
           QuoteForeign(node.op_type()) + ", operator set " + std::to_string(opset_) + ")";
  }

  void CheckName(const std::string& name, const std::string& what) const {
    if (name.empty()) throw UserError(what + " has no name");
    CheckForeignText(name, what, options_.limits.name_bytes);
  }

  void CheckSizes() const {
    CheckForeignText(proto_.name(), "graph name", options_.limits.name_bytes);
    const auto refuse = [](const char* what, int count, std::uint64_t limit) {
      if (static_cast<std::uint64_t>(count) > limit) {
        throw UserError("has " + std::to_string(count) + " " + what + "; at most " +
                        std::to_string(limit) + " are read");
      }
    };
    refuse("nodes", proto_.node_size(), options_.limits.nodes);
    refuse("initializers", proto_.initializer_size(), options_.limits.initializers);
    if (proto_.sparse_initializer_size() > 0) {
      throw UserError("has sparse initializers, which are not supported");
    }
  }

  /// Collects the names in the file first, so that a generated name never equals one of them.
  void NameNodes() {
    for (const auto& node : proto_.node()) {
      CheckForeignText(node.name(), "node name", options_.limits.name_bytes);
      CheckForeignText(node.op_type(), "operator", options_.limits.name_bytes);
      CheckForeignText(node.domain(), "domain", options_.limits.name_bytes);
      if (!node.name().empty()) taken_.insert(node.name());
    }
    std::set<std::string> seen;
    for (int i = 0; i < proto_.node_size(); ++i) {
      const auto& node = proto_.node(i);
      const bool keep = !node.name().empty() && seen.insert(node.name()).second;
      node_names_.push_back(keep ? node.name()
                                 : FreshNodeName(node.op_type() + "_" + std::to_string(i)));
    }
  }

  std::string FreshNodeName(const std::string& stem) {
    std::string name = stem;
    for (int i = 1; !taken_.insert(name).second; ++i) name = stem + "_" + std::to_string(i);
    return name;
  }

  void ReadDeclaredTypes() {
    for (const auto* list : {&proto_.input(), &proto_.output(), &proto_.value_info()}) {
      for (const auto& info : *list) {
        CheckName(info.name(), "value");
        const std::string what = "value " + QuoteForeign(info.name());
        types_.emplace(info.name(), ReadTypeProto(info.type(), what, options_.limits));
      }
    }
  }

  [[nodiscard]] ValueType DeclaredType(const std::string& name) const {
    const auto it = types_.find(name);
    return it == types_.end() ? ValueType{} : it->second;
  }

  void CheckUnseen(const std::string& name) const {
    if (graph_.FindValue(name) != kNoValue || left_out_.contains(name)) {
      throw UserError("value " + QuoteForeign(name) + " is produced twice");
    }
  }

  void AddConstant(const std::string& name, Tensor tensor) {
    CheckUnseen(name);
    graph_.AddConstant(name, std::move(tensor));
  }

  void AddInitializers() {
    std::uint64_t external_bytes = 0;
    for (const auto& initializer : proto_.initializer()) {
      CheckName(initializer.name(), "initializer");
      const std::string what = "initializer " + QuoteForeign(initializer.name());
      Tensor tensor = ReadTensorProto(initializer, what, options_);
      // Several tensors may refer to the same bytes of a file, so limit their sum.
      if (initializer.data_location() == onnx::TensorProto::EXTERNAL) {
        external_bytes += tensor.bytes();
        if (external_bytes > options_.limits.tensor_bytes) {
          throw UserError(what + " takes external data past " +
                          std::to_string(options_.limits.tensor_bytes) + " bytes in all");
        }
      }
      AddConstant(initializer.name(), std::move(tensor));
    }
  }

  /// Adds the graph inputs, except those with an initializer: IR version 3 requires initializers to
  /// be graph inputs too, as default values, and they are constants here.
  void AddInputs() {
    std::set<std::string> listed;
    for (const auto& input : proto_.input()) {
      if (!listed.insert(input.name()).second) {
        throw UserError("graph input " + QuoteForeign(input.name()) + " is listed twice");
      }
      if (graph_.FindValue(input.name()) == kNoValue) {
        graph_.AddInput(input.name(), DeclaredType(input.name()));
      }
    }
  }

  static bool IsConstantNode(const onnx::NodeProto& node) {
    return node.op_type() == "Constant" && IsOnnxDomain(node.domain());
  }

  static bool IsOnnxDomain(const std::string& domain) {
    return domain.empty() || domain == "ai.onnx";
  }

  void DeclareOutputs(const onnx::NodeProto& node, int position) {
    const auto index = static_cast<std::size_t>(position);
    for (int i = 0; i < node.output_size(); ++i) {
      const std::string& name = node.output(i);
      if (name.empty()) continue;
      CheckName(name, "value");
      CheckUnseen(name);
      if (IsLeftOut(node, static_cast<std::size_t>(i))) {
        left_out_.insert(name);
      } else if (!IsConstantNode(node)) {
        graph_.AddValue(name, DeclaredType(name));
        producers_.emplace(name, index);
      }
    }
    if (!IsConstantNode(node)) return;
    if (node.output_size() != 1 || node.input_size() != 0 || node.output(0).empty()) {
      throw UserError(Where(index) + ": needs no input and one output");
    }
    AddConstant(node.output(0), ReadConstantNode(node, Where(index), options_));
  }

  /// Returns whether to drop an optional output because it has no readers: exporters list such
  /// outputs anyway, and a target may support the node only without them.
  [[nodiscard]] bool IsLeftOut(const onnx::NodeProto& node, std::size_t output) const {
    if (!IsOnnxDomain(node.domain()) || reads_.contains(node.output(static_cast<int>(output)))) {
      return false;
    }
    // Older sets list four more outputs, for training.
    if (node.op_type() == "BatchNormalization") return output > 0;
    const OpDef* op = ops_.Find("", node.op_type());
    return op != nullptr && op->max_outputs != OpDef::kVariadic && output >= op->min_outputs &&
           output < op->max_outputs;
  }

  void CountReads() {
    for (const auto& node : proto_.node()) {
      for (const std::string& name : node.input()) ++reads_[name];
    }
    for (const auto& output : proto_.output()) ++reads_[output.name()];
  }

  [[nodiscard]] std::vector<std::size_t> Order() const {
    std::vector<std::vector<std::size_t>> needs(node_names_.size());
    for (std::size_t i = 0; i < needs.size(); ++i) {
      for (const std::string& name : proto_.node(static_cast<int>(i)).input()) {
        const auto it = producers_.find(name);
        if (it != producers_.end()) needs[i].push_back(it->second);
      }
    }
    auto order = StableOrder(needs);
    if (!order) throw UserError("has nodes that need each other's outputs: the graph has a cycle");
    return std::move(*order);
  }

  [[nodiscard]] PendingNode Read(std::size_t position) const {
    const auto& proto = proto_.node(static_cast<int>(position));
    PendingNode node{.position = position,
                     .name = node_names_[position],
                     .op = proto.op_type(),
                     .domain = IsOnnxDomain(proto.domain()) ? "" : proto.domain(),
                     .inputs = {proto.input().begin(), proto.input().end()},
                     .outputs = {proto.output().begin(), proto.output().end()},
                     .attrs = {}};
    for (const std::string& name : node.inputs) {
      if (!name.empty() && graph_.FindValue(name) == kNoValue) {
        throw UserError(Where(position) + ": reads " + QuoteForeign(name) +
                        ", which nothing produces");
      }
    }
    for (std::string& name : node.outputs) {
      if (left_out_.contains(name)) name.clear();
    }
    for (auto* list : {&node.inputs, &node.outputs}) {
      while (!list->empty() && list->back().empty()) list->pop_back();
    }
    for (const auto& attribute : proto.attribute()) {
      const std::string what = Where(position) + ": attribute " + QuoteForeign(attribute.name());
      CheckName(attribute.name(), Where(position) + ": attribute");
      if (!node.attrs.emplace(attribute.name(), ReadAttribute(attribute, what, options_)).second) {
        throw UserError(what + " is given twice");
      }
    }
    return node;
  }

  void AddNode(std::size_t position) {
    const auto& proto = proto_.node(static_cast<int>(position));
    if (IsConstantNode(proto)) return;
    // Check this before the attributes: for an unknown operator, its name is the better error
    // message.
    if (!IsOnnxDomain(proto.domain()) || !IsLiftedOrKnown(proto.op_type())) Unsupported(position);
    Lift lift{.node = Read(position), .opset = opset_, .graph = graph_, .reads = reads_};
    LiftNode(lift);
    std::vector<PendingNode> all = std::move(lift.before);
    all.push_back(std::move(lift.node));
    for (PendingNode& node : lift.after) all.push_back(std::move(node));
    for (PendingNode& node : all) {
      if (ops_.Find("", node.op) == nullptr) Unsupported(position);
      if (node.name != node_names_[position]) node.name = FreshNodeName(node.name);
      AddLifted(std::move(node));
    }
  }

  /// Returns whether the operator has a schema under this name, or a rule may rename it.
  [[nodiscard]] bool IsLiftedOrKnown(const std::string& op) const {
    if (ops_.Find("", op) != nullptr) return true;
    for (const auto family : {ElementwiseLifts(), NormLifts(), ShapeLifts(), NewerLifts()}) {
      for (const LiftRule& rule : family) {
        if (rule.op == op) return true;
      }
    }
    return false;
  }

  [[noreturn]] void Unsupported(std::size_t position) const {
    const auto& proto = proto_.node(static_cast<int>(position));
    throw UserError("node " + std::to_string(position) + " " + QuoteForeign(node_names_[position]) +
                    ": operator " + QuoteForeign(proto.op_type()) + " of domain " +
                    QuoteForeign(proto.domain().empty() ? "ai.onnx" : proto.domain()) +
                    " (operator set " + std::to_string(opset_) + ") is not supported");
  }

  void AddLifted(PendingNode pending) {
    Node node;
    node.name = std::move(pending.name);
    node.op = std::move(pending.op);
    node.attrs = std::move(pending.attrs);
    for (const std::string& name : pending.inputs) node.inputs.push_back(graph_.FindValue(name));
    for (const std::string& name : pending.outputs) node.outputs.push_back(graph_.FindValue(name));
    const NodeId id = graph_.AddNode(std::move(node));
    CheckNode(graph_, id, ops_);
    CompleteTypes(id);
  }

  /// Infers types for the conversion of later nodes; InferTypes makes the final ones.
  void CompleteTypes(NodeId id) {
    const Node& node = graph_.node(id);
    InferInput in{.node = &node, .types = {}, .constants = {}};
    for (const ValueId input : node.inputs) {
      in.types.push_back(input == kNoValue ? ValueType{} : graph_.type(input));
      in.constants.push_back(graph_.constant(input));
    }
    const std::vector<ValueType> types = ops_.Get(node).infer(in);
    for (std::size_t i = 0; i < node.outputs.size() && i < types.size(); ++i) {
      if (node.outputs[i] == kNoValue) continue;
      const ValueType& known = graph_.type(node.outputs[i]);
      if (known.dtype == DType::kUndefined || !known.shape)
        graph_.SetType(node.outputs[i], types[i]);
    }
  }

  void AddOutputs() {
    for (const auto& output : proto_.output()) {
      const ValueId id = graph_.FindValue(output.name());
      if (id == kNoValue) {
        throw UserError("graph output " + QuoteForeign(output.name()) + " is produced by nothing");
      }
      graph_.AddOutput(id);
    }
    if (graph_.outputs().empty()) throw UserError("has no graph outputs");
  }

  const onnx::GraphProto& proto_;
  std::int64_t opset_;
  const ImportOptions& options_;
  const OpRegistry& ops_;
  Graph graph_;
  std::vector<std::string> node_names_;           ///< by position in the file
  std::set<std::string> taken_;                   ///< node names in use
  std::map<std::string, ValueType> types_;        ///< declared by the file
  std::map<std::string, std::size_t> producers_;  ///< nodes by the values that they produce
  std::map<std::string, int> reads_;
  std::set<std::string> left_out_;  ///< outputs that the graph omits
};

}  // namespace

Graph ReadGraphProto(const onnx::GraphProto& proto, const GraphSource& source,
                     const OpRegistry& ops) {
  return GraphReader(proto, source, ops).Run();
}

}  // namespace msc::detail
