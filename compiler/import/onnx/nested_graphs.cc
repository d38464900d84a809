#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/base/error.h"
#include "compiler/import/onnx/reader.h"
#include "compiler/import/onnx/text.h"

namespace msc::detail {
namespace {

/// Returns the values that a graph reads and does not make.
std::set<std::string> ReadsFromOutside(const onnx::GraphProto& graph) {
  Reads reads;
  CountReads(graph, reads);
  std::set<std::string> own;
  for (const auto& input : graph.input()) own.insert(input.name());
  for (const auto& initializer : graph.initializer()) own.insert(initializer.name());
  for (const auto& sparse : graph.sparse_initializer()) own.insert(sparse.values().name());
  for (const auto& node : graph.node()) own.insert(node.output().begin(), node.output().end());
  std::set<std::string> outside;
  for (const auto& [name, count] : reads) {
    if (!name.empty() && !own.contains(name)) outside.insert(name);
  }
  return outside;
}

/// The two branches of an If.
struct Branches {
  const onnx::AttributeProto* yes = nullptr;
  const onnx::AttributeProto* no = nullptr;
};

Branches BranchesOf(const FileNode& file) {
  Branches branches;
  for (const auto& attribute : file.proto.attribute()) {
    if (attribute.name() == "then_branch" && attribute.has_g()) branches.yes = &attribute;
    if (attribute.name() == "else_branch" && attribute.has_g()) branches.no = &attribute;
  }
  if (branches.yes == nullptr || branches.no == nullptr || file.proto.input_size() != 1 ||
      file.proto.input(0).empty()) {
    throw UserError(file.Where() + ": needs a condition and two branches");
  }
  for (const auto* branch : {branches.yes, branches.no}) {
    if (branch->g().input_size() > 0 || branch->g().output_size() != file.proto.output_size()) {
      throw UserError(file.Where() + ": a branch needs no inputs, and as many outputs as the node");
    }
  }
  return branches;
}

/// Returns whether both have the same sizes, by number or by symbol. Sizes of which nothing is
/// known may differ in a run.
bool SurelySame(const Shape& a, const Shape& b) {
  return a == b && std::all_of(a.begin(), a.end(),
                               [](const Dim& dim) { return dim.known() || !dim.symbol().empty(); });
}

/// Returns whether the outputs of both are tensors of the same types and sizes, so that both can
/// run and one be chosen.
bool GiveAlike(const Graph& a, const Graph& b) {
  for (std::size_t i = 0; i < a.outputs().size(); ++i) {
    const ValueType& one = a.type(a.outputs()[i]);
    const ValueType& other = b.type(b.outputs()[i]);
    const bool tensors =
        one.container == Container::kTensor && other.container == Container::kTensor;
    if (!tensors || one.dtype != other.dtype || !one.shape || !other.shape ||
        !SurelySame(*one.shape, *other.shape)) {
      return false;
    }
  }
  return true;
}

/// Keeps the numbers of a value's sizes before an iteration that it also has after it. Returns
/// whether something else was declared. Symbols go, too: iterations give them several values.
bool KeepCommonSizes(ValueType& before, const ValueType& after) {
  if (!before.shape) return false;
  if (!after.shape || after.shape->size() != before.shape->size()) {
    before.shape.reset();
    return true;
  }
  bool differs = false;
  for (std::size_t i = 0; i < before.shape->size(); ++i) {
    Dim& dim = (*before.shape)[i];
    const bool same = dim == (*after.shape)[i];
    differs = differs || (!same && !(dim == Dim()));
    if (!same || !dim.known()) dim = Dim();
  }
  return differs;
}

/// Exporters that trace a model declare what a Loop carries with the sizes that it had in front of
/// the loop; if a body changes them, these are wrong in later iterations, and so may be all that
/// the exporter inferred from them.
void DropChangingSizes(const onnx::GraphProto& body, DeclaredTypes& types) {
  bool differs = false;
  for (int i = 2; i < body.input_size() && i - 1 < body.output_size(); ++i) {
    const auto before = types.find(body.input(i).name());
    const auto after = types.find(body.output(i - 1).name());
    if (before == types.end() || before->second.container != Container::kTensor) continue;
    const ValueType unknown;
    differs =
        KeepCommonSizes(before->second, after == types.end() ? unknown : after->second) || differs;
  }
  if (!differs) return;
  std::set<std::string> inputs;
  for (const auto& input : body.input()) inputs.insert(input.name());
  for (auto& [name, type] : types) {
    if (!inputs.contains(name)) type.shape.reset();
  }
}

}  // namespace

GraphPtr GraphReader::ReadNested(const FileNode& file, const onnx::AttributeProto& attribute,
                                 std::vector<std::string>& captures) {
  onnx::GraphProto proto = attribute.g();
  MakeNamesUnique(file.name + "." + attribute.name(), state_.value_names, proto);
  GraphReader inner(proto, source_, ops_, state_);
  inner.CheckSizes(proto);
  DeclaredTypes types = ReadDeclaredTypes(proto, source_.options.limits);
  if (file.proto.op_type() == "Loop") DropChangingSizes(proto, types);
  inner.AddInitializers(proto);
  AddInputs(proto, types, inner.graph_);
  for (const std::string& name : ReadsFromOutside(proto)) {
    const ValueId outer = graph_.FindValue(name);
    if (outer == kNoValue || inner.graph_.FindValue(name) != kNoValue) continue;
    if (const TensorPtr known = small_values_.Find(outer)) {
      inner.graph_.AddConstant(name, known);
      continue;
    }
    inner.graph_.AddCaptured(name, graph_.type(outer));
    captures.push_back(name);
  }
  inner.ReadNodes(proto, types);
  AddOutputs(proto, inner.graph_);
  InferTypes(inner.graph_, {}, ops_);
  return std::make_shared<const Graph>(std::move(inner.graph_));
}

/// Adds the nodes of the branch that runs. Where its condition is only known in a run: those of
/// both and a choice between their outputs, or a node with two graphs.
void GraphReader::ReadIf(const FileNode& file) {
  const onnx::NodeProto& node = file.proto;
  const Branches branches = BranchesOf(file);
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
    const auto& branch = truth ? branches.yes->g() : branches.no->g();
    const std::vector<std::string> values = AddBranch(file, branch, truth);
    for (std::size_t i = 0; i < values.size(); ++i) Choose(file, i, "Identity", {values[i]});
    return;
  }
  PendingNode choice{.position = file.position, .name = file.name, .op = "If"};
  const GraphPtr yes = ReadNested(file, *branches.yes, choice.captures);
  const GraphPtr no = ReadNested(file, *branches.no, choice.captures);
  if (GiveAlike(*yes, *no)) {
    const std::vector<std::string> of_no = AddBranch(file, branches.no->g(), false);
    const std::vector<std::string> of_yes = AddBranch(file, branches.yes->g(), true);
    for (std::size_t i = 0; i < of_yes.size(); ++i) {
      Choose(file, i, "Where", {node.input(0), of_yes[i], of_no[i]});
    }
    return;
  }
  choice.inputs = {node.input(0)};
  choice.outputs = {node.output().begin(), node.output().end()};
  choice.attrs = {{"then_branch", yes}, {"else_branch", no}};
  std::set<std::string> once(choice.captures.begin(), choice.captures.end());
  choice.captures.assign(once.begin(), once.end());
  AddNode(std::move(choice));
}

std::vector<std::string> GraphReader::AddBranch(const FileNode& file, const onnx::GraphProto& proto,
                                                bool truth) {
  CheckSizes(proto);
  onnx::GraphProto branch = proto;
  MakeNamesUnique(file.name + (truth ? ".then" : ".else"), state_.value_names, branch);
  const DeclaredTypes types = ReadDeclaredTypes(branch, source_.options.limits);
  AddInitializers(branch);
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

void GraphReader::Choose(const FileNode& file, std::size_t index, const char* op,
                         std::vector<std::string> inputs) {
  const std::string& output = file.proto.output(static_cast<int>(index));
  if (output.empty() || graph_.FindValue(output) == kNoValue) return;
  AddNode({.position = file.position,
           .name = FreshName(file.name + ".output", taken_),
           .op = op,
           .inputs = std::move(inputs),
           .outputs = {output}});
}

}  // namespace msc::detail
