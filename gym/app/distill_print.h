#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/compress/distill/trainer.h"
#include "cost/model/outcome.h"
#include "gym/app/distill_layers.h"

namespace msc::gym {

/// What a training gave. Qualities are of the student against the teacher.
struct DistillReport {
  std::string model;
  TrainSettings settings;
  std::vector<TrainEpoch> epochs;
  std::optional<cost::Quality> before;
  std::optional<cost::Quality> after;
  std::vector<LearnedLayer> layers;  ///< where a page is asked for
  std::string pairs;                 ///< what sums of pairs lose (PairsText); empty = nothing
};

void PrintDistillTable(const DistillReport& report);
void PrintDistillJson(const DistillReport& report);

}  // namespace msc::gym
