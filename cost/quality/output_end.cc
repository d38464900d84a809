#include "cost/quality/output_end.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string_view>
#include <vector>

namespace msc::cost {
namespace {

constexpr std::int64_t kBoxNumbers = 4;
/// Deeper ends are not looked for: hostile graphs may chain millions of operators.
constexpr int kMostDepth = 64;
/// Nodes in front of an output among which a NonMaxSuppression is looked for.
constexpr std::size_t kMostNodes = 200;

std::optional<std::int64_t> RankOf(const Graph& graph, ValueId value) {
  const auto& shape = graph.type(value).shape;
  if (!shape) return std::nullopt;
  return static_cast<std::int64_t>(shape->size());
}

std::optional<std::int64_t> FromFront(const Graph& graph, ValueId value, std::int64_t axis) {
  const auto rank = RankOf(graph, value);
  if (!rank || axis < -*rank || axis >= *rank) return std::nullopt;
  return axis < 0 ? axis + *rank : axis;
}

/// Returns the product of the dimensions behind `axis`; nothing if one is open.
std::optional<std::int64_t> Behind(const Shape& shape, std::size_t axis) {
  std::int64_t product = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) {
    if (!shape[i].known()) return std::nullopt;
    product *= shape[i].size();
  }
  return product;
}

/// Returns the axis of `after` that holds the same numbers as `axis` of `before`, which a reshape
/// of any kind made of it.
std::optional<std::int64_t> AxisAfter(const Graph& graph, ValueId before, ValueId after,
                                      std::int64_t axis) {
  const auto& from = graph.type(before).shape;
  const auto& to = graph.type(after).shape;
  if (!from || !to) return std::nullopt;
  const auto at = static_cast<std::size_t>(axis);
  const auto behind = Behind(*from, at);
  if (!behind) return std::nullopt;
  for (std::size_t i = 0; i < to->size(); ++i) {
    if ((*to)[i] == (*from)[at] && Behind(*to, i) == behind) return static_cast<std::int64_t>(i);
  }
  return std::nullopt;
}

bool IsOneOf(const Node& node, std::span<const std::string_view> ops) {
  return node.domain.empty() && std::ranges::find(ops, node.op) != ops.end();
}

// Resize and Q/DQ change numbers, but not what they mean.
constexpr std::array<std::string_view, 13> kMoves = {
    "Reshape", "Flatten", "Squeeze",        "Unsqueeze",        "Identity", "Cast",  "Slice",
    "Split",   "Expand",  "QuantizeLinear", "DequantizeLinear", "Gather",   "Resize"};
constexpr std::array<std::string_view, 20> kElementwise = {"Add",         "Sub",
                                                           "Mul",         "Div",
                                                           "Relu",        "LeakyRelu",
                                                           "PRelu",       "Elu",
                                                           "Clip",        "Tanh",
                                                           "HardSwish",   "Neg",
                                                           "Exp",         "Max",
                                                           "Min",         "Pow",
                                                           "AveragePool", "GlobalAveragePool",
                                                           "MaxPool",     "BatchNormalization"};

class EndFinder {
 public:
  explicit EndFinder(const Graph& graph) : graph_(graph) {}

  /// Hostile graphs may join one value with itself again and again: each is looked at once.
  OutputEnd Find(ValueId value, int depth = 0) {
    const auto known = found_.find(value);
    if (known != found_.end()) return known->second;
    const NodeId id = graph_.producer(value);
    if (id == kNoNode || depth == kMostDepth) return {};
    return found_.emplace(value, OfNode(graph_.node(id), value, depth)).first->second;
  }

 private:
  OutputEnd OfNode(const Node& node, ValueId value, int depth) {
    if (node.Is("Softmax") || node.Is("LogSoftmax")) {
      return {.function = node.Is("Softmax") ? EndFunction::kSoftmax : EndFunction::kLogSoftmax,
              .axis = FromFront(graph_, value, AttrOr(node, "axis", std::int64_t{-1}))};
    }
    if (node.Is("Sigmoid") || node.Is("HardSigmoid")) return {.function = EndFunction::kSigmoid};
    if (IsUnitNorm(node)) return {.function = EndFunction::kUnitNorm};
    if (node.Is("Round")) return {.function = EndFunction::kWhole};
    if (node.Is("Conv") || node.Is("ConvTranspose") || node.Is("Gemm")) return {.axis = 1};
    if (node.Is("MatMul")) return {.axis = FromFront(graph_, value, -1)};
    if (node.Is("Concat")) return OfConcat(node, value, depth);
    if (node.Is("Log")) {
      const OutputEnd end = Find(node.inputs[0], depth + 1);
      if (end.function != EndFunction::kSoftmax) return {};
      return {.function = EndFunction::kLogSoftmax, .axis = end.axis};
    }
    if (node.Is("Transpose")) {
      OutputEnd end = Find(node.inputs[0], depth + 1);
      if (end.axis) end.axis = AxisAfterTranspose(node, *end.axis);
      return end;
    }
    if (IsOneOf(node, kMoves)) return OfMove(node, value, depth);
    if (IsOneOf(node, kElementwise)) return OfElementwise(node, value, depth);
    return {};
  }

  OutputEnd OfMove(const Node& node, ValueId value, int depth) {
    const DType before = graph_.type(node.inputs[0]).dtype;
    if (node.Is("Cast") && before != DType::kUndefined && !IsFloat(before)) {
      return {.function = EndFunction::kWhole};
    }
    OutputEnd end = Find(node.inputs[0], depth + 1);
    // A Resize keeps the axes, whatever becomes of their sizes.
    if (end.axis && !node.Is("Resize")) {
      end.axis = AxisAfter(graph_, node.inputs[0], value, *end.axis);
    }
    return end;
  }

  /// Of the layer in front of bias, activation or pooling; the function of an output is the last.
  OutputEnd OfElementwise(const Node& node, ValueId value, int depth) {
    if ((node.Is("Add") || node.Is("Sub")) && AddsToInput(node)) {
      return {.function = EndFunction::kCorrection};
    }
    for (const ValueId input : node.inputs) {
      if (input == kNoValue || graph_.constant(input) != nullptr) continue;
      if (RankOf(graph_, input) != RankOf(graph_, value)) continue;
      const OutputEnd end = Find(input, depth + 1);
      if (node.Is("Clip") && end.function == EndFunction::kCorrection) return end;
      return {.axis = end.axis};
    }
    return {};
  }

  /// Whether one operand is an input of the model, moved, enlarged or scaled at most, and the other
  /// one is computed.
  [[nodiscard]] bool AddsToInput(const Node& node) const {
    const auto is_input = [&](ValueId value) {
      for (int step = 0; step < kMostDepth; ++step) {
        if (graph_.IsInput(value)) return true;
        const NodeId id = graph_.producer(value);
        if (id == kNoNode) return false;
        const Node& maker = graph_.node(id);
        const bool by_constant = IsOneOf(maker, kElementwise) && maker.inputs.size() == 2 &&
                                 graph_.constant(maker.inputs[1]) != nullptr;
        if (!by_constant && !IsOneOf(maker, kMoves) && !maker.Is("Transpose")) return false;
        value = maker.inputs[0];
      }
      return false;
    };
    const auto is_computed = [&](ValueId value) { return graph_.producer(value) != kNoNode; };
    const ValueId a = node.inputs[0];
    const ValueId b = node.inputs[1];
    return (is_input(a) && is_computed(b) && !is_input(b)) ||
           (is_input(b) && is_computed(a) && !is_input(a));
  }

  static std::optional<std::int64_t> AxisAfterTranspose(const Node& node, std::int64_t axis) {
    const auto perm = AttrOr(node, "perm", std::vector<std::int64_t>{});
    const auto found = std::ranges::find(perm, axis);
    if (found == perm.end()) return std::nullopt;
    return found - perm.begin();
  }

  /// Whether the node divides by the norm of its own dividend: LpNormalization, or Div of x by what
  /// ReduceL2 gives of x.
  [[nodiscard]] bool IsUnitNorm(const Node& node) const {
    if (node.Is("LpNormalization")) return AttrOr(node, "p", std::int64_t{2}) == 2;
    if (!node.Is("Div")) return false;
    ValueId norm = node.inputs[1];
    for (int depth = 0; depth < 4; ++depth) {
      const NodeId id = graph_.producer(norm);
      if (id == kNoNode) return false;
      const Node& maker = graph_.node(id);
      if (maker.Is("ReduceL2")) return maker.inputs[0] == node.inputs[0];
      constexpr std::array<std::string_view, 5> kBetween = {"Clip", "Expand", "Max", "Add",
                                                            "Unsqueeze"};
      if (std::ranges::find(kBetween, maker.op) == kBetween.end()) return false;
      norm = maker.inputs[0];
    }
    return false;
  }

  [[nodiscard]] std::optional<std::int64_t> SizeAlong(ValueId value, std::int64_t axis) const {
    const auto& shape = graph_.type(value).shape;
    if (!shape || axis >= static_cast<std::int64_t>(shape->size())) return std::nullopt;
    const Dim& dim = (*shape)[static_cast<std::size_t>(axis)];
    return dim.known() ? std::optional(dim.size()) : std::nullopt;
  }

  OutputEnd OfConcat(const Node& node, ValueId value, int depth) {
    const auto axis = FromFront(graph_, value, AttrOr(node, "axis", std::int64_t{0}));
    std::vector<OutputEnd> ends;
    for (const ValueId input : node.inputs) ends.push_back(Find(input, depth + 1));
    if (!axis || ends.empty()) return {};
    if (const auto boxes = AsBoxes(node, *axis, ends)) return *boxes;
    // Parts of one kind keep it.
    const auto differs = [&](const OutputEnd& end) {
      return end.function != ends[0].function || end.axis != ends[0].axis;
    };
    if (std::ranges::any_of(ends, differs)) return {};
    OutputEnd end = ends[0];
    const bool along = end.function == EndFunction::kSoftmax || end.function == EndFunction::kBoxes;
    // The classes of several softmaxes side by side are no longer one distribution.
    if (along && ends.size() > 1 && end.axis == axis) end = {};
    return end;
  }

  /// Returns the end if the parts are the four numbers of boxes in front of their probabilities.
  [[nodiscard]] std::optional<OutputEnd> AsBoxes(const Node& node, std::int64_t axis,
                                                 std::span<const OutputEnd> ends) const {
    // Candidates have an axis of their own: rows of several sigmoids are answers to questions.
    if (RankOf(graph_, node.inputs[0]).value_or(0) < 3) return std::nullopt;
    const auto size = [&](std::size_t part) {
      return SizeAlong(node.inputs[part], axis).value_or(kBoxNumbers + 1);
    };
    std::int64_t numbers = 0;
    std::size_t part = 0;
    while (part < ends.size() && numbers < kBoxNumbers) numbers += size(part++);
    const std::size_t first = part;
    if (numbers != kBoxNumbers || first == ends.size()) return std::nullopt;
    for (; part < ends.size(); ++part) {
      if (ends[part].function != EndFunction::kSigmoid) return std::nullopt;
    }
    // YOLOv5 and its like make the centres and sizes of the same sigmoids as objectness and
    // classes; YOLOX has objectness as a part of its own.
    const bool own = ends.size() == first + 2 && size(first) == 1;
    if (ends.size() > first + 1 && !own) return std::nullopt;
    return OutputEnd{
        .function = EndFunction::kBoxes, .axis = axis, .objectness = first == 2 || own};
  }

  const Graph& graph_;
  std::map<ValueId, OutputEnd> found_;
};

/// Whether a NonMaxSuppression is among the nodes before the output.
bool IsSelected(const Graph& graph, ValueId output) {
  std::vector<ValueId> open = {output};
  for (std::size_t i = 0; i < open.size() && open.size() < kMostNodes; ++i) {
    const NodeId id = graph.producer(open[i]);
    if (id == kNoNode) continue;
    const Node& node = graph.node(id);
    if (node.Is("NonMaxSuppression")) return true;
    for (const ValueId input : node.inputs) {
      if (input != kNoValue) open.push_back(input);
    }
  }
  return false;
}

}  // namespace

OutputEnd FindOutputEnd(const Graph& graph, ValueId output) {
  const OutputEnd end = EndFinder(graph).Find(output);
  if (end.function == EndFunction::kOther && IsSelected(graph, output)) {
    return {.function = EndFunction::kSelection};
  }
  return end;
}

}  // namespace msc::cost
