#include "compiler/partition/candidate.h"

#include <algorithm>

namespace msc {

std::vector<FlowIndex> TensorsIn(const DataflowGraph& graph, const IndexSet& nodes) {
  std::vector<FlowIndex> tensors;
  nodes.ForEach([&](std::size_t index) {
    for (const FlowIndex input : graph.node(index).inputs) {
      const FlowIndex producer = graph.tensor(input).producer;
      if (producer != kNoFlow && nodes.Contains(producer)) continue;
      if (std::find(tensors.begin(), tensors.end(), input) == tensors.end()) {
        tensors.push_back(input);
      }
    }
  });
  return tensors;
}

std::vector<FlowIndex> TensorsOut(const DataflowGraph& graph, const IndexSet& nodes) {
  std::vector<FlowIndex> tensors;
  nodes.ForEach([&](std::size_t index) {
    for (const FlowIndex output : graph.node(index).outputs) {
      const FlowTensor& tensor = graph.tensor(output);
      if (tensor.leaves || std::any_of(tensor.readers.begin(), tensor.readers.end(),
                                       [&](FlowIndex reader) { return !nodes.Contains(reader); })) {
        tensors.push_back(output);
      }
    }
  });
  return tensors;
}

Label LabelOf(const std::vector<TensorLabel>& list, FlowIndex tensor) {
  const auto it = std::find_if(list.begin(), list.end(),
                               [&](const TensorLabel& entry) { return entry.tensor == tensor; });
  return it == list.end() ? kDense : it->label;
}

std::string RulesOf(const CandidateRegion& candidate) {
  std::string names = candidate.rule;
  for (const std::string& name : candidate.also) names += ", " + name;
  return names;
}

}  // namespace msc
