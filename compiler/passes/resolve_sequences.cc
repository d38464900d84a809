#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

constexpr std::size_t kMostParts = 4096;

/// Returns a constant position, counted from the front; `otherwise` if the node has no such input;
/// nothing if it is not constant or not in [0, most].
std::optional<std::size_t> PositionIn(const Graph& graph, ValueId input, std::size_t count,
                                      std::size_t most, std::int64_t otherwise) {
  std::int64_t at = otherwise;
  if (input != kNoValue) {
    const TensorPtr given = graph.constant(input);
    if (given == nullptr || given->size() != 1) return std::nullopt;
    if (given->dtype() == DType::kI64) {
      at = given->Values<std::int64_t>()[0];
    } else if (given->dtype() == DType::kI32) {
      at = given->Values<std::int32_t>()[0];
    } else {
      return std::nullopt;
    }
  }
  if (at < 0) at += static_cast<std::int64_t>(count);
  if (at < 0 || at > static_cast<std::int64_t>(most)) return std::nullopt;
  return static_cast<std::size_t>(at);
}

/// Rewrites one node that reads a sequence, or makes one of a tensor.
class Resolver {
 public:
  Resolver(Graph& graph, NodeId id)
      : graph_(graph), id_(id), node_(graph.node(id)), inserter_(graph, id) {}

  [[nodiscard]] bool Run() {
    if (!node_.domain.empty() || node_.outputs.size() != 1) return false;
    if (node_.op == "SplitToSequence") return Split();
    if (node_.op != "SequenceInsert" && node_.op != "SequenceErase" && node_.op != "SequenceAt" &&
        node_.op != "SequenceLength" && node_.op != "ConcatFromSequence") {
      return false;
    }
    const auto tensors = SequenceTensors(graph_, node_.Input(0));
    if (!tensors) return false;
    if (node_.op == "SequenceInsert") return Insert(*tensors);
    if (node_.op == "SequenceErase") return Erase(*tensors);
    if (node_.op == "SequenceAt") return At(*tensors);
    if (node_.op == "SequenceLength") return Length(*tensors);
    return Concat(*tensors);
  }

 private:
  bool Insert(std::vector<ValueId> tensors) {
    const std::size_t count = tensors.size();
    const auto at = PositionIn(graph_, node_.Input(2), count, count, std::ssize(tensors));
    if (!at) return false;
    tensors.insert(tensors.begin() + static_cast<std::ptrdiff_t>(*at), node_.inputs[1]);
    return ReplaceBy("SequenceConstruct", std::move(tensors));
  }
  bool Erase(std::vector<ValueId> tensors) {
    const std::size_t count = tensors.size();
    if (count == 0) return false;
    const auto at = PositionIn(graph_, node_.Input(1), count, count - 1, -1);
    if (!at) return false;
    tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(*at));
    if (!tensors.empty()) return ReplaceBy("SequenceConstruct", std::move(tensors));
    const auto dtype = static_cast<std::int64_t>(graph_.type(node_.outputs[0]).dtype);
    return ReplaceBy("SequenceEmpty", {}, {{"dtype", dtype}});
  }
  bool At(const std::vector<ValueId>& tensors) {
    if (tensors.empty()) return false;
    const auto at = PositionIn(graph_, node_.Input(1), tensors.size(), tensors.size() - 1, 0);
    return at && ReplaceBy("Identity", {tensors[*at]});
  }
  bool Length(const std::vector<ValueId>& tensors) {
    return ReplaceBy("Identity", {inserter_.Int(std::ssize(tensors))});
  }
  bool Concat(std::vector<ValueId> tensors) {
    if (tensors.empty()) return false;
    const std::int64_t axis = AttrOr(node_, "axis", std::int64_t{0});
    if (AttrOr(node_, "new_axis", std::int64_t{0}) != 0) {
      const ValueId axes = inserter_.List(std::span(&axis, 1));
      for (ValueId& tensor : tensors) tensor = inserter_.Add("Unsqueeze", {tensor, axes});
    }
    return ReplaceBy("Concat", std::move(tensors), {{"axis", axis}});
  }
  bool Split();
  /// Returns the sizes of the parts of a dimension of `size`, if they are known.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> PartSizes(std::int64_t size) const;

  bool ReplaceBy(const char* op, std::vector<ValueId> inputs, AttrMap attrs = {}) {
    Node with{.op = op, .inputs = std::move(inputs), .attrs = std::move(attrs)};
    const NodeId made = ReplaceChain(graph_, std::span(&id_, 1), std::move(with));
    InferNodeTypes(graph_, made);
    return true;
  }

  Graph& graph_;
  NodeId id_;
  Node node_;  // a copy: the graph changes
  Inserter inserter_;
};

std::optional<std::vector<std::int64_t>> Resolver::PartSizes(std::int64_t size) const {
  std::vector<std::int64_t> sizes;
  if (!node_.HasInput(1)) {
    if (size < 1 || size > static_cast<std::int64_t>(kMostParts)) return std::nullopt;
    sizes.assign(static_cast<std::size_t>(size), 1);
    return sizes;
  }
  const TensorPtr given = graph_.constant(node_.Input(1));
  if (given == nullptr || given->dtype() != DType::kI64 || given->size() == 0) return std::nullopt;
  const auto values = given->Values<std::int64_t>();
  if (given->dims().empty()) {
    if (values[0] < 1 || size / values[0] >= static_cast<std::int64_t>(kMostParts)) {
      return std::nullopt;
    }
    for (std::int64_t at = 0; at < size; at += values[0]) {
      sizes.push_back(std::min(values[0], size - at));
    }
    return sizes;
  }
  sizes.assign(values.begin(), values.end());
  std::int64_t left = size;
  for (const std::int64_t part : sizes) {
    if (part < 0 || part > left) return std::nullopt;
    left -= part;
  }
  if (left != 0 || sizes.size() > kMostParts) return std::nullopt;
  return sizes;
}

bool Resolver::Split() {
  const auto& shape = graph_.type(node_.Input(0)).shape;
  if (!shape) return false;
  const std::int64_t given = AttrOr(node_, "axis", std::int64_t{0});
  const std::int64_t axis = given < 0 ? given + std::ssize(*shape) : given;
  if (axis < 0 || axis >= std::ssize(*shape)) return false;
  const Dim& dim = (*shape)[static_cast<std::size_t>(axis)];
  if (!dim.known()) return false;
  const auto sizes = PartSizes(dim.size());
  if (!sizes || sizes->empty()) return false;
  std::vector<ValueId> parts = inserter_.AddSeveral(
      "Split", {node_.inputs[0], inserter_.List(*sizes)}, sizes->size(), {{"axis", axis}});
  if (!node_.HasInput(1) && AttrOr(node_, "keepdims", std::int64_t{1}) == 0) {
    const ValueId axes = inserter_.List(std::span(&axis, 1));
    for (ValueId& part : parts) part = inserter_.Add("Squeeze", {part, axes});
  }
  return ReplaceBy("SequenceConstruct", std::move(parts));
}

}  // namespace

bool ResolveSequences(Graph& graph) {
  const bool changed = Sweep(graph, [&](NodeId id) {
    const Node& node = graph.node(id);
    return !node.outputs.empty() && !IsCaptured(graph, node.outputs.front()) &&
           Resolver(graph, id).Run();
  });
  if (changed) InferTypes(graph);
  return changed;
}

}  // namespace msc
