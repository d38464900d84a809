#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cost/quality/guard.h"
#include "gym/app/test_judge.h"

namespace msc::gym {

/// How weights are rounded, and what the model loses on samples with that.
struct TriedRounding {
  std::string rounding;  ///< "nearest" or "gptq", as in QuantizeOptions
  bool correct_bias = false;
  Judged judged = {};
};

/// The rounding that was chosen, and all that were tried.
struct ChosenRounding {
  std::size_t chosen = 0;                 ///< index in `tried`
  std::vector<TriedRounding> tried = {};  ///< the nearest rounding first
  std::int64_t samples = 0;               ///< on which they were judged
  bool takes_long = false;                ///< whether others were left out because of their time

  [[nodiscard]] const TriedRounding& best() const { return tried[chosen]; }
};

/// Quantizes the model with a rounding and returns what it loses.
using JudgeRounding = std::function<Judged(const TriedRounding& rounding)>;

/// Chooses between rounding to the nearest, the same with corrected biases (Nagel et al. 2019), and
/// GPTQ (Frantar et al. 2023) with corrected biases, by FineLoss. The last two must lose a
/// twentieth less than the first. They take time, so they are not tried if the nearest rounding
/// uses less than a twentieth of the guard's bounds, and only as many as fit into 10^13 operations
/// (about three minutes): a fit takes `fit_flops`, since each layer needs a run of the layers
/// before it over the samples.
[[nodiscard]] ChosenRounding ChooseRounding(Judged nearest, const JudgeRounding& judge,
                                            double fit_flops, const cost::Guard& guard,
                                            std::int64_t samples);

/// Returns the rounding in words: "by gptq, with corrected biases".
[[nodiscard]] std::string RoundingName(const TriedRounding& rounding);

/// Returns the choice as one line: "weights rounded by gptq, with corrected biases: on 100
/// calibration samples, distillation loss 0.0123 nats; to the nearest distillation loss 0.0400
/// nats; ...".
[[nodiscard]] std::string RoundingText(const ChosenRounding& rounding);

}  // namespace msc::gym
