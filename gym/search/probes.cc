#include "gym/search/probes.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <utility>

#include "compiler/base/duration_text.h"
#include "compiler/base/time_left.h"
#include "envs/common/quantity.h"

namespace msc::gym {
namespace {

using Clock = std::chrono::steady_clock;

/// Probes that TimeProbe times; they run in any case.
constexpr std::size_t kFewestProbes = 2;
constexpr const char* kProbe = "probe";

struct Probe {
  std::size_t decision = 0;
  std::int32_t choice = 0;
};

ProbeKind KindOf(const Decision& decision) {
  return decision.quantity == envs::kBits ? ProbeKind::kPrecisions : ProbeKind::kChannels;
}

/// Returns the probes of all decisions of a kind in the order of van der Corput's sequence, so that
/// any first few are spread evenly over the model.
std::vector<Probe> ProbesOf(const std::vector<Decision>& decisions, ProbeKind kind) {
  std::vector<Probe> all;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const auto choice = ProbeOf(decisions[i]);
    if (choice && KindOf(decisions[i]) == kind) all.push_back({i, *choice});
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

std::vector<Probe> LegalProbes(const SearchProblem& problem, ProbeKind kind) {
  const std::vector<Decision>& decisions = problem.decisions();
  const ChoiceMask mask = problem.MaskFunction();
  std::vector<Probe> probes = ProbesOf(decisions, kind);
  std::erase_if(probes, [&](const Probe& probe) {
    return !IsLegal(mask, ChangeOneDecision(decisions, probe.decision, probe.choice));
  });
  return probes;
}

std::vector<cost::Candidate> CandidatesOf(const envs::StrategyProblem& problem,
                                          const std::vector<Probe>& probes, cost::Measure measure) {
  std::vector<cost::Candidate> candidates;
  for (const Probe& probe : probes) {
    const Assignment alone = ChangeOneDecision(problem.decisions(), probe.decision, probe.choice);
    candidates.push_back(
        {.strategy = WithoutRounding(problem.StrategyOf(alone)), .measure = measure});
  }
  return candidates;
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
  for (const auto& [name, loss] : result.value().quality.Losses()) {
    row.losses.emplace(name, loss.value);
  }
  return row;
}

}  // namespace

std::optional<double> AmountOf(const Decision& decision, std::string_view quantity,
                               std::int32_t choice) {
  if (decision.quantity != quantity) return std::nullopt;
  return decision.values.at(static_cast<std::size_t>(choice));
}

bool IsInt8(const Decision& decision, std::int32_t choice) {
  const std::optional<double> bits = AmountOf(decision, envs::kBits, choice);
  return bits && *bits <= 8;
}

std::optional<std::int32_t> ProbeOf(const Decision& decision) {
  std::optional<std::int32_t> probe;
  double least = 0.5;  // distance of the uncompressed density, 1
  const auto count = static_cast<std::int32_t>(decision.choices.size());
  for (std::int32_t i = 0; i < count; ++i) {
    if (IsInt8(decision, i)) return i;
    const std::optional<double> density = AmountOf(decision, envs::kDensity, i);
    if (!density || std::abs(*density - 0.5) >= least) continue;
    least = std::abs(*density - 0.5);
    probe = i;
  }
  return probe;
}

Assignment ChangeOneDecision(const std::vector<Decision>& decisions, std::size_t decision,
                             std::int32_t choice) {
  Assignment assignment(decisions.size(), 0);  // first choices compress nothing
  assignment[decision] = choice;
  return assignment;
}

Strategy WithoutRounding(Strategy strategy) {
  const bool only_rounds = strategy.prune.groups.empty() && strategy.fit.train.epochs == 0;
  if (strategy.quantize.rounding.empty() || !only_rounds) return strategy;
  strategy.quantize.rounding.clear();
  strategy.fit.samples.clear();
  return strategy;
}

ProbeRun ProbeQuality(const envs::StrategyProblem& problem, cost::Evaluator& evaluator,
                      const ProbeLimits& limits, const std::function<void(const std::string&)>& say,
                      const std::function<bool()>& stop) {
  std::vector<Probe> probes;
  ProbeRun run;
  for (const ProbeKind kind : kProbeKinds) {
    std::vector<Probe> of_kind = LegalProbes(problem, kind);
    run.probes += of_kind.size();
    of_kind.resize(std::min(of_kind.size(), limits.probes.at(static_cast<std::size_t>(kind))));
    probes.insert(probes.end(), of_kind.begin(), of_kind.end());
  }
  const std::vector<cost::Candidate> candidates = CandidatesOf(problem, probes, limits.measure);
  const Clock::time_point begin = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - begin); };
  TimeLeft left(evaluator.parallelism());
  left.Expect(kProbe, probes.size());
  double told = 0;
  const auto tell = [&] {
    std::string text = "[sensitivity] " + std::to_string(run.result.size()) + " of " +
                       std::to_string(probes.size()) + " decisions alone";
    if (const auto seconds = left.Seconds(); seconds && !run.result.empty()) {
      const double most = std::max(limits.seconds - passed().count(), 0.0);
      text +=
          " | eta " +
          FormatDuration(std::chrono::duration<double>(limits.after + std::min(*seconds, most)));
    }
    say(text);
  };
  tell();
  evaluator.Evaluate(
      candidates,
      [&](std::size_t index, const Result<cost::Outcome>& result) {
        run.result.emplace(probes.at(index).decision, result);
        const double now = passed().count();
        left.Done(kProbe, now - std::exchange(told, now));
        tell();
      },
      [&] { return stop() || passed().count() > limits.seconds; });
  return run;
}

std::size_t CountProbes(const SearchProblem& problem, ProbeKind kind) {
  return LegalProbes(problem, kind).size();
}

std::size_t CountProbes(const SearchProblem& problem) {
  std::size_t count = 0;
  for (const ProbeKind kind : kProbeKinds) count += CountProbes(problem, kind);
  return count;
}

std::optional<double> TimeProbe(const envs::StrategyProblem& problem, cost::Evaluator& evaluator,
                                ProbeKind kind, cost::Measure measure,
                                const std::function<bool()>& stop) {
  std::vector<Probe> probes = LegalProbes(problem, kind);
  probes.resize(std::min(probes.size(), kFewestProbes));
  if (probes.empty()) return std::nullopt;
  std::size_t done = 0;
  const Clock::time_point begin = Clock::now();
  for (const cost::Candidate& candidate : CandidatesOf(problem, probes, measure)) {
    evaluator.Evaluate(
        {&candidate, 1}, [&](std::size_t /*index*/, const auto& /*result*/) { ++done; }, stop);
  }
  if (done < probes.size()) return std::nullopt;
  return std::chrono::duration<double>(Clock::now() - begin).count() / static_cast<double>(done);
}

std::size_t PlannedProbes(std::size_t probes, double seconds, double each) {
  if (each * static_cast<double>(probes) <= seconds) return probes;
  const auto most = static_cast<std::size_t>(seconds / each);  // fewer than `probes`
  // A power of two, so that small differences of a probe's time do not change the plan
  // (docs/decisions/0017).
  return std::min(probes, std::bit_floor(std::max(most, kFewestProbes)));
}

void MeasureSensitivity(const envs::StrategyProblem& problem, cost::Evaluator& evaluator,
                        const ProbeLimits& limits,
                        const std::function<void(const std::string&)>& say,
                        const std::function<bool()>& stop, Findings& findings) {
  const std::vector<Decision>& decisions = problem.decisions();
  const ProbeRun run = ProbeQuality(problem, evaluator, limits, say, stop);
  findings.probed = static_cast<std::int64_t>(run.probes);
  findings.sensitivities.clear();
  for (const auto& [decision, result] : run.result) {
    findings.sensitivities.push_back(
        RowOf(decisions[decision], *ProbeOf(decisions[decision]), result));
  }
}

}  // namespace msc::gym
