#include "compiler/pipeline/compile.h"

#include <exception>
#include <new>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/compress/prune/prune.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/ir/serialize.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"

namespace msc {
namespace {

/// Binds every symbol of the inputs: to what the caller says, else to 1.
ShapeBindings BindAll(const Graph& graph, const ShapeBindings& given) {
  ShapeBindings all;
  for (const ValueId id : graph.inputs()) {
    const auto& shape = graph.type(id).shape;
    const std::string& name = graph.value(id).name;
    if (!shape) throw UserError("input '" + name + "' has no rank; give the model a shape");
    for (const Dim& dim : *shape) {
      if (dim.known()) continue;
      if (dim.symbol().empty()) {
        throw UserError("input '" + name + "' " + ToString(*shape) +
                        " has an unnamed unknown dimension; give it a size or a name in the model");
      }
      all.emplace(dim.symbol(), 1);
    }
  }
  for (const auto& [symbol, size] : given) {
    if (!all.contains(symbol)) {
      throw UserError("no input has a dimension named '" + symbol + "'");
    }
    if (size < 1) throw UserError("dimension '" + symbol + "' must be at least 1");
    all[symbol] = size;
  }
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

/// Which target runs each node, in graph order; a Failure names the first node nobody takes.
Result<std::vector<const Target*>> Place(const Graph& graph, const Target& wanted,
                                         const TargetRegistry& registry) {
  const Target* fallback = registry.Find("reference");
  std::vector<const Target*> placed;
  placed.reserve(graph.order().size());
  for (const NodeId id : graph.order()) {
    if (wanted.Supports(graph, id)) {
      placed.push_back(&wanted);
    } else if (fallback != nullptr && fallback->Supports(graph, id)) {
      placed.push_back(fallback);
    } else {
      const Node& node = graph.node(id);
      return Failure{FailureKind::kUnsupported,
                     "no target runs node '" + node.name + "' (" + node.op + ")"};
    }
  }
  return placed;
}

Result<Executable> BuildRegions(const Graph& graph, const std::vector<const Target*>& placed,
                                const CompileOptions& options) {
  ExecutableBuilder builder(graph);
  const std::vector<NodeId>& order = graph.order();
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && placed[end] == placed[begin]) ++end;
    // A run of consecutive nodes in topological order is convex.
    Region region{.graph = &graph, .nodes = {}};
    for (std::size_t i = begin; i < end; ++i) region.nodes.push_back(order[i]);
    const TargetOptions target_options{.threads = options.threads};
    if (auto failure = placed[begin]->GraphToRuntime(region, target_options, builder)) {
      return *std::move(failure);
    }
    begin = end;
  }
  return std::move(builder).Build();
}

}  // namespace

Graph ApplyStrategy(const Graph& canonical, const Strategy& strategy) {
  if (!strategy.model_hash.empty()) {
    const std::string hash = GraphHash(canonical);
    if (hash != strategy.model_hash) {
      throw UserError("the strategy was made for another model (graph " +
                      strategy.model_hash.substr(0, 12) + "..., this one is " + hash.substr(0, 12) +
                      "...)");
    }
  }
  Graph applied = canonical;
  ApplyPrunePlan(strategy.prune, applied);
  ApplyQuantizePlan(strategy.quantize, applied);
  return applied;
}

Graph Lower(const Graph& applied, const Target& target, const CompileOptions& options) {
  Graph graph = applied;
  InferTypes(graph, BindAll(graph, options.bindings));
  // With every size known, shape arithmetic folds and leaves what it hid.
  Canonicalize(graph);
  for (const Pass& pass : target.Passes(PassPhase::kBeforeLowering)) pass.run(graph);
  if (target.WantsFusedOps()) {
    CancelRequantization(graph);
    FuseOpsFor(graph, [&](const Graph& g, NodeId id) { return target.Supports(g, id); });
  }
  for (const Pass& pass : target.Passes(PassPhase::kLowering)) pass.run(graph);
  RemoveDeadCode(graph);
  InferTypes(graph);
  CheckStatic(graph);
  return graph;
}

Result<Executable> BuildExecutable(const Graph& lowered, const Target& target,
                                   const TargetRegistry& registry, const CompileOptions& options) {
  // The seam where a library's exceptions become a Failure of the candidate; our own mistakes and
  // the caller's are not its fault and go on as they are.
  try {
    Result<std::vector<const Target*>> placed = Place(lowered, target, registry);
    if (!placed.ok()) return placed.failure();
    return BuildRegions(lowered, placed.value(), options);
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

Result<Executable> Compile(const Graph& canonical, const Strategy& strategy,
                           const TargetRegistry& registry, const CompileOptions& options) {
  const Target& target = registry.Get(strategy.target);
  const Graph lowered = Lower(ApplyStrategy(canonical, strategy), target, options);
  return BuildExecutable(lowered, target, registry, options);
}

}  // namespace msc
