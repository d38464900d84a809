#include "gym/core/decision_env.h"

#include <algorithm>
#include <utility>

#include "compiler/base/error.h"

namespace msc::gym {

namespace {

using Rows = std::vector<std::vector<double>>;

/// Returns the bounds of the features. They contain 0, the observation after the last decision.
Box FeatureBox(const Rows& features) {
  const std::size_t width = features.front().size();
  Box box{
      std::vector<double>(width), std::vector<double>(width), {static_cast<std::int64_t>(width)}};
  for (const auto& row : features) {
    for (std::size_t i = 0; i < width; ++i) {
      box.low[i] = std::min(box.low[i], row[i]);
      box.high[i] = std::max(box.high[i], row[i]);
    }
  }
  return box;
}

Space ObservationSpace(const std::vector<Decision>& decisions, const Rows& features) {
  MultiDiscrete chosen;
  for (const Decision& decision : decisions) {
    chosen.n.push_back(static_cast<std::int64_t>(decision.choices.size()) + 1);
  }
  Space::Parts parts;
  parts.emplace("decision", Discrete{static_cast<std::int64_t>(decisions.size()) + 1});
  parts.emplace("chosen", std::move(chosen));
  if (!features.empty()) parts.emplace("features", FeatureBox(features));
  return Space::Dict(std::move(parts));
}

std::size_t MostChoices(const std::vector<Decision>& decisions) {
  std::size_t most = 0;
  for (const Decision& decision : decisions) most = std::max(most, decision.choices.size());
  return most;
}

class DecisionEnv final : public Env {
 public:
  DecisionEnv(std::unique_ptr<SearchProblem> problem, DecisionEnvSetup setup)
      : problem_(std::move(problem)),
        setup_(std::move(setup)),
        features_(problem_->Prior().features),
        action_space_(Discrete{static_cast<std::int64_t>(MostChoices(problem_->decisions()))}),
        observation_space_(ObservationSpace(problem_->decisions(), features_)) {
    setup_.facts.max_steps = static_cast<std::int64_t>(problem_->decisions().size());
  }

 private:
  ResetResult DoReset(std::optional<std::uint64_t> /*seed*/,
                      const ResetOptions& /*options*/) override {
    chosen_.clear();
    return {Observe(), {}};
  }

  StepResult DoStep(const Point& action) override {
    chosen_.push_back(static_cast<std::int32_t>(std::get<std::int64_t>(action.value)));
    StepResult result;
    result.observation = Observe();
    if (chosen_.size() < problem_->decisions().size()) return result;
    result.terminated = true;
    problem_->Evaluate({&chosen_, 1}, [&](std::size_t /*index*/, const Evaluation& evaluation) {
      result.reward = setup_.reward(evaluation);
      result.info.insert(evaluation.metrics.begin(), evaluation.metrics.end());
      if (!evaluation.failure) {
        if (setup_.violation) result.info["violation"] = setup_.violation(evaluation);
        return;
      }
      const auto& [kind, detail] = *evaluation.failure;
      result.info["failure"] = std::string(Name(kind)) + ": " + detail;
    });
    return result;
  }

  [[nodiscard]] Point Observe() const {
    const std::vector<Decision>& decisions = problem_->decisions();
    std::vector<std::int64_t> chosen(decisions.size(), 0);
    for (std::size_t i = 0; i < chosen_.size(); ++i) chosen[i] = chosen_[i] + 1;
    PointMap parts;
    parts["decision"] = Point{static_cast<std::int64_t>(chosen_.size())};
    parts["chosen"] = Point{std::move(chosen)};
    if (!features_.empty()) {
      parts["features"] = Point{chosen_.size() < features_.size()
                                    ? features_[chosen_.size()]
                                    : std::vector<double>(features_.front().size(), 0.0)};
    }
    return Point{std::make_shared<const PointMap>(std::move(parts))};
  }

  [[nodiscard]] std::vector<bool> DoActionMask() const override {
    const std::vector<Decision>& decisions = problem_->decisions();
    if (chosen_.size() >= decisions.size()) return {};
    const auto all = static_cast<std::size_t>(std::get<Discrete>(action_space_.kind()).n);
    // The action space fits the decision with the most choices; others mask the excess.
    std::vector<bool> mask(all, false);
    const std::vector<bool> own = problem_->Mask(chosen_);
    std::copy(own.begin(), own.end(), mask.begin());
    return mask;
  }

  /// Returns a line per decision, such as "conv1: int8"; an open decision shows "-".
  [[nodiscard]] std::string DoRender() const override {
    const std::vector<Decision>& decisions = problem_->decisions();
    std::string text;
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      const bool open = i >= chosen_.size();
      text += decisions[i].name + ": " +
              (open ? "-" : decisions[i].choices[static_cast<std::size_t>(chosen_[i])]) + "\n";
    }
    return text;
  }

  [[nodiscard]] const Space& DoObservationSpace() const override { return observation_space_; }
  [[nodiscard]] const Space& DoActionSpace() const override { return action_space_; }
  [[nodiscard]] const EnvFacts& DoFacts() const override { return setup_.facts; }
  [[nodiscard]] SearchProblem* DoProblem() override { return problem_.get(); }

  std::unique_ptr<SearchProblem> problem_;
  DecisionEnvSetup setup_;
  Rows features_;
  Space action_space_;
  Space observation_space_;
  Assignment chosen_;
};

}  // namespace

std::unique_ptr<Env> MakeDecisionEnv(std::unique_ptr<SearchProblem> problem,
                                     DecisionEnvSetup setup) {
  Check(problem != nullptr, "a decision env walks a problem");
  Check(static_cast<bool>(setup.reward), "a decision env has a reward");
  CheckDecisions(problem->decisions());
  return std::make_unique<DecisionEnv>(std::move(problem), std::move(setup));
}

}  // namespace msc::gym
