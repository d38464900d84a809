#include "tests/fuzz/structural_mutants.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/codegen/onnx/export.h"
#include "compiler/compress/prune/prune.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/import/onnx/import.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "compiler/ops/declared.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/partly_compiled.h"

namespace msc::fuzz {
namespace {

/// Weights of larger models are not written as text and hashed each time.
constexpr std::int64_t kWrittenBytes = 2'000'000;

class Course {
 public:
  Course(const TargetRegistry& registry, const MutantOptions& options)
      : registry_(registry), options_(options), rng_(options.seed) {}

  MutantEnd Take(std::string_view bytes) {
    std::optional<Graph> graph;
    Stage("import", [&] { graph = ImportOnnxBytes(bytes); });
    if (!graph) return std::move(end_);
    end_.imported = true;
    Part("text", [&] { WriteAndRead(*graph); });
    Graph canonical = *graph;
    bool is_canonical = false;
    Stage("canonicalize", [&] {
      Canonicalize(canonical);
      MustHold("the canonical graph is sound", [&] { Verify(canonical); });
      is_canonical = true;
    });
    if (!is_canonical) return std::move(end_);
    Part("export", [&] { ExportAndImport(canonical); });
    Part("prune", [&] { Prune(canonical); });
    Part("quantize", [&] { Quantize(canonical); });
    CompileForAll("f32", canonical);
    Stage("run in part", [&] { RunInPart(canonical); });
    return std::move(end_);
  }

 private:
  /// Runs `body` unless something is found already; refusals go no further than it.
  template <class Body>
  void Stage(const std::string& stage, const Body& body) {
    if (end_.finding) return;
    if (options_.on_stage) options_.on_stage(stage);
    try {
      body();
    } catch (const UserError& error) {
      end_.refusals.push_back(stage + ": " + error.what());
    } catch (const std::bad_alloc&) {
      end_.finding = stage + ": out of memory";
    } catch (const std::exception& error) {
      end_.finding = stage + ": " + error.what();
    }
  }
  /// A stage that is one of those drawn.
  template <class Body>
  void Part(const std::string& stage, const Body& body) {
    if (options_.all || rng_.Below(3) == 0) Stage(stage, body);
  }
  /// What this program itself makes must not be refused.
  template <class Body>
  static void MustHold(const std::string& what, const Body& body) {
    try {
      body();
    } catch (const UserError& error) {
      throw InternalError(what + ", but: " + error.what(), __FILE__, __LINE__);
    }
  }

  static void WriteAndRead(const Graph& graph) {
    if (CountContents(graph).weight_bytes > kWrittenBytes) return;
    MustHold("text reads back", [&] {
      Check(SameGraph(ParseGraph(Print(graph)), graph), "text reads back as the same graph");
    });
    MustHold("files read back", [&] {
      Check(SameGraph(FromFiles(ToFiles(graph)), graph), "files read back as the same graph");
    });
    (void)GraphHash(graph);
    (void)StructureHash(graph);
  }

  void ExportAndImport(const Graph& graph) {
    const std::string newest =
        ExportOnnxBytes(graph, {.opset = kNewestOpset, .bf16 = Bf16Export::kKeep});
    MustHold("what is exported imports", [&] { (void)ImportOnnxBytes(newest); });
    const auto sets = static_cast<std::uint64_t>(kNewestOpset - kOldestWrittenOpset);
    const std::int64_t opset = kOldestWrittenOpset + static_cast<std::int64_t>(rng_.Below(sets));
    const std::string older = ExportOnnxBytes(graph, {.opset = opset, .narrow_ends = true});
    MustHold("what is exported at set " + std::to_string(opset) + " imports",
             [&] { (void)ImportOnnxBytes(older); });
  }

  /// Every other unit.
  void Prune(const Graph& canonical) {
    const PruneSpace space(canonical);
    PrunePlan plan;
    for (const PruneGroup& group : space.groups()) {
      if (rng_.Below(4) == 0) continue;
      PruneChoice choice{.units = static_cast<std::int64_t>(group.units), .keep = {}};
      for (std::int64_t unit = 0; unit < choice.units; unit += 2) choice.keep.push_back(unit);
      plan.groups[group.name] = std::move(choice);
    }
    Graph pruned = canonical;
    ApplyPrunePlan(plan, pruned);
    MustHold("the pruned graph is sound", [&] {
      Verify(pruned);
      InferTypes(pruned);
    });
    Graph masked = canonical;
    MaskPrunePlan(plan, masked);
    MustHold("the masked graph is sound", [&] { Verify(masked); });
    CompileForOne("pruned", pruned);
  }

  static bool HasFiniteWeights(const Graph& graph) {
    return std::ranges::all_of(graph.constants(), [&](ValueId id) {
      const TensorPtr tensor = graph.constant(id);
      return tensor->dtype() != DType::kF32 ||
             std::ranges::all_of(tensor->Values<float>(), [](float x) { return std::isfinite(x); });
    });
  }

  /// Each layer in one of the precisions that it allows.
  void Quantize(const Graph& canonical) {
    Strategy strategy;
    for (const QuantizableLayer& layer : FindQuantizableLayers(canonical)) {
      const Precision drawn = layer.allowed[rng_.Below(layer.allowed.size())];
      strategy.quantize.layers[layer.name] = drawn;
    }
    const Calibrator calibrator(canonical);
    for (const std::string& tensor : calibrator.tensors()) {
      strategy.quantize.activations[tensor] = {.dtype = "i8", .scale = 0.125, .zero_point = 0};
    }
    Graph applied;
    const auto apply = [&] { applied = ApplyStrategy(canonical, strategy); };
    HasFiniteWeights(canonical) ? MustHold("a plan made for the graph applies", apply) : apply();
    MustHold("the quantized graph is sound", [&] { Verify(applied); });
    CompileForOne("quantized", applied);
  }

  void CompileForOne(const std::string& what, const Graph& graph) {
    if (options_.all) return CompileForAll(what, graph);
    if (!options_.targets.empty()) {
      CompileFor(what, graph, options_.targets[rng_.Below(options_.targets.size())]);
    }
  }
  void CompileForAll(const std::string& what, const Graph& graph) {
    for (const std::string& target : options_.targets) {
      if (options_.all || rng_.Below(options_.targets.size()) < 2) {
        CompileFor(what, graph, target);
      }
    }
  }

  /// Runs a model of which only a run decides some sizes. Its loops may go round for years, so
  /// those with a number that nobody knows are left alone.
  void RunInPart(const Graph& canonical) {
    const Graph bound = BindSizes(canonical, {});
    if (!FirstDecidedInRun(bound) || !IsSmall(bound)) return;
    for (const NodeId id : bound.order()) {
      if (bound.node(id).Is("Loop")) return;
    }
    Strategy strategy;
    strategy.target = "reference";
    Result<PartlyCompiled> model = PartlyCompiled::Build(canonical, strategy, registry_, {});
    if (!model.ok()) throw UserError(model.failure().detail);
    const PartlyCompiled built = std::move(model).value();
    (void)built.Run(InputsOf(built.input_types()));
  }

  void CompileFor(const std::string& what, const Graph& graph, const std::string& target) {
    std::optional<Lowered> lowered;
    Strategy strategy;
    strategy.target = target;
    const std::string on = " " + what + " for " + target;
    Stage("lower" + on, [&] { lowered = LowerFor(graph, strategy, registry_, {}); });
    if (!lowered || !IsSmall(lowered->graph)) return;
    if (target == "native") {
      Stage("kernels" + on, [&] { MakeKernels(lowered->graph, registry_.Get(target)); });
      return;
    }
    std::optional<Executable> executable;
    Stage("build" + on, [&] {
      Result<Executable> built = BuildExecutable(*lowered, registry_, {});
      if (built.ok()) {
        executable = std::move(built).value();
      } else if (built.failure().kind != FailureKind::kUnsupported &&
                 built.failure().kind != FailureKind::kOutOfMemory) {
        throw InternalError("what a target supports builds, but: " + built.failure().detail,
                            __FILE__, __LINE__);
      } else {
        throw UserError(built.failure().detail);
      }
    });
    if (executable && IsQuick(*executable, lowered->graph)) {
      Stage("run" + on, [&] { (void)executable->Run(InputsOf(executable->input_types())); });
    }
  }

  /// Native's kernels, which a compiler would take a second for.
  static void MakeKernels(const Graph& graph, const Target& native) {
    Region region{.graph = &graph, .nodes = {}};
    const auto make = [&] {
      if (region.nodes.empty()) return;
      const Result<kernel::Program> made = native.GraphToKernel(region, {});
      if (!made.ok()) {
        throw InternalError("what native supports has kernels, but: " + made.failure().detail,
                            __FILE__, __LINE__);
      }
      region.nodes.clear();
    };
    for (const NodeId node : graph.order()) {
      const bool taken = TypesFollow(graph, node) && native.Supports(graph, node);
      taken ? region.nodes.push_back(node) : make();
    }
    make();
  }

  [[nodiscard]] bool IsSmall(const Graph& graph) const {
    double bytes = 0;
    for (const ValueId value : graph.values()) {
      const ValueType& type = graph.type(value);
      if (!type.shape || type.dtype == DType::kUndefined) continue;
      double size = 8;
      for (const Dim& dim : *type.shape) size *= static_cast<double>(dim.size());
      bytes += size;
    }
    return bytes <= options_.most_bytes;
  }
  [[nodiscard]] bool IsQuick(const Executable& executable, const Graph& graph) const {
    double all = 0;
    double reference = 0;
    for (const NodeId node : graph.order()) all += CostOf(graph, node).flops;
    for (const Step& step : executable.steps()) {
      if (step.target != "reference") continue;
      for (const std::string& name : step.nodes) {
        const NodeId node = graph.FindNode(name);
        if (node != kNoNode) reference += CostOf(graph, node).flops;
      }
    }
    return all <= options_.most_flops && reference <= options_.most_reference_flops;
  }
  std::vector<Tensor> InputsOf(const std::vector<ValueType>& types) {
    std::vector<Tensor> inputs;
    for (const ValueType& type : types) {
      Tensor tensor(type.dtype, *StaticDims(*type.shape));
      if (type.dtype == DType::kF32) {
        for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng_.Normal());
      } else if (type.dtype == DType::kI64) {
        for (std::int64_t& x : tensor.MutableValues<std::int64_t>()) {
          x = static_cast<std::int64_t>(rng_.Below(5)) - 1;
        }
      }
      inputs.push_back(std::move(tensor));
    }
    return inputs;
  }

  const TargetRegistry& registry_;
  const MutantOptions& options_;
  Rng rng_;
  MutantEnd end_;
};

}  // namespace

MutantEnd TryMutant(std::string_view bytes, const TargetRegistry& registry,
                    const MutantOptions& options) {
  return Course(registry, options).Take(bytes);
}

}  // namespace msc::fuzz
