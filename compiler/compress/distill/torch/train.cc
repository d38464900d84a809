#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/Exception.h>

#include "compiler/compress/distill/torch/losses.h"
#include "compiler/compress/distill/torch/output_losses.h"
#include "compiler/compress/distill/torch/parameters.h"
#include "compiler/compress/distill/torch/run.h"
#include "compiler/compress/distill/trainer_call.h"

namespace msc::detail {
namespace {

using at::Tensor;

/// The teacher's outputs for all samples are cached unless they take more than this.
constexpr std::int64_t kMaxCachedBytes = std::int64_t{1} << 29U;

/// Returns a tensor of data that it does not own; an undefined one if there are none.
template <class T>
Tensor View(const T* data, const std::vector<std::int64_t>& dims, at::ScalarType type) {
  if (data == nullptr) return {};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): views are only read
  return at::from_blob(const_cast<T*>(data), dims, type);
}

/// Samples, from which rows are gathered in any order.
struct Samples {
  Samples(const TrainArray& array, const std::int32_t* classes)
      : count(array.data == nullptr ? 0 : array.dims[0]),
        inputs(View(array.data, array.dims, at::kFloat)),
        labels(View(classes, {count}, at::kInt)) {}

  [[nodiscard]] Tensor Inputs(const Tensor& rows) const {
    const Tensor batch = at::index_select(inputs, 0, rows);
    // Convolutions run fastest with channels last.
    return batch.dim() == 4 ? batch.contiguous(at::MemoryFormat::ChannelsLast) : batch;
  }
  [[nodiscard]] Tensor Labels(const Tensor& rows) const {
    return at::index_select(labels, 0, rows).to(at::kLong);
  }

  std::int64_t count;
  Tensor inputs;
  Tensor labels;
};

/// A program and the slots of its last run.
struct Network {
  Network(const TrainProgram& of, std::vector<int> keep)
      : program(of), runner(of, std::move(keep)), slots(runner.NewSlots()) {}

  void Run(const Tensor& inputs, const std::function<void(int slot)>& after = {}) {
    At(slots, program.inputs[0]) = inputs;
    runner.Run(slots, after);
  }

  const TrainProgram& program;
  Runner runner;
  Slots slots;
};

/// Returns the teacher's outputs; its slots then contain the features.
std::vector<Tensor> RunTeacher(Network& teacher, const Tensor& inputs) {
  const at::NoGradGuard no_grad;
  teacher.Run(inputs);
  std::vector<Tensor> outputs;
  for (const int slot : teacher.program.outputs) outputs.push_back(At(teacher.slots, slot));
  return outputs;
}

/// Fills `cache` with the teacher's outputs for all samples; leaves it empty if they are too large
/// or not one row a sample. Returns false if `hooks` stop it.
bool CacheOutputs(Network& teacher, const Samples& samples, std::int64_t batch,
                  const TrainHooks& hooks, std::vector<Tensor>& cache) {
  const std::int64_t count = samples.count;
  for (std::int64_t first = 0; first < count; first += batch) {
    const std::int64_t from = std::min(first, count - batch);
    const Tensor rows = at::arange(from, from + batch, at::kLong);
    const std::vector<Tensor> outputs = RunTeacher(teacher, samples.Inputs(rows));
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const Tensor& output = outputs[k];
      if (first == 0) {
        std::vector<std::int64_t> dims = output.sizes().vec();
        if (dims.empty() || dims[0] != batch ||
            output.numel() / batch * count * 4 > kMaxCachedBytes) {
          cache.clear();
          return true;
        }
        dims[0] = count;
        cache.push_back(at::empty(dims, at::kFloat));
      }
      cache[k].narrow(0, from, batch).copy_(output);
    }
    if (!hooks.progress({"teacher", std::min(first + batch, count), count, 0, 0, 0})) return false;
  }
  return true;
}

std::vector<Tensor> RowsOf(const std::vector<Tensor>& cache, const Tensor& rows) {
  std::vector<Tensor> outputs;
  for (const Tensor& all : cache) outputs.push_back(at::index_select(all, 0, rows));
  return outputs;
}

/// Puts the parameters into the slots from which the student reads them.
void FillStudent(const std::vector<Parameter>& parameters, Slots& slots) {
  for (const Parameter& parameter : parameters) {
    At(slots, parameter.slot) = parameter.Value(parameter.leaf);
  }
}

/// Runs the student. Returns the loss of its features against those in the teacher's slots.
Tensor RunStudent(const std::vector<FeatureTerm>& terms, const Tensor& inputs, Slots& teacher,
                  Network& student) {
  Tensor loss = at::full({}, 0.0, at::kFloat);
  student.Run(inputs, [&](int slot) {
    for (const FeatureTerm& term : terms) {
      if (term.student != slot) continue;
      loss = loss + FeatureLoss(term, At(teacher, term.teacher), At(student.slots, slot));
    }
  });
  return loss;
}

/// An output of teacher and student, with the variances by which its errors are divided.
struct Output {
  NamedForm named;
  Tensor variances = {};
};

/// Returns the outputs of a program with their forms.
std::vector<Output> OutputsOf(const TrainProgram& program, const OutputForms& forms) {
  std::vector<Output> outputs;
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    outputs.push_back(
        {forms.empty() ? NamedForm{std::to_string(k), {.kind = OutputKind::kLogits}} : forms[k]});
  }
  return outputs;
}

/// Computes the variances of the teacher's outputs for all samples, where a loss needs them.
/// `cache` may hold these outputs.
void SetVariances(Network& teacher, const Samples& samples, std::int64_t batch,
                  const std::vector<Tensor>& cache, std::vector<Output>& outputs) {
  if (std::none_of(outputs.begin(), outputs.end(),
                   [](const Output& output) { return HasErrors(output.named.form); })) {
    return;
  }
  std::vector<ErrorScale> scales(outputs.size());
  const auto add = [&](const std::vector<Tensor>& values) {
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (HasErrors(outputs[k].named.form)) scales[k].Add(outputs[k].named.form, values[k]);
    }
  };
  if (!cache.empty()) {
    add(cache);
  } else {
    for (std::int64_t first = 0; first + batch <= samples.count; first += batch) {
      add(RunTeacher(teacher, samples.Inputs(at::arange(first, first + batch, at::kLong))));
    }
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (HasErrors(outputs[k].named.form)) outputs[k].variances = scales[k].Variances();
  }
}

Tensor OutputLoss(const TrainSettings& settings, const std::vector<Output>& outputs,
                  Network& student, const std::vector<Tensor>& teacher, const Tensor& labels) {
  Tensor loss = at::full({}, 0.0, at::kFloat);
  for (std::size_t k = 0; k < teacher.size(); ++k) {
    const Tensor& output = At(student.slots, student.program.outputs[k]);
    const NamedForm& named = outputs[k].named;
    RequireSame(output, teacher[k], "output '" + named.name + "'");
    if (settings.kl > 0) {
      loss = loss +
             DistillLoss(named, output, teacher[k], outputs[k].variances, settings.temperature) *
                 settings.kl;
    }
    if (settings.lp > 0) {
      loss = loss + Distance(output, teacher[k], settings.power) * settings.lp;
    }
    if (settings.hard > 0 && k == 0) loss = loss + LabelLoss(named, output, labels) * settings.hard;
  }
  return loss;
}

/// Returns the labels of a batch if the loss reads them.
Tensor LabelsOf(const TrainSettings& settings, const Samples& samples, const Tensor& rows) {
  return settings.hard > 0 ? samples.Labels(rows) : Tensor();
}

/// Returns the mean loss of the outputs over all complete batches.
double Validate(const TrainSettings& settings, const std::vector<Output>& outputs,
                const Samples& samples, const std::vector<Parameter>& parameters, Network& teacher,
                Network& student) {
  const at::NoGradGuard no_grad;
  FillStudent(parameters, student.slots);
  double sum = 0;
  const std::int64_t batches = samples.count / settings.batch;
  for (std::int64_t b = 0; b < batches; ++b) {
    const Tensor rows = at::arange(b * settings.batch, (b + 1) * settings.batch, at::kLong);
    const Tensor inputs = samples.Inputs(rows);
    const std::vector<Tensor> wanted = RunTeacher(teacher, inputs);
    student.Run(inputs);
    const Tensor labels = LabelsOf(settings, samples, rows);
    sum += OutputLoss(settings, outputs, student, wanted, labels).item<double>();
  }
  return sum / static_cast<double>(batches);
}

std::vector<int> SlotsOf(const std::vector<FeatureTerm>& features, int FeatureTerm::*side) {
  std::vector<int> slots;
  for (const FeatureTerm& term : features) slots.push_back(term.*side);
  return slots;
}

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
        student_(*job_.student, SlotsOf(job_.features, &FeatureTerm::student)),
        teacher_(*job_.teacher, SlotsOf(job_.features, &FeatureTerm::teacher)),
        outputs_(OutputsOf(*job_.teacher, job_.forms)),
        per_epoch_(StepsAnEpoch(train_.count, settings_.batch)),
        total_(per_epoch_ * settings_.epochs) {}

  void Run() {
    at::set_num_threads(settings_.threads);
    parameters_ = MakeParameters(*job_.student, settings_, state_);
    // Without features nothing of the teacher is needed but its outputs, which do not change.
    if (job_.features.empty() &&
        !CacheOutputs(teacher_, train_, settings_.batch, *call_.hooks, cache_)) {
      return Stop();
    }
    SetVariances(teacher_, train_, settings_.batch, cache_, outputs_);
    while (state_.step < total_ &&
           !(settings_.patience > 0 && state_.stale >= settings_.patience)) {
      const std::int64_t epoch = state_.step / per_epoch_;
      const std::vector<std::int64_t> order = call_.order(epoch);
      for (std::int64_t i = state_.step % per_epoch_; i < per_epoch_; ++i) {
        const std::int64_t* const rows = order.data() + i * settings_.batch;
        state_.running_loss += Step(View(rows, {settings_.batch}, at::kLong));
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
  /// Makes one step. Returns the loss before it.
  double Step(const Tensor& rows) {
    const Tensor inputs = train_.Inputs(rows);
    const std::vector<Tensor> wanted =
        cache_.empty() ? RunTeacher(teacher_, inputs) : RowsOf(cache_, rows);
    FillStudent(parameters_, student_.slots);
    const Tensor features = RunStudent(job_.features, inputs, teacher_.slots, student_);
    const Tensor labels = LabelsOf(settings_, train_, rows);
    const Tensor loss = OutputLoss(settings_, outputs_, student_, wanted, labels) + features;
    const double value = loss.item<double>();
    if (!std::isfinite(value)) {
      throw WrongArguments("the loss stopped being finite in step " + std::to_string(state_.step) +
                           ": a lower 'rate' or a 'clip' may help");
    }
    loss.backward();
    student_.slots = student_.runner.NewSlots();  // releases the graph of this step
    Update(settings_, state_.step + 1, call_.rate(state_.step, total_, per_epoch_), parameters_);
    return value;
  }

  bool Show(std::int64_t epoch, std::int64_t steps) {
    const double loss = steps == per_epoch_ ? state_.epochs.back().loss
                                            : state_.running_loss / static_cast<double>(steps);
    return call_.hooks->progress({"train", state_.step, total_, epoch, loss,
                                  call_.rate(state_.step - 1, total_, per_epoch_)});
  }

  void EndEpoch() {
    TrainEpoch epoch;
    epoch.loss = state_.running_loss / static_cast<double>(per_epoch_);
    state_.running_loss = 0;
    Save(parameters_, state_);
    if (validation_.count > 0) {
      epoch.validation =
          Validate(settings_, outputs_, validation_, parameters_, teacher_, student_);
      const bool better = state_.best.empty() || epoch.validation < state_.best_validation;
      if (better) {
        state_.best = state_.parameters;
        state_.best_validation = epoch.validation;
      }
      state_.stale = better ? 0 : state_.stale + 1;
    }
    state_.epochs.push_back(epoch);
  }

  void Stop() {
    Save(parameters_, state_);
    call_.hooks->checkpoint(state_);
    call_.result->stopped = true;
    Finish();
  }

  void Finish() {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Tensor& leaf = parameters_[i].leaf;
      const Tensor reached =
          state_.best.empty() ? leaf : CopyOf(state_.best[i].data(), leaf.sizes().vec());
      call_.result->values.push_back(ValuesOf(parameters_[i].Value(reached)));
    }
    call_.result->epochs = state_.epochs;
  }

  TrainCall& call_;
  const TrainJob& job_;
  const TrainSettings& settings_;
  TrainState& state_;
  Samples train_;
  Samples validation_;
  Network student_;
  Network teacher_;
  std::vector<Output> outputs_;
  std::int64_t per_epoch_;
  std::int64_t total_;
  std::vector<Parameter> parameters_;
  std::vector<Tensor> cache_;  ///< the teacher's outputs for all samples; may be empty
};

/// Computes the gradients of the loss for each parameter, without a training step.
void TakeGradients(GradientCall& call) {
  const GradientJob& job = *call.job;
  at::set_num_threads(job.threads);
  const TrainProgram& program = *job.program;
  Network network(program, {});
  std::vector<Tensor> leaves;
  for (const TrainParameter& parameter : program.parameters) {
    Tensor& leaf = At(network.slots, program.constants[parameter.constant].slot);
    leaf.set_requires_grad(true);
    leaves.push_back(leaf);
  }
  network.Run(CopyOf(call.inputs.data, call.inputs.dims));
  const std::vector<Output> outputs = OutputsOf(program, job.forms);
  const auto labels = static_cast<std::int64_t>(job.labels.size());
  Tensor loss = at::full({}, 0.0, at::kFloat);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Tensor& values = At(network.slots, program.outputs[k]);
    const NamedForm& named = outputs[k].named;
    loss = loss + (k == 0 && labels > 0
                       ? LabelLoss(named, values,
                                   View(job.labels.data(), {labels}, at::kInt).to(at::kLong))
                       : SelfLoss(named, values, job.seed + k));
  }
  loss.backward();
  for (Tensor& leaf : leaves) {
    const Tensor& gradient = leaf.grad();
    call.gradients.push_back(ValuesOf(gradient.defined() ? gradient : at::zeros_like(leaf)));
  }
}

/// The border to the caller, which may have been built with another libstdc++ and does not know the
/// library's types: turns exceptions of the library into text.
template <class Call, class Run>
void Guard(Call& call, const Run& run) {
  try {
    run();
  } catch (const WrongArguments& thrown) {
    call.error = thrown.what();
    if constexpr (requires { call.users_fault; }) call.users_fault = true;
  } catch (const c10::Error& thrown) {
    call.error = thrown.what_without_backtrace();
  } catch (const std::exception& thrown) {
    call.error = thrown.what();
  }
}

}  // namespace
}  // namespace msc::detail

extern "C" {

[[gnu::visibility("default")]] int msc_trainer_version() {
  return msc::detail::kTrainerVersion;
}

[[gnu::visibility("default")]] void msc_train(msc::detail::TrainCall* call) {
  msc::detail::Guard(*call, [&] { msc::detail::Training(*call).Run(); });
}

[[gnu::visibility("default")]] void msc_gradients(msc::detail::GradientCall* call) {
  msc::detail::Guard(*call, [&] { msc::detail::TakeGradients(*call); });
}

[[gnu::visibility("default")]] void msc_run(msc::detail::RunCall* call) {
  msc::detail::Guard(*call, [&] {
    using namespace msc::detail;
    const at::NoGradGuard no_grad;
    const Runner runner(*call->program, {});
    Slots slots = runner.NewSlots();
    for (std::size_t i = 0; i < call->inputs.size(); ++i) {
      At(slots, call->program->inputs[i]) = CopyOf(call->inputs[i].data, call->inputs[i].dims);
    }
    runner.Run(slots);
    for (const int slot : call->program->outputs) {
      const Tensor& output = At(slots, slot);
      call->outputs.push_back(ValuesOf(output));
      call->dims.push_back(output.sizes().vec());
    }
  });
}

}  // extern "C"
