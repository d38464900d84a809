#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/compress/distill/trainer.h"
#include "cost/model/outcome.h"
#include "gym/app/distill_layers.h"
#include "gym/app/summary.h"

namespace msc::gym {

/// Result of a training. Qualities compare the student with the teacher.
struct DistillReport {
  std::string model;
  TrainSettings settings;
  std::vector<TrainEpoch> epochs;
  std::optional<cost::Quality> before;
  std::optional<cost::Quality> after;
  std::vector<LearnedLayer> layers;  ///< only if a page was requested
  std::string pairs;                 ///< loss by saturating pair sums (PairsText); empty = none
  Summary summary;
};

void PrintDistillTable(const DistillReport& report);
void PrintDistillJson(const DistillReport& report);

}  // namespace msc::gym
