#include "gym/app/quality_print.h"

#include <cstdio>

#include <nlohmann/json.hpp>

namespace msc::gym {

void PrintQuality(const cost::Quality& quality) {
  std::printf("%lld samples: distillation loss %.5f nats, same class %.2f %%",
              static_cast<long long>(quality.samples), quality.kl, 100 * quality.agreement);
  if (quality.accuracy && quality.reference_accuracy) {
    std::printf(", accuracy %.2f %% (before %.2f %%)", 100 * *quality.accuracy,
                100 * *quality.reference_accuracy);
  }
  std::printf("\n");
}

nlohmann::json QualityJson(const cost::Quality& quality) {
  nlohmann::json json = {{"samples", quality.samples},
                         {"kl", quality.kl},
                         {"mse", quality.mse},
                         {"agreement", quality.agreement}};
  if (quality.accuracy) json["accuracy"] = *quality.accuracy;
  if (quality.reference_accuracy) json["reference_accuracy"] = *quality.reference_accuracy;
  return json;
}

}  // namespace msc::gym
