#include "compiler/compress/prune/node_axes.h"

#include <algorithm>

namespace msc {

std::optional<std::vector<std::int64_t>> ConstantList(const Graph& graph, ValueId value) {
  const TensorPtr tensor = graph.constant(value);
  if (tensor == nullptr) return std::nullopt;
  if (tensor->dtype() == DType::kI64) {
    const auto values = tensor->Values<std::int64_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  }
  if (tensor->dtype() == DType::kI32) {
    const auto values = tensor->Values<std::int32_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  }
  return std::nullopt;
}

std::optional<std::map<std::size_t, SliceCut>> ReadSlice(const Graph& graph, const Node& node,
                                                         const Dims& dims) {
  const auto list = [&](std::size_t input) {
    return input < node.inputs.size() ? ConstantList(graph, node.inputs[input]) : std::nullopt;
  };
  const auto starts = list(1);
  const auto ends = list(2);
  if (!starts || !ends || (node.HasInput(3) && !list(3)) || (node.HasInput(4) && !list(4)))
    return std::nullopt;
  const auto rank = static_cast<std::int64_t>(dims.size());
  std::map<std::size_t, SliceCut> cuts;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    std::int64_t axis = node.HasInput(3) ? list(3)->at(i) : static_cast<std::int64_t>(i);
    if (axis < 0) axis += rank;
    const std::int64_t size = dims.at(static_cast<std::size_t>(axis));
    SliceCut cut{.step = node.HasInput(4) ? list(4)->at(i) : 1};
    if (cut.step == 0) return std::nullopt;
    // Backwards, the bounds are those of the entries themselves, and -1 lies in front of the first.
    const std::int64_t shift = cut.step < 0 ? -1 : 0;
    const auto bound = [&](std::int64_t at, std::int64_t least) {
      return std::clamp(at < 0 ? at + size : at, least, std::max(size + shift, least));
    };
    cut.first = bound(starts->at(i), 0);
    cut.end = bound(ends->at(i), shift);
    cut.end = cut.step > 0 ? std::max(cut.end, cut.first) : std::min(cut.end, cut.first);
    cuts.emplace(static_cast<std::size_t>(axis), cut);
  }
  return cuts;
}

std::vector<std::int64_t> PicksOf(const SliceCut& cut) {
  std::vector<std::int64_t> picks;
  const auto inside = [&](std::int64_t at) { return cut.step > 0 ? at < cut.end : at > cut.end; };
  for (std::int64_t at = cut.first; inside(at); at += cut.step) {
    picks.push_back(at);
    // A step may be as large as its type; the next index would wrap.
    if (cut.step > cut.end - at && cut.step > 0) break;
    if (cut.step < cut.end - at && cut.step < 0) break;
  }
  return picks;
}

std::optional<std::vector<std::int64_t>> ReadSplit(const Graph& graph, const Node& node,
                                                   std::int64_t size) {
  if (node.HasInput(1)) return ConstantList(graph, node.inputs[1]);
  const auto count = static_cast<std::int64_t>(node.outputs.size());
  const std::int64_t part = count == 0 ? 0 : (size + count - 1) / count;
  std::vector<std::int64_t> parts;
  for (std::int64_t left = size; std::ssize(parts) < count; left -= parts.back()) {
    parts.push_back(std::min(part, left));
  }
  return parts;
}

std::vector<std::int64_t> AxesOfOne(const Dims& dims) {
  std::vector<std::int64_t> axes;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == 1) axes.push_back(static_cast<std::int64_t>(axis));
  }
  return axes;
}

std::optional<std::vector<std::optional<std::int64_t>>> ReadTarget(const Graph& graph,
                                                                   ValueId value) {
  std::vector<std::optional<std::int64_t>> entries;
  const auto add = [&](ValueId part) {
    const auto list = ConstantList(graph, part);
    if (list) entries.insert(entries.end(), list->begin(), list->end());
    return list.has_value();
  };
  if (add(value)) return entries;
  const NodeId producer = graph.producer(value);
  if (producer == kNoNode || !graph.node(producer).Is("Concat")) return std::nullopt;
  for (const ValueId part : graph.node(producer).inputs) {
    if (add(part)) continue;
    const auto& shape = graph.type(part).shape;
    const bool one = shape && shape->size() == 1 && (*shape)[0].known() && (*shape)[0].size() == 1;
    if (!one) return std::nullopt;
    entries.emplace_back();
  }
  return entries;
}

NodeAxes::NodeAxes(const Graph& graph, NodeId id, GraphAxes& axes)
    : graph_(graph), node_(graph.node(id)), axes_(axes) {
  const auto present = [](const std::vector<ValueId>& values) {
    std::size_t count = values.size();
    while (count > 0 && values[count - 1] == kNoValue) --count;
    return count;
  };
  inputs_ = present(node_.inputs);
  outputs_ = present(node_.outputs);
}

bool NodeAxes::Has(std::size_t input) const {
  return input < inputs_ && node_.inputs[input] != kNoValue;
}

bool NodeAxes::Known() const {
  const auto known = [&](ValueId id) { return id == kNoValue || axes_.dims.contains(id); };
  return node_.captures.empty() && std::all_of(node_.inputs.begin(), node_.inputs.end(), known) &&
         std::all_of(node_.outputs.begin(), node_.outputs.end(), known);
}

std::size_t NodeAxes::InRank(std::size_t input) const {
  const auto it = axes_.dims.find(node_.inputs.at(input));
  return it == axes_.dims.end() ? 0 : it->second.size();
}

bool NodeAxes::IsOpen(std::size_t input) const {
  const auto& shape = graph_.type(node_.inputs.at(input)).shape;
  return !shape || !StaticDims(*shape);
}

std::vector<std::int64_t> NodeAxes::AxesOfOneEntry() const {
  return AxesOfOne(axes_.dims.at(node_.inputs.at(0)));
}

std::size_t NodeAxes::OutRank(std::size_t output) const {
  const auto it = axes_.dims.find(node_.outputs.at(output));
  return it == axes_.dims.end() ? 0 : it->second.size();
}

Axis NodeAxes::In(std::size_t input, std::size_t axis) const {
  return axes_.Of(node_.inputs.at(input), axis);
}

Axis NodeAxes::Out(std::size_t axis, std::size_t output) const {
  return axes_.Of(node_.outputs.at(output), axis);
}

std::size_t NodeAxes::AxisAttr(std::int64_t otherwise) const {
  const std::int64_t axis = AttrOr(node_, "axis", otherwise);
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(InRank(0)) : axis);
}

std::optional<std::vector<std::int64_t>> NodeAxes::Ints(std::size_t input) const {
  return input < inputs_ ? ConstantList(graph_, node_.inputs[input]) : std::nullopt;
}

std::optional<std::map<std::size_t, SliceCut>> NodeAxes::ReadSlice() const {
  return msc::ReadSlice(graph_, node_, axes_.dims.at(node_.inputs.at(0)));
}

std::optional<std::vector<std::int64_t>> NodeAxes::ReadSplit(std::size_t axis) const {
  return msc::ReadSplit(graph_, node_, axes_.dims.at(node_.inputs.at(0)).at(axis));
}

std::optional<std::vector<const Node*>> NodeAxes::Readers() const {
  const ValueId value = node_.outputs.at(0);
  if (graph_.IsOutput(value)) return std::nullopt;
  std::vector<const Node*> readers;
  for (const Use& use : graph_.uses(value)) readers.push_back(&graph_.node(use.node));
  return readers;
}

std::optional<std::vector<std::int64_t>> NodeAxes::EntriesTakenBy(const Node& reader) const {
  const ValueId list = node_.outputs.at(0);
  if (!reader.domain.empty() || reader.inputs.empty() || reader.inputs[0] != list ||
      std::count(reader.inputs.begin(), reader.inputs.end(), list) != 1 ||
      !reader.captures.empty()) {
    return std::nullopt;
  }
  const Dims& dims = axes_.dims.at(list);
  if (reader.op == "Gather") {
    auto picks = ConstantList(graph_, reader.inputs.at(1));
    if (!picks) return std::nullopt;
    for (std::int64_t& pick : *picks) pick += pick < 0 ? dims.at(0) : 0;
    return picks;
  }
  if (reader.op != "Slice") return std::nullopt;
  const auto cuts = msc::ReadSlice(graph_, reader, dims);
  if (!cuts || !cuts->contains(0)) return std::nullopt;
  return PicksOf(cuts->at(0));
}

std::optional<std::vector<std::optional<std::int64_t>>> NodeAxes::ReadTarget() const {
  return Has(1) ? msc::ReadTarget(graph_, node_.inputs[1]) : std::nullopt;
}

bool NodeAxes::MovesByPadding(std::size_t axis) const {
  const auto pads = Ints(1);
  const std::size_t rank = InRank(0);
  return !pads || pads->size() != 2 * rank || (*pads)[axis] != 0 || (*pads)[axis + rank] != 0;
}

Axis NodeAxes::AddAxis(std::int64_t size) {
  return axes_.classes.Add(size);
}

std::string NodeAxes::Reason(const std::string& why) const {
  return "'" + node_.name + "' (" + node_.op + ") " + why;
}

void NodeAxes::Unite(Axis a, Axis b) {
  axes_.classes.Unite(a, b, Reason("joins axes of unknown size"));
}

void NodeAxes::UnitePart(Axis part, Axis whole, std::uint32_t offset) {
  // After the first test the difference cannot wrap; the sum of offset and size could.
  if (part.size > whole.size || offset > whole.size - part.size) {
    Fix(part, "joins axes of unknown size");
    Fix(whole, "joins axes of unknown size");
    return;
  }
  axes_.classes.UniteRange(part, 0, whole, offset, part.size);
}

void NodeAxes::UnitePicks(Axis list, Axis whole, const std::vector<std::int64_t>& picks) {
  if (list.size != picks.size() || whole.size == 0) {
    Fix(list, "joins axes of unknown size");
    Fix(whole, "joins axes of unknown size");
    return;
  }
  const std::int64_t size = whole.size;
  const auto is_outside = [&](std::int64_t pick) { return pick < -size || pick >= size; };
  if (std::ranges::any_of(picks, is_outside)) {
    Fix(list, "picks entries that do not exist");
    Fix(whole, "picks entries that do not exist");
    return;
  }
  for (std::uint32_t i = 0; i < list.size; ++i) {
    const std::int64_t at = picks[i] < 0 ? picks[i] + whole.size : picks[i];
    axes_.classes.UniteRange(list, i, whole, static_cast<std::uint32_t>(at), 1);
  }
}

void NodeAxes::AddProduct(Axis whole, const std::vector<Axis>& factors,
                          AxisClasses::Prefer prefer) {
  axes_.classes.AddProduct(whole, factors, prefer, Reason("groups this axis with another"));
}

void NodeAxes::Fix(Axis axis, const std::string& why) {
  axes_.classes.Fix(axis, Reason(why));
}

void NodeAxes::FixValue(ValueId value, const std::string& why) {
  const auto it = axes_.axes.find(value);
  if (it == axes_.axes.end()) return;
  for (const Axis axis : it->second) Fix(axis, why);
}

void NodeAxes::FixIn(std::size_t input, const std::string& why) {
  FixValue(node_.inputs.at(input), why);
}

void NodeAxes::FixOut(std::size_t output, const std::string& why) {
  FixValue(node_.outputs.at(output), why);
}

void NodeAxes::FixAll(const std::string& why) {
  for (const auto* list : {&node_.inputs, &node_.captures, &node_.outputs}) {
    for (const ValueId value : *list) FixValue(value, why);
  }
}

}  // namespace msc
