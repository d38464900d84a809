#include "cost/partition/source.h"

#include <utility>

#include "compiler/ir/extract.h"
#include "compiler/passes/narrowing.h"
#include "compiler/pipeline/images.h"
#include "compiler/pipeline/regions.h"

namespace msc::cost {
namespace {

std::set<std::string> AddedTo(const Graph& graph, const Graph& plain) {
  std::set<std::string> added;
  for (const NodeId id : graph.order()) {
    const std::string& name = graph.node(id).name;
    if (plain.FindNode(name) == kNoNode) added.insert(name);
  }
  return added;
}

}  // namespace

RegionSource::RegionSource(const Graph& canonical, const Strategy& strategy,
                           const CompileOptions& options)
    : graph_(BindSizes(ApplyStrategy(canonical, strategy), options)),
      added_(AddedTo(graph_, BindSizes(canonical, options))) {}

RegionSource::RegionSource(Graph graph, std::set<std::string> added)
    : graph_(std::move(graph)), added_(std::move(added)) {}

Graph RegionSource::Cut(std::span<const std::string> nodes, bool channels_last) const {
  constexpr std::size_t kInside = 0;
  constexpr std::size_t kOutside = 1;
  constexpr std::size_t kFirstSingle = 2;
  std::map<std::string, std::size_t> named;
  for (const NodeId id : graph_.order()) {
    const std::string& name = graph_.node(id).name;
    if (!added_.contains(name)) named[name] = kOutside;
  }
  for (const std::string& name : nodes) named[name] = kInside;
  Graph graph = graph_;
  const RegionIds regions = AssignRegions(named, kFirstSingle, graph);
  std::vector<NodeId> inside;
  for (const NodeId id : graph.order()) {
    if (regions.at(id) == kInside) inside.push_back(id);
  }
  const Extracted part = Extract(graph, inside);
  return channels_last ? WithImagesChannelsLast(part, graph) : part.graph;
}

const ValueType* RegionSource::ExchangedImage(const std::string& value) const {
  ValueId id = graph_.FindValue(value);
  if (id == kNoValue) return nullptr;
  for (const Use& use : graph_.uses(id)) {
    if (!ReadNarrowing(graph_, use.node)) continue;
    id = graph_.node(use.node).outputs.front();
    break;
  }
  return MayBeChannelsLast(graph_, id) ? &graph_.type(id) : nullptr;
}

}  // namespace msc::cost
