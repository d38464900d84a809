#include "gym/search/loss_estimates.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "cost/model/loss.h"
#include "cost/model/outcome.h"
#include "envs/common/evaluation.h"
#include "envs/common/quantity.h"

namespace msc::gym {
namespace {

constexpr double kPlainBits = 32;

/// Returns the noise of a choice relative to int8, or to half of the channels. One bit less doubles
/// the step of a grid; the loss by pruning is modelled as quadratic in the fraction removed, and
/// beyond half of the channels in its ratio to those that stay, as few cannot make up for many.
double Severity(const Decision& decision, std::int32_t choice) {
  constexpr double kOfBf16 = 1.0 / 16;
  if (const auto bits = AmountOf(decision, envs::kBits, choice)) {
    return *bits <= 8 ? std::exp2(8 - *bits) : *bits < kPlainBits ? kOfBf16 : 0;
  }
  constexpr double kHalf = 0.5;
  const double kept = AmountOf(decision, envs::kDensity, choice).value_or(1);
  const double gone = 1 - kept;
  const double fraction = kept < kHalf ? kHalf * gone / kept : gone;
  return fraction * fraction;
}

/// Returns the relative saving of weight bytes by a choice. Weights of fewer than 8 bits are stored
/// with 8.
double Saving(const Decision& decision, std::int32_t choice) {
  if (const auto bits = AmountOf(decision, envs::kBits, choice)) {
    return 1 - std::max(8.0, *bits) / kPlainBits;
  }
  return 1 - AmountOf(decision, envs::kDensity, choice).value_or(1);
}

/// What the effect of a choice stronger than the probe follows from: the probe alone, or also what
/// is usual. Half of the channels may do nothing, and their removal costs nothing; those that are
/// left do something.
enum class Beyond : std::uint8_t { kAsProbed, kAtLeastAsUsual };

/// Interpolates the effects of all choices of all decisions from those of the probes, in proportion
/// to `share` of a choice. Decisions without a probe get the largest effect of their kind: a search
/// for what keeps a limit should change decisions that are known to be harmless.
class Interpolation {
 public:
  explicit Interpolation(const std::vector<Decision>& decisions) : decisions_(decisions) {}

  [[nodiscard]] AdditiveCost Of(double offset, const std::map<std::size_t, double>& probed,
                                double (*share)(const Decision&, std::int32_t),
                                Beyond beyond) const {
    std::map<bool, double> largest;  // keyed by whether the decision is a precision
    const double usual = beyond == Beyond::kAsProbed ? 0 : MedianOfChannels(probed);
    for (const auto& [i, effect] : probed) {
      double& most = largest.emplace(IsPrecision(i), effect).first->second;
      most = std::max(most, effect);
    }
    AdditiveCost cost{.offset = offset};
    for (std::size_t i = 0; i < decisions_.size(); ++i) {
      const Decision& decision = decisions_[i];
      std::vector<double>& effects = cost.effects.emplace_back(decision.choices.size(), 0.0);
      const std::optional<std::int32_t> probe = ProbeOf(decision);
      if (!probe) continue;
      const auto own = probed.find(i);
      const auto most = largest.find(IsPrecision(i));
      const double of_kind = most == largest.end() ? 0 : most->second;
      const double effect = own != probed.end() ? own->second : of_kind;
      const double of_probe = share(decision, *probe);
      for (std::size_t c = 0; c < effects.size() && of_probe > 0; ++c) {
        const double of_choice = share(decision, static_cast<std::int32_t>(c));
        const double more = of_choice / of_probe - 1;
        const bool raised = more > 0 && usual > effect && !IsPrecision(i);
        effects[c] = raised ? effect + usual * more : effect * of_choice / of_probe;
      }
    }
    return cost;
  }

 private:
  /// Returns the median effect of the probes of channels; 0 without any.
  [[nodiscard]] double MedianOfChannels(const std::map<std::size_t, double>& probed) const {
    std::vector<double> effects;
    for (const auto& [i, effect] : probed) {
      if (!IsPrecision(i)) effects.push_back(effect);
    }
    if (effects.empty()) return 0;
    const auto middle = effects.begin() + std::ssize(effects) / 2;
    std::ranges::nth_element(effects, middle);
    return *middle;
  }
  [[nodiscard]] bool IsPrecision(std::size_t i) const {
    return decisions_[i].quantity == envs::kBits;
  }

  const std::vector<Decision>& decisions_;
};

double SumOf(const std::map<std::size_t, double>& effects) {
  double sum = 0;
  for (const auto& [i, effect] : effects) sum += effect;
  return sum;
}

/// Returns effects on some loss with the same sum, in proportion to those on the distillation loss
/// if that was measured. A share of decisions that change is a multiple of one sample's share, too
/// coarse to tell single layers apart, and square roots of errors, such as the relative error, do
/// not add up; the distillation loss does, and tells small errors apart.
std::map<std::size_t, double> InProportion(
    const std::map<std::size_t, double>& effects,
    const std::map<std::string, std::map<std::size_t, double>>& by_loss) {
  const auto fine = by_loss.find(std::string(cost::kDistillLoss));
  if (fine == by_loss.end() || fine->second.size() != effects.size()) return effects;
  const double of_fine = SumOf(fine->second);
  if (!(of_fine > 0)) return effects;
  std::map<std::size_t, double> shared = fine->second;
  for (auto& [i, effect] : shared) effect *= SumOf(effects) / of_fine;
  return shared;
}

}  // namespace

void AddLossEstimates(const std::vector<Decision>& decisions, const ProbeRun& run,
                      std::optional<std::int64_t> bytes,
                      std::map<std::string, AdditiveCost>& costs) {
  std::map<std::string, std::map<std::size_t, double>> effects;
  std::map<std::size_t, double> saved;
  for (const auto& [i, result] : run.result) {
    if (!result.ok()) continue;
    const cost::Quality& quality = result.value().quality;
    for (const auto& [name, loss] : quality.Losses()) effects[name][i] = loss.value;
    if (bytes) saved[i] = static_cast<double>(result.value().weight_bytes - *bytes);
  }
  const Interpolation interpolation(decisions);
  for (const auto& [metric, probed] : effects) {
    costs[metric] =
        interpolation.Of(0, InProportion(probed, effects), Severity, Beyond::kAtLeastAsUsual);
  }
  if (bytes) {
    costs[std::string(envs::kWeightBytes)] =
        interpolation.Of(static_cast<double>(*bytes), saved, Saving, Beyond::kAsProbed);
  }
}

}  // namespace msc::gym
