#include "cost/track/finite.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>

#include "compiler/base/error.h"
#include "compiler/ops/op.h"
#include "cost/model/closeness.h"
#include "cost/track/bisect.h"
#include "cost/track/store.h"

namespace msc::cost {
namespace {

constexpr std::uint64_t kStoreBytes = std::uint64_t{4} << 30U;

/// Which numbers of a value are not finite.
struct Finite {
  std::int64_t size = 0;
  std::vector<bool> not_finite = {};  ///< empty if all are finite
};

Finite FiniteOf(const Tensor& tensor) {
  Finite finite{.size = tensor.size()};
  if (CountNotFinite(tensor) == 0) return finite;
  const Tensor numbers = AsNumbers(tensor);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    finite.not_finite.push_back(!std::isfinite(
        numbers.dtype() == DType::kF64 ? numbers.Values<double>()[at]
                                       : static_cast<double>(numbers.Values<float>()[at])));
  }
  return finite;
}

/// Returns how many numbers of `got` are not finite where those of `wanted` are. If the sizes
/// differ, it counts all numbers that are not finite.
std::int64_t CountApart(const Finite& wanted, const Finite& got) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < got.not_finite.size(); ++i) {
    const bool own = wanted.size == got.size && !wanted.not_finite.empty() && wanted.not_finite[i];
    count += got.not_finite[i] && !own ? 1 : 0;
  }
  return count;
}

using FiniteByName = std::map<std::string, Finite>;

FiniteByName Watch(const Graph& graph, std::span<const Tensor> inputs) {
  FiniteByName values;
  (void)Interpret(graph, inputs, [&](ValueId id, const Tensor& value) {
    values[graph.value(id).name] = FiniteOf(value);
  });
  return values;
}

/// Returns the first output that is not finite where `wanted` is. Skips constants.
std::optional<NotFinite> FirstOutput(const Graph& graph, const FiniteByName& wanted,
                                     std::span<const Tensor> outputs) {
  for (std::size_t i = 0; i < outputs.size() && i < graph.outputs().size(); ++i) {
    const ValueId output = graph.outputs()[i];
    if (graph.constant(output) != nullptr) continue;
    const std::string& name = graph.value(output).name;
    const auto it = wanted.find(name);
    const std::int64_t apart =
        CountApart(it == wanted.end() ? Finite{} : it->second, FiniteOf(outputs[i]));
    if (apart == 0) continue;
    NotFinite found;
    found.output = name;
    found.values = apart;
    found.of = outputs[i].size();
    return found;
  }
  return std::nullopt;
}

/// Returns the nodes that the named value depends on.
std::set<NodeId> Behind(const Graph& graph, const std::string& name) {
  std::set<NodeId> nodes;
  std::vector<ValueId> open = {graph.FindValue(name)};
  while (!open.empty()) {
    const ValueId value = open.back();
    open.pop_back();
    const NodeId id = value == kNoValue ? kNoNode : graph.producer(value);
    if (id == kNoNode || !nodes.insert(id).second) continue;
    const std::vector<ValueId>& inputs = graph.node(id).inputs;
    open.insert(open.end(), inputs.begin(), inputs.end());
    const std::vector<ValueId>& captures = graph.node(id).captures;
    open.insert(open.end(), captures.begin(), captures.end());
  }
  return nodes;
}

void Name(const Node& node, NotFinite& found) {
  found.node = node.name;
  found.op = node.domain.empty() ? node.op : node.domain + "." + node.op;
}

/// Names the first node in front of the output whose result is not finite where `wanted` is. If
/// `wanted` lacks the value or has other sizes, the node must have finite inputs instead.
void NameFirst(const Graph& graph, const FiniteByName& got, const FiniteByName& wanted,
               NotFinite& found) {
  const std::set<NodeId> behind = Behind(graph, found.output);
  const auto is_finite = [&](ValueId value) {
    if (value == kNoValue) return true;
    const auto it = got.find(graph.value(value).name);
    return it == got.end() || it->second.not_finite.empty();
  };
  for (const NodeId id : graph.order()) {
    if (!behind.contains(id)) continue;
    const Node& node = graph.node(id);
    for (const ValueId output : node.outputs) {
      if (is_finite(output)) continue;
      const Finite& own = got.at(graph.value(output).name);
      const auto it = wanted.find(graph.value(output).name);
      const bool known = it != wanted.end() && it->second.size == own.size;
      const bool first = std::all_of(node.inputs.begin(), node.inputs.end(), is_finite);
      if (known ? CountApart(it->second, own) > 0 : first) return Name(node, found);
    }
  }
}

/// Bisects a compiled stage against `reference`, which runs node by node.
void Search(const TrackStage& stage, const TrackStage& reference, const TargetRegistry& targets,
            std::span<const Tensor> inputs, NotFinite& found) {
  TrackStore store("", kStoreBytes);
  const auto keep = [&](const std::vector<std::string>& names) {
    CollectValues(reference, names, inputs, targets,
                  [&](const std::string& name, const Tensor& value) {
                    (void)store.Put(reference.name, name, value);
                  });
  };
  // Store the outputs first: the search needs them, while the other values may not all fit.
  std::vector<std::string> outputs;
  for (const ValueId id : reference.model.graph.outputs()) {
    outputs.push_back(reference.model.graph.value(id).name);
  }
  keep(outputs);
  std::vector<std::string> rest;
  for (const std::string& name : TrackedValues(reference)) {
    if (store.TypeOf(reference.name, name) == DType::kUndefined) rest.push_back(name);
  }
  keep(rest);
  found.maker = Maker::kTarget;
  try {
    const BisectResult result =
        BisectStage(stage, reference.name, store, inputs, kNotFiniteAlone, targets);
    found.node = result.node;
    found.op = result.op;
    found.detail = result.blame == Blame::kNone ? "it did not occur in another run"
                                                : CauseText(result, stage.name);
  } catch (const UserError& error) {
    found.detail = error.what();
  }
}

}  // namespace

bool AllFinite(std::span<const Tensor> tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const Tensor& tensor) { return CountNotFinite(tensor) == 0; });
}

std::optional<NotFinite> FindNotFinite(const ModelRun& run) {
  if (AllFinite(run.outputs)) return std::nullopt;
  const Graph baseline = BindSizes(*run.canonical, run.compile);
  const FiniteByName wanted = Watch(baseline, run.inputs);
  std::optional<NotFinite> found = FirstOutput(baseline, wanted, run.outputs);
  if (!found) return std::nullopt;
  const Graph applied =
      run.applied != nullptr ? *run.applied : ApplyStrategy(*run.canonical, *run.strategy);
  const TrackStage optimized{"the compressed model", {BindSizes(applied, run.compile), "", {}}, 1};
  const Graph& graph = optimized.model.graph;
  const FiniteByName got = Watch(graph, run.inputs);
  const auto own = got.find(found->output);
  const auto due = wanted.find(found->output);
  if (own != got.end() &&
      CountApart(due == wanted.end() ? Finite{} : due->second, own->second) > 0) {
    found->maker = Maker::kCompression;
    NameFirst(graph, got, wanted, *found);
    return found;
  }
  if (run.compiled_here) {
    const TrackStage stage{run.strategy->target,
                           LowerFor(applied, *run.strategy, *run.targets, run.compile),
                           run.compile.threads};
    Search(stage, optimized, *run.targets, run.inputs, *found);
  }
  return found;
}

std::optional<NotFinite> FindNotFinite(const TrackStage& stage, const TargetRegistry& targets,
                                       std::span<const Tensor> inputs,
                                       std::span<const Tensor> outputs) {
  if (AllFinite(outputs) || !AllFinite(inputs)) return std::nullopt;
  const Graph& graph = stage.model.graph;
  std::optional<NotFinite> found = FirstOutput(graph, {}, outputs);
  if (!found) return std::nullopt;
  const FiniteByName got = Watch(graph, inputs);
  const auto own = got.find(found->output);
  if (own != got.end() && !own->second.not_finite.empty()) {
    found->maker = Maker::kCompression;
    NameFirst(graph, got, {}, *found);
    return found;
  }
  Search(stage, {"the lowered graph", {graph, "", {}}, 1}, targets, inputs, *found);
  return found;
}

std::string CauseText(const NotFinite& found) {
  std::string text = "output '" + found.output + "' is not finite (" +
                     std::to_string(found.values) + " of " + std::to_string(found.of) + " values)";
  if (!found.node.empty()) {
    text += "; the first result that is not is that of " + found.op + " '" + found.node + "'";
  }
  if (found.maker == Maker::kCompression) {
    text += ", on every target";
  } else if (!found.detail.empty()) {
    text += ": " + found.detail;
  }
  return text;
}

}  // namespace msc::cost
