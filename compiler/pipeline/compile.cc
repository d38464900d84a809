#include "compiler/pipeline/compile.h"

#include <cstddef>
#include <cstring>
#include <exception>
#include <map>
#include <new>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/compress/prune/prune.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/ir/serialize.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/images.h"
#include "compiler/pipeline/placement.h"
#include "compiler/pipeline/region_precision.h"
#include "compiler/pipeline/regions.h"
#include "compiler/pipeline/schedule.h"
#include "compiler/pipeline/splice.h"
#include "compiler/targets/program_steps.h"

namespace msc {
namespace {

/// Returns a binding for every symbol of the inputs: the given size or, along the axis of samples,
/// 1. UserError if one has no size, or a size is given for another symbol.
ShapeBindings BindAll(const Graph& graph, const ShapeBindings& given) {
  ShapeBindings all = BatchBindings(graph, 1);
  std::set<std::string> symbols;
  for (const ValueId id : graph.inputs()) {
    const ValueType& type = graph.type(id);
    const auto& shape = type.shape;
    const std::string& name = graph.value(id).name;
    if (type.container != Container::kTensor) {
      throw UserError("input '" + name + "' is a " + ToString(type) +
                      "; only tensors can be compiled");
    }
    if (type.dtype == DType::kUndefined) {
      throw UserError("input '" + name + "' has no element type; give it one in the model");
    }
    if (!shape) {
      throw UserError("input '" + name + "' has no rank; give its sizes (--shape " + name +
                      "=1x3x224x224 in a command)");
    }
    for (const Dim& dim : *shape) {
      if (dim.known()) continue;
      if (dim.symbol().empty()) {
        throw UserError("input '" + name + "' " + ToString(*shape) +
                        " has an unknown dimension without a name; give its sizes (--shape " +
                        name + "=1x3x224x224 in a command), or a name in the model");
      }
      symbols.insert(dim.symbol());
    }
  }
  for (const auto& [symbol, size] : given) {
    if (!symbols.contains(symbol)) {
      throw UserError("no input has a dimension named '" + symbol + "'");
    }
    if (size < 1) {
      throw UserError("dimension '" + symbol + "' must be at least 1, not " + std::to_string(size) +
                      ", unless the model itself fixes it");
    }
    all[symbol] = size;
  }
  if (const std::string open = OpenSizesText(graph, all); !open.empty()) throw UserError(open);
  return all;
}

void CheckStatic(const Graph& graph) {
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    for (const ValueId out : node.outputs) {
      if (out == kNoValue) continue;
      const ValueType& type = graph.type(out);
      if (type.dtype == DType::kUndefined || !type.shape || !StaticDims(*type.shape)) {
        throw UserError("node '" + node.name + "' (" + node.op + "): the type of '" +
                        graph.value(out).name + "' is not known before running: " + ToString(type));
      }
    }
  }
}

/// Adds the step of a Where node of FindBranchesWorthAsking.
void AddChoice(const Graph& graph, NodeId id, const Target& target, ExecutableBuilder& builder) {
  const Node& node = graph.node(id);
  const BufferId condition = builder.BufferOf(node.inputs[0]);
  const BufferId if_true = builder.BufferOf(node.inputs[1]);
  const BufferId if_false = builder.BufferOf(node.inputs[2]);
  const BufferId to = builder.BufferOf(node.outputs[0]);
  const ValueType& type = graph.type(node.outputs[0]);
  const std::size_t bytes =
      static_cast<std::size_t>(ElementCount(*StaticDims(*type.shape))) * ByteSize(type.dtype);
  builder.AddStep({.name = node.name,
                   .target = target.facts().name,
                   .nodes = {node.name},
                   .reads = {condition, if_true, if_false},
                   .writes = {to},
                   .run = [=](const StepContext& context) {
                     const bool truth = *context.At(condition) != std::byte{0};
                     if (bytes == 0) return;
                     std::memcpy(context.At(to), context.At(truth ? if_true : if_false), bytes);
                   }});
}

/// Exceptions of libraries become a Failure of the candidate. Internal errors and errors of the
/// caller are not the candidate's fault and are passed on.
Result<Executable> BuildPlaced(const Graph& graph, std::vector<TargetRun> placed,
                               const CompileOptions& options) {
  try {
    ExecutableBuilder builder(graph);
    for (TargetRun& run : placed) {
      std::vector<StepCondition> conditions;
      for (const Guard& guard : run.guards) {
        conditions.push_back({builder.BufferOf(guard.condition), guard.value});
      }
      builder.SetConditions(std::move(conditions));
      if (run.chooses) {
        AddChoice(graph, run.nodes.front(), *run.target, builder);
        continue;
      }
      // A run of consecutive nodes in topological order is convex.
      const Region region{.graph = &graph, .nodes = std::move(run.nodes)};
      const TargetOptions target_options{.threads = options.threads};
      if (auto failure = run.target->GraphToRuntime(region, target_options, builder)) {
        return *std::move(failure);
      }
    }
    return std::move(builder).Build();
  } catch (const InternalError&) {
    throw;
  } catch (const UserError&) {
    throw;
  } catch (const std::bad_alloc&) {
    return Failure{FailureKind::kOutOfMemory, "out of memory while compiling"};
  } catch (const std::exception& error) {
    return Failure{FailureKind::kCompile, error.what()};
  }
}

/// Does what BuildPlaced does, but returns the message of a UserError as a Failure.
Result<Executable> TryPlaced(const Graph& graph, std::vector<TargetRun> placed,
                             const CompileOptions& options) {
  try {
    return BuildPlaced(graph, std::move(placed), options);
  } catch (const UserError& error) {
    return Failure{FailureKind::kCompile, error.what()};
  }
}

Result<Executable> BuildRuns(const Graph& graph, std::span<const TargetRun> wanted,
                             const TargetRegistry& registry, const CompileOptions& options) {
  std::span<const std::string_view> left = kFallbackTargets;
  Result<Placement> placed = PlaceNodes(graph, wanted, left, registry);
  // `native` needs a C++ compiler, which a machine may lack: then the next fallback runs its nodes.
  while (placed.ok() && placed.value().uses_first_fallback && left.size() > 1) {
    auto built = TryPlaced(graph, placed.value().runs, options);
    if (built.ok()) return built;
    left = left.subspan(1);
    placed = PlaceNodes(graph, wanted, left, registry);
  }
  if (!placed.ok()) return placed.failure();
  return BuildPlaced(graph, std::move(placed.value().runs), options);
}

void LowerBound(const Target& target, Graph& graph) {
  for (const Pass& pass : target.Passes(PassPhase::kBeforeLowering)) pass.run(graph);
  if (target.WantsFusedOps()) {
    CancelRequantization(graph);
    FuseOpsFor(graph, [&](const Graph& g, NodeId id) { return target.Supports(g, id); });
    // What is left of narrow weights belongs to layers that the target computes in f32.
    WidenWeights(graph);
  }
  for (const Pass& pass : target.Passes(PassPhase::kLowering)) pass.run(graph);
  RemoveDeadCode(graph);
  InferTypes(graph);
  CheckStatic(graph);
}

std::map<std::string, std::size_t> RegionByName(const std::vector<PartitionRegion>& partition) {
  std::map<std::string, std::size_t> named;
  for (std::size_t i = 0; i < partition.size(); ++i) {
    if (partition[i].nodes.empty()) {
      throw UserError("region " + std::to_string(i) + " of the partition has no nodes");
    }
    for (const std::string& name : partition[i].nodes) {
      const auto [it, is_new] = named.emplace(name, i);
      if (!is_new) {
        throw UserError("node '" + name + "' is in regions " + std::to_string(it->second) +
                        " and " + std::to_string(i) + " of the partition");
      }
    }
  }
  return named;
}

/// Returns whether the strategy names layers that the graph does not have, and so is one of another
/// model, whatever its sizes.
bool NamesOtherLayers(const Graph& canonical, const Strategy& strategy) {
  const auto is_other = [&](const auto& named) {
    return canonical.FindNode(named.first) == kNoNode;
  };
  return std::ranges::any_of(strategy.quantize.layers, is_other) ||
         std::ranges::any_of(strategy.prune.groups, is_other);
}

/// Returns which sizes of inputs differ from those that the strategy was made with; empty if none.
std::string OtherSizes(const Graph& canonical, const InputShapes& made_with) {
  std::string text;
  for (const ValueId id : canonical.inputs()) {
    const std::string& name = canonical.value(id).name;
    const auto& shape = canonical.type(id).shape;
    const auto then = made_with.of_input.find(name);
    if (!shape || then == made_with.of_input.end() || then->second == ToString(*shape)) continue;
    text += (text.empty() ? "input '" : ", input '") + name + "' " + then->second + ", here " +
            ToString(*shape);
  }
  return text;
}

void CheckModel(const Graph& canonical, const Strategy& strategy) {
  if (strategy.model_hash.empty()) return;
  const std::string hash = GraphHash(canonical);
  if (hash == strategy.model_hash) return;
  const std::string graphs = "(graph " + strategy.model_hash.substr(0, 12) + "..., this one is " +
                             hash.substr(0, 12) + "...)";
  const std::string sizes = OtherSizes(canonical, strategy.inputs);
  if (sizes.empty() || NamesOtherLayers(canonical, strategy)) {
    throw UserError("the strategy was made for another model " + graphs);
  }
  throw UserError("the strategy was made at other sizes: " + sizes +
                  "; give the --shape of that time, or make the strategy anew at these sizes " +
                  graphs);
}

}  // namespace

Graph ApplyStrategy(const Graph& canonical, const Strategy& strategy) {
  CheckModel(canonical, strategy);
  Graph applied = canonical;
  ApplyPrunePlan(strategy.prune, applied);
  ApplyFitted(strategy.fit, applied);
  ApplyQuantizePlan(WithPrecisionsOfRegions(canonical, strategy).quantize, applied);
  return applied;
}

Graph BindSizes(const Graph& graph, const CompileOptions& options) {
  Graph bound = graph;
  InferTypes(bound, BindAll(bound, options.bindings));
  // With all sizes known, shape arithmetic folds, and further patterns become visible.
  Canonicalize(bound);
  if (FlattenBranches(bound, Misfits::kRefuse)) Canonicalize(bound);
  return bound;
}

Graph Lower(const Graph& applied, const Target& target, const CompileOptions& options) {
  Graph graph = BindSizes(applied, options);
  LowerBound(target, graph);
  return graph;
}

namespace {

/// Lowers regions one after the other, each for its own target, and joins them. If a region needs
/// an image in another layout than it was made in, the one of the two targets that uses channels
/// last converts it, once for all readers that need it.
class PartLowerer {
 public:
  PartLowerer(const Graph& whole, const TargetRegistry& registry)
      : whole_(whole), registry_(registry), splicer_(whole) {}

  void Add(const std::vector<NodeId>& nodes, const std::string& spec) {
    const Target& target = registry_.Get(spec);
    const Extracted part = Extract(whole_, nodes);
    const std::vector<Exchanged> inputs = ExchangedBy(target, part.inputs);
    const std::vector<Exchanged> outputs = ExchangedBy(target, part.outputs);
    for (const Exchanged& input : inputs) {
      if (!splicer_.Has(input)) Turn(input, spec);
    }
    for (const Exchanged& output : outputs) {
      if (output.channels_last) makers_[output.value] = spec;
    }
    Join(target.ExchangesChannelsLast() ? WithImagesChannelsLast(part, whole_) : part.graph, spec,
         inputs, outputs);
  }

  /// Returns the result after all regions were added.
  [[nodiscard]] Lowered Take() && {
    for (const ValueId output : whole_.outputs()) {
      Check(whole_.constant(output) != nullptr || splicer_.Has({output}),
            "outputs of the whole are made dense");
    }
    lowered_.graph = std::move(splicer_).Take();
    return std::move(lowered_);
  }

 private:
  [[nodiscard]] std::vector<Exchanged> ExchangedBy(const Target& target,
                                                   const std::vector<ValueId>& values) const {
    std::vector<Exchanged> exchanged;
    exchanged.reserve(values.size());
    for (const ValueId value : values) {
      exchanged.push_back(
          {.value = value,
           .channels_last = target.ExchangesChannelsLast() && MayBeChannelsLast(whole_, value)});
    }
    return exchanged;
  }

  /// Adds a region that converts an image from its other layout to `wanted`, for a reader that runs
  /// on `spec`.
  void Turn(const Exchanged& wanted, const std::string& spec) {
    const Exchanged made{.value = wanted.value, .channels_last = !wanted.channels_last};
    Graph turn;
    (void)AddLayoutConversion(whole_.type(wanted.value), wanted.channels_last, turn);
    Join(std::move(turn), wanted.channels_last ? spec : makers_.at(wanted.value), {&made, 1},
         {&wanted, 1});
  }

  void Join(Graph part, const std::string& spec, std::span<const Exchanged> inputs,
            std::span<const Exchanged> outputs) {
    LowerBound(registry_.Get(spec), part);
    lowered_.regions.push_back({.nodes = splicer_.Add(inputs, outputs, part), .target = spec});
  }

  const Graph& whole_;
  const TargetRegistry& registry_;
  Splicer splicer_;
  std::map<ValueId, std::string> makers_;  ///< target of each image that was made channels last
  Lowered lowered_;
};

/// Does what LowerFor does, except for schedules.
Lowered LowerParts(const Graph& applied, const Strategy& strategy, const TargetRegistry& registry,
                   const CompileOptions& options) {
  const std::vector<PartitionRegion>& partition = strategy.partition;
  if (partition.empty()) {
    return {.graph = Lower(applied, registry.Get(strategy.target), options),
            .target = strategy.target};
  }
  Graph graph = BindSizes(applied, options);
  const std::size_t rest = partition.size();
  const RegionIds regions = AssignRegions(RegionByName(partition), rest, graph);
  PartLowerer parts(graph, registry);
  for (const OrderedRegion& region : OrderRegions(graph, regions, rest)) {
    parts.Add(region.nodes, region.id < rest ? partition[region.id].target : strategy.target);
  }
  Lowered lowered = std::move(parts).Take();
  lowered.target = strategy.target;
  return lowered;
}

}  // namespace

Lowered LowerFor(const Graph& applied, const Strategy& strategy, const TargetRegistry& registry,
                 const CompileOptions& options) {
  Lowered lowered = LowerParts(applied, strategy, registry, options);
  ApplySchedules(strategy.schedules, registry, lowered);
  return lowered;
}

Result<Executable> BuildExecutable(const Graph& lowered, const Target& target,
                                   const TargetRegistry& registry, const CompileOptions& options) {
  const TargetRun all{.target = &target, .nodes = lowered.order()};
  return BuildRuns(lowered, {&all, 1}, registry, options);
}

std::vector<std::string> RejectedNodes(const Lowered& lowered, const TargetRegistry& registry) {
  std::vector<std::string> refused;
  for (const TargetRun& run : WantedRuns(lowered, registry)) {
    for (const NodeId id : run.nodes) {
      if (!MayRun(*run.target, lowered.graph, id)) {
        refused.push_back(lowered.graph.node(id).name);
      }
    }
  }
  return refused;
}

Result<Executable> BuildExecutable(const Lowered& lowered, const TargetRegistry& registry,
                                   const CompileOptions& options) {
  return BuildRuns(lowered.graph, WantedRuns(lowered, registry), registry, options);
}

std::optional<Failure> UpdateConstants(const Lowered& lowered, const TargetRegistry& registry,
                                       const CompileOptions& options, Executable& executable) {
  Result<Placement> placed =
      PlaceNodes(lowered.graph, WantedRuns(lowered, registry), kFallbackTargets, registry);
  if (!placed.ok()) return placed.failure();
  std::vector<TargetRun>& runs = placed.value().runs;
  const std::vector<ConstantGroup>& groups = executable.constant_groups();
  // All groups are compared before a constant is replaced, so a failure leaves the executable as it
  // was.
  std::vector<std::pair<BufferId, TensorPtr>> all;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    TargetRun& run = runs[i];
    if (run.chooses) {
      return Failure{FailureKind::kUnsupported,
                     "a choice between branches may read weights; compile the model again"};
    }
    const Region region{.graph = &lowered.graph, .nodes = std::move(run.nodes)};
    const TargetOptions wanted = run.target->OptionsFor({.threads = options.threads});
    const Result<kernel::Program> program = run.target->GraphToKernel(region, wanted);
    if (!program.ok()) return program.failure();
    const bool same = i < groups.size() &&
                      CodeDigest(program.value(), lowered.graph, wanted.threads) == groups[i].code;
    if (!same) {
      return Failure{FailureKind::kUnsupported,
                     "other code is needed for these weights; compile the model again"};
    }
    auto to = groups[i].constants.begin();
    for (const kernel::ProgramBuffer& buffer : program.value().buffers) {
      if (buffer.constant) all.emplace_back(*to++, buffer.constant);
    }
  }
  for (const auto& [buffer, tensor] : all) executable.SetConstant(buffer, tensor);
  return std::nullopt;
}

Result<Executable> Compile(const Graph& canonical, const Strategy& strategy,
                           const TargetRegistry& registry, const CompileOptions& options) {
  return BuildExecutable(LowerFor(ApplyStrategy(canonical, strategy), strategy, registry, options),
                         registry, options);
}

}  // namespace msc
