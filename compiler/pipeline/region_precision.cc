#include "compiler/pipeline/region_precision.h"

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/compress/quantize/quantize.h"
#include "compiler/targets/spec.h"

namespace msc {
namespace {

constexpr const char* kOption = "precision";
constexpr const char* kAsStrategy = "strategy";  // the option's default

void SetPrecision(const QuantizableLayer& layer, Precision precision, QuantizePlan& plan) {
  const auto& allowed = layer.allowed;
  const bool can = std::find(allowed.begin(), allowed.end(), precision) != allowed.end();
  if (can && precision != Precision::kF32) {
    plan.layers[layer.name] = precision;
    plan.weights.erase(layer.name);  // a grid consists of integers
  } else if (const auto it = plan.layers.find(layer.name); it != plan.layers.end()) {
    it->second = Precision::kF32;
  }
}

}  // namespace

std::optional<Precision> PrecisionAsked(const std::string& spec) {
  const TargetSpec parsed = ParseTargetSpec(spec);
  const auto it = parsed.options.find(kOption);
  if (it == parsed.options.end() || it->second == kAsStrategy) return std::nullopt;
  return ParsePrecision(it->second);
}

std::string WithPrecision(const std::string& spec, std::optional<Precision> precision) {
  TargetSpec parsed = ParseTargetSpec(spec);
  parsed.options.erase(kOption);
  if (precision) parsed.options[kOption] = Name(*precision);
  return ToString(parsed);
}

Strategy WithPrecisionsOfRegions(const Graph& canonical, Strategy strategy) {
  const std::optional<Precision> of_all = PrecisionAsked(strategy.target);
  bool any = of_all.has_value();
  std::map<std::string, std::optional<Precision>> asked;  // by node in a region
  for (PartitionRegion& region : strategy.partition) {
    const std::optional<Precision> precision = PrecisionAsked(region.target);
    any = any || precision;
    for (const std::string& node : region.nodes) asked.emplace(node, precision);
    region.target = WithPrecision(region.target, std::nullopt);
  }
  strategy.target = WithPrecision(strategy.target, std::nullopt);
  if (!any) return strategy;
  for (const QuantizableLayer& layer : FindQuantizableLayers(canonical)) {
    const auto it = asked.find(layer.name);
    const std::optional<Precision> precision = it == asked.end() ? of_all : it->second;
    if (precision) SetPrecision(layer, *precision, strategy.quantize);
  }
  return strategy;
}

}  // namespace msc
