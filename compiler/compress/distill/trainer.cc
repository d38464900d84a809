#include "compiler/compress/distill/trainer.h"

#include <cmath>
#include <exception>
#include <filesystem>
#include <numbers>
#include <numeric>
#include <utility>

#include <dlfcn.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/compress/distill/trainer_call.h"

namespace msc {
namespace {

/// The functions of the shared object, or the problem with loading it.
struct Trainer {
  detail::TrainFunction* train = nullptr;
  detail::RunFunction* run = nullptr;
  detail::GradientFunction* gradients = nullptr;
  std::string problem;
};

constexpr const char* kObject = "libmsc_torch.so";

/// Returns where to look for the object: beside the program, where it is installed, and where it
/// was built.
std::vector<std::string> Places() {
  std::vector<std::string> places;
  std::error_code none;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", none);
  if (!none) {
    const std::filesystem::path folder = self.parent_path();
    places = {(folder / kObject).string(), (folder / ".." / "lib" / kObject).string(),
              (folder / ".." / MSC_LIBRARY_FOLDER / kObject).string()};
  }
  if (!std::string(MSC_TORCH_OBJECT).empty()) places.emplace_back(MSC_TORCH_OBJECT);
  return places;
}

template <class Function>
Function* Find(void* handle, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(handle, name));
}

Trainer Load() {
  Trainer trainer;
  for (const std::string& path : Places()) {
    std::error_code none;
    if (!std::filesystem::exists(path, none)) continue;
    void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread loads
      trainer.problem = std::string(::dlerror()) + "; install libtorch (Debian: libtorch1.13)";
      return trainer;
    }
    auto* const version = Find<detail::TrainerVersionFunction>(handle, "msc_trainer_version");
    trainer.train = Find<detail::TrainFunction>(handle, "msc_train");
    trainer.run = Find<detail::RunFunction>(handle, "msc_run");
    trainer.gradients = Find<detail::GradientFunction>(handle, "msc_gradients");
    const bool fits = version != nullptr && trainer.train != nullptr && trainer.run != nullptr &&
                      trainer.gradients != nullptr && version() == detail::kTrainerVersion;
    if (!fits) trainer.problem = "'" + path + "' belongs to another version of this program";
    return trainer;
  }
  trainer.problem = kObject;
  trainer.problem +=
      " was not built: install libtorch (Debian: libtorch-dev), configure with "
      "-DMSC_WITH_LIBTORCH=ON and build again";
  return trainer;
}

const Trainer& Loaded() {
  static const Trainer trainer = Load();
  return trainer;
}

const Trainer& Require() {
  const Trainer& trainer = Loaded();
  if (!trainer.problem.empty()) throw SystemError("training needs libtorch: " + trainer.problem);
  return trainer;
}

detail::TrainArray ArrayOf(const Tensor& tensor) {
  return {tensor.Values<float>().data(), tensor.dims()};
}

void CheckSamples(const TrainSamples& samples, const TrainSettings& settings, const char* what) {
  const auto refuse = [&](const std::string& why) {
    throw UserError("the samples for " + std::string(what) + " " + why);
  };
  if (samples.inputs->dtype() != DType::kF32 || samples.inputs->dims().empty()) {
    refuse("are not 32-bit floats");
  }
  const std::int64_t count = samples.inputs->dims()[0];
  if (count < settings.batch) {
    refuse("are " + std::to_string(count) + ", fewer than a batch of " +
           std::to_string(settings.batch));
  }
  if (settings.hard > 0 && static_cast<std::int64_t>(samples.labels.size()) != count) {
    refuse("need as many labels, for the loss 'hard'");
  }
}

void CheckForms(const OutputForms& forms, const TrainProgram& program) {
  Check(forms.empty() || forms.size() == program.outputs.size(), "every output has a form");
}

void CheckJob(const TrainJob& job) {
  Check(job.student != nullptr && job.teacher != nullptr && job.train.inputs != nullptr,
        "a training has a student, a teacher and samples");
  if (job.student->inputs.size() != 1 || job.teacher->inputs.size() != 1) {
    throw UserError("samples are read for models with one input");
  }
  if (job.student->outputs.size() != job.teacher->outputs.size()) {
    throw UserError("student and teacher differ in their number of outputs");
  }
  CheckForms(job.forms, *job.student);
  if (job.student->parameters.empty()) throw UserError("the student has no weights to train");
  const TrainSettings& s = job.settings;
  if (!(s.kl > 0 || s.lp > 0 || s.hard > 0) && job.features.empty()) {
    throw UserError("every loss has weight 0: nothing would be learned");
  }
  CheckSamples(job.train, s, "training");
  if (job.validation.inputs != nullptr) CheckSamples(job.validation, s, "validation");
  if (s.patience > 0 && job.validation.inputs == nullptr) {
    throw UserError("'patience' needs samples for validation");
  }
}

/// UserError if the state belongs to another job, before anything reads it.
void CheckState(const TrainJob& job, const TrainState& state) {
  if (state.parameters.empty()) return;
  bool fits = state.parameters.size() == job.student->parameters.size();
  for (std::size_t i = 0; fits && i < state.parameters.size(); ++i) {
    const std::size_t size =
        job.student->constants[job.student->parameters[i].constant].values.size();
    fits = state.parameters[i].size() == size;
    for (const auto* moments : {&state.first, &state.second, &state.best}) {
      if (moments->empty()) continue;
      fits = fits && moments->size() == state.parameters.size() && (*moments)[i].size() == size;
    }
  }
  if (!fits) throw UserError("the state belongs to another student");
}

}  // namespace

double RateAt(const TrainSettings& settings, std::int64_t step, std::int64_t total,
              std::int64_t per_epoch) {
  const auto warm = static_cast<std::int64_t>(settings.warmup * static_cast<double>(total));
  if (step < warm) {
    // The first step already learns, and the first one after the warm-up has the full rate.
    return settings.rate * static_cast<double>(step + 1) / static_cast<double>(warm + 1);
  }
  if (settings.schedule == "cosine") {
    // Half a cosine from the full rate towards 0 (I. Loshchilov and F. Hutter, "SGDR", 2017,
    // equation 5, without restarts).
    const double share = static_cast<double>(step - warm) / static_cast<double>(total - warm);
    return settings.rate * (1 + std::cos(std::numbers::pi * share)) / 2;
  }
  if (settings.schedule == "step") {
    const std::int64_t steps = step / per_epoch / settings.step_epochs;
    return settings.rate * std::pow(settings.step_factor, static_cast<double>(steps));
  }
  return settings.rate;
}

std::vector<std::int64_t> EpochOrder(std::uint64_t seed, std::int64_t epoch, std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  // "order": a random stream of its own for each epoch, so that a resumed training goes through the
  // samples in the same order.
  Rng rng(MixSeed({seed, 0x6f72646572U, static_cast<std::uint64_t>(epoch)}));
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.Below(i)]);
  return order;
}

TrainResult Train(const TrainJob& job, const TrainHooks& hooks, TrainState& state) {
  CheckJob(job);
  CheckState(job, state);
  const Trainer& trainer = Require();
  // Catch exceptions of hooks here: they must not pass through frames of the other object.
  std::exception_ptr thrown;
  const auto keep = [&](const auto& call) {
    try {
      return call();
    } catch (...) {
      thrown = std::current_exception();
      return false;
    }
  };
  TrainHooks guarded;
  guarded.progress = [&](const TrainProgress& progress) {
    return !thrown && keep([&] { return !hooks.progress || hooks.progress(progress); });
  };
  guarded.checkpoint = [&](const TrainState& reached) {
    (void)keep([&] {
      if (hooks.checkpoint) hooks.checkpoint(reached);
      return true;
    });
  };
  TrainResult result;
  detail::TrainCall call;
  call.job = &job;
  call.inputs = ArrayOf(*job.train.inputs);
  if (!job.train.labels.empty()) call.labels = job.train.labels.data();
  if (job.validation.inputs != nullptr) {
    call.validation = ArrayOf(*job.validation.inputs);
    if (!job.validation.labels.empty()) call.validation_labels = job.validation.labels.data();
  }
  call.rate = [&](std::int64_t step, std::int64_t total, std::int64_t per_epoch) {
    return RateAt(job.settings, step, total, per_epoch);
  };
  call.order = [&](std::int64_t epoch) {
    return EpochOrder(job.settings.seed, epoch, call.inputs.dims[0]);
  };
  call.hooks = &guarded;
  call.state = &state;
  call.result = &result;
  trainer.train(&call);
  if (thrown) std::rethrow_exception(thrown);
  if (call.users_fault) throw UserError(call.error);
  if (!call.error.empty()) throw SystemError("libtorch: " + call.error);
  return result;
}

std::vector<Tensor> RunProgram(const TrainProgram& program, std::span<const Tensor> inputs) {
  const Trainer& trainer = Require();
  if (inputs.size() != program.inputs.size()) {
    throw UserError("the model has " + std::to_string(program.inputs.size()) + " inputs; " +
                    std::to_string(inputs.size()) + " were given");
  }
  detail::RunCall call;
  call.program = &program;
  for (const Tensor& tensor : inputs) call.inputs.push_back(ArrayOf(tensor));
  trainer.run(&call);
  if (!call.error.empty()) throw SystemError("libtorch: " + call.error);
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    outputs.push_back(Tensor::From<float>(DType::kF32, call.dims[i], call.outputs[i]));
  }
  return outputs;
}

std::vector<std::vector<float>> Gradients(const GradientJob& job) {
  const Trainer& trainer = Require();
  if (job.program->inputs.size() != 1 || job.program->outputs.empty()) {
    throw UserError("gradients are taken of models with one input");
  }
  CheckForms(job.forms, *job.program);
  detail::GradientCall call;
  call.job = &job;
  call.inputs = ArrayOf(*job.inputs);
  trainer.gradients(&call);
  if (call.users_fault) throw UserError(call.error);
  if (!call.error.empty()) throw SystemError("libtorch: " + call.error);
  return std::move(call.gradients);
}

std::string TrainerProblem() {
  return Loaded().problem;
}

}  // namespace msc
