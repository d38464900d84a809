#include "compiler/pipeline/export_cpp.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/formatted.h"
#include "compiler/codegen/cpp/package.h"
#include "compiler/ops/declared.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/compile.h"

namespace msc {
namespace {

/// The least tolerance of the package's test, relative to an output's range.
constexpr double kLeastTolerance = 1e-4;

std::vector<Isa> IsasFor(const std::vector<Isa>& wanted) {
  const Isa machine = DetectIsa();
  std::vector<Isa> isas = wanted;
  if (isas.empty()) {
    for (const char* name : {"avx512_vnni_bf16", "avx512_vnni", "avx512", "avx2", "baseline"}) {
      const Isa isa = *ParseIsa(name);
      if (RunsOn(isa, machine)) isas.push_back(isa);
    }
  }
  for (const Isa& isa : isas) {
    if (!RunsOn(isa, machine)) {
      throw UserError("this CPU cannot run, so not check, code for " + ToString(isa) + "; it has " +
                      ToString(machine));
    }
  }
  // The package picks the first variant that the machine can run, so those with most requirements
  // come first.
  std::stable_sort(isas.begin(), isas.end(),
                   [](const Isa& a, const Isa& b) { return RunsOn(b, a) && !RunsOn(a, b); });
  isas.erase(std::unique(isas.begin(), isas.end()), isas.end());
  return isas;
}

void CheckSupported(const Graph& lowered, const Target& target) {
  std::set<std::string> refused;
  for (const NodeId id : lowered.order()) {
    if (!TypesFollow(lowered, id) || !target.Supports(lowered, id))
      refused.insert(lowered.node(id).op);
  }
  if (refused.empty()) return;
  std::string list;
  for (const std::string& op : refused) list += (list.empty() ? "" : ", ") + op;
  throw UserError("no native kernel runs these operators as this model uses them: " + list +
                  "; a package of C++ has nothing else to run them with");
}

/// Numbers values by position: inputs of the model first, then outputs, then all others. Lowering
/// for other instructions may number values differently, but all variants must have the same ports.
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

/// Returns how much two sets of kernels may differ by rounding alone, relative to an output's
/// range. Sums in another order move f32 by some last bits; tests allow targets 1e-4 per operator.
/// A value stored in fewer bits that lies between two levels moves by a step, and later values
/// follow: some hundredths if there are few bits. Wrong kernels differ by as much as the values
/// themselves.
double RoundingLimit(const Graph& graph) {
  double limit = 1e-3;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.Is("QuantizeLinear")) return 0.1;
    if (!node.Is("Cast")) continue;
    const DType to = graph.type(node.outputs[0]).dtype;
    if (to == DType::kBF16) limit = 0.05;
    if (to == DType::kF16) limit = std::max(limit, 0.01);
  }
  return limit;
}

/// Returns the elements as numbers; empty for types whose values are no quantities.
std::vector<double> Numbers(const Tensor& tensor) {
  std::vector<double> numbers;
  const auto copy = [&](auto values) { numbers.assign(values.begin(), values.end()); };
  if (tensor.dtype() == DType::kF32) copy(tensor.Values<float>());
  if (tensor.dtype() == DType::kF16) {
    for (const std::uint16_t half : tensor.Values<std::uint16_t>()) {
      numbers.push_back(static_cast<double>(FromF16(half)));
    }
  }
  if (tensor.dtype() == DType::kI8) copy(tensor.Values<std::int8_t>());
  if (tensor.dtype() == DType::kU8) copy(tensor.Values<std::uint8_t>());
  return numbers;
}

/// Returns the largest difference relative to the range of `wanted`; infinite if only one of two
/// elements is NaN.
double Difference(const Tensor& wanted, const Tensor& got) {
  const std::vector<double> a = Numbers(wanted);
  const std::vector<double> b = Numbers(got);
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    low = std::min(low, a[i]);
    high = std::max(high, a[i]);
    if (std::isnan(a[i]) != std::isnan(b[i])) return std::numeric_limits<double>::infinity();
    most = std::max(most, std::abs(a[i] - b[i]));
  }
  // An output whose elements are all equal has no range; its magnitude stands for it.
  return most > 0 ? most / std::max(high - low, std::abs(high)) : 0;
}

/// Returns the difference of two variants. Integers must be equal in every bit, as the package's
/// test requires.
double SpreadOf(const Tensor& first, const Tensor& other) {
  const bool real = first.dtype() == DType::kF32 || first.dtype() == DType::kF16;
  if (real) return Difference(first, other);
  return std::ranges::equal(first.Raw(), other.Raw()) ? 0 : 1;
}

/// Returns the largest `difference` of two lists of outputs. UserError if it is above `limit`: one
/// of the two is then wrong, and a test with such a tolerance would be useless.
double CheckedDifference(const std::vector<Tensor>& wanted, const std::vector<Tensor>& got,
                         double (*difference)(const Tensor&, const Tensor&), double limit,
                         const std::string& who) {
  double most = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    most = std::max(most, difference(wanted[i], got[i]));
  }
  if (most <= limit) return most;
  throw UserError(who + " differ on the example by " +
                  Formatted("%.2g of their range; rounding explains %.2g", most, limit) +
                  ", so nothing was written");
}

}  // namespace

CppExportSummary ExportCpp(const Graph& canonical, const Strategy& strategy,
                           const TargetRegistry& targets, std::span<const Tensor> inputs,
                           const CppExportOptions& options, const std::string& folder) {
  CppExportSummary summary;
  summary.isas = IsasFor(options.isas);
  const Graph applied = ApplyStrategy(canonical, strategy);
  const CompileOptions compile{.threads = 1, .bindings = options.bindings};
  const Graph bound = BindSizes(applied, compile);
  // Every variant must agree with the reference kernels up to rounding, and with the first variant,
  // whose outputs are the example's.
  const std::vector<Tensor> wanted = Interpret(bound, inputs);
  const double limit = RoundingLimit(bound);
  CppPackage package;
  package.example_inputs = {inputs.begin(), inputs.end()};
  for (const Isa& isa : summary.isas) {
    const Target& target = targets.Get("native:isa=" + ToString(isa));
    const Graph lowered = Lower(applied, target, compile);
    CheckSupported(lowered, target);
    package.variants.push_back({isa, ProgramOf(lowered, target)});
    auto executable = BuildExecutable(lowered, target, targets, compile);
    if (!executable.ok()) throw UserError("cannot be compiled: " + executable.failure().detail);
    std::vector<Tensor> outputs = executable.value().Run(inputs);
    (void)CheckedDifference(wanted, outputs, Difference, limit,
                            "kernels for " + ToString(isa) + " and the reference kernels");
    if (package.example_outputs.empty()) {
      const Ports ports(lowered);
      package.inputs =
          PortsOf(lowered, lowered.inputs(), [&](std::size_t i) { return ports.Input(i); });
      package.outputs =
          PortsOf(lowered, lowered.outputs(), [&](std::size_t i) { return ports.Output(i); });
      package.example_outputs = std::move(outputs);
      continue;
    }
    summary.spread = std::max(summary.spread,
                              CheckedDifference(package.example_outputs, outputs, SpreadOf, limit,
                                                "kernels for " + ToString(isa) + " and those for " +
                                                    ToString(summary.isas.front())));
  }
  // Twice the observed difference: another compiler contracts products and sums differently.
  package.tolerance = std::max(kLeastTolerance, 2 * summary.spread);
  summary.kernels = package.variants.front().program.funcs.size();
  WriteCppPackage(package, folder);
  return summary;
}

}  // namespace msc
