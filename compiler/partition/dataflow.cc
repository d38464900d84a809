#include "compiler/partition/dataflow.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/base/error.h"

namespace msc {
namespace {

/// Returns the nodes in depth-first post-order from the outputs, each operand before its readers;
/// nodes that no output depends on come last.
std::vector<NodeId> PostOrder(const Graph& graph) {
  std::vector<NodeId> order;
  std::vector<char> seen;
  // A stack instead of recursion: a graph may be deeper than the call stack allows.
  std::vector<std::pair<NodeId, std::size_t>> stack;
  const auto push = [&](NodeId id) {
    const auto index = static_cast<std::size_t>(id);
    if (index >= seen.size()) seen.resize(index + 1, 0);
    if (std::exchange(seen[index], 1) == 0) stack.emplace_back(id, 0);
  };
  const auto drain = [&] {
    while (!stack.empty()) {
      const NodeId id = stack.back().first;
      const std::size_t next = stack.back().second++;
      const Node& node = graph.node(id);
      const std::size_t inputs = node.inputs.size();
      if (next == inputs + node.captures.size()) {
        order.push_back(id);
        stack.pop_back();
        continue;
      }
      const ValueId value = next < inputs ? node.inputs[next] : node.captures[next - inputs];
      const NodeId producer = value == kNoValue ? kNoNode : graph.producer(value);
      if (producer != kNoNode) push(producer);
    }
  };
  for (const ValueId output : graph.outputs()) {
    if (const NodeId producer = graph.producer(output); producer != kNoNode) push(producer);
    drain();
  }
  for (const NodeId id : graph.order()) {
    push(id);
    drain();
  }
  return order;
}

std::int64_t BytesOf(const ValueType& type) {
  if (!type.shape) return 0;
  const std::optional<Dims> dims = StaticDims(*type.shape);
  if (!dims) return 0;
  return ElementCount(*dims) * static_cast<std::int64_t>(ByteSize(type.dtype));
}

void SortUnique(std::vector<FlowIndex>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

/// Numbers the tensors of a graph in the order in which nodes refer to them.
class TensorTable {
 public:
  explicit TensorTable(const Graph& graph) : graph_(graph) {}

  void AddRead(ValueId value, std::vector<FlowIndex>& list) {
    if (value != kNoValue && graph_.constant(value) == nullptr) list.push_back(IndexOf(value));
  }
  FlowIndex IndexOf(ValueId value) {
    const auto [it, added] = indices_.emplace(value, static_cast<FlowIndex>(tensors_.size()));
    if (added) {
      tensors_.push_back({.name = graph_.value(value).name,
                          .bytes = BytesOf(graph_.type(value)),
                          .leaves = graph_.IsOutput(value),
                          .value = value,
                          .producer = kNoFlow,
                          .readers = {}});
    }
    return it->second;
  }
  [[nodiscard]] std::vector<FlowTensor> Take() && { return std::move(tensors_); }

 private:
  const Graph& graph_;
  std::map<ValueId, FlowIndex> indices_;
  std::vector<FlowTensor> tensors_;
};

}  // namespace

DataflowGraph::DataflowGraph(std::vector<FlowNode> nodes, std::vector<FlowTensor> tensors)
    : nodes_(std::move(nodes)), tensors_(std::move(tensors)) {
  Connect();
}

DataflowGraph::DataflowGraph(const Graph& graph) {
  TensorTable tensors(graph);
  for (const NodeId id : PostOrder(graph)) {
    const Node& node = graph.node(id);
    FlowNode flow{.name = node.name,
                  .op = node.domain.empty() ? node.op : node.domain + "." + node.op,
                  .kind = KindOf(node),
                  .inputs = {},
                  .outputs = {},
                  .id = id};
    for (const ValueId value : node.inputs) {
      if (value != kNoValue && graph.constant(value) != nullptr) {
        flow.weights.push_back(
            static_cast<std::uint32_t>(flow.inputs.size() + flow.weights.size()));
      }
      tensors.AddRead(value, flow.inputs);
    }
    for (const ValueId value : node.captures) tensors.AddRead(value, flow.inputs);
    for (const ValueId value : node.outputs) {
      if (value != kNoValue) flow.outputs.push_back(tensors.IndexOf(value));
    }
    nodes_.push_back(std::move(flow));
  }
  tensors_ = std::move(tensors).Take();
  Connect();
}

void DataflowGraph::Connect() {
  const std::size_t count = nodes_.size();
  for (FlowTensor& tensor : tensors_) {
    tensor.producer = kNoFlow;
    tensor.readers.clear();
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (const FlowIndex output : nodes_[i].outputs) {
      if (output >= tensors_.size() || tensors_[output].producer != kNoFlow) {
        throw UserError("node '" + nodes_[i].name + "' makes a tensor that is made already");
      }
      tensors_[output].producer = static_cast<FlowIndex>(i);
    }
  }
  producers_.assign(count, {});
  consumers_.assign(count, {});
  for (std::size_t i = 0; i < count; ++i) {
    for (const FlowIndex input : nodes_[i].inputs) {
      if (input >= tensors_.size()) {
        throw UserError("node '" + nodes_[i].name + "' reads a tensor that there is not");
      }
      FlowTensor& tensor = tensors_[input];
      // Nodes come in order, so a tensor that a node reads twice has that node as its last reader.
      if (tensor.readers.empty() || tensor.readers.back() != i) {
        tensor.readers.push_back(static_cast<FlowIndex>(i));
      }
      if (tensor.producer == kNoFlow) continue;
      if (tensor.producer >= i) {
        throw UserError("node '" + nodes_[i].name + "' reads what a later node makes");
      }
      producers_[i].push_back(tensor.producer);
      consumers_[tensor.producer].push_back(static_cast<FlowIndex>(i));
    }
    SortUnique(producers_[i]);
  }
  for (std::vector<FlowIndex>& list : consumers_) SortUnique(list);
}

bool DataflowGraph::Leaves(std::size_t index) const {
  const std::vector<FlowIndex>& outputs = nodes_.at(index).outputs;
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](FlowIndex output) { return tensors_[output].leaves; });
}

FlowIndex DataflowGraph::Find(std::string_view name) const {
  const auto it = std::find_if(nodes_.begin(), nodes_.end(),
                               [&](const FlowNode& node) { return node.name == name; });
  return it == nodes_.end() ? kNoFlow : static_cast<FlowIndex>(it - nodes_.begin());
}

bool IsConvex(const DataflowGraph& graph, const IndexSet& nodes) {
  if (nodes.empty()) return true;
  // Indices rise along paths, so a path that leaves the set and returns stays between these two.
  const std::size_t first = nodes.First();
  const std::size_t last = nodes.Last();
  // behind[i - first]: node i is outside the set and depends on a member.
  std::vector<char> behind(last - first + 1, 0);
  for (std::size_t i = first; i <= last; ++i) {
    const bool inside = nodes.Contains(i);
    for (const FlowIndex producer : graph.producers(i)) {
      if (producer < first) continue;
      const bool left = behind[producer - first] != 0;
      if (inside && left) return false;
      if (!inside && (left || nodes.Contains(producer))) behind[i - first] = 1;
    }
  }
  return true;
}

}  // namespace msc
