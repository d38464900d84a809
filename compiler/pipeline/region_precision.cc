#include "compiler/pipeline/region_precision.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "compiler/compress/quantize/quantize.h"
#include "compiler/targets/spec.h"

namespace msc {
namespace {

constexpr const char* kOption = "precision";

void SetPrecision(const QuantizableLayer& layer, std::string_view precision, QuantizePlan& plan) {
  const bool can = std::any_of(layer.allowed.begin(), layer.allowed.end(),
                               [&](Precision allowed) { return Name(allowed) == precision; });
  if (can && precision != Name(Precision::kF32)) {
    plan.layers[layer.name] = precision;
    plan.weights.erase(layer.name);  // a grid consists of integers
  } else if (const auto it = plan.layers.find(layer.name); it != plan.layers.end()) {
    it->second = Name(Precision::kF32);
  }
}

}  // namespace

std::string PrecisionAsked(const std::string& spec) {
  const TargetSpec parsed = ParseTargetSpec(spec);
  const auto it = parsed.options.find(kOption);
  return it == parsed.options.end() ? "" : it->second;
}

std::string WithPrecision(const std::string& spec, const std::string& precision) {
  TargetSpec parsed = ParseTargetSpec(spec);
  parsed.options.erase(kOption);
  if (!precision.empty()) parsed.options[kOption] = precision;
  return ToString(parsed);
}

Strategy WithPrecisionsOfRegions(const Graph& canonical, Strategy strategy) {
  const std::string of_all = PrecisionAsked(strategy.target);
  bool any = !of_all.empty();
  std::map<std::string, std::string> asked;  // by node in a region
  for (PartitionRegion& region : strategy.partition) {
    const std::string precision = PrecisionAsked(region.target);
    any = any || !precision.empty();
    for (const std::string& node : region.nodes) asked.emplace(node, precision);
    region.target = WithPrecision(region.target, "");
  }
  strategy.target = WithPrecision(strategy.target, "");
  if (!any) return strategy;
  for (const QuantizableLayer& layer : FindQuantizableLayers(canonical)) {
    const auto it = asked.find(layer.name);
    const std::string& precision = it == asked.end() ? of_all : it->second;
    if (!precision.empty()) SetPrecision(layer, precision, strategy.quantize);
  }
  return strategy;
}

}  // namespace msc
