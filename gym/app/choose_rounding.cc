#include "gym/app/choose_rounding.h"

#include <utility>

#include "gym/app/calibration_judge.h"

namespace msc::gym {
namespace {

/// Share of the loss of the nearest rounding below which another one is better.
constexpr double kClearly = 0.95;
/// Share of the guard's bounds below which there is nothing to gain.
constexpr double kLittle = 0.05;
constexpr double kMostFlops = 1e13;

}  // namespace

ChosenRounding ChooseRounding(Judged nearest, const JudgeRounding& judge, double fit_flops,
                              const cost::Guard& guard, std::int64_t samples) {
  ChosenRounding chosen{.samples = samples};
  chosen.tried.push_back({.rounding = "nearest", .judged = std::move(nearest)});
  const Judged& plain = chosen.tried.front().judged;
  if (plain.failure.empty() && cost::LargestShare(plain.quality, guard) <= kLittle) return chosen;
  // GPTQ gains more on most models, so it is the one to try if there is time for one.
  double flops = 0;
  for (const char* rounding : {"gptq", "nearest"}) {
    flops += fit_flops;
    if (flops > kMostFlops) {
      chosen.takes_long = true;
      break;
    }
    TriedRounding fitted{.rounding = rounding, .correct_bias = true};
    fitted.judged = judge(fitted);
    chosen.tried.push_back(std::move(fitted));
  }
  double least = kClearly * FineLoss(chosen.tried.front().judged);
  for (std::size_t i = 1; i < chosen.tried.size(); ++i) {
    const double loss = FineLoss(chosen.tried[i].judged);
    if (loss >= least) continue;
    least = loss;
    chosen.chosen = i;
  }
  return chosen;
}

std::string RoundingName(const TriedRounding& rounding) {
  return (rounding.rounding == "nearest" ? "to the nearest" : "by " + rounding.rounding) +
         (rounding.correct_bias ? ", with corrected biases" : "");
}

std::string RoundingText(const ChosenRounding& rounding) {
  std::string text = "weights rounded " + RoundingName(rounding.best()) + ": on " +
                     std::to_string(rounding.samples) + " calibration samples, " +
                     FineLossText(rounding.best().judged);
  for (const TriedRounding& tried : rounding.tried) {
    if (&tried == &rounding.best()) continue;
    text += "; " + RoundingName(tried) + " " + FineLossText(tried.judged);
  }
  if (rounding.tried.size() == 1 && rounding.takes_long) {
    text +=
        "; fitting them to the samples takes many minutes with so large a model, see --rounding "
        "gptq --correct-bias";
  }
  return text;
}

}  // namespace msc::gym
