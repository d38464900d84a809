#include "compiler/targets/xnnpack/xnnpack.h"

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "compiler/base/error.h"
#include "compiler/codegen/cpp/isa.h"
#include "compiler/targets/xnnpack/rules.h"

namespace msc {
namespace xnnpack {
namespace {

bool LowerReshape(Lowering& lowering, NodeId id) {
  const Node& node = lowering.graph().node(id);
  if (!lowering.DimsOf(node.inputs[0]) || !lowering.DimsOf(node.outputs[0])) return false;
  lowering.Same(node.outputs[0], Layout::kDense, node.inputs[0], Layout::kDense);
  lowering.Finish(node.outputs[0]);
  return true;
}

/// Lowers a Transpose between channels-last images stored as dense values and channels-first values
/// of the graph. Both are the same memory under different layouts.
bool LowerTranspose(Lowering& lowering, NodeId id) {
  const Node& node = lowering.graph().node(id);
  const ValueId x = node.inputs[0];
  const ValueId y = node.outputs[0];
  const std::optional<Dims> dims = lowering.DimsOf(x);
  if (!dims || dims->size() != 4 || lowering.graph().constant(x)) return false;
  const auto perm = AttrOr(node, "perm", std::vector<std::int64_t>());
  if (perm == std::vector<std::int64_t>{0, 3, 1, 2}) {
    lowering.Same(y, Layout::kChannelsLast, x, Layout::kDense);
  } else if (perm == std::vector<std::int64_t>{0, 2, 3, 1}) {
    lowering.Same(y, Layout::kDense, x, Layout::kChannelsLast);
  } else {
    return false;
  }
  lowering.Finish(y);
  return true;
}

using Lower = bool (*)(Lowering&, NodeId);

const std::map<std::string_view, Lower>& PlainRules() {
  static const std::map<std::string_view, Lower> rules = {
      {"Add", LowerBinary},
      {"AveragePool", LowerPool},
      {"Clip", LowerActivation},
      {"Concat", LowerConcat},
      {"Conv", LowerConv},
      {"Div", LowerBinary},
      {"Flatten", LowerReshape},
      {"Gemm", LowerGemm},
      {"GlobalAveragePool", LowerPool},
      {"HardSwish", LowerActivation},
      {"LeakyRelu", LowerActivation},
      {"MatMul", LowerGemm},
      {"Max", LowerBinary},
      {"MaxPool", LowerPool},
      {"Min", LowerBinary},
      {"Mul", LowerBinary},
      {"PRelu", LowerActivation},
      {"Relu", LowerActivation},
      {"Reshape", LowerReshape},
      {"Sigmoid", LowerActivation},
      {"Softmax", LowerSoftmax},
      {"Squeeze", LowerReshape},
      {"Sub", LowerBinary},
      {"Transpose", LowerTranspose},
      {"Unsqueeze", LowerReshape},
  };
  return rules;
}

const std::map<std::string_view, Lower>& FusedRules() {
  static const std::map<std::string_view, Lower> rules = {
      {"Binary", LowerBinary}, {"Conv", LowerConv}, {"Gemm", LowerGemm}, {"Pool", LowerPool}};
  return rules;
}

/// Returns the library version with the CPU's instruction set, because the library does not report
/// which kernels it chose.
std::string VersionHere() {
  std::string version = MSC_XNNPACK_VERSION;
  version += " ";
  version += ToString(DetectIsa());
  return version;
}

class XnnpackTarget final : public Target {
 private:
  [[nodiscard]] const TargetFacts& DoFacts() const noexcept override { return facts_; }
  [[nodiscard]] bool DoWantsFusedOps() const override { return true; }
  [[nodiscard]] bool DoLaysChannelsLast() const override { return true; }
  [[nodiscard]] bool DoSupports(const Graph& graph, NodeId id) const override {
    const std::array<NodeId, 1> nodes = {id};
    Lowering lowering(graph, nodes);
    return LowerNode(lowering, id);
  }
  [[nodiscard]] std::optional<Failure> DoGraphToRuntime(const Region& region,
                                                        const TargetOptions& options,
                                                        ExecutableBuilder& builder) const override {
    Lowering lowering(region, options.threads, builder);
    for (const NodeId id : region.nodes) {
      if (LowerNode(lowering, id)) continue;
      return Failure{FailureKind::kCompile,
                     "xnnpack cannot build node '" + region.graph->node(id).name + "'"};
    }
    return std::nullopt;
  }

  TargetFacts facts_{.name = "xnnpack", .device = "cpu", .version = VersionHere()};
};

}  // namespace

bool LowerNode(Lowering& lowering, NodeId id) {
  const Node& node = lowering.graph().node(id);
  if (!node.domain.empty() && node.domain != "msc") return false;
  const auto& rules = node.domain.empty() ? PlainRules() : FusedRules();
  const auto it = rules.find(node.op);
  if (it == rules.end() || node.inputs.empty() || node.inputs[0] == kNoValue) return false;
  const bool two = it->second == LowerConv || it->second == LowerGemm ||
                   it->second == LowerBinary || node.op == "PRelu";
  if (two && (node.inputs.size() < 2 || node.inputs[1] == kNoValue)) return false;
  if (node.outputs.empty() || node.outputs[0] == kNoValue) return false;
  return lowering.DimsOf(node.outputs[0]) && it->second(lowering, id);
}

}  // namespace xnnpack

std::unique_ptr<Target> MakeXnnpackTarget() {
  if (xnn_initialize(nullptr) != xnn_status_success) {
    throw UserError("XNNPACK does not know this CPU");
  }
  return std::make_unique<xnnpack::XnnpackTarget>();
}

}  // namespace msc
