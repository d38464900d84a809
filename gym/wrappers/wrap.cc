#include "gym/wrappers/wrap.h"

#include <utility>

#include "compiler/base/error.h"

namespace msc::gym {

namespace {

class WrappedEnv final : public Env {
 public:
  WrappedEnv(std::unique_ptr<Env> inner, WrapperHooks hooks)
      : owned_(std::move(inner)), inner_(owned_.get()), hooks_(std::move(hooks)) {}
  explicit WrappedEnv(Env& inner) : inner_(&inner) {}

 private:
  ResetResult DoReset(std::optional<std::uint64_t> seed, const ResetOptions& options) override {
    ResetResult result = inner_->Reset(seed, options);
    if (hooks_.after_reset) hooks_.after_reset(seed, options, result);
    return result;
  }
  StepResult DoStep(const Point& action) override {
    std::optional<StepResult> instead;
    if (hooks_.instead_of_step) instead = hooks_.instead_of_step(action);
    StepResult result = instead ? *std::move(instead) : inner_->Step(action);
    if (hooks_.after_step) hooks_.after_step(action, result);
    return result;
  }
  [[nodiscard]] const Space& DoObservationSpace() const override {
    return inner_->observation_space();
  }
  [[nodiscard]] const Space& DoActionSpace() const override { return inner_->action_space(); }
  [[nodiscard]] const EnvFacts& DoFacts() const override {
    return hooks_.facts ? *hooks_.facts : inner_->facts();
  }
  [[nodiscard]] std::vector<bool> DoActionMask() const override { return inner_->ActionMask(); }
  [[nodiscard]] std::string DoRender() const override { return inner_->Render(); }
  [[nodiscard]] SearchProblem* DoProblem() override { return inner_->problem(); }

  std::unique_ptr<Env> owned_;
  Env* inner_;
  WrapperHooks hooks_;
};

}  // namespace

std::unique_ptr<Env> WrapEnv(std::unique_ptr<Env> inner, WrapperHooks hooks) {
  Check(inner != nullptr, "a wrapper has an env to wrap");
  return std::make_unique<WrappedEnv>(std::move(inner), std::move(hooks));
}

std::unique_ptr<Env> BorrowEnv(Env& env) {
  return std::make_unique<WrappedEnv>(env);
}

}  // namespace msc::gym
