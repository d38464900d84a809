#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/compress/distill/trainer.h"
#include "cost/model/outcome.h"

namespace msc::gym {

/// What a training gave. Qualities are of the student against the teacher.
struct DistillReport {
  std::string model;
  TrainSettings settings;
  std::vector<TrainEpoch> epochs;
  std::optional<cost::Quality> before;
  std::optional<cost::Quality> after;
};

void PrintDistillTable(const DistillReport& report);
void PrintDistillJson(const DistillReport& report);

}  // namespace msc::gym
