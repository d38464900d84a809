#include "gym/study/race.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/ranks.h"
#include "gym/core/pareto.h"

namespace msc::gym {

RacingProblem::RacingProblem(SearchProblem& inner, Objective objective, RaceOptions options,
                             Say say)
    : inner_(inner), objective_(std::move(objective)), options_(options), say_(std::move(say)) {
  Check(options_.keep_one_in >= 2 && options_.pairs >= 3 && options_.audit_one_in >= 1,
        "a race drops some, and watches some");
  if (!inner_.rough())
    throw UserError("this problem cannot be evaluated roughly; leave out 'race'");
}

bool RacingProblem::Unconditional(std::size_t index) const {
  return index < options_.pairs || index % options_.audit_one_in == 0;
}

RacingProblem::Rank RacingProblem::RankOf(const std::map<std::string, double>& metrics) const {
  const Evaluation evaluation{.metrics = metrics, .failure = std::nullopt, .record = ""};
  return {.objectives = ObjectiveValues(objective_, evaluation),
          .violation = Violation(objective_, evaluation)};
}

bool RacingProblem::AmongBest(const Rank& rank) const {
  const auto beats = [&](const Rank& other) {
    if (other.violation != rank.violation) return other.violation < rank.violation;
    return Dominates(other.objectives, rank.objectives);
  };
  const auto better = std::count_if(seen_.begin(), seen_.end(), beats);
  const std::size_t kept = (seen_.size() + options_.keep_one_in - 1) / options_.keep_one_in;
  return std::cmp_less(better, kept);
}

void RacingProblem::End(const std::string& why) {
  racing_ = false;
  if (say_) say_("candidates race no longer: " + why);
}

void RacingProblem::Watch() {
  if (!racing_) return;
  for (const auto& [metric, values] : pairs_) {
    const auto& [rough, full] = values;
    if (rough.size() < options_.pairs) return;
    const std::optional<double> correlation = RankCorrelation(rough, full);
    if (!correlation || *correlation >= options_.least_correlation) continue;
    char text[160];  // NOLINT(modernize-avoid-c-arrays): snprintf
    std::snprintf(text, sizeof text,
                  "the ranks of '%.60s' in rough and in full results correlate by %.2f over %zu",
                  metric.c_str(), *correlation, rough.size());
    End(text);
    return;
  }
}

void RacingProblem::DoRecall(const Assignment& assignment, const Evaluation& evaluation) {
  inner_.Recall(assignment, evaluation);
  if (!racing_) return;
  if (evaluation.rough.empty()) {
    // Without a rough result it failed in the rough, or racing had ended.
    if (!evaluation.failure) racing_ = false;
    return;
  }
  seen_.push_back(RankOf(evaluation.rough));
  if (evaluation.dropped || evaluation.failure || !Unconditional(seen_.size() - 1)) return;
  for (auto& [metric, value] : evaluation.rough) {
    pairs_[metric].first.push_back(value);
    pairs_[metric].second.push_back(evaluation.metrics.at(metric));
  }
}

void RacingProblem::DoEvaluate(std::span<const Assignment> batch, const Done& done,
                               const std::function<bool()>& stop) {
  Watch();  // what was recalled may have ended it
  if (!racing_) {
    inner_.Evaluate(batch, done, stop);
    return;
  }
  std::vector<std::optional<Evaluation>> rough(batch.size());
  inner_.EvaluateRoughly(
      batch, [&](std::size_t i, const Evaluation& result) { rough[i] = result; }, stop);
  if (stop()) return;
  // Ranks are those among all of the batch, in whatever order it was evaluated.
  std::vector<std::size_t> place(batch.size(), 0);  // in seen_
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (rough[i]->failure) continue;
    // Only what the objective names is kept: the rest may differ by its nature, such as times.
    std::map<std::string, double> named;
    for (const std::string& metric : objective_.minimize) {
      named[metric] = rough[i]->metrics.at(metric);
    }
    for (const Constraint& limit : objective_.subject_to) {
      named[limit.metric] = rough[i]->metrics.at(limit.metric);
    }
    rough[i]->rough = std::move(named);
    place[i] = seen_.size();
    seen_.push_back(RankOf(rough[i]->rough));
  }
  std::vector<Assignment> promoted;
  std::vector<std::size_t> places;  // in the batch
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (rough[i]->failure) {
      done(i, *rough[i]);
    } else if (Unconditional(place[i]) || AmongBest(seen_[place[i]])) {
      promoted.push_back(batch[i]);
      places.push_back(i);
    } else {
      rough[i]->dropped = true;
      done(i, *rough[i]);
    }
  }
  std::vector<std::optional<Evaluation>> full(promoted.size());
  inner_.Evaluate(
      promoted,
      [&](std::size_t p, const Evaluation& result) {
        full[p] = result;
        full[p]->rough = rough[places[p]]->rough;
        done(places[p], *full[p]);
      },
      stop);
  if (stop()) return;
  for (std::size_t p = 0; p < promoted.size(); ++p) {
    if (full[p]->failure || !Unconditional(place[places[p]])) continue;
    for (const auto& [metric, value] : full[p]->rough) {
      pairs_[metric].first.push_back(value);
      pairs_[metric].second.push_back(full[p]->metrics.at(metric));
    }
  }
  Watch();
}

}  // namespace msc::gym
