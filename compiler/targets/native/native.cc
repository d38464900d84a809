#include "compiler/targets/native/native.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/codegen/cpp/isa.h"
#include "compiler/passes/passes.h"
#include "compiler/targets/native/compile.h"
#include "compiler/targets/native/in_place.h"
#include "compiler/targets/native/module.h"
#include "compiler/targets/native/plan.h"
#include "compiler/targets/native/rules.h"
#include "compiler/targets/options.h"

namespace msc {
namespace native {
namespace {

struct NativeOptions {
  std::string isa = "auto";
  static void Fields(auto& self, auto& visit) {
    visit("isa", self.isa, "instruction set to use; auto = all that this CPU supports",
          Within::OneOf({"auto", "baseline", "avx2", "avx512", "avx512_vnni", "avx512_vnni_bf16"}));
  }
};

bool HasStaticType(const ValueType& type) {
  return type.container == Container::kTensor && type.shape && StaticDims(*type.shape);
}

class NativeTarget final : public Target {
 public:
  explicit NativeTarget(const Isa& isa)
      : isa_(isa),
        facts_{.name = "native",
               .device = "cpu",
               .version = "8 " + ToString(isa),
               .weight_bits = UnitOf(isa).dot4_narrow ? 7 : 8} {}

 private:
  [[nodiscard]] const TargetFacts& DoFacts() const noexcept override { return facts_; }
  [[nodiscard]] bool DoSupports(const Graph& graph, NodeId id) const override;
  [[nodiscard]] Result<kernel::Program> DoGraphToKernel(
      const Region& region, const TargetOptions& options) const override;
  [[nodiscard]] Result<std::shared_ptr<const kernel::Module>> DoKernelToRuntime(
      std::span<const kernel::KernelFunc> funcs) const override;
  [[nodiscard]] bool DoWantsFusedOps() const override { return true; }
  [[nodiscard]] std::vector<Pass> DoPasses(PassPhase phase) const override;
  [[nodiscard]] bool DoLaysChannelsLast() const override { return true; }
  [[nodiscard]] KernelChoices DoSchedules(const Graph& graph, NodeId id) const override;

  Isa isa_;
  TargetFacts facts_;
};

std::vector<Pass> NativeTarget::DoPasses(PassPhase phase) const {
  // Kernels of layers and pools are for images, and compute several pixels of a row at a time.
  if (phase == PassPhase::kBeforeLowering) {
    return {{"lay_lists_in_rows", LayListsInRows}, {"lay_columns_in_rows", LayColumnsInRows}};
  }
  return {{"remove_identities", RemoveIdentities}};
}

// Support is decided by lowering the node alone, without packing weights.
bool NativeTarget::DoSupports(const Graph& graph, NodeId id) const {
  const Node& node = graph.node(id);
  if (!node.captures.empty()) return false;
  const auto fits = [&](ValueId value) {
    return value == kNoValue || graph.constant(value) || HasStaticType(graph.type(value));
  };
  if (!std::all_of(node.inputs.begin(), node.inputs.end(), fits) ||
      !std::all_of(node.outputs.begin(), node.outputs.end(), fits)) {
    return false;
  }
  Lowering lowering(graph, std::vector{id}, UnitOf(isa_), 1, true);
  return LowerGroup(lowering, Group{.anchor = id});
}

KernelChoices NativeTarget::DoSchedules(const Graph& graph, NodeId id) const {
  if (!DoSupports(graph, id)) return {};
  const Lowering lowering(graph, std::vector{id}, UnitOf(isa_), 1, true);
  const Node& node = graph.node(id);
  KernelChoices choices = ConvChoices(lowering, node);
  return choices.schedules.empty() ? GemmChoices(lowering, node) : choices;
}

/// Lowers one node as a group of its own. DoSupports lowered it with memory of its own for the
/// result and dense inputs. So where inputs lie otherwise in the region and do not fit, they are
/// made dense one by one, the last input first: it is the residual, which is at most as large as
/// the others.
void LowerNode(Lowering& lowering, NodeId id) {
  const Group group{.anchor = id};
  const auto lower = [&] {
    lowering.PlaceAnew(ResultOf(lowering.graph(), group));
    return LowerGroup(lowering, group);
  };
  if (lower()) return;
  const std::vector<ValueId>& inputs = lowering.node(id).inputs;
  for (auto input = inputs.rbegin(); input != inputs.rend(); ++input) {
    if (*input == kNoValue || IsDense(lowering.Where(*input))) continue;
    lowering.MakeDense(*input);
    if (lower()) return;
  }
  Check(false, "what is supported alone is supported in a region");
}

/// Lowers a group as a whole if possible. A kernel that merges axes cannot write into every part of
/// a larger tensor, nor read every operand of its followers. If the group does not fit, its
/// prologue and followers become kernels of their own.
void LowerWhole(Lowering& lowering, const Group& group) {
  if (LowerGroup(lowering, group)) return;
  if (!group.prologue.empty()) {
    LowerWhole(lowering, group.prologue.front());
    LowerWhole(lowering, {.anchor = group.anchor, .followers = group.followers});
    return;
  }
  if (!group.followers.empty()) {
    LowerWhole(lowering, {.anchor = group.anchor});
    LowerWhole(lowering, {.anchor = group.followers.front().node,
                          .followers = {group.followers.begin() + 1, group.followers.end()}});
    return;
  }
  LowerNode(lowering, group.anchor);
}

Result<kernel::Program> NativeTarget::DoGraphToKernel(const Region& region,
                                                      const TargetOptions& options) const {
  Lowering lowering(*region.graph, region.nodes, UnitOf(isa_), options.threads, false);
  const std::vector<Group> groups = WithPrologues(lowering, MakeGroups(lowering, region.nodes));
  PlanLayouts(lowering, groups);
  std::set<NodeId> done;
  for (const Group& group : groups) {
    PlaceOver(lowering, group, done);
    LowerWhole(lowering, group);
    for (const NodeId id : group.nodes()) done.insert(id);
  }
  return std::move(lowering).Take();
}

Result<std::shared_ptr<const kernel::Module>> NativeTarget::DoKernelToRuntime(
    std::span<const kernel::KernelFunc> funcs) const {
  return BuildModule(funcs, isa_, BuildOptionsFrom(std::getenv));
}

std::unique_ptr<Target> MakeNativeTarget(const NativeOptions& options) {
  const Isa machine = DetectIsa();
  const Isa isa = options.isa == "auto" ? machine : *ParseIsa(options.isa);
  if (!RunsOn(isa, machine)) {
    throw UserError("this CPU has no " + options.isa + " (it has " + ToString(machine) + ")");
  }
  return std::make_unique<NativeTarget>(isa);
}

}  // namespace
}  // namespace native

TargetKind NativeKind() {
  return KindOf<native::NativeOptions>("native", native::MakeNativeTarget);
}

}  // namespace msc
