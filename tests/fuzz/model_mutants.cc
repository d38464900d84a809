#include "tests/fuzz/model_mutants.h"

#include <algorithm>
#include <limits>
#include <set>

#include <onnx/onnx_pb.h>

#include "compiler/base/error.h"
#include "tests/fuzz/model_changes.h"

namespace msc::fuzz {

namespace detail {

std::int64_t StrangeNumber(std::int64_t old, Rng& rng) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  constexpr std::array<std::int64_t, 20> kStrange{0,
                                                  1,
                                                  -1,
                                                  2,
                                                  -2,
                                                  3,
                                                  -3,
                                                  4,
                                                  7,
                                                  16,
                                                  255,
                                                  65536,
                                                  1 << 20,
                                                  std::numeric_limits<std::int32_t>::max(),
                                                  std::numeric_limits<std::int32_t>::min(),
                                                  std::int64_t{1} << 31U,
                                                  std::int64_t{1} << 40U,
                                                  kLargest,
                                                  kLargest - 1,
                                                  std::numeric_limits<std::int64_t>::min()};
  const auto near = static_cast<std::uint64_t>(old);  // wraps round
  switch (rng.Below(6)) {
    case 0:
      return static_cast<std::int64_t>(near + 1);
    case 1:
      return static_cast<std::int64_t>(near - 1);
    case 2:
      return static_cast<std::int64_t>(Chance(rng, 2) ? near * 2 : 0 - near);
    default:
      return OneOf(kStrange, rng);
  }
}

namespace {

/// Returns a graph of the node's attributes, or nullptr.
onnx::GraphProto* GraphIn(onnx::NodeProto& node, Rng& rng) {
  std::vector<onnx::GraphProto*> graphs;
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) graphs.push_back(attribute.mutable_g());
  }
  return graphs.empty() ? nullptr : OneOf(graphs, rng);
}

}  // namespace

onnx::NodeProto* AnyNode(onnx::ModelProto& model, Rng& rng) {
  auto* nodes = model.mutable_graph()->mutable_node();
  if (model.functions_size() > 0 && Chance(rng, 4)) {
    nodes = OneOf(*model.mutable_functions(), rng).mutable_node();
  }
  onnx::NodeProto* node = nullptr;
  while (!nodes->empty()) {
    node = &(*nodes)[static_cast<int>(rng.Below(static_cast<std::uint64_t>(nodes->size())))];
    onnx::GraphProto* inner = GraphIn(*node, rng);
    if (inner == nullptr || Chance(rng, 3)) break;
    nodes = inner->mutable_node();
  }
  return node;
}

std::vector<std::string> ValueNames(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const auto& input : graph.input()) names.push_back(input.name());
  for (const auto& initializer : graph.initializer()) names.push_back(initializer.name());
  for (const auto& node : graph.node()) {
    names.insert(names.end(), node.output().begin(), node.output().end());
  }
  return names;
}

std::string FreshName(const onnx::GraphProto& graph, const std::string& stem) {
  const std::vector<std::string> list = ValueNames(graph);
  const std::set<std::string> taken(list.begin(), list.end());
  std::string name = stem;
  for (int i = 1; taken.contains(name); ++i) name = stem + std::to_string(i);
  return name;
}

namespace {

std::vector<ModelChange> AllChanges() {
  std::vector<ModelChange> all;
  for (const auto family : {TypeChanges(), NodeChanges(), WiringChanges()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

}  // namespace
}  // namespace detail

struct ModelMutants::Model {
  onnx::ModelProto proto;
};

ModelMutants::ModelMutants(std::string_view bytes) : model_(std::make_unique<Model>()) {
  if (!model_->proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      !model_->proto.has_graph()) {
    throw UserError("not an ONNX model");
  }
}
ModelMutants::ModelMutants(ModelMutants&&) noexcept = default;
ModelMutants& ModelMutants::operator=(ModelMutants&&) noexcept = default;
ModelMutants::~ModelMutants() = default;

ModelMutant ModelMutants::Make(std::uint64_t seed) const {
  static const std::vector<detail::ModelChange> kChanges = detail::AllChanges();
  Rng rng(seed);
  onnx::ModelProto model = model_->proto;
  ModelMutant mutant;
  const std::size_t wanted = detail::Chance(rng, 5) ? 2 + rng.Below(2) : 1;
  for (int tries = 0; mutant.changes.size() < wanted && tries < 100; ++tries) {
    const detail::ModelChange& change = detail::OneOf(kChanges, rng);
    if (change.apply(model, rng)) mutant.changes.emplace_back(change.kind);
  }
  mutant.bytes = model.SerializeAsString();
  return mutant;
}

std::vector<std::string> ModelChanges() {
  std::vector<std::string> kinds;
  for (const detail::ModelChange& change : detail::AllChanges()) kinds.emplace_back(change.kind);
  return kinds;
}

}  // namespace msc::fuzz
