#include "compiler/import/onnx/graph_reader.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/base/error.h"
#include "compiler/import/onnx/attribute.h"
#include "compiler/import/onnx/lift.h"
#include "compiler/import/onnx/operator_sets.h"
#include "compiler/import/onnx/order.h"
#include "compiler/import/onnx/reader.h"
#include "compiler/import/onnx/reads.h"
#include "compiler/import/onnx/rename.h"
#include "compiler/import/onnx/small_values.h"
#include "compiler/import/onnx/sparse_tensor.h"
#include "compiler/import/onnx/tensor_proto.h"
#include "compiler/import/onnx/text.h"

namespace msc::detail {
namespace {

void CheckName(const std::string& name, const std::string& what, const ImportLimits& limits) {
  if (name.empty()) throw UserError(what + " has no name");
  CheckForeignText(name, what, limits.name_bytes);
}

/// Returns the nodes. Collects their names in `taken` first, so that a generated name never equals
/// one of the file.
std::vector<FileNode> NameNodes(const onnx::GraphProto& proto, const GraphSource& source,
                                Names& taken) {
  const std::size_t name_bytes = source.options.limits.name_bytes;
  Names unused;  // names of the file that no node of the graph has yet
  for (const auto& node : proto.node()) {
    CheckForeignText(node.name(), "node name", name_bytes);
    CheckForeignText(node.op_type(), "operator", name_bytes);
    CheckForeignText(node.domain(), "domain", name_bytes);
    if (!node.name().empty() && taken.insert(node.name()).second) unused.insert(node.name());
  }
  std::vector<FileNode> nodes;
  for (const auto& node : proto.node()) {
    const std::size_t position = nodes.size();
    const bool keep = unused.erase(node.name()) > 0;
    nodes.push_back(
        {node, position,
         keep ? node.name() : FreshName(node.op_type() + "_" + std::to_string(position), taken),
         source.opset});
  }
  return nodes;
}

ValueType TypeOf(const DeclaredTypes& types, const std::string& name) {
  const auto it = types.find(name);
  return it == types.end() ? ValueType{} : it->second;
}

void CheckUnseen(const std::string& name, const Graph& graph, const Names& left_out) {
  if (graph.FindValue(name) != kNoValue || left_out.contains(name)) {
    throw UserError("value " + QuoteForeign(name) + " is produced twice");
  }
}

/// ONNX's domain of optimizers.
constexpr std::string_view kTrainingDomain = "ai.onnx.preview.training";

bool IsOnnxDomain(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

/// Returns the name by which rules and schemas know a domain.
std::string DomainOf(const onnx::NodeProto& node) {
  return IsOnnxDomain(node.domain()) ? std::string() : node.domain();
}

bool IsConstantNode(const onnx::NodeProto& node) {
  return node.op_type() == "Constant" && IsOnnxDomain(node.domain());
}

/// Returns whether to drop an optional output because it has no readers: exporters list such
/// outputs anyway, and a target may support the node only without them.
bool IsLeftOut(const onnx::NodeProto& node, std::size_t output, const Reads& reads,
               const OpRegistry& ops) {
  if (reads.contains(node.output(static_cast<int>(output)))) return false;
  // Older sets list four more outputs, for training. Operators that become others have one that is
  // not optional.
  const OpDef* op = ops.Find(DomainOf(node), node.op_type());
  if (node.op_type() == "BatchNormalization" || op == nullptr) return output > 0 && !IsIf(node);
  return op->max_outputs != OpDef::kVariadic && output >= op->min_outputs &&
         output < op->max_outputs;
}

/// The values that the file's nodes make.
struct Outputs {
  std::map<std::string, std::size_t> producers;  ///< positions of nodes by values of the graph
  Names left_out;                                ///< values that the graph omits
};

/// Declares the outputs of all nodes, and adds those of Constant nodes.
Outputs DeclareOutputs(const std::vector<FileNode>& nodes, const DeclaredTypes& types,
                       const Reads& reads, const SourceOptions& options, const OpRegistry& ops,
                       Graph& graph) {
  Outputs outputs;
  for (const FileNode& node : nodes) {
    const onnx::NodeProto& proto = node.proto;
    const bool constant = IsConstantNode(proto);
    for (int i = 0; i < proto.output_size(); ++i) {
      const std::string& name = proto.output(i);
      if (name.empty()) continue;
      CheckName(name, "value", options.limits);
      CheckUnseen(name, graph, outputs.left_out);
      if (IsLeftOut(proto, static_cast<std::size_t>(i), reads, ops)) {
        outputs.left_out.insert(name);
      } else if (!constant) {
        graph.AddValue(name, TypeOf(types, name));
        outputs.producers.emplace(name, node.position);
      }
    }
    if (!constant) continue;
    if (proto.output_size() != 1 || proto.input_size() != 0 || proto.output(0).empty()) {
      throw UserError(node.Where() + ": needs no input and one output");
    }
    graph.AddConstant(proto.output(0), ReadConstantNode(proto, node.Where(), options));
  }
  return outputs;
}

/// Returns positions in an order in which each node follows those whose values it reads.
std::vector<std::size_t> OrderOf(const std::vector<FileNode>& nodes,
                                 const std::map<std::string, std::size_t>& producers) {
  std::vector<std::vector<std::size_t>> needs(nodes.size());
  for (const FileNode& node : nodes) {
    ForEachRead(node.proto, [&](const std::string& name) {
      const auto it = producers.find(name);
      if (it != producers.end()) needs[node.position].push_back(it->second);
    });
  }
  auto order = StableOrder(needs);
  if (!order) throw UserError("has nodes that need each other's outputs: the graph has a cycle");
  return std::move(*order);
}

[[noreturn]] void RejectOperator(const FileNode& node) {
  const std::string& domain = node.proto.domain();
  throw UserError("node " + std::to_string(node.position) + " " + QuoteForeign(node.name) +
                  ": operator " + QuoteForeign(node.proto.op_type()) + " of domain " +
                  QuoteForeign(domain.empty() ? "ai.onnx" : domain) + " (operator set " +
                  std::to_string(node.opset) + ") is not supported");
}

/// Returns whether the operator has a schema under this name, or a rule may rename it.
bool IsLiftedOrKnown(const onnx::NodeProto& node, const OpRegistry& ops) {
  const std::string domain = DomainOf(node);
  // Others in the registry are the compiler's own, which no file may use.
  const bool public_domain = domain.empty() || domain == kTrainingDomain;
  if (public_domain && ops.Find(domain, node.op_type()) != nullptr) return true;
  for (const auto family : AllLifts()) {
    for (const LiftRule& rule : family) {
      if (rule.op == node.op_type() && rule.domain == domain) return true;
    }
  }
  return false;
}

/// Rejects an operator that a set newer than those that are read has added or changed.
void CheckUnchanged(const FileNode& node) {
  const std::string& op = node.proto.op_type();
  if (!IsOnnxDomain(node.proto.domain()) || LastChangeOf(op, node.opset) <= kNewestReadOpset)
    return;
  throw UserError(node.Where() + ": has changed since operator set " +
                  std::to_string(kNewestReadOpset) +
                  ", the newest that is read: export the model with that one");
}

/// Returns whether the operator of ai.onnx gives the elements of its first input.
bool Moves(const std::string& op) {
  constexpr std::array<std::string_view, 7> kOps = {"Flatten", "Identity",  "Pad",      "Reshape",
                                                    "Squeeze", "Transpose", "Unsqueeze"};
  return std::ranges::find(kOps, op) != kOps.end();
}

/// Rejects an operator that would take what holds narrow values for a type of its own. Notes where
/// one moves such values.
void FollowNarrow(const Lift& lift) {
  constexpr std::array<std::string_view, 6> kTakers = {
      "Cast", "CastLike", "DequantizeLinear", "QuantizeLinear", "Shape", "Size"};
  const std::string& op = lift.node.op;
  const bool onnx = lift.node.domain.empty();
  const bool moves = onnx && Moves(op);
  const bool takes = moves || (onnx && std::ranges::find(kTakers, op) != kTakers.end());
  for (std::size_t i = 0; i < lift.node.inputs.size(); ++i) {
    const NarrowType* type = lift.NarrowInput(i);
    if (type == nullptr) continue;
    if (!takes) lift.Reject("is not supported for element type " + std::string(type->name));
    if (moves && i == 0) lift.NoteNarrow(lift.node.outputs, *type);
  }
}

}  // namespace

std::string FileNode::Where() const {
  return "node " + std::to_string(position) + " " + QuoteForeign(name) + " (" +
         QuoteForeign(proto.op_type()) + ", operator set " + std::to_string(opset) + ")";
}

std::string FreshName(const std::string& stem, Names& taken) {
  std::string name = stem;
  for (int i = 1; !taken.insert(name).second; ++i) name = stem + "_" + std::to_string(i);
  return name;
}

DeclaredTypes ReadDeclaredTypes(const onnx::GraphProto& proto, const ImportLimits& limits) {
  DeclaredTypes types;
  for (const auto* list : {&proto.input(), &proto.output(), &proto.value_info()}) {
    for (const auto& info : *list) {
      CheckName(info.name(), "value", limits);
      const std::string what = "value " + QuoteForeign(info.name());
      types.emplace(info.name(), ReadTypeProto(info.type(), what, limits));
    }
  }
  return types;
}

bool IsIf(const onnx::NodeProto& node) {
  return node.op_type() == "If" && IsOnnxDomain(node.domain());
}

void AddInputs(const onnx::GraphProto& proto, const DeclaredTypes& types, Graph& graph) {
  Names listed;
  for (const auto& input : proto.input()) {
    if (!listed.insert(input.name()).second) {
      throw UserError("graph input " + QuoteForeign(input.name()) + " is listed twice");
    }
    if (graph.FindValue(input.name()) == kNoValue) {
      graph.AddInput(input.name(), TypeOf(types, input.name()));
    }
  }
}

void AddOutputs(const onnx::GraphProto& proto, Graph& graph) {
  for (const auto& output : proto.output()) {
    const ValueId id = graph.FindValue(output.name());
    if (id == kNoValue) {
      throw UserError("graph output " + QuoteForeign(output.name()) + " is produced by nothing");
    }
    graph.AddOutput(id);
  }
  if (graph.outputs().empty()) throw UserError("has no graph outputs");
}

GraphReader::GraphReader(const onnx::GraphProto& proto, const GraphSource& source,
                         const OpRegistry& ops, ModelState& state)
    : source_(source),
      ops_(ops),
      state_(state),
      graph_(proto.name().empty() ? "main" : proto.name()) {}

Graph GraphReader::Read(const onnx::GraphProto& proto) {
  CheckSizes(proto);
  const DeclaredTypes types = ReadDeclaredTypes(proto, source_.options.limits);
  AddInitializers(proto);
  FixInputs(proto, types);
  AddInputs(proto, types, graph_);
  if (source_.options.set_inputs) source_.options.set_inputs(graph_);
  ReadNodes(proto, types);
  AddOutputs(proto, graph_);
  return std::move(graph_);
}

/// Adds constants for the inputs whose values the options give.
void GraphReader::FixInputs(const onnx::GraphProto& proto, const DeclaredTypes& types) {
  if (!source_.options.fix_input) return;
  for (const auto& input : proto.input()) {
    if (graph_.FindValue(input.name()) != kNoValue) continue;
    TensorPtr value = source_.options.fix_input(input.name(), TypeOf(types, input.name()));
    if (value != nullptr) graph_.AddConstant(input.name(), std::move(value));
  }
}

void GraphReader::NoteNarrowValues(const onnx::GraphProto& proto) {
  const auto note = [&](const std::string& name, std::int64_t code) {
    const NarrowType* type = FindNarrowType(code);
    if (type != nullptr) state_.narrow[name] = type;
  };
  for (const auto* list : {&proto.input(), &proto.output(), &proto.value_info()}) {
    for (const auto& info : *list) note(info.name(), info.type().tensor_type().elem_type());
  }
  for (const auto& tensor : proto.initializer()) note(tensor.name(), tensor.data_type());
  for (const auto& node : proto.node()) {
    if (!IsConstantNode(node) || node.output_size() != 1) continue;
    for (const auto& attribute : node.attribute()) {
      note(node.output(0), attribute.t().data_type());
    }
  }
}

void GraphReader::CheckSizes(const onnx::GraphProto& proto) {
  const ImportLimits& limits = source_.options.limits;
  CheckForeignText(proto.name(), "graph name", limits.name_bytes);
  const auto check = [](const char* what, std::uint64_t count, std::uint64_t limit) {
    if (count > limit) {
      throw UserError("has " + std::to_string(count) + " " + what + "; at most " +
                      std::to_string(limit) + " are read");
    }
  };
  state_.nodes += static_cast<std::uint64_t>(proto.node_size());
  check("nodes", state_.nodes, limits.nodes);
  const auto initializers = static_cast<std::uint64_t>(proto.initializer_size());
  const auto sparse = static_cast<std::uint64_t>(proto.sparse_initializer_size());
  check("initializers", initializers + sparse, limits.initializers);
}

void GraphReader::AddInitializers(const onnx::GraphProto& proto) {
  const SourceOptions& options = source_.options;
  for (const auto& initializer : proto.initializer()) {
    CheckName(initializer.name(), "initializer", options.limits);
    const std::string what = "initializer " + QuoteForeign(initializer.name());
    Tensor tensor = ReadTensorProto(initializer, what, options);
    CheckUnseen(initializer.name(), graph_, {});
    graph_.AddConstant(initializer.name(), std::move(tensor));
  }
  for (const auto& initializer : proto.sparse_initializer()) {
    const std::string& name = initializer.values().name();
    CheckName(name, "initializer", options.limits);
    Tensor tensor = ReadSparseTensor(initializer, "initializer " + QuoteForeign(name), options);
    CheckUnseen(name, graph_, {});
    graph_.AddConstant(name, std::move(tensor));
  }
}

void GraphReader::ReadNodes(const onnx::GraphProto& proto, const DeclaredTypes& types) {
  const std::vector<FileNode> nodes = NameNodes(proto, source_, taken_);
  CountReads(proto, reads_);
  NoteNarrowValues(proto);
  const Outputs outputs = DeclareOutputs(nodes, types, reads_, source_.options, ops_, graph_);
  for (const std::size_t position : OrderOf(nodes, outputs.producers)) {
    if (!IsConstantNode(nodes[position].proto)) ReadOne(nodes[position], outputs.left_out);
  }
}

void GraphReader::ReadOne(const FileNode& node, const Names& left_out) {
  if (IsIf(node.proto)) {
    ReadIf(node);
    return;
  }
  // Check this before the attributes: for an unknown operator, its name is the better error
  // message.
  if (!IsLiftedOrKnown(node.proto, ops_)) RejectOperator(node);
  CheckUnchanged(node);
  Lift lift{.node = ReadNode(node, left_out),
            .opset = source_.opset,
            .graph = graph_,
            .reads = reads_,
            .values = &small_values_,
            .narrow = &state_.narrow};
  FollowNarrow(lift);
  if (lift.node.domain != kTrainingDomain) LiftNode(lift);
  AddLifted(node, std::move(lift));
}

PendingNode GraphReader::ReadNode(const FileNode& file, const Names& left_out) {
  const onnx::NodeProto& proto = file.proto;
  PendingNode node{.position = file.position,
                   .name = file.name,
                   .op = proto.op_type(),
                   .domain = DomainOf(proto),
                   .inputs = {proto.input().begin(), proto.input().end()},
                   .outputs = {proto.output().begin(), proto.output().end()}};
  for (const std::string& name : node.inputs) {
    if (!name.empty() && graph_.FindValue(name) == kNoValue) {
      throw UserError(file.Where() + ": reads " + QuoteForeign(name) + ", which nothing produces");
    }
  }
  for (std::string& name : node.outputs) {
    if (left_out.contains(name)) name.clear();
  }
  for (auto* list : {&node.inputs, &node.outputs}) {
    while (!list->empty() && list->back().empty()) list->pop_back();
  }
  ReadAttributes(file, node);
  return node;
}

void GraphReader::ReadAttributes(const FileNode& file, PendingNode& node) {
  const SourceOptions& options = source_.options;
  for (const auto& attribute : file.proto.attribute()) {
    const std::string what = file.Where() + ": attribute " + QuoteForeign(attribute.name());
    CheckName(attribute.name(), file.Where() + ": attribute", options.limits);
    const auto add = [&](const std::string& name, Attr attr) {
      if (!node.attrs.emplace(name, std::move(attr)).second) {
        throw UserError(what + " is given twice");
      }
    };
    if (attribute.has_g()) {
      add(attribute.name(), ReadNested(file, attribute, node.captures));
    } else if (attribute.has_tp() && node.op == "Optional") {
      const ValueType type = ReadTypeProto(attribute.tp(), what, options.limits);
      add("dtype", static_cast<std::int64_t>(type.dtype));
      add("sequence", std::int64_t{type.container == Container::kSequence ? 1 : 0});
    } else {
      add(attribute.name(), ReadAttribute(attribute, what, options));
    }
  }
}

/// Adds a converted node, with those that its conversion put around it.
void GraphReader::AddLifted(const FileNode& file, Lift lift) {
  std::vector<PendingNode> all = std::move(lift.before);
  all.push_back(std::move(lift.node));
  for (PendingNode& node : lift.after) all.push_back(std::move(node));
  for (PendingNode& node : all) {
    if (ops_.Find(node.domain, node.op) == nullptr) RejectOperator(file);
    if (node.name != file.name) node.name = FreshName(node.name, taken_);
    AddNode(std::move(node));
  }
}

void GraphReader::AddNode(PendingNode pending) {
  Node node;
  node.name = std::move(pending.name);
  node.op = std::move(pending.op);
  node.domain = std::move(pending.domain);
  node.attrs = std::move(pending.attrs);
  for (const std::string& name : pending.inputs) node.inputs.push_back(graph_.FindValue(name));
  for (const std::string& name : pending.outputs) node.outputs.push_back(graph_.FindValue(name));
  for (const std::string& name : pending.captures) node.captures.push_back(graph_.FindValue(name));
  const NodeId id = graph_.AddNode(std::move(node));
  CheckNode(graph_, id, ops_);
  CompleteTypes(id);
  small_values_.Add(id, ops_);
}

/// Infers types for the conversion of later nodes; InferTypes makes the final ones.
void GraphReader::CompleteTypes(NodeId id) {
  const Node& node = graph_.node(id);
  InferInput in{.node = &node, .types = {}, .constants = {}};
  for (const ValueId input : node.inputs) {
    in.types.push_back(input == kNoValue ? ValueType{} : graph_.type(input));
    in.constants.push_back(small_values_.Find(input));
  }
  const std::vector<ValueType> types = ops_.Get(node).infer(in);
  for (std::size_t i = 0; i < node.outputs.size() && i < types.size(); ++i) {
    if (node.outputs[i] == kNoValue) continue;
    const ValueType& known = graph_.type(node.outputs[i]);
    // What a file declares may be less than what follows from given sizes of inputs.
    const bool open = known.dtype == DType::kUndefined || !known.shape;
    const bool follows = types[i].shape && StaticDims(*types[i].shape);
    if (open || (follows && known.dtype == types[i].dtype)) {
      graph_.SetType(node.outputs[i], types[i]);
    }
  }
}

Graph ReadGraphProto(const onnx::GraphProto& proto, const GraphSource& source,
                     const OpRegistry& ops) {
  ModelState state;
  state.value_names.TakeAll(proto);
  return GraphReader(proto, source, ops, state).Read(proto);
}

}  // namespace msc::detail
