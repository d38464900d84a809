#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gym/core/env.h"
#include "gym/core/problem.h"

namespace msc::gym {

/// An env whose every answer a test can replace. As it is: a counter that ends after 3 steps.
struct FakeParts {
  EnvFacts facts = {.id = "Fake-v0", .max_steps = 3};
  Space observations = Discrete{10};
  Space actions = Discrete{2};
  std::function<ResetResult(Rng& rng)> reset = [](Rng&) { return ResetResult{Point{0}, {}}; };
  /// `step` counts from 1.
  std::function<StepResult(Rng& rng, std::int64_t step)> step = [](Rng&, std::int64_t number) {
    return StepResult{
        .observation = Point{number}, .reward = 1, .terminated = number == 3, .info = {}};
  };
  std::function<std::vector<bool>()> mask = [] { return std::vector<bool>{}; };
};

class FakeEnv final : public Env {
 public:
  explicit FakeEnv(FakeParts parts, std::unique_ptr<SearchProblem> problem = nullptr)
      : parts_(std::move(parts)), problem_(std::move(problem)) {}

 private:
  ResetResult DoReset(std::optional<std::uint64_t> /*seed*/,
                      const ResetOptions& /*options*/) override {
    step_ = 0;
    return parts_.reset(rng());
  }
  StepResult DoStep(const Point& /*action*/) override { return parts_.step(rng(), ++step_); }
  [[nodiscard]] const Space& DoObservationSpace() const override { return parts_.observations; }
  [[nodiscard]] const Space& DoActionSpace() const override { return parts_.actions; }
  [[nodiscard]] const EnvFacts& DoFacts() const override { return parts_.facts; }
  [[nodiscard]] std::vector<bool> DoActionMask() const override { return parts_.mask(); }
  [[nodiscard]] SearchProblem* DoProblem() override { return problem_.get(); }

  FakeParts parts_;
  std::unique_ptr<SearchProblem> problem_;
  std::int64_t step_ = 0;
};

/// A problem whose every answer a test can replace. As it is: two decisions, and the metric
/// "cost", the sum of the choices.
struct FakeProblemParts {
  std::vector<Decision> decisions = {{"a", {"x", "y"}}, {"b", {"x", "y", "z"}}};
  std::vector<std::string> metrics = {"cost"};
  std::vector<std::pair<std::string, Assignment>> anchors = {{"least", {0, 0}}};
  std::function<Evaluation(const Assignment&)> evaluate = [](const Assignment& assignment) {
    return Evaluation{.metrics = {{"cost", assignment[0] + assignment[1]}},
                      .failure = std::nullopt,
                      .record = "{}"};
  };
  /// How often each is reported.
  int reports = 1;
  std::string description = "{}";
  std::string hash = "fake";
  std::size_t parallelism = 1;
  ChoiceMask mask = {};
  PriorKnowledge prior = {};
  std::size_t fidelities = 0;
  std::function<Evaluation(std::size_t fidelity, const Assignment&)> evaluate_roughly = {};
  std::function<void(const Assignment&, const Evaluation&)> recall = {};
};

class FakeProblem final : public SearchProblem {
 public:
  explicit FakeProblem(FakeProblemParts parts) : parts_(std::move(parts)) {}

 private:
  [[nodiscard]] const std::vector<Decision>& DoDecisions() const override {
    return parts_.decisions;
  }
  [[nodiscard]] std::vector<std::string> DoMetrics() const override { return parts_.metrics; }
  [[nodiscard]] PriorKnowledge DoPrior() const override { return parts_.prior; }
  [[nodiscard]] bool DoMasked() const override { return parts_.mask != nullptr; }
  [[nodiscard]] std::vector<bool> DoMask(std::span<const std::int32_t> prefix) const override {
    return parts_.mask(prefix);
  }
  void DoEvaluate(std::span<const Assignment> batch, const Done& done,
                  const std::function<bool()>& stop) override {
    for (std::size_t i = 0; i < batch.size() && !stop(); ++i) {
      for (int time = 0; time < parts_.reports; ++time) done(i, parts_.evaluate(batch[i]));
    }
  }
  [[nodiscard]] std::size_t DoFidelities() const override { return parts_.fidelities; }
  void DoEvaluateRoughly(std::size_t fidelity, std::span<const Assignment> batch, const Done& done,
                         const std::function<bool()>& stop) override {
    for (std::size_t i = 0; i < batch.size() && !stop(); ++i) {
      done(i, parts_.evaluate_roughly(fidelity, batch[i]));
    }
  }
  void DoRecall(const Assignment& assignment, const Evaluation& evaluation) override {
    if (parts_.recall) parts_.recall(assignment, evaluation);
  }
  [[nodiscard]] std::vector<std::pair<std::string, Assignment>> DoAnchors() const override {
    return parts_.anchors;
  }
  [[nodiscard]] std::string DoDescribe(const Assignment& /*assignment*/) const override {
    return parts_.description;
  }
  [[nodiscard]] std::string DoHash() const override { return parts_.hash; }
  [[nodiscard]] std::size_t DoParallelism() const override { return parts_.parallelism; }

  FakeProblemParts parts_;
};

/// What `act` throws, as text; "" if nothing.
template <class Error>
std::string MessageOf(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace msc::gym
