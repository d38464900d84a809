#include "envs/distill/distill_env.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/hash.h"
#include "envs/common/evaluation.h"
#include "envs/distill/recipe_choices.h"

namespace msc::envs {
namespace {

constexpr const char* kId = "Distill-v0";

RecipeLists ListsFor(bool labelled) {
  RecipeLists lists{.epochs = {1, 2, 4, 8},
                    .rate = {0.0001, 0.0003, 0.001, 0.003},
                    .temperature = {1, 2, 4, 8},
                    .lp = {0, 0.1, 1},
                    .schedule = {"constant", "cosine"}};
  if (labelled) lists.hard = {0, 0.1, 0.5};
  return lists;
}

struct EpochRecord {
  double loss = 0;
  static void Fields(auto& self, auto& visit) { visit("loss", self.loss, "mean over the steps"); }
};

struct TrainRecord {
  TrainSettings settings;
  std::vector<EpochRecord> epochs = {};
  static void Fields(auto& self, auto& visit) {
    visit("settings", self.settings, "the recipe");
    visit("epochs", self.epochs, "loss after each epoch");
  }
};

class DistillProblem final : public RecipeProblem {
 public:
  explicit DistillProblem(std::shared_ptr<const TrainingTask> task)
      : task_(std::move(task)), choices_(ListsFor(!task_->labels.empty()), RecipeWords::kBare) {
    if (const std::string problem = TrainerProblem(); !problem.empty()) {
      throw SystemError(std::string(kId) + " needs libtorch: " + problem);
    }
  }

 private:
  [[nodiscard]] const std::vector<gym::Decision>& DoDecisions() const override {
    return choices_.decisions();
  }

  [[nodiscard]] std::vector<std::string> DoMetrics() const override {
    std::vector<std::string> names = task_->losses;
    names.emplace_back(kTrainSteps);
    return names;
  }

  [[nodiscard]] TrainSettings DoRecipeOf(const gym::Assignment& assignment) const override {
    TrainSettings settings = task_->settings;
    choices_.Set(assignment, settings);
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
      const TrainSettings settings = DoRecipeOf(batch[i]);
      const std::optional<Trained> trained = TrainAndJudge(*task_, {settings, task_->judge}, stop);
      if (!trained) return;
      gym::Evaluation evaluation;
      TrainRecord record{.settings = settings};
      for (const TrainEpoch& epoch : trained->epochs) record.epochs.push_back({epoch.loss});
      if (trained->quality.ok()) {
        const cost::Quality& quality = trained->quality.value();
        for (const std::string& name : task_->losses) {
          if (const auto loss = quality.Loss(name)) evaluation.metrics.emplace(name, loss->value);
        }
        evaluation.metrics.emplace(kTrainSteps, StepsOf(static_cast<double>(settings.epochs)));
      } else {
        evaluation.failure = trained->quality.failure();
      }
      evaluation.record = ToJsonText(record);
      done(i, evaluation);
    }
  }

  [[nodiscard]] gym::Assignment Recipe(const std::string& epochs) const {
    const std::map<std::string, std::string> usual = {
        {"epochs", epochs}, {"rate", "0.001"}, {"temperature", "4"}, {"schedule", "cosine"}};
    gym::Assignment assignment;
    for (const gym::Decision& decision : decisions()) {
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

  [[nodiscard]] gym::PriorKnowledge DoPrior() const override {
    const gym::AdditiveCost steps = Steps();
    return {
        .costs = {{std::string(kTrainSteps), steps}},
        .features = FeaturesBy(steps),
        .compute_bounds = [this]() -> std::map<std::string, double> {
          // The divergence is never negative, and a recipe trains for an epoch at least.
          return {{std::string(cost::kDistillLoss), 0.0}, {std::string(kTrainSteps), StepsOf(1)}};
        }};
  }

  /// Returns the train steps by decision and choice.
  [[nodiscard]] gym::AdditiveCost Steps() const {
    gym::AdditiveCost cost;
    gym::Assignment recipe(decisions().size(), 0);
    for (std::size_t i = 0; i < decisions().size(); ++i) {
      const bool counts = decisions()[i].name == "epochs";
      std::vector<double>& effects = cost.effects.emplace_back();
      for (recipe[i] = 0; std::cmp_less(recipe[i], decisions()[i].choices.size()); ++recipe[i]) {
        effects.push_back(counts ? StepsOf(static_cast<double>(DoRecipeOf(recipe).epochs)) : 0.0);
      }
      recipe[i] = 0;
    }
    return cost;
  }

  [[nodiscard]] std::vector<std::vector<double>> FeaturesBy(const gym::AdditiveCost& steps) const {
    double longest = steps.offset;
    for (const std::vector<double>& effects : steps.effects) longest += std::ranges::max(effects);
    std::vector<std::vector<double>> rows;
    for (std::size_t i = 0; i < decisions().size(); ++i) {
      const std::string& name = decisions()[i].name;
      const std::vector<std::string>& choices = decisions()[i].choices;
      const auto [least, most] = std::ranges::minmax(steps.effects.at(i));
      const bool time = name == "epochs";
      const bool speed = name == "rate" || name == "schedule";
      rows.push_back({std::log2(static_cast<double>(choices.size())), choices_.decades().at(i),
                      longest > 0 ? (most - least) / longest : 0, time ? 1.0 : 0.0,
                      speed ? 1.0 : 0.0, time || speed ? 0.0 : 1.0});
    }
    return rows;
  }

  [[nodiscard]] std::string DoDescribe(const gym::Assignment& assignment) const override {
    return ToJsonText(DoRecipeOf(assignment));
  }

  [[nodiscard]] std::string DoHash() const override {
    Sha256 hash;
    hash.Add(std::string(kId) + "\n" + task_->hash + "\n" + ToJsonText(task_->settings) + "\n");
    for (const gym::Decision& decision : decisions()) {
      hash.Add(decision.name + "\n");
      for (const std::string& choice : decision.choices) hash.Add(choice + "\n");
    }
    return hash.Hex();
  }

  std::shared_ptr<const TrainingTask> task_;
  RecipeChoices choices_;
};

}  // namespace

TrainSettings RecipeProblem::RecipeOf(const gym::Assignment& assignment) const {
  gym::CheckLegal(decisions(), MaskFunction(), assignment);
  return DoRecipeOf(assignment);
}

std::optional<Trained> TrainAndJudge(const TrainingTask& task, const TrainOrder& order,
                                     const std::function<bool()>& stop,
                                     const std::function<void(const TrainProgress&)>& heard) {
  TrainJob job;
  job.student = &task.student;
  job.teacher = &task.teacher;
  job.settings = order.settings;
  job.forms = task.forms;
  job.train = {.inputs = &task.inputs, .labels = task.labels};
  TrainHooks hooks;
  hooks.progress = [&](const TrainProgress& progress) {
    if (heard) heard(progress);
    return !stop();
  };
  try {
    TrainState state;
    const TrainResult result = Train(job, hooks, state);
    if (result.stopped) return std::nullopt;
    const std::optional<cost::Quality> quality = order.judge(result, stop);
    if (!quality) return std::nullopt;
    return Trained{.quality = *quality, .epochs = result.epochs};
  } catch (const UserError& error) {
    // Baselines have run with these samples, so the cause is a loss that stopped being finite.
    return Trained{.quality = Failure{FailureKind::kWrongOutput, error.what()}};
  }
}

std::unique_ptr<RecipeProblem> MakeDistillProblem(std::shared_ptr<const TrainingTask> task) {
  return std::make_unique<DistillProblem>(std::move(task));
}

}  // namespace msc::envs
