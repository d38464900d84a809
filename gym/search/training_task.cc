#include "gym/search/training_task.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/hash.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/distill.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/samples.h"
#include "cost/quality/bind_labels.h"
#include "cost/quality/choose_form.h"
#include "cost/quality/quality.h"
#include "cost/samples/dataset.h"
#include "gym/search/held_out.h"
#include "gym/search/model.h"

namespace msc::gym {
namespace {

/// Loads at most `count` samples; 0 = all. Class numbers must be below `classes`; 0 = not checked.
cost::Dataset Load(cost::DataConfig data, std::int64_t count, const Graph& graph, const char* key,
                   std::int64_t classes = 0) {
  if (data.images.empty()) throw UserError(std::string("the config names no '") + key + "'");
  if (graph.inputs().size() != 1 || !graph.type(graph.inputs()[0]).shape) {
    throw UserError("a model that is trained has one input of known rank");
  }
  if (count > 0 && (data.count == 0 || data.count > count)) {
    data.count = count;
  } else {
    data.or_fewer = false;  // the config's own count must be available
  }
  return cost::LoadDataset(data, *graph.type(graph.inputs()[0]).shape, classes);
}

using Stop = std::function<bool()>;

/// Labels of samples, the first of which has the number `first` among them.
struct Labels {
  std::vector<cost::OutputLabels> all;
  std::int64_t first = 0;
};

/// Compares students with the teacher on samples, batch by batch, with the trainer's arithmetic.
class Judge {
 public:
  /// Samples from index `held_out_from` on are held out and also judged separately; 0 = none.
  Judge(cost::Dataset samples, Labels labels, std::int64_t held_out_from, std::int64_t batch,
        TrainProgram teacher, TrainProgram student, OutputForms forms)
      : samples_(std::move(samples)),
        labels_(std::move(labels)),
        held_out_from_(held_out_from),
        batch_(batch),
        teacher_(std::move(teacher)),
        student_(std::move(student)),
        forms_(std::move(forms)) {}

  /// Computes the teacher's outputs, once. Returns false if stopped.
  [[nodiscard]] bool Prepare(const Stop& stop) {
    while (prepared_ < samples_.size()) {
      if (stop && stop()) return false;
      const cost::Dataset part = Part(prepared_);
      prepared_ += part.size();
      wanted_.push_back(RunProgram(teacher_, {&part.inputs, 1}));
    }
    return true;
  }

  [[nodiscard]] std::optional<cost::Quality> operator()(const TrainResult& result,
                                                        const Stop& stop) {
    if (!Prepare(stop)) return std::nullopt;
    TrainProgram student = student_;
    // Students differ in trained values alone, so the program is built once.
    for (std::size_t i = 0; i < student.parameters.size(); ++i) {
      student.constants.at(student.parameters[i].constant).values = result.values.at(i);
    }
    cost::QualityMeter meter(forms_);
    cost::QualityMeter held_out(forms_);
    std::size_t at = 0;
    for (std::int64_t first = 0; first < samples_.size();) {
      if (stop && stop()) return std::nullopt;
      const cost::Dataset part = Part(first);
      const std::vector<Tensor> outputs = RunProgram(student, {&part.inputs, 1});
      const std::vector<Tensor>& wanted = wanted_.at(at++);
      const cost::LabelRows labels{.labels = labels_.all, .first = labels_.first + first};
      auto failure = meter.Add(wanted, outputs, labels);
      // The held-out samples are judged by the same outputs, without a second run.
      if (!failure && IsHeldOut(first)) failure = held_out.Add(wanted, outputs, labels);
      // The caller treats this like a training whose loss is no longer finite.
      if (failure) throw UserError(failure->detail);
      first += part.size();
    }
    if (held_out_from_ > 0) held_out_ = held_out.Total();
    return meter.Total();
  }
  [[nodiscard]] const std::optional<cost::Quality>& held_out() const { return held_out_; }

 private:
  [[nodiscard]] bool IsHeldOut(std::int64_t sample) const {
    return held_out_from_ > 0 && sample >= held_out_from_;
  }
  /// Returns a batch; no batch crosses the border to the held-out samples.
  [[nodiscard]] cost::Dataset Part(std::int64_t first) const {
    const std::int64_t end = first < held_out_from_ ? held_out_from_ : samples_.size();
    return cost::Slice(samples_, first, std::min(batch_, end - first));
  }

  cost::Dataset samples_;
  Labels labels_;
  std::int64_t held_out_from_;
  std::int64_t batch_;
  TrainProgram teacher_;
  TrainProgram student_;
  OutputForms forms_;
  std::vector<std::vector<Tensor>> wanted_;  // teacher's outputs by batch
  std::int64_t prepared_ = 0;                // number of samples with teacher's outputs
  std::optional<cost::Quality> held_out_;
};

}  // namespace

std::shared_ptr<const envs::TrainingTask> MakeTrainingTask(const SearchConfig& config,
                                                           const Graph& graph,
                                                           const TargetRegistry& targets) {
  const DistillConfig& distill = config.section<DistillConfig>();
  if (config.strategy.empty() && distill.weight_bits == 0) {
    throw UserError(
        "the student is the same as the model: give 'strategy' or 'distill.weight_bits'");
  }
  if (const std::string problem = TrainerProblem(); !problem.empty()) {
    throw SystemError("training needs libtorch: " + problem);
  }
  CheckSampleAxes(graph);
  cost::DataConfig learned = config.calibration.data;
  learned.or_fewer = !distill.samples.has_value();
  cost::DataConfig judged = config.quality.data;
  judged.or_fewer = true;  // as in every other search
  cost::Dataset train =
      Load(learned, distill.most(), graph, "calibration.data.images", ClassesOf(graph));
  if (train.labels.empty() && !learned.labels.empty()) {
    throw UserError(
        "'calibration.data.labels' must be one class number for each sample: training "
        "knows no other labels");
  }
  cost::Dataset test = Load(judged, config.quality.samples, graph, "quality.data.images");
  const std::vector<Tensor> calibration = {
      cost::Slice(train, 0, std::min(config.calibration.most(), train.size())).inputs};
  const Student student = MakeStudent(
      graph, config.strategy.empty() ? Strategy{} : LoadStrategy(config.strategy),
      distill.weight_bits, TensorSamples(calibration),
      {.target = config.target, .threads = config.threads, .batch = config.calibration.batch},
      targets);
  auto task = std::make_shared<envs::TrainingTask>();
  task->student = student.program;
  task->teacher = MakeTrainProgram(graph);
  task->settings.batch = BatchSize(graph, distill.batch);
  task->settings.threads = config.threads;
  task->settings.seed = config.seed;
  const std::int64_t batch = BatchSize(graph, config.quality.batch);
  const cost::Dataset first = cost::Slice(test, 0, std::min(batch, test.size()));
  const std::vector<Tensor> outputs = RunProgram(task->teacher, {&first.inputs, 1});
  task->forms = cost::ChooseForms(graph, outputs, config.quality.outputs);
  cost::BoundLabels labels = cost::BindLabels(test.all_labels, task->forms, outputs);
  task->notes = std::move(labels.notes);
  task->losses = cost::LossNames(task->forms, outputs, {.labels = labels.outputs});
  // The hash covers all that a recipe's result depends on besides the recipe.
  Sha256 hash;
  hash.Add(
      DistillHash(graph, student, task->settings, {}, task->forms, {&train.inputs, train.labels}));
  hash.Add(test.inputs.Raw());
  cost::HashLabels(labels.outputs, hash);
  task->hash = hash.Hex();
  const auto judge = std::make_shared<Judge>(std::move(test), Labels{std::move(labels.outputs)}, 0,
                                             batch, task->teacher, student.program, task->forms);
  (void)judge->Prepare({});
  task->judge = [judge](const TrainResult& result, const Stop& stop) {
    return (*judge)(result, stop);
  };
  task->inputs = std::move(train.inputs);
  task->labels = std::move(train.labels);
  return task;
}

FinalSamples MakeFinalSamples(const SearchConfig& config, const Graph& graph,
                              const envs::TrainingTask& task) {
  const QualityConfig& quality = config.quality;
  cost::DataConfig data = quality.data;
  if (quality.final_samples > 0) data.count = quality.final_samples;
  cost::Dataset samples = Load(data, 0, graph, "quality.data.images");
  const SampleCounts counts{.trials = quality.samples, .all = samples.size()};
  FinalPlan plan = PlanFinals(config, config.section<DistillConfig>().most(), counts);
  FinalSamples finals;
  finals.from = plan.from;
  finals.held_out_from = plan.held_out;
  finals.warnings = std::move(plan.warnings);
  const std::int64_t batch = BatchSize(graph, quality.batch);
  const cost::Dataset first = cost::Slice(samples, 0, std::min(batch, samples.size()));
  Labels labels{.all = cost::BindLabels(samples.all_labels, task.forms,
                                        RunProgram(task.teacher, {&first.inputs, 1}))
                           .outputs,
                .first = plan.from};
  if (plan.from > 0) samples = cost::Slice(samples, plan.from, counts.all - plan.from);
  finals.count = samples.size();
  Sha256 hash;
  hash.Add(task.hash);
  hash.Add(samples.inputs.Raw());
  cost::HashLabels(labels.all, hash);
  if (plan.held_out > 0) hash.Add(std::to_string(plan.held_out));
  finals.hash = hash.Hex();
  const auto judge = std::make_shared<Judge>(std::move(samples), std::move(labels), plan.held_out,
                                             batch, task.teacher, task.student, task.forms);
  finals.judge = [judge](const TrainResult& result, const Stop& stop) {
    return (*judge)(result, stop);
  };
  finals.held_out = [judge] { return judge->held_out(); };
  return finals;
}

}  // namespace msc::gym
