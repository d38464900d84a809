#include "compiler/ir/extract.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "compiler/base/error.h"

namespace msc {
namespace {

class Extractor {
 public:
  Extractor(const Graph& whole, std::span<const NodeId> nodes)
      : whole_(whole), inside_(nodes.begin(), nodes.end()), part_{.graph = Graph(whole.name())} {}

  void Add(NodeId id) {
    Node node = whole_.node(id);
    if (!node.captures.empty()) {
      throw UserError("node '" + node.name + "' has nested graphs that read values around them");
    }
    for (ValueId& input : node.inputs) input = In(input);
    for (ValueId& output : node.outputs) {
      if (output == kNoValue) continue;
      const ValueId of = output;
      output = part_.graph.AddValue(whole_.value(of).name, whole_.type(of));
      copies_[of] = output;
      if (Leaves(of)) part_.outputs.push_back(of);
    }
    part_.graph.AddNode(std::move(node));
  }

  [[nodiscard]] Extracted Take() && {
    for (const ValueId output : part_.outputs) part_.graph.AddOutput(copies_.at(output));
    return std::move(part_);
  }

 private:
  ValueId In(ValueId value) {
    if (value == kNoValue) return kNoValue;
    if (const auto it = copies_.find(value); it != copies_.end()) return it->second;
    const std::string& name = whole_.value(value).name;
    ValueId copy{};
    if (TensorPtr tensor = whole_.constant(value)) {
      copy = part_.graph.AddConstant(name, std::move(tensor));
    } else {
      copy = part_.graph.AddInput(name, whole_.type(value));
      part_.inputs.push_back(value);
    }
    copies_[value] = copy;
    return copy;
  }

  [[nodiscard]] bool Leaves(ValueId value) const {
    const std::vector<Use>& uses = whole_.uses(value);
    return whole_.IsOutput(value) || std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
             return !inside_.contains(use.node);
           });
  }

  const Graph& whole_;
  std::set<NodeId> inside_;
  Extracted part_;
  std::map<ValueId, ValueId> copies_;
};

}  // namespace

Extracted Extract(const Graph& whole, std::span<const NodeId> nodes) {
  Extractor extractor(whole, nodes);
  for (const NodeId id : nodes) extractor.Add(id);
  return std::move(extractor).Take();
}

}  // namespace msc
