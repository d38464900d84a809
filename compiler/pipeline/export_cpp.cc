#include "compiler/pipeline/export_cpp.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/codegen/cpp/package.h"
#include "compiler/pipeline/compile.h"

namespace msc {
namespace {

constexpr double kLeastTolerance = 1e-4;

std::vector<Isa> IsasFor(const std::vector<Isa>& wanted) {
  const Isa machine = DetectIsa();
  std::vector<Isa> isas = wanted;
  if (isas.empty()) {
    for (const char* name : {"avx512_vnni_bf16", "avx512_vnni", "avx512", "avx2", "baseline"}) {
      const Isa isa = *ParseIsa(name);
      if (Runs(isa, machine)) isas.push_back(isa);
    }
  }
  for (const Isa& isa : isas) {
    if (!Runs(isa, machine)) {
      throw UserError("this CPU cannot run, so not check, code for " + ToString(isa) + "; it has " +
                      ToString(machine));
    }
  }
  // The best that a machine has is taken, so what needs more comes first.
  std::stable_sort(isas.begin(), isas.end(),
                   [](const Isa& a, const Isa& b) { return Runs(b, a) && !Runs(a, b); });
  isas.erase(std::unique(isas.begin(), isas.end()), isas.end());
  return isas;
}

void CheckSupported(const Graph& lowered, const Target& target) {
  std::set<std::string> refused;
  for (const NodeId id : lowered.order()) {
    if (!target.Supports(lowered, id)) refused.insert(lowered.node(id).op);
  }
  if (refused.empty()) return;
  std::string list;
  for (const std::string& op : refused) list += (list.empty() ? "" : ", ") + op;
  throw UserError("no native kernel runs these operators as this model uses them: " + list +
                  "; a package of C++ has nothing else to run them with");
}

/// Values of the model's inputs and outputs by position, all others after them: lowering for other
/// instructions may number values otherwise, and the ports of a package are the same for all.
class Ports {
 public:
  explicit Ports(const Graph& lowered) : lowered_(lowered) {}

  [[nodiscard]] ValueId Input(std::size_t i) const { return static_cast<ValueId>(i); }
  [[nodiscard]] ValueId Output(std::size_t i) const {
    return static_cast<ValueId>(lowered_.inputs().size() + i);
  }
  [[nodiscard]] ValueId Of(ValueId value) const {
    const auto& inputs = lowered_.inputs();
    const auto& outputs = lowered_.outputs();
    if (const auto it = std::find(inputs.begin(), inputs.end(), value); it != inputs.end()) {
      return Input(static_cast<std::size_t>(it - inputs.begin()));
    }
    if (const auto it = std::find(outputs.begin(), outputs.end(), value); it != outputs.end()) {
      return Output(static_cast<std::size_t>(it - outputs.begin()));
    }
    return static_cast<ValueId>(inputs.size() + outputs.size() + static_cast<std::size_t>(value));
  }

 private:
  const Graph& lowered_;
};

std::vector<PackagePort> PortsOf(const Graph& graph, const std::vector<ValueId>& values,
                                 const auto& port) {
  std::vector<PackagePort> ports;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ValueType& type = graph.type(values[i]);
    ports.push_back({graph.value(values[i]).name, type.dtype, *StaticDims(*type.shape), port(i)});
  }
  return ports;
}

kernel::Program ProgramOf(const Graph& lowered, const Target& target) {
  auto program = target.GraphToKernel({&lowered, lowered.order()}, {});
  if (!program.ok()) throw UserError("no kernels: " + program.failure().detail);
  const Ports ports(lowered);
  for (kernel::ProgramBuffer& buffer : program.value().buffers) {
    if (buffer.kind == kernel::ProgramBuffer::Kind::kValue) buffer.value = ports.Of(buffer.value);
  }
  return std::move(program).value();
}

/// Largest difference by the range of `wanted`.
double Difference(const Tensor& wanted, const Tensor& got) {
  if (wanted.dtype() != DType::kF32) {
    return std::ranges::equal(wanted.Raw(), got.Raw()) ? 0 : 1;
  }
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  double most = 0;
  const auto a = wanted.Values<float>();
  const auto b = got.Values<float>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    low = std::min<double>(low, a[i]);
    high = std::max<double>(high, a[i]);
    most = std::max(most, std::abs(static_cast<double>(a[i]) - b[i]));
  }
  return most > 0 ? most / std::max(high - low, std::abs(high)) : 0;
}

}  // namespace

CppExportSummary ExportCpp(const Graph& canonical, const Strategy& strategy,
                           const TargetRegistry& targets, std::span<const Tensor> inputs,
                           const CppExportOptions& options, const std::string& folder) {
  CppExportSummary summary;
  summary.isas = IsasFor(options.isas);
  const Graph applied = ApplyStrategy(canonical, strategy);
  const CompileOptions compile{.threads = 1, .bindings = options.bindings};
  CppPackage package;
  package.example_inputs.assign(inputs.begin(), inputs.end());
  for (const Isa& isa : summary.isas) {
    const Target& target = targets.Get("native:isa=" + ToString(isa));
    const Graph lowered = Lower(applied, target, compile);
    CheckSupported(lowered, target);
    package.variants.push_back({isa, ProgramOf(lowered, target)});
    auto executable = BuildExecutable(lowered, target, targets, compile);
    if (!executable.ok()) throw UserError("cannot be compiled: " + executable.failure().detail);
    std::vector<Tensor> outputs = executable.value().Run(inputs);
    if (package.example_outputs.empty()) {
      const Ports ports(lowered);
      package.inputs =
          PortsOf(lowered, lowered.inputs(), [&](std::size_t i) { return ports.Input(i); });
      package.outputs =
          PortsOf(lowered, lowered.outputs(), [&](std::size_t i) { return ports.Output(i); });
      package.example_outputs = std::move(outputs);
      continue;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      summary.spread = std::max(summary.spread, Difference(package.example_outputs[i], outputs[i]));
    }
  }
  // Twice what was seen: another compiler contracts other products and sums.
  package.tolerance = std::max(kLeastTolerance, 2 * summary.spread);
  summary.kernels = package.variants.front().program.funcs.size();
  WriteCppPackage(package, folder);
  return summary;
}

}  // namespace msc
