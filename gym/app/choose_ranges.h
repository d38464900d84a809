#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gym/app/test_judge.h"

namespace msc::gym {

/// A method that chooses ranges of activations, and what the model lost with it.
struct TriedRanges {
  std::string method;
  Judged judged;
};

/// The method that was chosen, and all that were tried.
struct ChosenRanges {
  std::string method;
  std::vector<TriedRanges> tried = {};  ///< the preferred method first
  std::int64_t samples = 0;             ///< on which they were judged
};

/// Returns what the model loses with ranges by a method.
using JudgeRanges = std::function<Judged(const std::string& method)>;

/// Chooses between mse, minmax and percentile by FineLoss. mse cuts off as much as costs least
/// within each value by itself, so it is preferred: another method must lose a tenth less, since on
/// other samples smaller differences may turn round. Entropy is left out; it cuts off what many
/// models need.
[[nodiscard]] ChosenRanges ChooseRanges(const JudgeRanges& judge, std::int64_t samples);

/// Returns the choice as one line: "ranges by mse: on 100 calibration samples, distillation loss
/// 0.0123 nats; by minmax distillation loss 0.0150 nats; by percentile ...".
[[nodiscard]] std::string RangesText(const ChosenRanges& ranges);

}  // namespace msc::gym
