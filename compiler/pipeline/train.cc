#include "compiler/pipeline/train.h"

#include <algorithm>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/compress/distill/trainer.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/distill.h"

namespace msc {
namespace {

TrainSettings SettingsOf(const TrainPlan& plan, const Graph& canonical, std::int64_t samples,
                         int threads) {
  TrainSettings settings;
  settings.epochs = plan.epochs;
  // An epoch consists of complete batches; if there are few samples, it is one batch.
  settings.batch = BatchSize(canonical, std::min(plan.batch, samples));
  settings.rate = plan.rate;
  settings.temperature = plan.temperature;
  settings.lp = plan.lp;
  settings.schedule = plan.schedule;
  settings.threads = threads;
  return settings;
}

}  // namespace

void CheckTrainable(const Graph& canonical) {
  const auto& inputs = canonical.inputs();
  if (inputs.size() != 1 || canonical.type(inputs[0]).dtype != DType::kF32 ||
      !canonical.type(inputs[0]).shape) {
    throw UserError("a model that is trained has one input, of f32 and of known rank");
  }
  if (const std::string problem = TrainerProblem(); !problem.empty()) {
    throw SystemError("training needs libtorch: " + problem);
  }
  (void)MakeTrainProgram(canonical);
}

Result<Strategy> TrainStrategy(const Graph& canonical, const Strategy& strategy,
                               const SampleSource& samples, const OutputForms& forms,
                               const CalibrationRun& run, const TargetRegistry& registry) {
  const TrainPlan plan = strategy.fit.train;
  Check(plan.epochs > 0, "a strategy that is trained says for how long");
  CheckTrainable(canonical);
  Strategy narrow = strategy;
  // Rounding to bf16 is not part of the training: bf16 layers train as f32, and are bf16 in the
  // result.
  std::erase_if(narrow.quantize.layers,
                [](const auto& layer) { return layer.second == Precision::kBF16; });
  const Student student = MakeStudent(canonical, narrow, 0, samples, run, registry);
  const TrainProgram teacher = MakeTrainProgram(canonical);
  const std::vector<Tensor> all = samples.Read(0, samples.count());
  TrainJob job;
  job.student = &student.program;
  job.teacher = &teacher;
  job.settings = SettingsOf(plan, canonical, samples.count(), run.Cores());
  job.forms = forms;
  job.train = {.inputs = all.data()};
  TrainState state;
  TrainResult result;
  try {
    result = Train(job, {}, state);
  } catch (const UserError& error) {
    // Teacher and samples fit, or the candidate would have failed earlier; so the loss is not
    // finite.
    return Failure{FailureKind::kWrongOutput, error.what()};
  }
  Strategy trained = TrainedStrategy(canonical, student, result, strategy.fit.samples);
  trained.fit.train = plan;
  trained.quantize.layers = strategy.quantize.layers;
  return trained;
}

}  // namespace msc
