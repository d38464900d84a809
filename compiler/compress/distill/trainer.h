#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/within.h"
#include "compiler/compress/distill/program.h"
#include "compiler/ir/output_form.h"
#include "compiler/ir/tensor.h"

namespace msc {

/// How a student is trained.
struct TrainSettings {
  std::int64_t epochs = 3;
  std::int64_t batch = 128;
  std::uint64_t seed = 0;  ///< for the order of samples
  int threads = 1;
  std::string optimizer = "adam";  ///< "adam" (with decoupled decay) or "sgd" (Nesterov)
  double rate = 1e-3;
  double momentum = 0.9;  ///< for sgd
  double decay = 0.0;  ///< of weights with two or more dimensions, per step, relative to the rate
  double clip = 0.0;   ///< largest norm of the gradient; 0 = any
  /// Whether weights with two or more dimensions that are zero initially stay zero, as masks
  /// require.
  bool keep_zeros = false;
  std::string schedule = "cosine";  ///< "constant", "cosine" (to 0), "step"
  std::int64_t step_epochs = 1;     ///< for "step": after this many epochs ...
  double step_factor = 0.1;         ///< ... the rate is multiplied by this
  double warmup = 0.05;             ///< share of all steps during which the rate grows from 0
  std::int64_t patience = 0;        ///< epochs without a better validation loss; 0 = no limit
  // Weights of losses; training minimises their weighted sum.
  double kl = 1.0;           ///< distillation loss of the outputs (torch/output_losses.h)
  double temperature = 4.0;  ///< T of that loss, for classes and decisions
  double lp = 0.0;           ///< mean |student - teacher|^power of the outputs
  double power = 2.0;
  double hard = 0.0;  ///< cross entropy of the first output with the labels
  bool operator==(const TrainSettings&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("epochs", self.epochs, "passes over the samples", Within{1, 100000});
    visit("batch", self.batch, "samples per step", Within{1, 65536});
    visit("seed", self.seed, "seed of the order of samples");
    visit("threads", self.threads, "number of threads", Within{1, 1024});
    visit("optimizer", self.optimizer, "optimizer", Within::OneOf({"adam", "sgd"}));
    visit("rate", self.rate, "highest learning rate", Within{0, 1e6});
    visit("momentum", self.momentum, "momentum of sgd", Within{0, 0.9999});
    visit("decay", self.decay, "weight decay", Within{0, 1});
    visit("clip", self.clip, "largest norm of the gradient; 0 = no limit", Within{0, 1e9});
    visit("keep_zeros", self.keep_zeros, "keep weights at zero that are zero");
    visit("schedule", self.schedule, "course of the learning rate after the warm-up",
          Within::OneOf({"constant", "cosine", "step"}));
    visit("step_epochs", self.step_epochs, "epochs between steps of schedule step",
          Within{1, 100000});
    visit("step_factor", self.step_factor, "factor of the rate at each of these steps",
          Within{0, 1});
    visit("warmup", self.warmup, "share of all training steps in which the rate grows",
          Within{0, 1});
    visit("patience", self.patience,
          "epochs without a better validation loss after which training ends; 0 = never",
          Within{0, 100000});
    visit("kl", self.kl, "weight of the distillation loss of outputs", Within{0, 1e9});
    visit("temperature", self.temperature, "divisor of the outputs before the softmax or sigmoid",
          Within{1e-3, 1e3});
    visit("lp", self.lp, "weight of the distance of outputs", Within{0, 1e9});
    visit("power", self.power, "power of the distance of outputs", Within{0.1, 16});
    visit("hard", self.hard, "weight of the cross entropy with labels", Within{0, 1e9});
  }
};

/// Returns the steps of an epoch. Samples that do not fill a batch are not used in that epoch.
[[nodiscard]] inline std::int64_t StepsAnEpoch(std::int64_t samples, std::int64_t batch) {
  return samples / batch;
}

/// Returns the learning rate of step `step` of `total`, with `per_epoch` steps per epoch: linear
/// from 0 during the warm-up, then by the schedule.
[[nodiscard]] double RateAt(const TrainSettings& settings, std::int64_t step, std::int64_t total,
                            std::int64_t per_epoch);
/// Returns the order of `count` samples in an epoch: a permutation of 0..count-1.
[[nodiscard]] std::vector<std::int64_t> EpochOrder(std::uint64_t seed, std::int64_t epoch,
                                                   std::int64_t count);

/// A value that the student computes and that training brings close to one of the teacher.
struct FeatureTerm {
  int student = 0;  ///< slots
  int teacher = 0;
  /// Indices along `axis` of the teacher's value that the student has; empty = all.
  std::vector<std::int64_t> keep;
  std::int64_t axis = 1;
  /// Whether to use attention transfer: the squared distance of the maps sum_c |x_c|^power, each
  /// scaled to norm 1 per sample, so that numbers of channels may differ (Zagoruyko and Komodakis
  /// 2017, arXiv 1612.03928, section 3.1). Otherwise the loss is mean |student - teacher|^power /
  /// mean |teacher|^power.
  bool attention = false;
  double power = 2.0;
  double weight = 1.0;
  /// Whether readers of the student's value get the teacher's value instead, so that every layer is
  /// trained by itself.
  bool replace = false;
};

/// Samples in memory: f32 [N, ...], and N class numbers or none.
struct TrainSamples {
  const Tensor* inputs = nullptr;
  std::span<const std::int32_t> labels = {};
};

/// Input of Train.
struct TrainJob {
  const TrainProgram* student = nullptr;
  const TrainProgram* teacher = nullptr;
  TrainSettings settings;
  std::vector<FeatureTerm> features;
  /// What the outputs mean, in order; empty: logits along the last axis.
  OutputForms forms;
  TrainSamples train;
  TrainSamples validation;  ///< `inputs` is nullptr if there are none
};

/// Losses of one epoch.
struct TrainEpoch {
  double loss = 0;        ///< mean over the epoch's steps
  double validation = 0;  ///< loss of the outputs on the validation samples; 0 without them
};

/// Everything that is needed to continue a training. Lists have an entry for each parameter of the
/// student, in order; steps are stored as logarithms.
struct TrainState {
  std::int64_t step = 0;
  double running_loss = 0;  ///< sum over the steps of the unfinished epoch
  std::vector<std::vector<float>> parameters;
  std::vector<std::vector<float>> first;   ///< moments of the optimizer
  std::vector<std::vector<float>> second;  ///< empty for sgd
  std::vector<std::vector<float>> best;  ///< parameters of the best epoch; empty without validation
  double best_validation = 0;
  std::int64_t stale = 0;  ///< epochs since the best one
  std::vector<TrainEpoch> epochs;
};

/// What Train reports while it runs.
struct TrainProgress {
  const char* phase = "";  ///< "teacher" or "train"
  std::int64_t done = 0;
  std::int64_t total = 0;
  std::int64_t epoch = 0;
  double loss = 0;  ///< mean since the beginning of the epoch
  double rate = 0;
};

/// Callbacks of Train, called from the thread that trains.
struct TrainHooks {
  std::function<bool(const TrainProgress&)> progress;  ///< returns false to stop; the state is kept
  std::function<void(const TrainState&)> checkpoint;   ///< after every epoch and when it stops
};

struct TrainResult {
  bool stopped = false;  ///< a hook stopped it: the values are those of an unfinished training
  /// Values of the best epoch, or of the last one without validation: one list per parameter, steps
  /// as they are, not as logarithms. Exactly the values that the student computed with.
  std::vector<std::vector<float>> values;
  std::vector<TrainEpoch> epochs;
};

/// Trains the student, continuing from `state`, which is updated. An empty state starts a new
/// training. Deterministic: equal arguments give equal bits on one machine, also across an
/// interruption. Only one training may run in a process at a time. UserError if samples do not fit
/// or the loss is no longer finite; SystemError if the trainer is not installed, which says what to
/// install.
[[nodiscard]] TrainResult Train(const TrainJob& job, const TrainHooks& hooks, TrainState& state);

/// Runs a program on the trainer, without gradients, and returns its outputs.
[[nodiscard]] std::vector<Tensor> RunProgram(const TrainProgram& program,
                                             std::span<const Tensor> inputs);

/// Input of Gradients.
struct GradientJob {
  const TrainProgram* program = nullptr;
  OutputForms forms = {};  ///< as in TrainJob
  const Tensor* inputs = nullptr;
  /// Class numbers of the first output's decisions, one for each sample; or none.
  std::span<const std::int32_t> labels = {};
  std::uint64_t seed = 0;  ///< of the signs of numbers, see below
  int threads = 1;
};

/// Returns the gradients of a loss that is the sum over the outputs: one list per parameter, with
/// respect to steps themselves, not their logarithms. The loss of an output is the cross entropy
/// with the labels or with the model's own decisions; of numbers and boxes their sum with random
/// signs (torch/output_losses.h). Deterministic. UserError if samples, labels or forms do not fit;
/// SystemError as Train.
[[nodiscard]] std::vector<std::vector<float>> Gradients(const GradientJob& job);

/// Returns why the trainer cannot be used; empty if it can.
[[nodiscard]] std::string TrainerProblem();

}  // namespace msc
