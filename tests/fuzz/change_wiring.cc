// Changes of who reads what: cycles, missing and shared values, nodes that come and go.

#include <algorithm>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "tests/fuzz/model_changes.h"

namespace msc::fuzz::detail {
namespace {

using onnx::ModelProto;

onnx::NodeProto* NodeWithInputs(ModelProto& model, Rng& rng) {
  for (int tries = 0; tries < 20; ++tries) {
    onnx::NodeProto* node = AnyNode(model, rng);
    if (node != nullptr && !node->input().empty()) return node;
  }
  return nullptr;
}

int AnyIndex(int size, Rng& rng) {
  return static_cast<int>(rng.Below(static_cast<std::uint64_t>(size)));
}

bool InputRewired(ModelProto& model, Rng& rng) {
  onnx::NodeProto* node = NodeWithInputs(model, rng);
  if (node == nullptr) return false;
  const std::vector<std::string> names = ValueNames(model.graph());
  node->set_input(AnyIndex(node->input_size(), rng), OneOf(names, rng));
  return true;
}

/// To what a node near it makes: this one, an earlier or a later one.
bool InputRewiredNearby(ModelProto& model, Rng& rng) {
  auto& nodes = *model.mutable_graph()->mutable_node();
  if (nodes.empty()) return false;
  const int at = AnyIndex(nodes.size(), rng);
  const int from = std::clamp(at - 6 + AnyIndex(9, rng), 0, nodes.size() - 1);
  if (nodes[at].input().empty() || nodes[from].output().empty()) return false;
  nodes[at].set_input(AnyIndex(nodes[at].input_size(), rng),
                      nodes[from].output(AnyIndex(nodes[from].output_size(), rng)));
  return true;
}

bool InputMissing(ModelProto& model, Rng& rng) {
  onnx::NodeProto* node = NodeWithInputs(model, rng);
  if (node == nullptr) return false;
  node->set_input(AnyIndex(node->input_size(), rng), Chance(rng, 3) ? "nothing makes this" : "");
  return true;
}

bool InputCount(ModelProto& model, Rng& rng) {
  onnx::NodeProto* node = NodeWithInputs(model, rng);
  if (node == nullptr) return false;
  if (Chance(rng, 2)) {
    node->mutable_input()->DeleteSubrange(AnyIndex(node->input_size(), rng), 1);
  } else {
    const std::string name = OneOf(*node->mutable_input(), rng);
    node->add_input(name);
  }
  return true;
}

bool InputsSwapped(ModelProto& model, Rng& rng) {
  onnx::NodeProto* node = NodeWithInputs(model, rng);
  if (node == nullptr || node->input_size() < 2) return false;
  node->mutable_input()->SwapElements(0, 1 + AnyIndex(node->input_size() - 1, rng));
  return true;
}

/// Weights of one node for another one as well.
bool WeightShared(ModelProto& model, Rng& rng) {
  onnx::NodeProto* node = NodeWithInputs(model, rng);
  const auto& weights = model.graph().initializer();
  if (node == nullptr || node->input_size() < 2 || weights.empty()) return false;
  node->set_input(1 + AnyIndex(node->input_size() - 1, rng),
                  weights[AnyIndex(weights.size(), rng)].name());
  return true;
}

/// Weights that the caller is to give, or that are read as an image.
bool WeightAsInput(ModelProto& model, Rng& rng) {
  auto& graph = *model.mutable_graph();
  if (graph.initializer().empty()) return false;
  const int at = AnyIndex(graph.initializer_size(), rng);
  onnx::ValueInfoProto& input = *graph.add_input();
  input.set_name(graph.initializer(at).name());
  auto& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(graph.initializer(at).data_type());
  for (const std::int64_t dim : graph.initializer(at).dims()) {
    type.mutable_shape()->add_dim()->set_dim_value(dim);
  }
  if (!Chance(rng, 3)) graph.mutable_initializer()->DeleteSubrange(at, 1);
  return true;
}

/// A target shape, axes or bounds that are known only when the model runs, with an output declared
/// of whatever shape.
bool ParameterAsInput(ModelProto& model, Rng& rng) {
  auto& graph = *model.mutable_graph();
  onnx::NodeProto* node = NodeWithInputs(model, rng);
  if (node == nullptr || node->input_size() < 2 || node->output().empty()) return false;
  const std::string parameter = node->input(1 + AnyIndex(node->input_size() - 1, rng));
  auto& weights = *graph.mutable_initializer();
  const auto found = std::find_if(weights.begin(), weights.end(),
                                  [&](const auto& weight) { return weight.name() == parameter; });
  if (found == weights.end() || found->data_type() != onnx::TensorProto::INT64) return false;
  onnx::ValueInfoProto& input = *graph.add_input();
  input.set_name(parameter);
  auto& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::INT64);
  for (const std::int64_t dim : found->dims()) type.mutable_shape()->add_dim()->set_dim_value(dim);
  weights.erase(found);
  for (const std::string& output : node->output()) {
    onnx::ValueInfoProto& made = *graph.add_value_info();
    made.set_name(output);
    auto& tensor = *made.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(onnx::TensorProto::FLOAT);
    for (std::uint64_t i = rng.Below(5); i > 0; --i) {
      tensor.mutable_shape()->add_dim()->set_dim_value(
          static_cast<std::int64_t>(Chance(rng, 2) ? 1 : 1 + rng.Below(64)));
    }
  }
  return true;
}

/// Inputs whose value is in the file.
bool InputAsWeight(ModelProto& model, Rng& rng) {
  auto& graph = *model.mutable_graph();
  if (graph.input().empty()) return false;
  const int at = AnyIndex(graph.input_size(), rng);
  onnx::TensorProto tensor;
  tensor.set_name(graph.input(at).name());
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  std::int64_t elements = 1;
  for (const auto& dim : graph.input(at).type().tensor_type().shape().dim()) {
    const std::int64_t size = dim.has_dim_value() ? dim.dim_value() : 1;
    if (size < 0 || size > 4096 || elements * size > (1 << 20)) return false;
    tensor.add_dims(size);
    elements *= size;
  }
  for (std::int64_t i = 0; i < elements; ++i) {
    tensor.add_float_data(static_cast<float>(i % 17) - 8);
  }
  graph.mutable_input()->DeleteSubrange(at, 1);
  *graph.add_initializer() = std::move(tensor);
  return true;
}

bool WeightMissing(ModelProto& model, Rng& rng) {
  auto& weights = *model.mutable_graph()->mutable_initializer();
  if (weights.empty()) return false;
  weights.DeleteSubrange(AnyIndex(weights.size(), rng), 1);
  return true;
}

bool NodeDropped(ModelProto& model, Rng& rng) {
  auto& nodes = *model.mutable_graph()->mutable_node();
  if (nodes.empty()) return false;
  nodes.DeleteSubrange(AnyIndex(nodes.size(), rng), 1);
  return true;
}

void ReplaceReads(onnx::GraphProto& graph, const std::string& from, const std::string& to) {
  for (auto& node : *graph.mutable_node()) {
    std::replace(node.mutable_input()->begin(), node.mutable_input()->end(), from, to);
  }
}

/// Whoever read what the node made reads what it read.
bool NodeBypassed(ModelProto& model, Rng& rng) {
  onnx::NodeProto* node = NodeWithInputs(model, rng);
  if (node == nullptr || node->output().empty()) return false;
  ReplaceReads(*model.mutable_graph(), node->output(0), node->input(0));
  return true;
}

bool NodesSwapped(ModelProto& model, Rng& rng) {
  onnx::NodeProto* a = AnyNode(model, rng);
  onnx::NodeProto* b = AnyNode(model, rng);
  if (a == nullptr || a == b) return false;
  a->mutable_output()->Swap(b->mutable_output());
  return true;
}

bool NodeTwice(ModelProto& model, Rng& rng) {
  const onnx::NodeProto* node = AnyNode(model, rng);
  if (node == nullptr) return false;
  onnx::NodeProto copy = *node;
  if (!Chance(rng, 3)) {
    for (auto& output : *copy.mutable_output()) output = FreshName(model.graph(), output + "_twin");
  }
  *model.mutable_graph()->add_node() = std::move(copy);
  return true;
}

std::string AddIntegers(onnx::GraphProto& graph, const std::vector<std::int64_t>& values) {
  const std::string name = FreshName(graph, "integers");
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<std::int64_t>(values.size()));
  for (const std::int64_t value : values) tensor.add_int64_data(value);
  return name;
}

void AddInts(onnx::NodeProto& node, const char* name, const std::vector<std::int64_t>& values) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

/// A node that moves values about or changes their type or rank.
void MakeInserted(onnx::GraphProto& graph, onnx::NodeProto& node, Rng& rng) {
  const auto axis = [&] { return static_cast<std::int64_t>(rng.Below(6)) - 2; };
  switch (rng.Below(8)) {
    case 0: {
      node.set_op_type("Transpose");
      std::vector<std::int64_t> perm{0, 1, 2, 3};
      if (Chance(rng, 3)) perm.pop_back();
      for (std::size_t i = 1; i < perm.size(); ++i) std::swap(perm[i], perm[rng.Below(i + 1)]);
      AddInts(node, "perm", perm);
      break;
    }
    case 1:
      node.set_op_type("Unsqueeze");
      node.add_input(AddIntegers(graph, {axis()}));
      break;
    case 2:
      node.set_op_type("Squeeze");
      if (!Chance(rng, 3)) node.add_input(AddIntegers(graph, {axis()}));
      break;
    case 3: {
      node.set_op_type("Reshape");
      std::vector<std::int64_t> shape(rng.Below(5), 0);
      for (std::int64_t& size : shape) size = static_cast<std::int64_t>(rng.Below(4)) - 1;
      node.add_input(AddIntegers(graph, shape));
      break;
    }
    case 4: {
      node.set_op_type("Cast");
      auto& to = *node.add_attribute();
      to.set_name("to");
      to.set_type(onnx::AttributeProto::INT);
      to.set_i(static_cast<std::int64_t>(rng.Below(17)));
      break;
    }
    case 5:
      node.set_op_type("Flatten");
      break;
    case 6:
      node.set_op_type("Slice");
      node.add_input(AddIntegers(graph, {StrangeNumber(0, rng)}));
      node.add_input(AddIntegers(graph, {StrangeNumber(5, rng)}));
      node.add_input(AddIntegers(graph, {axis()}));
      node.add_input(AddIntegers(graph, {Chance(rng, 2) ? 1 : StrangeNumber(1, rng)}));
      break;
    default:
      node.set_op_type("Shape");
  }
}

/// One more node in front of a reader.
bool NodeInserted(ModelProto& model, Rng& rng) {
  auto& graph = *model.mutable_graph();
  onnx::NodeProto* reader = NodeWithInputs(model, rng);
  if (reader == nullptr) return false;
  const int index = Chance(rng, 4) ? AnyIndex(reader->input_size(), rng) : 0;
  const std::string made = FreshName(graph, "inserted");
  onnx::NodeProto node;
  node.add_input(reader->input(index));
  node.add_output(made);
  MakeInserted(graph, node, rng);
  reader->set_input(index, made);
  *graph.add_node() = std::move(node);
  return true;
}

/// Outputs too many or too few, or ones that another node has.
bool NodeOutputs(ModelProto& model, Rng& rng) {
  onnx::NodeProto* node = AnyNode(model, rng);
  if (node == nullptr) return false;
  const std::vector<std::string> names = ValueNames(model.graph());
  switch (rng.Below(4)) {
    case 0:
      if (node->output().empty()) return false;
      node->mutable_output()->RemoveLast();
      break;
    case 1:
      node->add_output(FreshName(model.graph(), "extra"));
      break;
    case 2:
      node->add_output(OneOf(names, rng));
      break;
    default:
      if (node->output().empty()) return false;
      node->set_output(0, Chance(rng, 2) ? OneOf(names, rng) : "");
  }
  return true;
}

bool GraphOutputs(ModelProto& model, Rng& rng) {
  auto& graph = *model.mutable_graph();
  const std::vector<std::string> names = ValueNames(graph);
  switch (rng.Below(5)) {
    case 0:
      if (graph.output().empty()) return false;
      graph.mutable_output()->RemoveLast();
      break;
    case 1:
      if (graph.output().empty()) return false;
      *graph.add_output() = graph.output(0);
      break;
    case 2:
      graph.add_output()->set_name("nothing makes this");
      break;
    default:
      graph.add_output()->set_name(OneOf(names, rng));
  }
  return true;
}

bool Names(ModelProto& model, Rng& rng) {
  constexpr const char* kStrange[] = {"",   "a b",   "\n", "\xff\xfe", "%x",
                                      "\"", "batch", "..", "/etc",     "a,b=c:d"};
  auto& graph = *model.mutable_graph();
  if (Chance(rng, 2)) {
    onnx::NodeProto* node = AnyNode(model, rng);
    const onnx::NodeProto* other = AnyNode(model, rng);
    if (node == nullptr) return false;
    node->set_name(Chance(rng, 2) ? other->name() : OneOf(kStrange, rng));
    return true;
  }
  onnx::NodeProto* node = AnyNode(model, rng);
  if (node == nullptr || node->output().empty()) return false;
  const std::string old = node->output(0);
  const std::string strange = OneOf(kStrange, rng);
  node->set_output(0, strange);
  ReplaceReads(graph, old, strange);
  return true;
}

constexpr ModelChange kChanges[] = {
    {"input rewired", InputRewired},
    {"input rewired nearby", InputRewiredNearby},
    {"input missing", InputMissing},
    {"input count", InputCount},
    {"inputs swapped", InputsSwapped},
    {"weight shared", WeightShared},
    {"weight as input", WeightAsInput},
    {"input as weight", InputAsWeight},
    {"parameter as input", ParameterAsInput},
    {"weight missing", WeightMissing},
    {"node dropped", NodeDropped},
    {"node bypassed", NodeBypassed},
    {"nodes swapped", NodesSwapped},
    {"node twice", NodeTwice},
    {"node inserted", NodeInserted},
    {"node outputs", NodeOutputs},
    {"graph outputs", GraphOutputs},
    {"names", Names},
};

}  // namespace

std::span<const ModelChange> WiringChanges() {
  return kChanges;
}

}  // namespace msc::fuzz::detail
