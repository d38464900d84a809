#include "compiler/targets/blas/blas.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/codegen/cpp/isa.h"
#include "compiler/targets/blas/library.h"
#include "compiler/targets/blas/lower.h"
#include "compiler/targets/blas/plan.h"
#include "compiler/targets/native/compile.h"
#include "compiler/targets/native/math.h"
#include "compiler/targets/native/module.h"
#include "compiler/targets/native/plan.h"
#include "compiler/targets/native/rules.h"
#include "compiler/targets/options.h"

namespace msc {
namespace blas {
namespace {

struct BlasOptions {
  std::string library = "openblas";
  static void Fields(auto& self, auto& visit) {
    visit("library", self.library, "library that multiplies matrices",
          Within::OneOf({"openblas", "blis", "xsmm"}));
  }
};

class BlasTarget final : public Target {
 public:
  explicit BlasTarget(const Library& library)
      : library_(&library),
        isa_(DetectIsa()),
        facts_{.name = "blas",
               .device = "cpu",
               .version = library.version + ", kernels 1 " + ToString(isa_)} {}

 private:
  [[nodiscard]] const TargetFacts& DoFacts() const noexcept override { return facts_; }
  [[nodiscard]] bool DoWantsFusedOps() const override { return true; }
  [[nodiscard]] bool DoSupports(const Graph& graph, NodeId id) const override {
    return PlanOf(graph, id).has_value() || (Follows(graph, id, kFarthest) && Computes(graph, id));
  }
  [[nodiscard]] Result<kernel::Program> DoGraphToKernel(
      const Region& region, const TargetOptions& options) const override;
  [[nodiscard]] Result<std::shared_ptr<const kernel::Module>> DoKernelToRuntime(
      std::span<const kernel::KernelFunc> funcs) const override {
    return BuildModule(funcs, isa_, BuildOptionsFrom(std::getenv), [this](std::string_view name) {
      return name == kernel::kSgemm ? library_->sgemm : nullptr;
    });
  }

  /// Longest chain of elementwise nodes after a product that Follows accepts.
  static constexpr int kFarthest = 4;
  [[nodiscard]] std::optional<Plan> PlanOf(const Graph& graph, NodeId id) const {
    return PlanNode(graph, id, library_->transposes);
  }
  [[nodiscard]] bool Follows(const Graph& graph, NodeId id, int farthest) const;
  [[nodiscard]] bool Computes(const Graph& graph, NodeId id) const;

  const Library* library_;
  Isa isa_;
  TargetFacts facts_;
};

bool IsDenseF32(const Graph& graph, ValueId value) {
  if (value == kNoValue) return true;
  const ValueType& type = graph.type(value);
  return type.dtype == DType::kF32 && type.container == Container::kTensor && type.shape &&
         StaticDims(*type.shape);
}

/// Returns whether the node is elementwise and reads a product, directly or through up to
/// `farthest` - 1 other elementwise nodes.
bool BlasTarget::Follows(const Graph& graph, NodeId id, int farthest) const {
  if (farthest == 0 || !native::IsElementwise(graph, id)) return false;
  const Node& node = graph.node(id);
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    const NodeId producer = input == kNoValue ? kNoNode : graph.producer(input);
    return producer != kNoNode &&
           (PlanOf(graph, producer) || Follows(graph, producer, farthest - 1));
  });
}

/// Returns whether an f32 elementwise node can also be computed by a kernel of its own.
bool BlasTarget::Computes(const Graph& graph, NodeId id) const {
  const Node& node = graph.node(id);
  const auto fits = [&](ValueId value) { return IsDenseF32(graph, value); };
  if (!node.captures.empty() || !std::all_of(node.inputs.begin(), node.inputs.end(), fits) ||
      !std::all_of(node.outputs.begin(), node.outputs.end(), fits)) {
    return false;
  }
  native::Lowering lowering(graph, std::vector{id}, native::UnitOf(isa_), 1, true);
  return native::LowerElementwise(lowering, {.anchor = id});
}

Result<kernel::Program> BlasTarget::DoGraphToKernel(const Region& region,
                                                    const TargetOptions& options) const {
  const Graph& graph = *region.graph;
  native::Lowering lowering(graph, region.nodes, native::UnitOf(isa_), 1, false);
  for (const native::Group& group : native::MakeGroups(lowering, region.nodes)) {
    if (const std::optional<Plan> plan = PlanOf(graph, group.anchor)) {
      LowerProduct(lowering, group, *plan, options.threads);
      continue;
    }
    // Where() places the result densely, as a product that reads it needs it.
    (void)lowering.Where(ResultOf(graph, group));
    Check(native::LowerElementwise(lowering, group), "what is supported alone is supported here");
  }
  return std::move(lowering).Take();
}

std::unique_ptr<Target> MakeBlasTarget(const BlasOptions& options) {
  return std::make_unique<BlasTarget>(LoadLibrary(options.library));
}

}  // namespace
}  // namespace blas

TargetKind BlasKind() {
  return KindOf<blas::BlasOptions>("blas", blas::MakeBlasTarget);
}

}  // namespace msc
