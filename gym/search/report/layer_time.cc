#include "gym/search/report/layer_time.h"

#include <algorithm>

namespace msc::gym {

LayerTime TimeOf(std::span<const cost::Profile> profiles, std::size_t index,
                 const std::string& layer) {
  LayerTime time;
  if (index >= profiles.size() || profiles[index].steps.empty()) return time;
  double total = 0;
  double own = 0;
  for (const cost::StepProfile& step : profiles[index].steps) {
    total += step.median_ns;
    if (std::find(step.nodes.begin(), step.nodes.end(), layer) == step.nodes.end()) continue;
    own += step.median_ns;
    if (!time.precision.empty()) continue;
    const auto of_layer = step.precisions.find(layer);
    time.precision = of_layer == step.precisions.end() ? step.precision : of_layer->second;
  }
  if (total > 0) {
    time.share = own / total;
    time.ms = own * 1e-6;
  }
  return time;
}

}  // namespace msc::gym
