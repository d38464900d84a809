// The measuring child for evaluate_test and region_test: real targets, and some that do a candidate
// harm.

#include <csignal>
#include <cstring>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "compiler/targets/reference/reference.h"
#include "compiler/targets/register.h"
#include "cost/measure/evaluate_child.h"
#include "cost/measure/metric_library.h"
#include "cost/partition/region_child.h"

namespace msc::cost {
namespace {

/// Claims every node and does in each what `harm` says.
class HarmfulTarget final : public Target {
 public:
  explicit HarmfulTarget(std::string harm) : facts_{std::move(harm), "cpu", "1"} {}

 private:
  [[nodiscard]] const TargetFacts& DoFacts() const noexcept override { return facts_; }
  [[nodiscard]] bool DoSupports(const Graph& /*graph*/, NodeId /*node*/) const override {
    return true;
  }
  [[nodiscard]] std::optional<Failure> DoGraphToRuntime(const Region& region,
                                                        const TargetOptions& /*options*/,
                                                        ExecutableBuilder& builder) const override {
    const std::string& harm = facts_.name;
    if (harm == "refuses") return Failure{FailureKind::kCompile, "not today"};
    if (harm == "throws") throw std::runtime_error("a library lost its temper");
    if (harm == "greedy") {  // but right
      const std::vector<char> lots(std::size_t{1} << 30U, 1);
      return MakeReferenceTarget()->GraphToRuntime(region, {}, builder);
    }
    for (const NodeId id : region.nodes) {
      const ValueId output = region.graph->node(id).outputs[0];
      const auto size = ElementCount(*StaticDims(*region.graph->type(output).shape));
      Step step;
      step.name = region.graph->node(id).name;
      step.target = harm;
      step.writes = {builder.BufferOf(output)};
      step.run = [buffer = step.writes[0], size, harm](const StepContext& context) {
        auto* values = reinterpret_cast<float*>(context.At(buffer));
        if (harm == "crashes") std::raise(SIGSEGV);
        if (harm == "hangs") ::sleep(60);
        for (std::int64_t i = 0; i < size; ++i) {
          values[i] = harm == "nan" ? std::numeric_limits<float>::quiet_NaN() : 0.0F;
          if (harm == "off") values[i] = static_cast<float>(i);
        }
      };
      builder.AddStep(std::move(step));
    }
    return std::nullopt;
  }

  TargetFacts facts_;
};

}  // namespace
}  // namespace msc::cost

int main(int argc, char** argv) {
  msc::TargetRegistry targets;
  msc::RegisterAllTargets(targets);
  for (const char* harm :
       {"refuses", "throws", "crashes", "hangs", "nan", "zero", "off", "greedy"}) {
    targets.Add({.name = harm, .options = {}, .make = [harm](const msc::OptionMap& /*options*/) {
                   return std::make_unique<msc::cost::HarmfulTarget>(harm);
                 }});
  }
  if (argc == 3 && std::strcmp(argv[1], "measure-child") == 0) {
    return msc::cost::MeasureChildMain(argv[2], targets);
  }
  if (argc == 3 && std::strcmp(argv[1], "measure-regions") == 0) {
    return msc::cost::MeasureRegionsMain(argv[2], targets);
  }
  if (argc > 3 && std::strcmp(argv[1], "metric-child") == 0) {
    return msc::cost::MetricChildMain({argv + 3, argv + argc});  // argv[2] is "--"
  }
  std::cerr << "usage: measure_child measure-child|measure-regions REQUEST.json, or "
               "metric-child -- LIBRARY ARGUMENT...\n";
  return 2;
}
