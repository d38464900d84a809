#include "compiler/targets/onednn/onednn.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <dnnl.hpp>

#include "compiler/passes/passes.h"
#include "compiler/runtime/threads.h"
#include "compiler/targets/onednn/lowering.h"
#include "compiler/targets/onednn/rules.h"

namespace msc {
namespace onednn {
namespace {

struct Rule {
  bool (*lower)(Lowering&, NodeId) = nullptr;
  std::size_t inputs = 1;    // leading inputs that must be present
  bool first_output = true;  // whether the first output must be present
};

const std::map<std::string_view, Rule>& PlainRules() {
  static const std::map<std::string_view, Rule> rules = {
      {"Abs", {LowerActivation, 1}},
      {"Add", {LowerBinary, 2}},
      {"AveragePool", {LowerPool, 1}},
      {"BatchNormalization", {LowerNorm, 1}},
      {"Cast", {LowerCast, 1}},
      {"Clip", {LowerActivation, 1}},
      {"Concat", {LowerConcat, 1}},
      {"Conv", {LowerConv, 2}},
      {"ConvTranspose", {LowerDeconv, 2}},
      {"DequantizeLinear", {LowerDequantize, 2}},
      {"Div", {LowerBinary, 2}},
      {"Elu", {LowerActivation, 1}},
      {"Exp", {LowerActivation, 1}},
      {"Flatten", {LowerReshape, 1}},
      {"Gather", {LowerGather, 2}},
      {"Gemm", {LowerGemm, 2}},
      {"GlobalAveragePool", {LowerPool, 1}},
      {"GlobalMaxPool", {LowerPool, 1}},
      {"HardSigmoid", {LowerActivation, 1}},
      {"HardSwish", {LowerActivation, 1}},
      {"Identity", {LowerReshape, 1}},
      {"LSTM", {LowerLstm, 3, false}},
      {"LayerNormalization", {LowerLayerNorm, 2}},
      {"LeakyRelu", {LowerActivation, 1}},
      {"Log", {LowerActivation, 1}},
      {"MatMul", {LowerMatMul, 2}},
      {"Max", {LowerBinary, 2}},
      {"MaxPool", {LowerPool, 1}},
      {"Min", {LowerBinary, 2}},
      {"Mul", {LowerBinary, 2}},
      {"Neg", {LowerActivation, 1}},
      {"PRelu", {LowerPRelu, 2}},
      {"Pow", {LowerActivation, 2}},
      {"QuantizeLinear", {LowerQuantize, 2}},
      {"Reciprocal", {LowerActivation, 1}},
      {"ReduceMax", {LowerReduce, 1}},
      {"ReduceMean", {LowerReduce, 1}},
      {"ReduceMin", {LowerReduce, 1}},
      {"ReduceProd", {LowerReduce, 1}},
      {"ReduceSum", {LowerReduce, 1}},
      {"Relu", {LowerActivation, 1}},
      {"Reshape", {LowerReshape, 1}},
      {"Resize", {LowerResize, 1}},
      {"Sigmoid", {LowerActivation, 1}},
      {"Slice", {LowerSlice, 3}},
      {"Softmax", {LowerSoftmax, 1}},
      {"Softplus", {LowerActivation, 1}},
      {"Split", {LowerSplit, 1}},
      {"Sqrt", {LowerActivation, 1}},
      {"Squeeze", {LowerReshape, 1}},
      {"Sub", {LowerBinary, 2}},
      {"Tanh", {LowerActivation, 1}},
      {"Transpose", {LowerTranspose, 1}},
      {"Unsqueeze", {LowerReshape, 1}},
  };
  return rules;
}

const std::map<std::string_view, Rule>& FusedRules() {
  static const std::map<std::string_view, Rule> rules = {{"Binary", {LowerBinary, 2}},
                                                         {"Conv", {LowerConv, 2}},
                                                         {"Gelu", {LowerActivation, 1}},
                                                         {"Gemm", {LowerGemm, 2}},
                                                         {"Pool", {LowerPool, 1}}};
  return rules;
}

}  // namespace

bool LowerNode(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!node.domain.empty() && node.domain != "msc") return false;
  const auto& rules = node.domain.empty() ? PlainRules() : FusedRules();
  const auto it = rules.find(node.op);
  if (it == rules.end() || node.inputs.size() < it->second.inputs) return false;
  const auto needed = std::span(node.inputs).first(it->second.inputs);
  if (std::find(needed.begin(), needed.end(), kNoValue) != needed.end()) return false;
  const bool has_first = !node.outputs.empty() && node.outputs[0] != kNoValue;
  if (it->second.first_output && !has_first) return false;
  return it->second.lower(lowering, id);
}

namespace {

std::string_view IsaName(dnnl::cpu_isa isa) {
  using dnnl::cpu_isa;
  // The library returns `all` if the CPU has every instruction set that it knows.
  constexpr auto kNames = std::to_array<std::pair<cpu_isa, std::string_view>>(
      {{cpu_isa::sse41, "sse41"},
       {cpu_isa::avx, "avx"},
       {cpu_isa::avx2, "avx2"},
       {cpu_isa::avx2_vnni, "avx2_vnni"},
       {cpu_isa::avx512_core, "avx512_core"},
       {cpu_isa::avx512_core_vnni, "avx512_core_vnni"},
       {cpu_isa::avx512_core_bf16, "avx512_core_bf16"},
       {cpu_isa::avx512_core_amx, "avx512_core_amx"},
       {cpu_isa::all, "all"}});
  const auto row = std::ranges::find(kNames, isa, [](const auto& name) { return name.first; });
  return row == kNames.end() ? "other" : row->second;
}

TargetFacts FactsOfThisMachine() {
  const dnnl_version_t& version = *dnnl_version();
  std::string text = std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
                     std::to_string(version.patch) + " ";
  text += IsaName(dnnl::get_effective_cpu_isa());
  return {.name = "onednn", .device = "cpu", .version = std::move(text)};
}

bool MultipliesInt8Exactly(dnnl::cpu_isa isa) {
  // Without VNNI, the library adds pairs of products of bytes in i16, which saturates.
  using dnnl::cpu_isa;
  static constexpr std::array<cpu_isa, 5> kWith = {cpu_isa::avx2_vnni, cpu_isa::avx512_core_vnni,
                                                   cpu_isa::avx512_core_bf16,
                                                   cpu_isa::avx512_core_amx, cpu_isa::all};
  return std::find(kWith.begin(), kWith.end(), isa) != kWith.end();
}

class OneDnnTarget final : public Target {
 public:
  OneDnnTarget()
      : facts_(FactsOfThisMachine()),
        exact_int8_(MultipliesInt8Exactly(dnnl::get_effective_cpu_isa())),
        engine_(dnnl::engine::kind::cpu, 0) {}

 private:
  [[nodiscard]] const TargetFacts& DoFacts() const noexcept override { return facts_; }
  [[nodiscard]] bool DoWantsFusedOps() const override { return true; }
  [[nodiscard]] std::vector<Pass> DoPasses(PassPhase phase) const override;
  [[nodiscard]] bool DoSupports(const Graph& graph, NodeId id) const override;
  [[nodiscard]] std::optional<Failure> DoGraphToRuntime(const Region& region,
                                                        const TargetOptions& options,
                                                        ExecutableBuilder& builder) const override;

  TargetFacts facts_;
  bool exact_int8_;
  dnnl::engine engine_;
};

std::vector<Pass> OneDnnTarget::DoPasses(PassPhase phase) const {
  // Its kernels compute up to 28 pixels of a row at a time, and a row of one pixel is all overhead.
  if (phase == PassPhase::kBeforeLowering) return {{"lay_columns_in_rows", LayColumnsInRows}};
  return {{"remove_identities", RemoveIdentities}};
}

/// Returns whether oneDNN can count the elements of a value: it computes some sizes in 32 bits, and
/// divides by zero where they overflow.
bool IsCountable(const Graph& graph, ValueId value) {
  if (value == kNoValue) return true;
  const auto& shape = graph.type(value).shape;
  const auto dims = shape ? StaticDims(*shape) : std::nullopt;
  return dims && ElementCount(*dims) <= std::numeric_limits<std::int32_t>::max();
}

bool OneDnnTarget::DoSupports(const Graph& graph, NodeId id) const {
  const Node& node = graph.node(id);
  const auto countable = [&](ValueId value) { return IsCountable(graph, value); };
  if (!std::all_of(node.inputs.begin(), node.inputs.end(), countable) ||
      !std::all_of(node.outputs.begin(), node.outputs.end(), countable)) {
    return false;
  }
  const bool sums = node.op == "Conv" || node.op == "Gemm";
  if (sums && !exact_int8_ && !node.inputs.empty() && node.inputs[0] != kNoValue) {
    const DType x = graph.type(node.inputs[0]).dtype;
    if (x == DType::kI8 || x == DType::kU8) return false;
  }
  const std::array<NodeId, 1> nodes = {id};
  Lowering lowering(graph, nodes, engine_);
  return LowerNode(lowering, id);
}

std::optional<Failure> OneDnnTarget::DoGraphToRuntime(const Region& region,
                                                      const TargetOptions& options,
                                                      ExecutableBuilder& builder) const {
  UseThreads(options.threads);
  Lowering lowering(region, engine_, options, builder);
  try {
    for (const NodeId id : region.nodes) {
      if (lowering.IsAbsorbed(id)) continue;
      if (!LowerNode(lowering, id)) {
        return Failure{FailureKind::kCompile,
                       "onednn cannot build node '" + region.graph->node(id).name + "'"};
      }
    }
  } catch (const dnnl::error& error) {
    const bool memory = error.status == dnnl_out_of_memory;
    return Failure{memory ? FailureKind::kOutOfMemory : FailureKind::kCompile,
                   std::string("onednn: ") + error.what()};
  }
  return std::nullopt;
}

}  // namespace
}  // namespace onednn

std::unique_ptr<Target> MakeOneDnnTarget() {
  return std::make_unique<onednn::OneDnnTarget>();
}

}  // namespace msc
