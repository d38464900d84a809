#include "gym/study/ask_tell.h"

#include <cmath>

#include "compiler/base/error.h"

namespace msc::gym {
namespace {

/// Proposals per request to an agent that does not use results.
constexpr std::size_t kChunk = 256;

void CheckMetric(const std::string& name, std::uint64_t trial, const Evaluation& evaluation) {
  const auto it = evaluation.metrics.find(name);
  if (it != evaluation.metrics.end() && std::isfinite(it->second)) return;
  throw UserError("trial " + std::to_string(trial) + " needs a finite '" + name +
                  "'; tell a failure where there is none");
}

}  // namespace

AskTell::AskTell(const Start& start, Agent& agent, std::string source, Objective objective)
    : agent_(agent), source_(std::move(source)), objective_(std::move(objective)) {
  for (const auto& [assignment, evaluation] : start.known) {
    Trial trial;
    trial.number = next_++;
    trial.source = "known";
    trial.assignment = assignment;
    trial.evaluation = evaluation;
    CheckMetrics(trial.number, trial.evaluation);
    const auto [first, is_new] = first_.emplace(trial.assignment, trial.number);
    const Trial original = is_new ? trial : done_.at(first->second);
    Copy(original, std::move(trial));
  }
  for (const auto& [name, assignment] : start.anchors) Enqueue("anchor:" + name, assignment);
}

void AskTell::CheckMetrics(std::uint64_t number, const Evaluation& evaluation) const {
  if (evaluation.failure) return;
  for (const std::string& name : objective_.minimize) CheckMetric(name, number, evaluation);
  for (const auto& [name, limit] : objective_.subject_to) CheckMetric(name, number, evaluation);
}

void AskTell::Enqueue(std::string source, Assignment assignment) {
  Trial& trial = queue_.emplace_back();
  trial.number = next_++;
  trial.source = std::move(source);
  trial.assignment = std::move(assignment);
}

std::optional<Trial> AskTell::Ask() {
  while (!queue_.empty() || Refill()) {
    Trial trial = std::move(queue_.front());
    queue_.pop_front();
    const auto [first, is_new] = first_.emplace(trial.assignment, trial.number);
    if (is_new) return open_[first->second] = std::move(trial);
    const auto original = done_.find(first->second);
    if (original != done_.end()) {
      Copy(original->second, std::move(trial));
    } else {
      copies_[first->second].push_back(std::move(trial));
    }
  }
  return std::nullopt;
}

/// Appends the agent's next proposals to the queue. Returns whether the queue has any.
bool AskTell::Refill() {
  if (exhausted_) return false;
  if (agent_.round() && !open_.empty()) {
    std::string waiting;
    for (const auto& [number, trial] : open_) {
      waiting += (waiting.empty() ? "" : ", ") + std::to_string(number);
    }
    throw UserError("'" + source_ + "' needs results to propose more: tell those of the trials " +
                    waiting + " before you ask for another");
  }
  TellAgent();
  const std::size_t asked = agent_.round().value_or(kChunk);
  std::vector<Assignment> proposals = agent_.Ask(next_, asked);
  // An agent that returns fewer proposals than requested has none left.
  exhausted_ = proposals.size() < asked;
  for (Assignment& assignment : proposals) Enqueue(source_, std::move(assignment));
  return !queue_.empty();
}

/// Sends the agent all results up to the first missing trial number.
void AskTell::TellAgent() {
  std::vector<TrialResult> results;
  // Results are passed on in the order of trial numbers, so that proposals do not depend on which
  // result came first.
  for (auto it = done_.find(told_); it != done_.end() && it->first == told_; ++it, ++told_) {
    results.push_back(TrialResultOf(objective_, it->second));
  }
  if (!results.empty()) agent_.Tell(results);
}

void AskTell::Copy(const Trial& original, Trial copy) {
  copy.evaluation = original.evaluation;
  copy.repeated = true;
  const std::uint64_t number = copy.number;
  done_.emplace(number, std::move(copy));
}

void AskTell::Tell(std::uint64_t number, Evaluation evaluation) {
  const auto it = open_.find(number);
  if (it == open_.end()) {
    throw UserError("trial " + std::to_string(number) +
                    (done_.contains(number) ? " has a result already" : " was not asked for"));
  }
  CheckMetrics(number, evaluation);
  Trial& trial = done_.emplace(number, std::move(it->second)).first->second;
  open_.erase(it);
  trial.evaluation = std::move(evaluation);
  if (WasLost(trial)) first_.erase(trial.assignment);  // may be handed out again
  auto copies = copies_.extract(number);
  if (copies.empty()) return;
  for (Trial& copy : copies.mapped()) Copy(trial, std::move(copy));
}

std::vector<std::uint64_t> AskTell::Waiting() const {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, trial] : open_) numbers.push_back(number);
  return numbers;
}

StudyResult AskTell::Result() const {
  StudyResult result;
  for (const auto& [number, trial] : done_) result.trials.push_back(trial);
  result.best = BestOf(objective_, result.trials);
  result.pareto = ParetoOf(objective_, result.trials);
  result.stop = exhausted_ && queue_.empty() && open_.empty() ? StopReason::kExhausted
                                                              : StopReason::kInterrupted;
  return result;
}

}  // namespace msc::gym
