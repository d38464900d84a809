#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cost/quality/guard.h"
#include "gym/app/samples.h"

namespace msc::gym {

/// How weights are rounded, and what the model lost on samples with either way.
struct ChosenRounding {
  bool fitted = false;  ///< whether by GPTQ with corrected biases, else to the nearest
  Judged nearest = {};
  Judged by_gptq = {};
  std::int64_t samples = 0;  ///< on which both were judged
  bool tried = true;         ///< whether GPTQ was tried
  bool takes_long = false;   ///< why it was not tried
};

/// Chooses between rounding to the nearest and GPTQ (Frantar et al. 2023) with corrected biases
/// (Nagel et al. 2019), by FineLoss. GPTQ must lose a twentieth less. It takes time, so it is not
/// tried if the nearest rounding uses less than a twentieth of the guard's bounds, or if fitting
/// the weights takes more than 10^13 operations (about three minutes): each layer needs a run of
/// the layers before it over the samples.
[[nodiscard]] ChosenRounding ChooseRounding(Judged nearest, const std::function<Judged()>& by_gptq,
                                            double fit_flops, const cost::Guard& guard,
                                            std::int64_t samples);

/// Returns the choice as one line: "weights rounded by gptq with corrected biases: on 100
/// calibration samples, distillation loss 0.0123 nats; to the nearest distillation loss 0.0400".
[[nodiscard]] std::string RoundingText(const ChosenRounding& rounding);

}  // namespace msc::gym
