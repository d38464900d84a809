#include "tests/compiler/targets/example_target.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/passes/rewrite.h"
#include "compiler/runtime/threads.h"
#include "compiler/targets/options.h"

namespace msc {
namespace {

// 1. Options: one field list. `example:inplace=false` makes a second target of this kind.
struct ExampleOptions {
  bool inplace = true;
  static void Fields(auto& self, auto& visit) {
    visit("inplace", self.inplace, "write Relu over its input where nobody else reads that");
  }
};

// 2. What a node becomes, or nothing. Support and lowering both ask here, so they cannot disagree.
struct Plan {
  bool relu = false;  // else Add
  std::int64_t size = 0;
};

std::optional<Plan> PlanNode(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const bool relu = node.Is("Relu");
  if (!relu && !node.Is("Add")) return std::nullopt;
  const ValueType& y = graph.type(node.outputs.at(0));
  if (y.dtype != DType::kF32) return std::nullopt;
  for (const ValueId input : node.inputs) {  // no broadcasting
    if (graph.type(input).shape != y.shape) return std::nullopt;
  }
  return Plan{.relu = relu, .size = ElementCount(StaticDims(y.shape.value()).value())};
}

// 3. What runs: addresses come from the context, nothing is allocated or looked up.
void Run(const Plan& plan, const float* a, const float* b, float* y, int threads) {
  ParallelFor(threads, plan.size, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      y[i] = plan.relu ? std::max(a[i], 0.0F) : a[i] + b[i];
  });
}

// 4. A pass of its own, in the form of compiler/passes/pass.h: what others write as Max(x, 0) is
// the Relu that this target computes.
bool WriteMaxAsRelu(Graph& graph) {
  return Sweep(graph, [&](NodeId id) {
    const Node& node = graph.node(id);
    if (!node.Is("Max") || node.inputs.size() != 2) return false;
    const TensorPtr zero = graph.constant(node.inputs[1]);
    if (!zero || zero->dtype() != DType::kF32 || zero->size() != 1 || zero->Values<float>()[0] != 0)
      return false;
    const ValueId x = node.inputs[0];
    const ValueType type = graph.type(node.outputs[0]);
    if (graph.type(x).shape != type.shape || IsCaptured(graph, node.outputs[0])) return false;
    Node relu;
    relu.op = "Relu";
    relu.inputs = {x};
    ReplaceChain(graph, std::vector{id}, std::move(relu));
    return true;
  });
}

class ExampleTarget final : public Target {
 public:
  explicit ExampleTarget(const ExampleOptions& options) : options_(options) {}

 private:
  [[nodiscard]] const TargetFacts& DoFacts() const noexcept override { return facts_; }
  [[nodiscard]] bool DoSupports(const Graph& graph, NodeId id) const override {
    return PlanNode(graph, id).has_value();
  }
  [[nodiscard]] std::optional<Failure> DoGraphToRuntime(const Region& region,
                                                        const TargetOptions& options,
                                                        ExecutableBuilder& builder) const override;
  [[nodiscard]] std::vector<Pass> DoPasses(PassPhase phase) const override {
    if (phase != PassPhase::kBeforeLowering) return {};
    return {{"write_max_as_relu", WriteMaxAsRelu}};
  }
  // 5. Patterns: what is to be tried as one region. Here Relu goes in place, see MayOverwrite.
  [[nodiscard]] std::vector<RegionPattern> DoPatterns() const override {
    return {{.name = "relu in place", .text = "Relu(Add(*, *))"}};
  }

  // 6. Facts: the version enters cache keys, so it changes when results or speed may.
  TargetFacts facts_{.name = "example", .device = "cpu", .version = "1"};
  ExampleOptions options_;
};

// What is read again must not be overwritten, nor what others made: it may be a view of an input.
bool MayOverwrite(const Region& region, ValueId value) {
  const Graph& graph = *region.graph;
  const auto made_by = std::find(region.nodes.begin(), region.nodes.end(), graph.producer(value));
  return made_by != region.nodes.end() && graph.uses(value).size() == 1 && !graph.IsOutput(value);
}

// 7. Lowering: one step a node, over the dense buffers of its values.
std::optional<Failure> ExampleTarget::DoGraphToRuntime(const Region& region,
                                                       const TargetOptions& options,
                                                       ExecutableBuilder& builder) const {
  const Graph& graph = *region.graph;
  for (const NodeId id : region.nodes) {
    const Node& node = graph.node(id);
    const std::optional<Plan> plan = PlanNode(graph, id);
    Check(plan.has_value(), "the nodes of a region are supported");
    const BufferId a = builder.BufferOf(node.inputs[0]);
    const BufferId b = builder.BufferOf(node.inputs.back());
    const BufferId y = builder.BufferOf(node.outputs[0]);
    if (options_.inplace && plan->relu && MayOverwrite(region, node.inputs[0]) &&
        !graph.IsOutput(node.outputs[0])) {
      builder.Alias(y, a);
    }
    Step step{.name = node.name,
              .target = facts_.name,
              .nodes = {node.name},
              .precision = "f32",
              .reads = {a, b},
              .writes = {y},
              .run = {}};
    step.run = [plan = *plan, a, b, y, threads = options.threads](const StepContext& context) {
      const auto at = [&](BufferId buffer) { return reinterpret_cast<float*>(context.At(buffer)); };
      Run(plan, at(a), at(b), at(y), threads);
    };
    builder.AddStep(std::move(step));
  }
  return std::nullopt;
}

// 8. A factory. Where a library or device is missing it throws UserError saying so.
std::unique_ptr<Target> MakeExample(const ExampleOptions& options) {
  return std::make_unique<ExampleTarget>(options);
}

}  // namespace

TargetKind ExampleKind() {
  return KindOf<ExampleOptions>("example", MakeExample);
}

}  // namespace msc
