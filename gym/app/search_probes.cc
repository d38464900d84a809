#include "gym/app/search_probes.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <utility>

#include "envs/quantize/offer.h"
#include "gym/app/progress.h"
#include "gym/report/precision.h"

namespace msc::gym {
namespace {

using Clock = std::chrono::steady_clock;

struct Probe {
  std::size_t decision = 0;
  std::int32_t choice = 0;
};

/// The probes of all decisions that have one, so ordered that any first few of them are spread
/// evenly over the model (van der Corput's sequence).
std::vector<Probe> ProbesOf(const std::vector<Decision>& decisions) {
  std::vector<Probe> all;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (const auto choice = ProbeOf(decisions[i])) all.push_back({i, *choice});
  }
  std::vector<Probe> spread;
  const std::size_t places = std::bit_ceil(std::max<std::size_t>(all.size(), 1));
  for (std::size_t n = 0; n < places; ++n) {
    std::size_t reversed = 0;
    for (std::size_t bit = 1; bit < places; bit *= 2) {
      reversed = 2 * reversed + ((n & bit) != 0 ? 1 : 0);
    }
    if (reversed < all.size()) spread.push_back(all[reversed]);
  }
  return spread;
}

LayerSensitivity RowOf(const Decision& decision, std::int32_t choice,
                       const Result<cost::Outcome>& result) {
  LayerSensitivity row;
  row.layer = decision.name;
  row.choice = decision.choices[static_cast<std::size_t>(choice)];
  if (!result.ok()) {
    row.failure = result.failure().detail;
    return row;
  }
  const cost::Quality& quality = result.value().quality;
  row.distill_loss = quality.kl;
  row.mse = quality.mse;
  if (quality.accuracy && quality.reference_accuracy) {
    row.accuracy_drop = 100 * (*quality.reference_accuracy - *quality.accuracy);
  }
  return row;
}

}  // namespace

bool IsInt8(const std::string& choice) {
  for (std::int64_t bits = 8; bits >= 2; --bits) {
    if (choice == envs::Int8Word(bits)) return true;
  }
  return false;
}

std::optional<std::int32_t> ProbeOf(const Decision& decision) {
  std::optional<std::int32_t> probe;
  double least = 0.5;  // how far the uncompressed density, 1, is off
  for (std::size_t i = 0; i < decision.choices.size(); ++i) {
    const std::string& choice = decision.choices[i];
    if (IsInt8(choice)) return static_cast<std::int32_t>(i);
    const std::optional<double> density = DensityOf(choice);
    if (!density || std::abs(*density - 0.5) >= least) continue;
    least = std::abs(*density - 0.5);
    probe = static_cast<std::int32_t>(i);
  }
  return probe;
}

Assignment Alone(const std::vector<Decision>& decisions, std::size_t decision,
                 std::int32_t choice) {
  Assignment assignment(decisions.size(), 0);  // nothing is compressed
  assignment[decision] = choice;
  return assignment;
}

ProbeRun ProbeQuality(const SearchProblem& problem, cost::Evaluator& evaluator, double seconds,
                      const std::function<void(const std::string&)>& say,
                      const std::function<bool()>& stop) {
  const std::vector<Decision>& decisions = problem.decisions();
  const ChoiceMask mask = problem.MaskFunction();
  std::vector<Probe> probes = ProbesOf(decisions);
  std::erase_if(probes, [&](const Probe& probe) {
    return !IsLegal(mask, Alone(decisions, probe.decision, probe.choice));
  });
  std::vector<cost::Candidate> candidates;
  for (const Probe& probe : probes) {
    const Assignment alone = Alone(decisions, probe.decision, probe.choice);
    candidates.push_back({.strategy = StrategyFromJson(problem.Describe(alone), "a probe"),
                          .measure = cost::Measure::kQuality});
  }
  ProbeRun run{.probes = probes.size(), .result = {}};
  const Clock::time_point begin = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - begin); };
  const auto tell = [&] {
    const auto done = static_cast<double>(run.result.size());
    std::string text = "[sensitivity] " + std::to_string(run.result.size()) + " of " +
                       std::to_string(probes.size()) + " decisions alone";
    if (done > 0) {
      const double left = passed().count() / done * (static_cast<double>(probes.size()) - done);
      text +=
          " | eta " +
          FormatDuration(std::chrono::duration<double>(std::min(left, seconds - passed().count())));
    }
    say(text);
  };
  tell();
  evaluator.Evaluate(
      candidates,
      [&](std::size_t index, const Result<cost::Outcome>& result) {
        run.result.emplace(probes.at(index).decision, result);
        tell();
      },
      [&] { return stop() || passed().count() > seconds; });
  return run;
}

void MeasureSensitivity(const SearchProblem& problem, cost::Evaluator& evaluator, double seconds,
                        const std::function<void(const std::string&)>& say,
                        const std::function<bool()>& stop, Findings& findings) {
  const std::vector<Decision>& decisions = problem.decisions();
  const ProbeRun run = ProbeQuality(problem, evaluator, seconds, say, stop);
  findings.probed = static_cast<std::int64_t>(run.probes);
  findings.sensitivities.clear();
  for (const auto& [decision, result] : run.result) {
    findings.sensitivities.push_back(
        RowOf(decisions[decision], *ProbeOf(decisions[decision]), result));
  }
}

}  // namespace msc::gym
