#include "gym/app/choose_rounding.h"

#include <utility>

#include "gym/app/calibration_judge.h"

namespace msc::gym {
namespace {

/// Share of the loss of the nearest rounding below which GPTQ is better.
constexpr double kClearly = 0.95;
/// Share of the guard's bounds below which there is nothing to gain.
constexpr double kLittle = 0.05;
constexpr double kMostFlops = 1e13;

}  // namespace

ChosenRounding ChooseRounding(Judged nearest, const std::function<Judged()>& by_gptq,
                              double fit_flops, const cost::Guard& guard, std::int64_t samples) {
  ChosenRounding chosen{.nearest = std::move(nearest), .samples = samples};
  chosen.tried = !chosen.nearest.failure.empty() ||
                 cost::LargestShare(chosen.nearest.quality, guard) > kLittle;
  chosen.takes_long = chosen.tried && fit_flops > kMostFlops;
  chosen.tried = chosen.tried && !chosen.takes_long;
  if (!chosen.tried) return chosen;
  chosen.by_gptq = by_gptq();
  chosen.fitted = FineLoss(chosen.by_gptq) < kClearly * FineLoss(chosen.nearest);
  return chosen;
}

std::string RoundingText(const ChosenRounding& rounding) {
  const std::string on = ": on " + std::to_string(rounding.samples) + " calibration samples, ";
  const std::string nearest = FineLossText(rounding.nearest);
  if (!rounding.tried) {
    return "weights rounded to the nearest" + on + nearest +
           (rounding.takes_long
                ? "; fitting them to the samples takes many minutes with so large a "
                  "model, see --rounding gptq --correct-bias"
                : "");
  }
  const std::string gptq = FineLossText(rounding.by_gptq);
  return rounding.fitted ? "weights rounded by gptq, with corrected biases" + on + gptq +
                               "; to the nearest " + nearest
                         : "weights rounded to the nearest" + on + nearest + "; by gptq " + gptq;
}

}  // namespace msc::gym
