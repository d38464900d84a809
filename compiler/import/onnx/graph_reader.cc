#include "compiler/import/onnx/graph_reader.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/base/error.h"
#include "compiler/import/onnx/attribute.h"
#include "compiler/import/onnx/lift.h"
#include "compiler/import/onnx/operator_sets.h"
#include "compiler/import/onnx/order.h"
#include "compiler/import/onnx/reads.h"
#include "compiler/import/onnx/rename.h"
#include "compiler/import/onnx/small_values.h"
#include "compiler/import/onnx/tensor_proto.h"
#include "compiler/import/onnx/text.h"

namespace msc::detail {
namespace {

/// A node of the file.
struct FileNode {
  const onnx::NodeProto& proto;
  std::size_t position = 0;
  std::string name;  ///< unique
  std::int64_t opset = 17;

  [[nodiscard]] std::string Where() const {
    return "node " + std::to_string(position) + " " + QuoteForeign(name) + " (" +
           QuoteForeign(proto.op_type()) + ", operator set " + std::to_string(opset) + ")";
  }
};

using Names = std::set<std::string>;
using DeclaredTypes = std::map<std::string, ValueType>;  ///< by value

void CheckName(const std::string& name, const std::string& what, const ImportLimits& limits) {
  if (name.empty()) throw UserError(what + " has no name");
  CheckForeignText(name, what, limits.name_bytes);
}

void CheckSizes(const onnx::GraphProto& proto, const ImportLimits& limits) {
  CheckForeignText(proto.name(), "graph name", limits.name_bytes);
  const auto check = [](const char* what, int count, std::uint64_t limit) {
    if (static_cast<std::uint64_t>(count) > limit) {
      throw UserError("has " + std::to_string(count) + " " + what + "; at most " +
                      std::to_string(limit) + " are read");
    }
  };
  check("nodes", proto.node_size(), limits.nodes);
  check("initializers", proto.initializer_size(), limits.initializers);
  if (proto.sparse_initializer_size() > 0) {
    throw UserError("has sparse initializers, which are not supported");
  }
}

std::string FreshName(const std::string& stem, Names& taken) {
  std::string name = stem;
  for (int i = 1; !taken.insert(name).second; ++i) name = stem + "_" + std::to_string(i);
  return name;
}

/// Returns the nodes. Collects their names in `taken` first, so that a generated name never equals
/// one of the file.
std::vector<FileNode> NameNodes(const onnx::GraphProto& proto, const GraphSource& source,
                                Names& taken) {
  const std::size_t name_bytes = source.options.limits.name_bytes;
  for (const auto& node : proto.node()) {
    CheckForeignText(node.name(), "node name", name_bytes);
    CheckForeignText(node.op_type(), "operator", name_bytes);
    CheckForeignText(node.domain(), "domain", name_bytes);
    if (!node.name().empty()) taken.insert(node.name());
  }
  Names seen;
  std::vector<FileNode> nodes;
  for (const auto& node : proto.node()) {
    const std::size_t position = nodes.size();
    const bool keep = !node.name().empty() && seen.insert(node.name()).second;
    nodes.push_back(
        {node, position,
         keep ? node.name() : FreshName(node.op_type() + "_" + std::to_string(position), taken),
         source.opset});
  }
  return nodes;
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

ValueType TypeOf(const DeclaredTypes& types, const std::string& name) {
  const auto it = types.find(name);
  return it == types.end() ? ValueType{} : it->second;
}

void CheckUnseen(const std::string& name, const Graph& graph, const Names& left_out) {
  if (graph.FindValue(name) != kNoValue || left_out.contains(name)) {
    throw UserError("value " + QuoteForeign(name) + " is produced twice");
  }
}

void AddInitializers(const onnx::GraphProto& proto, const SourceOptions& options, Graph& graph) {
  for (const auto& initializer : proto.initializer()) {
    CheckName(initializer.name(), "initializer", options.limits);
    const std::string what = "initializer " + QuoteForeign(initializer.name());
    Tensor tensor = ReadTensorProto(initializer, what, options);
    CheckUnseen(initializer.name(), graph, {});
    graph.AddConstant(initializer.name(), std::move(tensor));
  }
}

/// Adds the graph inputs, except those with an initializer: IR version 3 requires initializers to
/// be graph inputs too, as default values, and they are constants here.
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

bool IsOnnxDomain(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

/// Returns the name by which rules know a domain.
std::string DomainOf(const onnx::NodeProto& node) {
  return IsOnnxDomain(node.domain()) ? std::string() : node.domain();
}

bool IsIf(const onnx::NodeProto& node) {
  return node.op_type() == "If" && IsOnnxDomain(node.domain());
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
  if (domain.empty() && ops.Find("", node.op_type()) != nullptr) return true;
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
  if (!IsOnnxDomain(node.proto.domain()) || LastChangeOf(op, node.opset) <= kNewestOpset) return;
  throw UserError(node.Where() + ": has changed since operator set " +
                  std::to_string(kNewestOpset) +
                  ", the newest that is read: export the model with that one");
}

PendingNode ReadNode(const FileNode& file, const Names& left_out, const SourceOptions& options,
                     const Graph& graph) {
  const onnx::NodeProto& proto = file.proto;
  PendingNode node{.position = file.position,
                   .name = file.name,
                   .op = proto.op_type(),
                   .domain = DomainOf(proto),
                   .inputs = {proto.input().begin(), proto.input().end()},
                   .outputs = {proto.output().begin(), proto.output().end()},
                   .attrs = {}};
  for (const std::string& name : node.inputs) {
    if (!name.empty() && graph.FindValue(name) == kNoValue) {
      throw UserError(file.Where() + ": reads " + QuoteForeign(name) + ", which nothing produces");
    }
  }
  for (std::string& name : node.outputs) {
    if (left_out.contains(name)) name.clear();
  }
  for (auto* list : {&node.inputs, &node.outputs}) {
    while (!list->empty() && list->back().empty()) list->pop_back();
  }
  for (const auto& attribute : proto.attribute()) {
    const std::string what = file.Where() + ": attribute " + QuoteForeign(attribute.name());
    CheckName(attribute.name(), file.Where() + ": attribute", options.limits);
    if (!node.attrs.emplace(attribute.name(), ReadAttribute(attribute, what, options)).second) {
      throw UserError(what + " is given twice");
    }
  }
  return node;
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

/// Reads the graphs of a model into one: the main one, and the branches that run.
class Reader {
 public:
  Reader(const onnx::GraphProto& proto, const GraphSource& source, const OpRegistry& ops)
      : source_(source), ops_(ops), graph_(proto.name().empty() ? "main" : proto.name()) {
    value_names_.TakeAll(proto);
  }

  Graph Read(const onnx::GraphProto& proto) {
    CheckSizes(proto, source_.options.limits);
    const DeclaredTypes types = ReadDeclaredTypes(proto, source_.options.limits);
    AddInitializers(proto, source_.options, graph_);
    AddInputs(proto, types, graph_);
    if (source_.options.set_inputs) source_.options.set_inputs(graph_);
    ReadNodes(proto, types);
    AddOutputs(proto, graph_);
    return std::move(graph_);
  }

 private:
  void ReadNodes(const onnx::GraphProto& proto, const DeclaredTypes& types) {
    const SourceOptions& options = source_.options;
    const std::vector<FileNode> nodes = NameNodes(proto, source_, taken_);
    CountReads(proto, reads_);
    const Outputs outputs = DeclareOutputs(nodes, types, reads_, options, ops_, graph_);
    for (const std::size_t position : OrderOf(nodes, outputs.producers)) {
      const FileNode& node = nodes[position];
      if (IsConstantNode(node.proto)) continue;
      if (IsIf(node.proto)) {
        ReadIf(node);
        continue;
      }
      // Check this before the attributes: for an unknown operator, its name is the better error
      // message.
      if (!IsLiftedOrKnown(node.proto, ops_)) RejectOperator(node);
      CheckUnchanged(node);
      Lift lift{.node = ReadNode(node, outputs.left_out, options, graph_),
                .opset = source_.opset,
                .graph = graph_,
                .reads = reads_,
                .values = &small_values_};
      LiftNode(lift);
      AddLifted(node, std::move(lift));
    }
  }

  /// Adds a converted node, with those that its conversion put around it.
  void AddLifted(const FileNode& file, Lift lift) {
    std::vector<PendingNode> all = std::move(lift.before);
    all.push_back(std::move(lift.node));
    for (PendingNode& node : lift.after) all.push_back(std::move(node));
    for (PendingNode& node : all) {
      if (ops_.Find("", node.op) == nullptr) RejectOperator(file);
      if (node.name != file.name) node.name = FreshName(node.name, taken_);
      AddNode(std::move(node));
    }
  }

  void AddNode(PendingNode pending) {
    Node node;
    node.name = std::move(pending.name);
    node.op = std::move(pending.op);
    node.attrs = std::move(pending.attrs);
    for (const std::string& name : pending.inputs) node.inputs.push_back(graph_.FindValue(name));
    for (const std::string& name : pending.outputs) node.outputs.push_back(graph_.FindValue(name));
    const NodeId id = graph_.AddNode(std::move(node));
    CheckNode(graph_, id, ops_);
    CompleteTypes(id);
    small_values_.Add(id, ops_);
  }

  /// Infers types for the conversion of later nodes; InferTypes makes the final ones.
  void CompleteTypes(NodeId id) {
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

  /// Adds the nodes of the branch that runs or, where its condition is only known in a run, those
  /// of both and a choice between their outputs.
  void ReadIf(const FileNode& file) {
    const onnx::NodeProto& node = file.proto;
    std::array<const onnx::GraphProto*, 2> branches = {};  // of false, of true
    for (const auto& attribute : node.attribute()) {
      if (attribute.name() == "then_branch" && attribute.has_g()) branches[1] = &attribute.g();
      if (attribute.name() == "else_branch" && attribute.has_g()) branches[0] = &attribute.g();
    }
    const bool whole = branches[0] != nullptr && branches[1] != nullptr && node.input_size() == 1 &&
                       !node.input(0).empty();
    if (!whole) throw UserError(file.Where() + ": needs a condition and two branches");
    const ValueId condition = graph_.FindValue(node.input(0));
    if (condition == kNoValue) {
      throw UserError(file.Where() + ": reads " + QuoteForeign(node.input(0)) +
                      ", which nothing produces");
    }
    const TensorPtr known = small_values_.Find(condition);
    if (known != nullptr && (known->dtype() != DType::kBool || known->size() != 1)) {
      throw UserError(file.Where() + ": its condition is not one boolean");
    }
    if (known != nullptr) {
      const bool truth = known->Values<std::uint8_t>()[0] != 0;
      const std::vector<std::string> values = AddBranch(file, *branches[truth ? 1 : 0], truth);
      for (std::size_t i = 0; i < values.size(); ++i) Choose(file, i, "Identity", {values[i]});
      return;
    }
    const std::vector<std::string> no = AddBranch(file, *branches[0], false);
    const std::vector<std::string> yes = AddBranch(file, *branches[1], true);
    for (std::size_t i = 0; i < yes.size(); ++i) {
      CheckAlike(file, yes[i], no[i]);
      Choose(file, i, "Where", {node.input(0), yes[i], no[i]});
    }
  }

  /// Adds the nodes of a branch and returns the names of its outputs.
  std::vector<std::string> AddBranch(const FileNode& file, const onnx::GraphProto& proto,
                                     bool truth) {
    if (proto.input_size() > 0 || proto.output_size() != file.proto.output_size()) {
      throw UserError(file.Where() + ": a branch needs no inputs, and as many outputs as the node");
    }
    CheckSizes(proto, source_.options.limits);
    onnx::GraphProto branch = proto;
    MakeNamesUnique(file.name + (truth ? ".then" : ".else"), value_names_, branch);
    const DeclaredTypes types = ReadDeclaredTypes(branch, source_.options.limits);
    AddInitializers(branch, source_.options, graph_);
    ReadNodes(branch, types);
    std::vector<std::string> outputs;
    for (const auto& output : branch.output()) {
      if (graph_.FindValue(output.name()) == kNoValue) {
        throw UserError(file.Where() + ": output " + QuoteForeign(output.name()) +
                        " of a branch is produced by nothing");
      }
      outputs.push_back(output.name());
    }
    return outputs;
  }

  /// Makes output `index` of an If.
  void Choose(const FileNode& file, std::size_t index, const char* op,
              std::vector<std::string> inputs) {
    const std::string& output = file.proto.output(static_cast<int>(index));
    if (output.empty() || graph_.FindValue(output) == kNoValue) return;
    PendingNode node;
    node.name = FreshName(file.name + ".output", taken_);
    node.op = op;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    AddNode(std::move(node));
  }

  /// Both branches run, so their outputs must be of one type.
  void CheckAlike(const FileNode& file, const std::string& yes, const std::string& no) const {
    const ValueType& one = graph_.type(graph_.FindValue(yes));
    const ValueType& other = graph_.type(graph_.FindValue(no));
    if (one.dtype == other.dtype && one.shape && other.shape && *one.shape == *other.shape) return;
    throw UserError(file.Where() + ": which branch runs is not known, and they give " +
                    ToString(one) + " and " + ToString(other) +
                    "; if it follows from sizes that are open, give them by --shape");
  }

  const GraphSource& source_;
  const OpRegistry& ops_;
  Graph graph_;
  Names taken_;             ///< names of nodes
  ValueNames value_names_;  ///< of the file, and those made for branches
  Reads reads_;
  SmallValues small_values_{graph_};
};

}  // namespace

Graph ReadGraphProto(const onnx::GraphProto& proto, const GraphSource& source,
                     const OpRegistry& ops) {
  return Reader(proto, source, ops).Read(proto);
}

}  // namespace msc::detail
