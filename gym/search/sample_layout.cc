#include "gym/search/sample_layout.h"

#include <map>
#include <optional>

#include "compiler/base/error.h"
#include "compiler/ir/sample_axes.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/batch.h"
#include "cost/samples/place_samples.h"
#include "gym/search/model.h"

namespace msc::gym {
namespace {

constexpr SampleAxis kWhole = {.counting = SampleCounting::kWhole};

void CheckNames(const Graph& graph, const std::map<std::string, std::int64_t>& given) {
  for (const auto& [name, axis] : given) {
    const ValueId id = graph.FindValue(name);
    if (id != kNoValue && (graph.IsInput(id) || graph.IsOutput(id))) continue;
    throw UserError("'batch_axis' names '" + name + "', which is no input or output of the model");
  }
}

void PlaceInputs(Graph& graph, std::span<const cost::DataConfig> data,
                 const std::map<std::string, std::int64_t>& given) {
  bool is_first = true;
  for (cost::DataConfig each : data) {
    if (each.images.empty()) continue;
    each.batch_axis = given;
    const std::vector<cost::InputForm> forms = FormsOf(graph);
    std::vector<SampleAxis> axes = cost::PlaceSamples(each, forms);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const ValueId id = graph.inputs()[i];
      const SampleAxis before = SampleAxisOf(graph, id);
      // One sample for each call also serves an input that is the same for all.
      const bool looser =
          before.counting == SampleCounting::kWhole && axes[i].counting == SampleCounting::kShared;
      if (is_first || looser || axes[i] == before) {
        if (is_first) SetSampleAxis(graph, id, axes[i]);
        continue;
      }
      throw UserError("input '" + forms[i].name + "': " + ToString(before) +
                      " in one set of samples and " + ToString(axes[i]) + " in '" + each.images +
                      "'; name its axis with --batch-axis (in a config, 'batch_axis'), or none");
    }
    is_first = false;
  }
}

/// Returns the shapes of all outputs with this many samples; nothing where they cannot be inferred.
std::vector<std::optional<Shape>> OutputShapes(const Graph& graph, std::int64_t batch) {
  Graph bound = graph;
  try {
    InferTypes(bound, BatchBindings(graph, batch));
  } catch (const UserError&) {
    // The model does not take this many: it is run as it stands, and says so.
    return std::vector<std::optional<Shape>>(graph.outputs().size());
  }
  std::vector<std::optional<Shape>> shapes;
  for (const ValueId id : graph.outputs()) shapes.push_back(bound.type(id).shape);
  return shapes;
}

bool Is(const Dim& dim, std::int64_t size) {
  return dim.known() && dim.size() == size;
}

/// Returns where an output counts samples whose shapes for 2 and for 3 samples are these. Axis 0 if
/// that is not known.
SampleAxis FollowsBatch(const std::optional<Shape>& two, const std::optional<Shape>& three) {
  if (!two || !three || two->size() != three->size()) return {};
  bool open = false;
  for (std::size_t axis = 0; axis < two->size(); ++axis) {
    open = open || !(*two)[axis].known();
    if (Is((*two)[axis], 2) && Is((*three)[axis], 3)) {
      return {.axis = static_cast<std::int64_t>(axis)};
    }
  }
  return open ? SampleAxis{} : kWhole;
}

/// Returns where an output of a model of `batch` samples counts them.
SampleAxis OfFixedBatch(const std::optional<Shape>& shape, std::int64_t batch, bool whole) {
  if (!shape) return {};
  if (!shape->empty() && (!shape->front().known() || Is(shape->front(), batch))) {
    // A model that takes one whole sample may have a first axis of 1 that counts nothing; as rows
    // both are the same.
    return {};
  }
  for (std::size_t axis = 1; axis < shape->size() && batch > 1; ++axis) {
    if (Is((*shape)[axis], batch)) return {.axis = static_cast<std::int64_t>(axis)};
  }
  return batch == 1 || whole ? kWhole : SampleAxis{};
}

void PlaceOutputs(Graph& graph, const std::map<std::string, std::int64_t>& given) {
  const bool whole = LayoutOf(graph).OneByOne();
  const std::optional<std::int64_t> fixed = FixedBatch(graph);
  std::vector<std::optional<Shape>> two;
  std::vector<std::optional<Shape>> three;
  if (!fixed) {
    two = OutputShapes(graph, 2);
    three = OutputShapes(graph, 3);
  }
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const ValueId id = graph.outputs()[i];
    const auto it = given.find(graph.value(id).name);
    SampleAxis axis =
        fixed ? OfFixedBatch(graph.type(id).shape, *fixed, whole) : FollowsBatch(two[i], three[i]);
    if (it != given.end()) axis = it->second < 0 ? kWhole : SampleAxis{.axis = it->second};
    SetSampleAxis(graph, id, axis);
  }
}

}  // namespace

void DecideSampleLayout(Graph& graph, std::span<const cost::DataConfig> data) {
  if (data.empty() || graph.inputs().empty()) return;
  std::map<std::string, std::int64_t> given;
  for (const cost::DataConfig& each : data) {
    given.insert(each.batch_axis.begin(), each.batch_axis.end());
  }
  CheckNames(graph, given);
  PlaceInputs(graph, data, given);
  PlaceOutputs(graph, given);
}

std::vector<std::string> LayoutLines(const Graph& graph) {
  std::vector<std::string> lines;
  const auto add = [&](ValueId id, const std::string& what) {
    const SampleAxis axis = SampleAxisOf(graph, id);
    if (axis == SampleAxis{}) return;
    lines.push_back(what + " '" + graph.value(id).name + "': " +
                    (axis.counting == SampleCounting::kAlong ? "samples " : "") + ToString(axis));
  };
  for (const ValueId id : graph.inputs()) add(id, "input");
  for (const ValueId id : graph.outputs()) add(id, "output");
  return lines;
}

}  // namespace msc::gym
