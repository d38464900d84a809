#include "envs/distill/distill_env.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/hash.h"
#include "envs/common/evaluation.h"
#include "gym/core/decision_env.h"

namespace msc::envs {
namespace {

constexpr const char* kId = "Distill-v0";

double NumberOf(const std::string& choice) {
  double value = 0;
  std::from_chars(choice.data(), choice.data() + choice.size(), value);
  return value;
}

/// A decision with the setting that it stands for.
struct Ingredient {
  gym::Decision decision;
  void (*set)(TrainSettings& settings, const std::string& choice);
};

std::vector<Ingredient> Ingredients(Labels labels) {
  using Settings = TrainSettings;
  std::vector<Ingredient> all = {
      {{"epochs", {"1", "2", "4", "8"}},
       [](Settings& s, const std::string& c) { s.epochs = static_cast<int>(NumberOf(c)); }},
      {{"rate", {"0.0001", "0.0003", "0.001", "0.003"}},
       [](Settings& s, const std::string& c) { s.rate = NumberOf(c); }},
      {{"temperature", {"1", "2", "4", "8"}},
       [](Settings& s, const std::string& c) { s.temperature = NumberOf(c); }},
      {{"lp", {"0", "0.1", "1"}}, [](Settings& s, const std::string& c) { s.lp = NumberOf(c); }},
      {{"schedule", {"constant", "cosine"}},
       [](Settings& s, const std::string& c) { s.schedule = c; }}};
  if (labels == Labels::kPresent) {
    all.push_back({{"hard", {"0", "0.1", "0.5"}},
                   [](Settings& s, const std::string& c) { s.hard = NumberOf(c); }});
  }
  return all;
}

struct EpochRecord {
  double loss = 0;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("loss", self.loss, "mean over the steps");
  }
};

struct TrainRecord {
  TrainSettings settings;
  std::vector<EpochRecord> epochs;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("settings", self.settings, "the recipe");
    visit("epochs", self.epochs, "what was reached after each");
  }
};

class DistillProblem final : public gym::SearchProblem {
 public:
  explicit DistillProblem(const EnvContext& context)
      : task_(context.distill), judged_(context.labels) {
    if (task_ == nullptr) {
      throw UserError(std::string(kId) + " needs a student to train; see docs/distillation.md");
    }
    if (const std::string problem = TrainerProblem(); !problem.empty()) {
      throw SystemError(std::string(kId) + " needs libtorch: " + problem);
    }
    ingredients_ = Ingredients(task_->labels.empty() ? Labels::kAbsent : Labels::kPresent);
    for (const Ingredient& ingredient : ingredients_) decisions_.push_back(ingredient.decision);
  }

 private:
  [[nodiscard]] const std::vector<gym::Decision>& DoDecisions() const override {
    return decisions_;
  }

  [[nodiscard]] std::vector<std::string> DoMetrics() const override {
    std::vector<std::string> names = {std::string(kDistillLoss)};
    if (judged_ == Labels::kPresent) names.emplace_back(kAccuracyDrop);
    names.emplace_back(kTrainSteps);
    return names;
  }

  [[nodiscard]] TrainSettings SettingsOf(const gym::Assignment& assignment) const {
    TrainSettings settings = task_->settings;
    for (std::size_t i = 0; i < ingredients_.size(); ++i) {
      const auto choice = static_cast<std::size_t>(assignment.at(i));
      ingredients_[i].set(settings, decisions_[i].choices.at(choice));
    }
    return settings;
  }

  [[nodiscard]] double StepsOf(double epochs) const {
    const std::int64_t samples = task_->inputs.dims().at(0);
    return epochs * static_cast<double>(StepsAnEpoch(samples, task_->settings.batch));
  }

  void DoEvaluate(std::span<const gym::Assignment> batch, const Done& done,
                  const std::function<bool()>& stop) override {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (stop()) return;
      const TrainSettings settings = SettingsOf(batch[i]);
      TrainJob job;
      job.student = &task_->student;
      job.teacher = &task_->teacher;
      job.settings = settings;
      job.train = {.inputs = &task_->inputs, .labels = task_->labels};
      TrainHooks hooks;
      hooks.progress = [&](const TrainProgress& /*progress*/) { return !stop(); };
      gym::Evaluation evaluation;
      TrainRecord record{.settings = settings, .epochs = {}};
      try {
        TrainState state;
        const TrainResult result = Train(job, hooks, state);
        if (result.stopped) return;
        for (const TrainEpoch& epoch : result.epochs) record.epochs.push_back({epoch.loss});
        evaluation.metrics = task_->judge(result);
        evaluation.metrics.emplace(kTrainSteps, StepsOf(static_cast<double>(settings.epochs)));
      } catch (const UserError& error) {
        // The samples fit, as the baselines show: the loss stopped being finite.
        evaluation.metrics.clear();
        evaluation.failure = Failure{FailureKind::kWrongOutput, error.what()};
      }
      evaluation.record = ToJsonText(record);
      done(i, evaluation);
    }
  }

  [[nodiscard]] gym::Assignment Recipe(const std::string& epochs) const {
    const std::map<std::string, std::string> usual = {
        {"epochs", epochs}, {"rate", "0.001"}, {"temperature", "4"}, {"schedule", "cosine"}};
    gym::Assignment assignment;
    for (const gym::Decision& decision : decisions_) {
      const auto it = usual.find(decision.name);
      const auto& choices = decision.choices;
      const auto choice = it == usual.end() ? choices.begin()
                                            : std::find(choices.begin(), choices.end(), it->second);
      assignment.push_back(static_cast<std::int32_t>(choice - choices.begin()));
    }
    return assignment;
  }

  [[nodiscard]] std::vector<std::pair<std::string, gym::Assignment>> DoAnchors() const override {
    return {{"short", Recipe("1")}, {"long", Recipe("8")}};
  }

  [[nodiscard]] std::map<std::string, gym::AdditiveCost> DoAdditiveCosts() const override {
    gym::AdditiveCost cost;
    for (const gym::Decision& decision : decisions_) {
      std::vector<double>& effects = cost.effects.emplace_back();
      for (const std::string& choice : decision.choices) {
        effects.push_back(decision.name == "epochs" ? StepsOf(NumberOf(choice)) : 0.0);
      }
    }
    return {{std::string(kTrainSteps), std::move(cost)}};
  }

  [[nodiscard]] std::map<std::string, double> DoLowerBounds() const override {
    return {{std::string(kDistillLoss), 0.0}, {std::string(kTrainSteps), StepsOf(1)}};
  }

  [[nodiscard]] std::string DoDescribe(const gym::Assignment& assignment) const override {
    return ToJsonText(SettingsOf(assignment));
  }

  [[nodiscard]] std::string DoHash() const override {
    Sha256 hash;
    hash.Add(std::string(kId) + "\n" + task_->hash + "\n" + ToJsonText(task_->settings) + "\n");
    for (const gym::Decision& decision : decisions_) {
      hash.Add(decision.name + "\n");
      for (const std::string& choice : decision.choices) hash.Add(choice + "\n");
    }
    return hash.Hex();
  }

  std::shared_ptr<const DistillTask> task_;
  Labels judged_;
  std::vector<Ingredient> ingredients_;
  std::vector<gym::Decision> decisions_;
};

}  // namespace

std::unique_ptr<gym::Env> MakeDistillEnv(const EnvContext& context) {
  const auto reward = [](const gym::Evaluation& evaluation) {
    constexpr double kFailure = -10.0;
    return evaluation.failure ? kFailure : -evaluation.metrics.at(std::string(kDistillLoss));
  };
  return gym::MakeDecisionEnv(std::make_unique<DistillProblem>(context),
                              {.facts = {.id = kId}, .reward = reward});
}

}  // namespace msc::envs
