#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/Exception.h>

#include "compiler/compress/distill/torch/losses.h"
#include "compiler/compress/distill/torch/run.h"
#include "compiler/compress/distill/trainer_call.h"

namespace msc::detail {
namespace {

using at::Tensor;

/// The teacher's outputs for all samples are cached unless they take more than this.
constexpr std::int64_t kMaxCachedBytes = std::int64_t{1} << 29U;
constexpr double kBeta1 = 0.9;  // Kingma and Ba 2015 (arXiv 1412.6980), algorithm 1
constexpr double kBeta2 = 0.999;
constexpr double kEpsilon = 1e-8;

/// An array of samples, from which rows are gathered in any order.
class Samples {
 public:
  Samples(const TrainArray& array, const std::int32_t* labels) : array_(array), labels_(labels) {
    if (array.data == nullptr) return;
    count_ = array.dims[0];
    for (std::size_t i = 1; i < array.dims.size(); ++i) row_ *= array.dims[i];
  }
  [[nodiscard]] std::int64_t count() const { return count_; }

  [[nodiscard]] Tensor Inputs(const std::int64_t* rows, std::int64_t count) const {
    std::vector<std::int64_t> dims = array_.dims;
    dims[0] = count;
    Tensor batch = at::empty(dims, at::kFloat);
    float* to = batch.data_ptr<float>();
    for (std::int64_t i = 0; i < count; ++i, to += row_) {
      std::memcpy(to, array_.data + rows[i] * row_, static_cast<std::size_t>(row_) * sizeof(float));
    }
    // Convolutions run fastest with channels last.
    return batch.dim() == 4 ? batch.contiguous(at::MemoryFormat::ChannelsLast) : batch;
  }
  [[nodiscard]] Tensor Labels(const std::int64_t* rows, std::int64_t count) const {
    Tensor batch = at::empty({count}, at::kLong);
    for (std::int64_t i = 0; i < count; ++i) batch.data_ptr<std::int64_t>()[i] = labels_[rows[i]];
    return batch;
  }

 private:
  const TrainArray& array_;
  const std::int32_t* labels_;
  std::int64_t count_ = 0;
  std::int64_t row_ = 1;
};

/// One training.
class Training {
 public:
  explicit Training(TrainCall& call)
      : call_(call),
        job_(*call.job),
        settings_(call.job->settings),
        state_(*call.state),
        train_(call.inputs, call.labels),
        validation_(call.validation, call.validation_labels),
        student_(*job_.student, SlotsOf(true)),
        teacher_(*job_.teacher, SlotsOf(false)),
        student_slots_(student_.NewSlots()),
        teacher_slots_(teacher_.NewSlots()),
        per_epoch_(StepsAnEpoch(train_.count(), settings_.batch)),
        total_(per_epoch_ * settings_.epochs) {}

  void Run() {
    at::set_num_threads(settings_.threads);
    MakeParameters();
    if (!CacheTeacher()) return Stop();
    while (state_.step < total_ &&
           !(settings_.patience > 0 && state_.stale >= settings_.patience)) {
      const std::int64_t epoch = state_.step / per_epoch_;
      const std::vector<std::int64_t> order = call_.order(epoch);
      for (std::int64_t i = state_.step % per_epoch_; i < per_epoch_; ++i) {
        state_.running_loss += Step(order.data() + i * settings_.batch);
        ++state_.step;
        if (i + 1 < per_epoch_ && !Show(epoch, i + 1)) return Stop();
      }
      EndEpoch();
      const bool go_on = Show(epoch, per_epoch_);
      call_.hooks->checkpoint(state_);
      if (!go_on && state_.step < total_) return Stop();
    }
    Finish();
  }

 private:
  [[nodiscard]] std::vector<int> SlotsOf(bool student) const {
    std::vector<int> slots;
    for (const FeatureTerm& term : job_.features) {
      slots.push_back(student ? term.student : term.teacher);
    }
    return slots;
  }

  void MakeParameters() {
    const bool fresh = state_.parameters.empty();
    for (std::size_t i = 0; i < job_.student->parameters.size(); ++i) {
      const TrainParameter& parameter = job_.student->parameters[i];
      const TrainConstant& constant = job_.student->constants[parameter.constant];
      std::vector<float> values = fresh ? constant.values : state_.parameters[i];
      if (fresh && parameter.kind != ParameterKind::kWeight) {
        for (float& value : values) value = std::log(value);
      }
      Tensor leaf = CopyOf(values.data(), constant.dims);
      const auto restore = [&](const std::vector<std::vector<float>>& from) {
        return from.empty() ? at::zeros_like(leaf) : CopyOf(from[i].data(), constant.dims);
      };
      first_.push_back(restore(state_.first));
      second_.push_back(settings_.optimizer == "adam" ? restore(state_.second) : Tensor());
      const bool masked = settings_.keep_zeros && parameter.kind == ParameterKind::kWeight &&
                          constant.dims.size() > 1;
      // The mask is that of the initial values, also when training continues.
      masks_.push_back(masked ? CopyOf(constant.values.data(), constant.dims).ne(0) : Tensor());
      leaf.set_requires_grad(true);
      leaves_.push_back(std::move(leaf));
      factors_.push_back(parameter.kind == ParameterKind::kWeightStep ? FactorOf(constant.slot)
                                                                      : 1);
    }
  }

  /// Returns LSQ's factor for the gradient of the steps of weights.
  [[nodiscard]] double FactorOf(int slot) const {
    for (const TrainOp& op : job_.student->ops) {
      if (op.op != "QuantizeWeights" || op.in[1] != slot) continue;
      return 1 / std::sqrt(static_cast<double>(op.ints[3]) * static_cast<double>(op.ints[2]));
    }
    return 1;
  }

  /// Puts the parameters into the slots from which the student reads them.
  void FillStudent() {
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const TrainParameter& parameter = job_.student->parameters[i];
      const int slot = job_.student->constants[parameter.constant].slot;
      student_slots_[static_cast<std::size_t>(slot)] =
          parameter.kind == ParameterKind::kWeight ? leaves_[i] : at::exp(leaves_[i]);
    }
  }

  /// Returns the teacher's outputs; its slots then contain the features.
  std::vector<Tensor> RunTeacher(const Tensor& inputs) {
    const at::NoGradGuard no_grad;
    teacher_slots_[static_cast<std::size_t>(job_.teacher->inputs[0])] = inputs;
    teacher_.Run(teacher_slots_);
    std::vector<Tensor> outputs;
    for (const int slot : job_.teacher->outputs) {
      outputs.push_back(teacher_slots_[static_cast<std::size_t>(slot)]);
    }
    return outputs;
  }

  /// Caches the teacher's outputs. Without features nothing else of the teacher is needed, and they
  /// do not change. Returns false to stop.
  bool CacheTeacher() {
    if (!job_.features.empty()) return true;
    const std::int64_t batch = settings_.batch;
    const std::int64_t count = train_.count();
    std::vector<std::int64_t> rows(static_cast<std::size_t>(batch));
    for (std::int64_t first = 0; first < count; first += batch) {
      const std::int64_t from = std::min(first, count - batch);
      for (std::int64_t i = 0; i < batch; ++i) rows[static_cast<std::size_t>(i)] = from + i;
      const std::vector<Tensor> outputs = RunTeacher(train_.Inputs(rows.data(), batch));
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        const Tensor& output = outputs[k];
        if (first == 0) {
          std::vector<std::int64_t> dims = output.sizes().vec();
          if (dims.empty() || dims[0] != batch ||
              output.numel() / batch * count * 4 > kMaxCachedBytes) {
            cache_.clear();
            return true;
          }
          dims[0] = count;
          cache_.push_back(at::empty(dims, at::kFloat));
        }
        cache_[k].narrow(0, from, batch).copy_(output);
      }
      const TrainProgress progress{"teacher", std::min(first + batch, count), count, 0, 0, 0};
      if (!call_.hooks->progress(progress)) return false;
    }
    return true;
  }

  std::vector<Tensor> TeacherOutputs(const std::int64_t* rows, const Tensor& inputs) {
    if (cache_.empty()) return RunTeacher(inputs);
    Tensor index = at::empty({settings_.batch}, at::kLong);
    std::copy(rows, rows + settings_.batch, index.data_ptr<std::int64_t>());
    std::vector<Tensor> outputs;
    for (const Tensor& all : cache_) outputs.push_back(at::index_select(all, 0, index));
    return outputs;
  }

  Tensor OutputLoss(const std::vector<Tensor>& teacher, const Tensor& labels) {
    Tensor loss = at::full({}, 0.0, at::kFloat);
    for (std::size_t k = 0; k < teacher.size(); ++k) {
      const Tensor& student = student_slots_[static_cast<std::size_t>(job_.student->outputs[k])];
      RequireSame(student, teacher[k], "output " + std::to_string(k));
      if (settings_.kl > 0) {
        loss = loss + Divergence(student, teacher[k], settings_.temperature) * settings_.kl;
      }
      if (settings_.lp > 0) {
        loss = loss + Distance(student, teacher[k], settings_.power) * settings_.lp;
      }
      if (settings_.hard > 0 && k == 0) {
        loss = loss + CrossEntropy(student, labels) * settings_.hard;
      }
    }
    return loss;
  }

  Tensor LabelsOf(const Samples& samples, const std::int64_t* rows) const {
    return settings_.hard > 0 ? samples.Labels(rows, settings_.batch) : Tensor();
  }

  /// Makes one step. Returns the loss before it.
  double Step(const std::int64_t* rows) {
    const Tensor inputs = train_.Inputs(rows, settings_.batch);
    const std::vector<Tensor> teacher = TeacherOutputs(rows, inputs);
    FillStudent();
    student_slots_[static_cast<std::size_t>(job_.student->inputs[0])] = inputs;
    Tensor features = at::full({}, 0.0, at::kFloat);
    student_.Run(student_slots_, [&](int slot) {
      for (const FeatureTerm& term : job_.features) {
        if (term.student != slot) continue;
        features =
            features + FeatureLoss(term, teacher_slots_[static_cast<std::size_t>(term.teacher)],
                                   student_slots_[static_cast<std::size_t>(slot)]);
      }
    });
    Tensor loss = OutputLoss(teacher, LabelsOf(train_, rows)) + features;
    const double value = loss.item<double>();
    if (!std::isfinite(value)) {
      throw WrongArguments("the loss stopped being finite in step " + std::to_string(state_.step) +
                           ": a lower 'rate' or a 'clip' may help");
    }
    loss.backward();
    student_slots_ = student_.NewSlots();  // releases the graph of this step
    Update(call_.rate(state_.step, total_, per_epoch_));
    return value;
  }

  void Update(double rate) {
    const at::NoGradGuard no_grad;
    std::vector<Tensor> gradients;
    double square = 0;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      Tensor& gradient = leaves_[i].mutable_grad();
      gradients.push_back(gradient.defined() ? gradient * factors_[i] : Tensor());
      if (settings_.clip > 0 && gradient.defined()) {
        square += at::sum(gradients[i] * gradients[i]).item<double>();
      }
      gradient = Tensor();
    }
    const double norm = std::sqrt(square);
    const double shrink = settings_.clip > 0 && norm > settings_.clip ? settings_.clip / norm : 1;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      if (!gradients[i].defined()) continue;  // layer-wise: no loss depends on it
      const bool decays = job_.student->parameters[i].kind == ParameterKind::kWeight &&
                          leaves_[i].dim() > 1 && settings_.decay > 0;
      const Tensor gradient = shrink == 1 ? gradients[i] : gradients[i] * shrink;
      if (settings_.optimizer == "adam") {
        if (decays) leaves_[i].mul_(1 - rate * settings_.decay);
        Adam(i, gradient, rate);
      } else {
        Sgd(i, decays ? gradient + leaves_[i] * settings_.decay : gradient, rate);
      }
      if (masks_[i].defined()) leaves_[i].mul_(masks_[i]);
    }
  }

  void Adam(std::size_t i, const Tensor& gradient, double rate) {
    const auto t = static_cast<double>(state_.step + 1);
    first_[i].mul_(kBeta1).add_(gradient, 1 - kBeta1);
    second_[i].mul_(kBeta2).addcmul_(gradient, gradient, 1 - kBeta2);
    const Tensor spread = (second_[i] / (1 - std::pow(kBeta2, t))).sqrt_().add_(kEpsilon);
    leaves_[i].addcdiv_(first_[i], spread, -rate / (1 - std::pow(kBeta1, t)));
  }

  void Sgd(std::size_t i, const Tensor& gradient, double rate) {
    first_[i].mul_(settings_.momentum).add_(gradient);
    leaves_[i].add_(gradient + first_[i] * settings_.momentum, -rate);
  }

  bool Show(std::int64_t epoch, std::int64_t steps) {
    const double loss = steps == per_epoch_ ? state_.epochs.back().loss
                                            : state_.running_loss / static_cast<double>(steps);
    return call_.hooks->progress({"train", state_.step, total_, epoch, loss,
                                  call_.rate(state_.step - 1, total_, per_epoch_)});
  }

  /// Returns the mean loss of the outputs over all complete batches.
  double Validate() {
    const at::NoGradGuard no_grad;
    FillStudent();
    double sum = 0;
    std::vector<std::int64_t> rows(static_cast<std::size_t>(settings_.batch));
    const std::int64_t batches = validation_.count() / settings_.batch;
    for (std::int64_t b = 0; b < batches; ++b) {
      for (std::int64_t i = 0; i < settings_.batch; ++i) {
        rows[static_cast<std::size_t>(i)] = b * settings_.batch + i;
      }
      const Tensor inputs = validation_.Inputs(rows.data(), settings_.batch);
      const std::vector<Tensor> teacher = RunTeacher(inputs);
      student_slots_[static_cast<std::size_t>(job_.student->inputs[0])] = inputs;
      student_.Run(student_slots_);
      sum += OutputLoss(teacher, LabelsOf(validation_, rows.data())).item<double>();
    }
    return sum / static_cast<double>(batches);
  }

  void EndEpoch() {
    TrainEpoch epoch;
    epoch.loss = state_.running_loss / static_cast<double>(per_epoch_);
    state_.running_loss = 0;
    Save();
    if (validation_.count() > 0) {
      epoch.validation = Validate();
      const bool better = state_.best.empty() || epoch.validation < state_.best_validation;
      if (better) {
        state_.best = state_.parameters;
        state_.best_validation = epoch.validation;
      }
      state_.stale = better ? 0 : state_.stale + 1;
    }
    state_.epochs.push_back(epoch);
  }

  void Save() {
    const auto copy = [](const std::vector<Tensor>& from) {
      std::vector<std::vector<float>> lists;
      for (const Tensor& tensor : from) lists.push_back(ValuesOf(tensor));
      return lists;
    };
    state_.parameters = copy(leaves_);
    state_.first = copy(first_);
    if (settings_.optimizer == "adam") state_.second = copy(second_);
  }

  void Stop() {
    Save();
    call_.hooks->checkpoint(state_);
    call_.result->stopped = true;
    Finish();
  }

  void Finish() {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const TrainParameter& parameter = job_.student->parameters[i];
      const Tensor reached =
          state_.best.empty()
              ? leaves_[i]
              : CopyOf(state_.best[i].data(), job_.student->constants[parameter.constant].dims);
      call_.result->values.push_back(
          ValuesOf(parameter.kind == ParameterKind::kWeight ? reached : at::exp(reached)));
    }
    call_.result->epochs = state_.epochs;
  }

  TrainCall& call_;
  const TrainJob& job_;
  const TrainSettings& settings_;
  TrainState& state_;
  Samples train_;
  Samples validation_;
  Runner student_;
  Runner teacher_;
  Slots student_slots_;
  Slots teacher_slots_;
  std::int64_t per_epoch_;
  std::int64_t total_;
  std::vector<Tensor> leaves_;  ///< one per parameter
  std::vector<Tensor> masks_;   ///< for parameters whose zeros stay; undefined for others
  std::vector<Tensor> first_;
  std::vector<Tensor> second_;
  std::vector<double> factors_;
  std::vector<Tensor> cache_;  ///< the teacher's outputs for all samples; may be empty
};

/// Computes the gradients of the loss for each parameter, without a training step.
void TakeGradients(GradientCall& call) {
  at::set_num_threads(call.threads);
  const TrainProgram& program = *call.program;
  const Runner runner(program, {});
  Slots slots = runner.NewSlots();
  std::vector<Tensor> leaves;
  for (const TrainParameter& parameter : program.parameters) {
    const int slot = program.constants[parameter.constant].slot;
    Tensor& leaf = slots[static_cast<std::size_t>(slot)];
    leaf.set_requires_grad(true);
    leaves.push_back(leaf);
  }
  slots[static_cast<std::size_t>(program.inputs[0])] = CopyOf(call.inputs.data, call.inputs.dims);
  runner.Run(slots);
  const Tensor& output = slots[static_cast<std::size_t>(program.outputs[0])];
  if (output.dim() < 2) throw WrongArguments("the model's output has no axis of classes");
  const Tensor logits = output.reshape({-1, output.size(-1)});
  Tensor labels = MostLikely(logits);
  if (call.labels != nullptr) {
    labels = at::empty({call.label_count}, at::kLong);
    std::copy(call.labels, call.labels + call.label_count, labels.data_ptr<std::int64_t>());
  }
  CrossEntropy(logits, labels).backward();
  for (Tensor& leaf : leaves) {
    const Tensor& gradient = leaf.grad();
    call.gradients.push_back(ValuesOf(gradient.defined() ? gradient : at::zeros_like(leaf)));
  }
}

/// The border to the caller, which may have been built with another libstdc++ and does not know the
/// library's types: turns exceptions of the library into text.
template <class Call>
void Guard(std::string& error, const Call& call) {
  try {
    call();
  } catch (const c10::Error& thrown) {
    error = thrown.what_without_backtrace();
  } catch (const std::exception& thrown) {
    error = thrown.what();
  }
}

}  // namespace
}  // namespace msc::detail

extern "C" {

[[gnu::visibility("default")]] int msc_trainer_version() {
  return msc::detail::kTrainerVersion;
}

[[gnu::visibility("default")]] void msc_train(msc::detail::TrainCall* call) {
  msc::detail::Guard(call->error, [&] {
    try {
      msc::detail::Training(*call).Run();
    } catch (const msc::detail::WrongArguments& thrown) {
      call->error = thrown.what();
      call->users_fault = true;
    }
  });
}

[[gnu::visibility("default")]] void msc_gradients(msc::detail::GradientCall* call) {
  msc::detail::Guard(call->error, [&] {
    try {
      msc::detail::TakeGradients(*call);
    } catch (const msc::detail::WrongArguments& thrown) {
      call->error = thrown.what();
      call->users_fault = true;
    }
  });
}

[[gnu::visibility("default")]] void msc_run(msc::detail::RunCall* call) {
  msc::detail::Guard(call->error, [&] {
    using namespace msc::detail;
    const at::NoGradGuard no_grad;
    const Runner runner(*call->program, {});
    Slots slots = runner.NewSlots();
    for (std::size_t i = 0; i < call->inputs.size(); ++i) {
      slots[static_cast<std::size_t>(call->program->inputs[i])] =
          CopyOf(call->inputs[i].data, call->inputs[i].dims);
    }
    runner.Run(slots);
    for (const int slot : call->program->outputs) {
      const Tensor& output = slots[static_cast<std::size_t>(slot)];
      call->outputs.push_back(ValuesOf(output));
      call->dims.push_back(output.sizes().vec());
    }
  });
}

}  // extern "C"
