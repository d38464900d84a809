#include "gym/search/train_best.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "compiler/base/error.h"

namespace msc::gym {
namespace {

/// Part of a loss that a training leaves, before there is one, and how many trainings that counts
/// as. With 8 bits and a hundred samples 0.46 to 0.99 were left (docs/decisions/0022).
constexpr double kLeft = 0.75;
constexpr double kPriorTrainings = 1;
/// A training is taken for this many trials, before there is one.
constexpr double kTrialsATraining = 4;
/// A trained candidate must be expected to be better by this part.
constexpr double kGain = 0.01;
constexpr std::size_t kRound = 8;  ///< of agents that do not use results

/// Returns the setup for an agent that proposes no training.
AgentSetup WithoutTraining(AgentSetup setup, std::size_t decision) {
  setup.mask = [mask = std::move(setup.mask), decision,
                choices = setup.decisions.at(decision).choices.size()](
                   std::span<const std::int32_t> prefix) {
    std::vector<bool> flags = mask ? mask(prefix) : std::vector<bool>();
    if (prefix.size() != decision) return flags;
    flags.assign(choices, false);
    flags[0] = true;
    return flags;
  };
  return setup;
}

/// Returns what an excess over the limit of a loss, relative to it, becomes where `left` of the
/// loss is left.
double ExcessLeft(double excess, double left) {
  return left * (1 + excess) - 1;
}

/// Returns the setup for an agent whose losses are those after a training.
AgentSetup AfterTraining(AgentSetup setup, const TrainBest& train) {
  for (std::size_t k = 0; k < setup.estimates.size(); ++k) {
    if (!train.losses[k]) continue;
    AdditiveCost& cost = setup.estimates[k];
    cost.offset = k < setup.objectives ? kLeft * cost.offset : ExcessLeft(cost.offset, kLeft);
    for (std::vector<double>& effects : cost.effects) {
      for (double& effect : effects) effect *= kLeft;
    }
  }
  return WithoutTraining(std::move(setup), train.decision);
}

class TrainBestAgent final : public Agent {
 public:
  TrainBestAgent(AgentSetup setup, TrainBest train, std::unique_ptr<Agent> plain,
                 std::unique_ptr<Agent> trained)
      : Agent(std::move(setup)),
        train_(std::move(train)),
        plain_agent_(std::move(plain)),
        trained_agent_(std::move(trained)),
        trained_next_(this->setup().first_trial) {}

 private:
  [[nodiscard]] std::optional<std::size_t> DoRound() const override {
    if (HasTime()) return 1;
    // Of a round that was interrupted, the rest.
    return plain_left_ > 0 ? plain_left_ : plain_agent_->round().value_or(kRound);
  }

  std::vector<Assignment> DoAsk(std::uint64_t first, std::size_t count) override {
    if (HasTime()) {
      std::optional<Assignment> chosen = MostPromising();
      if (!chosen) chosen = NewOne();
      if (chosen) {
        (*chosen)[train_.decision] = train_.choice;
        if (IsLegal(setup().mask, *chosen)) return {*std::move(chosen)};
      }
    }
    // The agent counts its own trials only.
    return plain_agent_->Ask(first - trained_, count);
  }

  void DoTell(std::span<const TrialResult> results) override {
    for (const TrialResult& told : results) {
      seconds_ += told.seconds;
      if (told.assignment.at(train_.decision) != 0) {
        if (told.trial >= setup().first_trial) ++trained_;
        HearTrained(told);
        continue;
      }
      if (told.Complete()) plain_.emplace(told.assignment, told);
      HearBest(told);
      TrialResult own = told;
      if (own.trial >= setup().first_trial) {
        own.trial -= trained_;
        if (plain_left_ == 0) plain_left_ = plain_agent_->round().value_or(kRound);
        --plain_left_;
      }
      plain_agent_->Tell({&own, 1});
      TellAfterTraining(Trained(told));
    }
  }

  /// Tells the agent that proposes candidates to train, in its own count of trials.
  void TellAfterTraining(TrialResult told) {
    told.assignment[train_.decision] = 0;
    if (told.trial >= setup().first_trial) told.trial = trained_next_++;
    trained_agent_->Tell({&told, 1});
  }

  void HearTrained(const TrialResult& told) {
    if (told.unknown) return;  // it may be tried again
    training_seconds_ += told.seconds;
    if (told.seconds > 0) ++timed_;
    Assignment plain = told.assignment;
    plain[train_.decision] = 0;
    tried_.insert(plain);
    HearBest(told);
    TellAfterTraining(told);
    const auto before = plain_.find(plain);
    if (before == plain_.end() || !told.Complete()) return;
    // Relative excesses over limits start at -1, which is no loss at all.
    const auto learn = [&](double was, double is) {
      if (!(was > 0)) return;
      log_left_ += std::log(std::clamp(is / was, 0.1, 2.0));
      ++learned_;
    };
    ForLosses(before->second, told, learn);
  }

  template <typename Learn>
  void ForLosses(const TrialResult& was, const TrialResult& is, const Learn& learn) const {
    for (std::size_t k = 0; k < was.objectives.size(); ++k) {
      if (train_.losses[k]) learn(was.objectives[k], is.objectives[k]);
    }
    for (std::size_t c = 0; c < was.constraints.size(); ++c) {
      if (!train_.losses[setup().objectives + c]) continue;
      learn(1 + was.constraints[c], 1 + is.constraints[c]);
    }
  }

  void HearBest(const TrialResult& told) {
    if (!told.Complete() || told.violation > 0) return;
    if (!best_ || told.objectives < *best_) best_ = told.objectives;
  }

  /// Returns the part of a loss that a training is expected to leave.
  [[nodiscard]] double Left() const {
    const double prior = kPriorTrainings * std::log(kLeft);
    return std::exp((prior + log_left_) / (kPriorTrainings + static_cast<double>(learned_)));
  }

  /// Returns whether there is time for a training.
  [[nodiscard]] bool HasTime() const {
    const bool front = setup().objectives > 1 && setup().constraints == 0;
    if (front || train_.share <= 0 || plain_.empty()) return false;
    const double others = seconds_ - training_seconds_;
    const double one = timed_ > 0 ? training_seconds_ / static_cast<double>(timed_)
                                  : kTrialsATraining * others / static_cast<double>(plain_.size());
    return training_seconds_ + one <= train_.share * (seconds_ + one);
  }

  /// Returns what the result of a trial is expected to be once it is trained.
  [[nodiscard]] TrialResult Trained(TrialResult told) const {
    const double left = Left();
    told.violation = 0;
    for (std::size_t k = 0; k < told.objectives.size(); ++k) {
      if (train_.losses[k]) told.objectives[k] *= left;
    }
    for (std::size_t c = 0; c < told.constraints.size(); ++c) {
      double& excess = told.constraints[c];
      if (train_.losses[setup().objectives + c]) excess = ExcessLeft(excess, left);
      told.violation += std::max(excess, 0.0);
    }
    return told;
  }

  /// Returns whether a candidate, without training, may be trained.
  [[nodiscard]] bool MayTrain(const Assignment& plain) const {
    return !tried_.contains(plain) && (!train_.trains || train_.trains(plain));
  }

  /// Returns the trial that is expected to be the best once it is trained, if it is then better
  /// than the best one.
  [[nodiscard]] std::optional<Assignment> MostPromising() const {
    std::optional<std::vector<double>> least;
    std::optional<Assignment> chosen;
    for (const auto& [assignment, told] : plain_) {
      const TrialResult expected = Trained(told);
      if (expected.violation > 0 || (least && !(expected.objectives < *least))) continue;
      if (!MayTrain(assignment)) continue;
      least = expected.objectives;
      chosen = assignment;
    }
    if (least && best_ && least->front() > (1 - kGain) * best_->front()) return std::nullopt;
    return chosen;
  }

  /// Returns a candidate that was not tried and is worth a training.
  [[nodiscard]] std::optional<Assignment> NewOne() {
    const std::vector<Assignment> proposed = trained_agent_->Ask(trained_next_, 1);
    if (proposed.empty() || !MayTrain(proposed.front())) return std::nullopt;
    return proposed.front();
  }

  TrainBest train_;
  std::unique_ptr<Agent> plain_agent_;
  std::size_t plain_left_ = 0;               ///< trials that its present round has left
  std::unique_ptr<Agent> trained_agent_;     ///< is told what results would be after a training
  std::uint64_t trained_next_;               ///< number of its next trial
  std::map<Assignment, TrialResult> plain_;  ///< trials with full results, without training
  std::set<Assignment> tried_;               ///< those of them that were trained
  std::uint64_t trained_ = 0;                ///< trials of trained candidates that were asked for
  double seconds_ = 0;                       ///< of all trials
  double training_seconds_ = 0;              ///< of those of trained candidates
  std::size_t timed_ = 0;                    ///< number of the latter
  double log_left_ = 0;                      ///< sum of the logarithms of parts of losses left
  std::size_t learned_ = 0;                  ///< number of its terms
  std::optional<std::vector<double>> best_;  ///< objectives of the best trial within the limits
};

}  // namespace

std::unique_ptr<Agent> MakeTrainBestAgent(
    AgentSetup setup, TrainBest train,
    const std::function<std::unique_ptr<Agent>(const AgentSetup&)>& make) {
  Check(train.losses.size() == setup.objectives + setup.constraints,
        "it is known of each objective and limit whether it is a loss");
  Check(train.decision < setup.decisions.size() && train.choice > 0, "a training is a choice");
  auto plain = make(WithoutTraining(setup, train.decision));
  auto trained = make(AfterTraining(setup, train));
  return std::make_unique<TrainBestAgent>(std::move(setup), std::move(train), std::move(plain),
                                          std::move(trained));
}

}  // namespace msc::gym
