#include "gym/core/env_checker.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "gym/core/env_registry.h"
#include "gym/core/playthrough.h"
#include "gym/core/problem.h"

namespace msc::gym {

namespace {

constexpr std::uint64_t kSeed = 20240229;
constexpr int kTries = 3;
constexpr int kSamples = 8;

class Findings {
 public:
  void Expect(bool ok, const std::string& finding) {
    if (!ok) list_.push_back(finding);
  }
  /// Runs `check`. An exception is a finding too: a check that cannot finish has not passed.
  void Try(const std::string& part, const std::function<void()>& check) {
    try {
      check();
    } catch (const std::exception& error) {
      list_.push_back(part + ": " + error.what());
    }
  }
  void ExpectRefused(const std::string& what, const std::function<void()>& act) {
    try {
      act();
    } catch (const UserError&) {
      return;
    }
    list_.push_back(what + " is not refused with a UserError");
  }
  [[nodiscard]] std::vector<std::string> Take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

/// Returns the first lines in which two episodes differ.
std::string Difference(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto [left, right] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return "'" + (left == a.end() ? "" : *left) + "' and '" + (right == b.end() ? "" : *right) + "'";
}

bool Bounded(const Space& space) {
  if (const auto* box = std::get_if<Box>(&space.kind())) {
    const auto finite = [](double bound) { return std::isfinite(bound); };
    return std::all_of(box->low.begin(), box->low.end(), finite) &&
           std::all_of(box->high.begin(), box->high.end(), finite);
  }
  if (const auto* parts = std::get_if<std::shared_ptr<const Space::Parts>>(&space.kind())) {
    return std::all_of((*parts)->begin(), (*parts)->end(),
                       [](const auto& part) { return Bounded(part.second); });
  }
  return true;
}

void CheckFacts(const EnvMaker& make, Findings& findings) {
  const auto env = make();
  const EnvFacts& facts = env->facts();
  CheckEnvId(facts.id);
  findings.Expect(!facts.max_steps || *facts.max_steps >= 1, "facts: max_steps is below 1");
  const std::set<std::string> options(facts.reset_options.begin(), facts.reset_options.end());
  findings.Expect(options.size() == facts.reset_options.size(),
                  "facts: a reset option is named twice");
  findings.Expect(Bounded(env->action_space()),
                  "action space: " + env->action_space().ToString() +
                      " has infinite bounds; scale actions to finite ones");
  const auto other = make();
  findings.Expect(env->action_space() == other->action_space() &&
                      env->observation_space() == other->observation_space(),
                  "spaces differ between two envs from the same factory");
}

void CheckRefusals(const EnvMaker& make, Findings& findings) {
  const auto env = make();
  Rng rng(kSeed);
  findings.ExpectRefused("a step before the first reset",
                         [&] { env->Step(env->action_space().Sample(rng)); });
  std::string unknown = "unknown";
  const auto& known = env->facts().reset_options;
  while (std::find(known.begin(), known.end(), unknown) != known.end()) unknown += "_";
  findings.ExpectRefused("an unknown reset option", [&] { env->Reset(kSeed, {{unknown, 1.0}}); });

  env->Reset(kSeed);
  findings.ExpectRefused("an action outside the space", [&] {
    env->Step(Point{std::make_shared<const PointMap>(PointMap{{"no such part", Point{}}})});
  });
  const std::vector<bool> mask = env->ActionMask();
  if (const auto illegal = std::find(mask.begin(), mask.end(), false); illegal != mask.end()) {
    const auto& space = std::get<Discrete>(env->action_space().kind());
    findings.ExpectRefused("an action that is masked out",
                           [&] { env->Step(Point{space.start + (illegal - mask.begin())}); });
  }
  const Point action = SampleAction(*env, rng);
  StepResult last = env->Step(action);
  for (int step = 0; step < 1000 && !last.terminated && !last.truncated; ++step) {
    last = env->Step(SampleAction(*env, rng));
  }
  if (!last.terminated && !last.truncated) return;
  findings.ExpectRefused("a step after the end", [&] { env->Step(action); });
}

bool IsExact(const Env& env, Repeats repeats) {
  return repeats == Repeats::kAlways || !env.facts().nondeterministic;
}

void CheckSeeds(const EnvMaker& make, Repeats repeats, Findings& findings) {
  const auto env = make();
  const auto other = make();
  const bool all = IsExact(*env, repeats);
  for (std::uint64_t i = 0; i < kTries; ++i) {
    const EpisodeSetup setup{.seed = kSeed + i, .action_seed = kSeed + i};
    auto first = PlayEpisode(*env, setup);
    auto fresh = PlayEpisode(*other, setup);
    auto again = PlayEpisode(*env, setup);
    for (auto* lines : {&first, &fresh, &again}) {
      if (!all) lines->resize(1);  // measured rewards may differ; the reset observation may not
    }
    findings.Expect(first == fresh, "two envs with one seed and the same actions differ: " +
                                        Difference(first, fresh));
    findings.Expect(
        first == again,
        "a second reset with the same seed gives another episode (is state left over?): " +
            Difference(first, again));
  }
}

/// Finds out by several seeds whether the generator has any effect. If it has, resets without a
/// seed must not all repeat the episode of the last seed.
void CheckGoingOn(const EnvMaker& make, Repeats repeats, Findings& findings) {
  const auto env = make();
  if (!IsExact(*env, repeats)) return;
  const auto play = [&](std::optional<std::uint64_t> seed) {
    return PlayEpisode(*env, {.seed = seed, .action_seed = kSeed});
  };
  const auto seeded = play(kSeed);
  bool matters = false;
  for (std::uint64_t i = 1; i <= kSamples; ++i) matters = matters || play(kSeed + i) != seeded;
  if (!matters) return;
  play(kSeed);
  // A single reset may repeat the episode by chance.
  bool moved = false;
  for (int i = 0; i < kSamples; ++i) moved = moved || play(std::nullopt) != seeded;
  findings.Expect(moved, "resets without a seed start from the last seed again");
}

std::vector<Assignment> Samples(SearchProblem& problem) {
  Rng rng(kSeed);
  std::vector<Assignment> samples;
  for (auto& [name, assignment] : problem.Anchors()) samples.push_back(std::move(assignment));
  for (int i = 0; i < kTries; ++i) {
    samples.push_back(DrawLegal(problem.decisions(), problem.MaskFunction(), rng));
  }
  return samples;
}

std::vector<Evaluation> EvaluateAll(SearchProblem& problem, std::span<const Assignment> batch) {
  std::vector<Evaluation> evaluations(batch.size());
  problem.Evaluate(batch,
                   [&](std::size_t i, const Evaluation& result) { evaluations[i] = result; });
  return evaluations;
}

void CheckProblemForm(const EnvMaker& make, Findings& findings) {
  const auto env = make();
  SearchProblem* problem = env->problem();
  if (problem == nullptr) return;
  CheckDecisions(problem->decisions());
  const std::vector<std::string> metrics = problem->metrics();
  const std::set<std::string> names(metrics.begin(), metrics.end());
  findings.Expect(!metrics.empty() && names.size() == metrics.size() && !names.contains(""),
                  "problem: metrics need names of their own, at least one");
  findings.Expect(problem->parallelism() >= 1, "problem: parallelism is 0");
  for (const Assignment& sample : Samples(*problem)) {
    const std::string text = problem->Describe(sample);
    findings.Expect(nlohmann::json::accept(text), "problem: Describe is not JSON: " + text);
  }
  findings.Expect(!problem->Hash().empty(), "problem: the hash is empty");
  const auto other = make();
  findings.Expect(other->problem() != nullptr && other->problem()->Hash() == problem->Hash(),
                  "problem: two envs from the same factory have different hashes");
}

void CheckEvaluations(const EnvMaker& make, Repeats repeats, Findings& findings) {
  const auto env = make();
  SearchProblem* problem = env->problem();
  if (problem == nullptr) return;
  findings.ExpectRefused("an assignment that is too short", [&] {
    static_cast<void>(EvaluateAll(*problem, std::vector<Assignment>{{}}));
  });
  const std::vector<Assignment> samples = Samples(*problem);
  // The first assignment occurs twice: each position of a batch is reported, not each distinct
  // assignment.
  std::vector<Assignment> batch = samples;
  batch.push_back(samples.front());
  const std::vector<Evaluation> evaluations = EvaluateAll(*problem, batch);
  const std::map<std::string, double> bounds = problem->Prior().LowerBounds();
  for (const Evaluation& evaluation : evaluations) {
    findings.Expect(evaluation.record.empty() || nlohmann::json::accept(evaluation.record),
                    "problem: a record is not JSON: " + evaluation.record);
    for (const auto& [metric, bound] : bounds) {
      if (evaluation.failure) continue;
      findings.Expect(evaluation.metrics.at(metric) >= bound,
                      "problem: '" + metric + "' is below its lower bound");
    }
  }
  // An evaluation that stops at once leaves no trace in later ones.
  problem->Evaluate(
      batch, [](std::size_t, const Evaluation&) {}, [] { return true; });
  const bool exact = IsExact(*env, repeats);
  const auto other = make();
  findings.Expect(!exact || (evaluations == EvaluateAll(*problem, batch) &&
                             evaluations == EvaluateAll(*other->problem(), batch) &&
                             evaluations.front() == evaluations.back()),
                  "problem: evaluating the same again gives something else");
  // A resumed study gives a new problem the earlier results.
  const auto resumed = make();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    resumed->problem()->Recall(samples[i], evaluations[i]);
  }
  const std::vector<Evaluation> after = EvaluateAll(*resumed->problem(), batch);
  findings.Expect(!exact || evaluations == after,
                  "problem: evaluating the same after Recall gives something else");
}

/// Whether two sums are equal except for rounding, which depends on the order of additions.
bool Near(double a, double b) {
  constexpr double kRounding = 1e-9;
  return std::abs(a - b) <= kRounding * std::max({1.0, std::abs(a), std::abs(b)});
}

void CheckSums(const EnvMaker& make, Findings& findings) {
  const auto env = make();
  SearchProblem* problem = env->problem();
  if (problem == nullptr) return;
  const std::vector<std::string> metrics = problem->metrics();
  const auto check_form = [&](const char* what, const std::map<std::string, AdditiveCost>& sums) {
    for (const auto& [metric, cost] : sums) {
      findings.Expect(
          std::find(metrics.begin(), metrics.end(), metric) != metrics.end(),
          std::string("problem: ") + what + " of '" + metric + "', which is not a metric");
      bool finite = std::isfinite(cost.offset);
      for (const std::vector<double>& effects : cost.effects) {
        finite = finite && std::all_of(effects.begin(), effects.end(),
                                       [](double effect) { return std::isfinite(effect); });
      }
      findings.Expect(finite, std::string("problem: ") + what + " of '" + metric + "' not finite");
    }
  };
  const PriorKnowledge prior = problem->Prior();
  check_form("estimates", prior.estimates);
  const std::map<std::string, AdditiveCost>& costs = prior.costs;
  check_form("sums", costs);
  if (costs.empty()) return;
  const std::vector<Assignment> samples = Samples(*problem);
  const std::vector<Evaluation> evaluations = EvaluateAll(*problem, samples);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (evaluations[i].failure) continue;
    for (const auto& [metric, cost] : costs) {
      double sum = cost.offset;
      for (std::size_t d = 0; d < samples[i].size(); ++d) {
        sum += cost.effects[d][static_cast<std::size_t>(samples[i][d])];
      }
      const auto it = evaluations[i].metrics.find(metric);
      findings.Expect(it != evaluations[i].metrics.end() && Near(it->second, sum),
                      "problem: '" + metric + "' is not the sum that the problem declares");
    }
  }
}

void CheckCovers(const EnvMaker& make, Findings& findings) {
  const auto env = make();
  SearchProblem* problem = env->problem();
  if (problem == nullptr) return;
  std::set<Assignment> seen;
  const PriorKnowledge prior = problem->Prior();
  for (const CoverPoint& point : prior.cover_front) {
    findings.Expect(seen.insert(point.assignment).second, "problem: a cover occurs twice");
    findings.Expect(std::isfinite(point.cost) && point.cost >= 0,
                    "problem: a cover costs less than nothing, or no number");
    findings.Expect(point.boundaries >= 0 && point.boundaries == std::floor(point.boundaries),
                    "problem: the boundaries of a cover are not a count");
  }
}

void CheckFidelities(const EnvMaker& make, Repeats repeats, Findings& findings) {
  const auto env = make();
  SearchProblem* problem = env->problem();
  if (problem == nullptr) return;
  const std::vector<Assignment> samples = Samples(*problem);
  const std::vector<Evaluation> full = EvaluateAll(*problem, samples);
  const auto names = [](const Evaluation& evaluation) {
    std::set<std::string> set;
    for (const auto& [metric, value] : evaluation.metrics) set.insert(metric);
    return set;
  };
  for (std::size_t fidelity = 0; fidelity < problem->fidelities(); ++fidelity) {
    const auto evaluate = [&] {
      std::vector<Evaluation> rough(samples.size());
      problem->EvaluateRoughly(fidelity, samples, [&](std::size_t i, const Evaluation& evaluation) {
        rough[i] = evaluation;
      });
      return rough;
    };
    const std::vector<Evaluation> rough = evaluate();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      findings.Expect(rough[i].failure || full[i].failure || names(rough[i]) == names(full[i]),
                      "problem: rough evaluations have other metrics than full ones");
    }
    findings.Expect(!IsExact(*env, repeats) || rough == evaluate(),
                    "problem: evaluating roughly again gives something else");
    problem->EvaluateRoughly(
        fidelity, samples, [](std::size_t, const Evaluation&) {}, [] { return true; });
  }
}

/// Checks along legal assignments that the env shows the problem's mask, and that Evaluate rejects
/// the choices that the mask excludes.
void CheckMasks(const EnvMaker& make, Findings& findings) {
  const auto env = make();
  SearchProblem* problem = env->problem();
  if (problem == nullptr || !problem->masked()) return;
  const ChoiceMask mask = problem->MaskFunction();
  for (const Assignment& sample : Samples(*problem)) {
    env->Reset(kSeed);
    for (std::size_t i = 0; i < sample.size(); ++i) {
      const std::vector<bool> own = problem->Mask(std::span(sample).first(i));
      std::vector<bool> shown = env->ActionMask();
      shown.resize(std::max(own.size(), shown.size()), shown.empty());
      findings.Expect(std::equal(own.begin(), own.end(), shown.begin()),
                      "problem: the env shows another mask");
      for (std::size_t choice = 0; choice < own.size(); ++choice) {
        if (own[choice]) continue;
        Assignment illegal = sample;
        illegal[i] = static_cast<std::int32_t>(choice);
        findings.ExpectRefused("an assignment that is ruled out", [&] {
          static_cast<void>(EvaluateAll(*problem, std::vector<Assignment>{illegal}));
        });
        findings.Expect(IsLegal(mask, MakeLegal(mask, illegal)),
                        "problem: its mask leaves dead ends");
      }
      const auto start = std::get<Discrete>(env->action_space().kind()).start;
      if (env->Step(Point{start + sample[i]}).truncated) break;
    }
  }
}

/// Steps through the choices of `assignment`; returns the info of the last step, or nothing if the
/// episode was truncated or violates the contract.
std::optional<Notes> Walk(Env& env, const Assignment& assignment, Findings& findings) {
  const auto* actions = std::get_if<Discrete>(&env.action_space().kind());
  findings.Expect(actions != nullptr, "problem: its env needs a Discrete action space");
  if (actions == nullptr) return std::nullopt;
  env.Reset(kSeed);
  StepResult result;
  for (const std::int32_t choice : assignment) {
    if (result.truncated) return std::nullopt;
    findings.Expect(!result.terminated, "problem: the env ends before the last decision");
    if (result.terminated) return std::nullopt;
    result = env.Step(Point{actions->start + choice});
  }
  findings.Expect(result.terminated || result.truncated,
                  "problem: the env does not end with the last decision");
  return result.terminated ? std::optional(std::move(result.info)) : std::nullopt;
}

void CheckWalks(const EnvMaker& make, Repeats repeats, Findings& findings) {
  const auto env = make();
  SearchProblem* problem = env->problem();
  if (problem == nullptr) return;
  const std::vector<Assignment> samples = Samples(*problem);
  const std::vector<Evaluation> evaluations = EvaluateAll(*problem, samples);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::optional<Notes> info = Walk(*env, samples[i], findings);
    if (!info) continue;
    const bool failed = info->contains("failure");
    const bool measured = !IsExact(*env, repeats);
    findings.Expect(measured || failed == evaluations[i].failure.has_value(),
                    "problem: Step and Evaluate differ about a failure");
    if (failed) continue;
    for (const std::string& metric : problem->metrics()) {
      const auto note = info->find(metric);
      const auto* value = note == info->end() ? nullptr : std::get_if<double>(&note->second);
      findings.Expect(value != nullptr,
                      "problem: the last step's info does not contain '" + metric + "'");
      if (value == nullptr || measured || evaluations[i].failure) continue;
      findings.Expect(*value == evaluations[i].metrics.at(metric),
                      "problem: Step and Evaluate differ in '" + metric + "'");
    }
  }
}

}  // namespace

std::vector<std::string> CheckEnv(const EnvMaker& make, Repeats repeats) {
  Findings findings;
  findings.Try("facts", [&] { CheckFacts(make, findings); });
  findings.Try("refusals", [&] { CheckRefusals(make, findings); });
  findings.Try("seeds", [&] { CheckSeeds(make, repeats, findings); });
  findings.Try("resets", [&] { CheckGoingOn(make, repeats, findings); });
  findings.Try("problem", [&] { CheckProblemForm(make, findings); });
  findings.Try("masks", [&] { CheckMasks(make, findings); });
  findings.Try("evaluations", [&] { CheckEvaluations(make, repeats, findings); });
  findings.Try("sums", [&] { CheckSums(make, findings); });
  findings.Try("covers", [&] { CheckCovers(make, findings); });
  findings.Try("fidelities", [&] { CheckFidelities(make, repeats, findings); });
  findings.Try("walks", [&] { CheckWalks(make, repeats, findings); });
  return findings.Take();
}

}  // namespace msc::gym
