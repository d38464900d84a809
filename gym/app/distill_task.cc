#include "gym/app/distill_task.h"

#include <algorithm>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/hash.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/distill.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/samples.h"
#include "cost/quality/dataset.h"
#include "cost/quality/quality.h"
#include "envs/common/evaluation.h"

namespace msc::gym {
namespace {

cost::Dataset Load(cost::DataConfig data, std::int64_t count, const Graph& graph, const char* key) {
  if (data.images.empty()) throw UserError(std::string("the config names no '") + key + "'");
  if (graph.inputs().size() != 1 || !graph.type(graph.inputs()[0]).shape) {
    throw UserError("a model that is trained has one input of known rank");
  }
  if (data.count == 0 || data.count > count) data.count = count;
  return cost::LoadDataset(data, *graph.type(graph.inputs()[0]).shape);
}

/// Compares students with the teacher on samples, in batches, as the trainer computes both.
class Judge {
 public:
  Judge(cost::Dataset samples, std::int64_t batch, const TrainProgram& teacher,
        TrainProgram student)
      : samples_(std::move(samples)), batch_(batch), student_(std::move(student)) {
    ForEachBatch([&](const cost::Dataset& part) {
      wanted_.push_back(RunProgram(teacher, {&part.inputs, 1}));
    });
  }

  [[nodiscard]] std::map<std::string, double> operator()(const TrainResult& result) const {
    TrainProgram student = student_;
    for (std::size_t i = 0; i < student.parameters.size(); ++i) {
      student.constants.at(student.parameters[i].constant).values = result.values.at(i);
    }
    cost::QualityMeter meter;
    std::size_t at = 0;
    ForEachBatch([&](const cost::Dataset& part) {
      const auto failure =
          meter.Add(wanted_.at(at++), RunProgram(student, {&part.inputs, 1}), part.labels);
      // As for a loss that stops being finite.
      if (failure) throw UserError(failure->detail);
    });
    const cost::Quality quality = meter.Total();
    std::map<std::string, double> metrics = {{std::string(envs::kDistillLoss), quality.kl}};
    if (quality.accuracy && quality.reference_accuracy) {
      metrics.emplace(envs::kAccuracyDrop, 100 * (*quality.reference_accuracy - *quality.accuracy));
    }
    return metrics;
  }

 private:
  template <class Use>
  void ForEachBatch(const Use& use) const {
    for (std::int64_t first = 0; first < samples_.size(); first += batch_) {
      use(cost::Slice(samples_, first, std::min(batch_, samples_.size() - first)));
    }
  }

  cost::Dataset samples_;
  std::int64_t batch_;
  TrainProgram student_;
  std::vector<std::vector<Tensor>> wanted_;
};

}  // namespace

std::shared_ptr<const envs::DistillTask> MakeDistillTask(const SearchConfig& config,
                                                         const Graph& graph,
                                                         const TargetRegistry& targets) {
  const DistillConfig& distill = config.distill;
  if (config.strategy.empty() && distill.weight_bits == 0) {
    throw UserError(
        "the student would be the model itself: give 'strategy' or 'distill.weight_bits'");
  }
  if (const std::string problem = TrainerProblem(); !problem.empty()) {
    throw SystemError("training needs libtorch: " + problem);
  }
  cost::Dataset train =
      Load(config.calibration.data, distill.samples, graph, "calibration.data.images");
  cost::Dataset test =
      Load(config.quality.data, config.quality.samples, graph, "quality.data.images");
  const std::vector<Tensor> calibration = {
      cost::Slice(train, 0, std::min(config.calibration.samples, train.size())).inputs};
  const Student student = MakeStudent(
      graph, config.strategy.empty() ? Strategy{} : LoadStrategy(config.strategy),
      distill.weight_bits, TensorSamples(calibration),
      {.target = config.target, .threads = config.threads, .batch = config.calibration.batch},
      targets);
  auto task = std::make_shared<envs::DistillTask>();
  task->student = student.program;
  task->teacher = MakeTrainProgram(graph);
  task->settings.batch = BatchSize(graph, distill.batch);
  task->settings.threads = config.threads;
  task->settings.seed = config.seed;
  Sha256 hash;
  hash.Add(DistillHash(graph, student, task->settings, {}, {&train.inputs, train.labels}));
  hash.Add(test.inputs.Raw());
  hash.Add(std::as_bytes(std::span(test.labels)));
  task->hash = hash.Hex();
  const auto judge = std::make_shared<const Judge>(
      std::move(test), BatchSize(graph, config.quality.batch), task->teacher, student.program);
  task->judge = [judge](const TrainResult& result) { return (*judge)(result); };
  task->inputs = std::move(train.inputs);
  task->labels = std::move(train.labels);
  return task;
}

}  // namespace msc::gym
