#include "compiler/runtime/executable.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>

#include "compiler/base/error.h"
#include "compiler/base/large_memory.h"
#include "compiler/runtime/float_mode.h"
#include "compiler/runtime/memory_plan.h"

namespace msc {
namespace {

void CheckTensor(const Tensor& tensor, const ValueType& type, const Dims& dims,
                 const std::string& what) {
  if (tensor.dtype() == type.dtype && tensor.dims() == dims) return;
  throw UserError(what + " must be " + std::string(Name(type.dtype)) + ToString(dims) + ", not " +
                  std::string(Name(tensor.dtype())) + ToString(tensor.dims()));
}

}  // namespace

/// Memory and state of one run.
struct Executable::Workspace {
  std::vector<std::byte*> addresses;  // by buffer
  LargeMemory arena;
  std::vector<Step::Run> own;  // by step; null for a step that all runs share
};

/// Workspaces that are not in use.
struct Executable::Idle {
  std::mutex mutex;
  std::vector<std::unique_ptr<Workspace>> workspaces;
  std::size_t made = 0;  // including those in use
};

/// Takes a workspace for the duration of one run: the most recently used one, whose memory is still
/// in the caches.
class Executable::Lease {
 public:
  explicit Lease(const Executable& executable) : idle_(*executable.idle_) {
    {
      const std::scoped_lock lock(idle_.mutex);
      if (!idle_.workspaces.empty()) {
        workspace_ = std::move(idle_.workspaces.back());
        idle_.workspaces.pop_back();
        return;
      }
    }
    workspace_ = executable.NewWorkspace();
    const std::scoped_lock lock(idle_.mutex);
    idle_.workspaces.reserve(idle_.made + 1);  // so that giving it back cannot fail
    ++idle_.made;
  }
  ~Lease() {
    const std::scoped_lock lock(idle_.mutex);
    idle_.workspaces.push_back(std::move(workspace_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Workspace& operator*() const { return *workspace_; }
  Workspace* operator->() const { return workspace_.get(); }

 private:
  Idle& idle_;
  std::unique_ptr<Workspace> workspace_;
};

Executable::Executable() : idle_(std::make_unique<Idle>()) {}
Executable::Executable(Executable&&) noexcept = default;
Executable& Executable::operator=(Executable&&) noexcept = default;
Executable::~Executable() = default;

std::unique_ptr<Executable::Workspace> Executable::NewWorkspace() const {
  auto workspace = std::make_unique<Workspace>();
  // Allocate one cache line more, so that addresses of empty buffers are valid, too.
  workspace->arena = LargeMemory(memory_.arena_bytes + kArenaAlignment);
  workspace->addresses = addresses_;
  for (const Placed& placed : placed_) {
    workspace->addresses[static_cast<std::size_t>(placed.buffer)] =
        workspace->arena.data() + placed.offset;
  }
  for (const Step& step : steps_) {
    workspace->own.push_back(step.make_run ? step.make_run() : nullptr);
  }
  return workspace;
}

void Executable::Prepare() {
  // The first run then finds a workspace.
  const Lease first(*this);
}

void Executable::SetConstant(BufferId constant, const TensorPtr& tensor) {
  const auto place = std::find_if(constants_.begin(), constants_.end(),
                                  [&](const Constant& known) { return known.buffer == constant; });
  Check(place != constants_.end() && place->offset == 0 && place->bytes == tensor->bytes(),
        "a constant is replaced by one of its size");
  const std::scoped_lock lock(idle_->mutex);
  Check(idle_->workspaces.size() == idle_->made, "constants are not replaced during a run");
  if (keep_alive_[place->owner] == block_) {
    std::memcpy(addresses_[static_cast<std::size_t>(constant)], tensor->Raw().data(), place->bytes);
    return;
  }
  for (const Constant& part : constants_) {
    if (part.owner != place->owner) continue;
    // Steps only read constants, as the builder requires.
    auto* const address = const_cast<std::byte*>(tensor->Raw().data()) + part.offset;
    const auto index = static_cast<std::size_t>(part.buffer);
    addresses_[index] = address;
    for (const auto& workspace : idle_->workspaces) workspace->addresses[index] = address;
  }
  keep_alive_[place->owner] = tensor;
}

std::vector<Tensor> Executable::NewOutputs() const {
  std::vector<Tensor> outputs;
  outputs.reserve(output_types_.size());
  for (std::size_t i = 0; i < output_types_.size(); ++i) {
    outputs.emplace_back(output_types_[i].dtype, output_dims_[i]);
  }
  return outputs;
}

void Executable::CheckTensors(std::span<const Tensor> inputs,
                              std::span<const Tensor> outputs) const {
  if (inputs.size() != input_types_.size()) {
    throw UserError("the model takes " + std::to_string(input_types_.size()) + " inputs, not " +
                    std::to_string(inputs.size()));
  }
  if (outputs.size() != output_types_.size()) {
    throw UserError("the model gives " + std::to_string(output_types_.size()) + " outputs, not " +
                    std::to_string(outputs.size()));
  }
  // Compare before formatting a message: this runs before every inference.
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() != input_types_[i].dtype || inputs[i].dims() != input_dims_[i]) {
      CheckTensor(inputs[i], input_types_[i], input_dims_[i], "input " + std::to_string(i));
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].dtype() != output_types_[i].dtype || outputs[i].dims() != output_dims_[i]) {
      CheckTensor(outputs[i], output_types_[i], output_dims_[i], "output " + std::to_string(i));
    }
  }
}

void Executable::Bind(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                      Workspace& workspace) const {
  for (const Bound& bound : inputs_) {
    // Steps only read inputs, as the builder requires.
    workspace.addresses[static_cast<std::size_t>(bound.buffer)] =
        const_cast<std::byte*>(inputs[bound.tensor].Raw().data()) + bound.offset;
  }
  for (const Bound& bound : outputs_) {
    workspace.addresses[static_cast<std::size_t>(bound.buffer)] =
        outputs[bound.tensor].MutableRaw().data() + bound.offset;
  }
}

void Executable::CopyOutputs(const Workspace& workspace, std::span<Tensor> outputs) const {
  for (const Copy& copy : copies_) {
    if (copy.bytes == 0) continue;
    std::memcpy(outputs[copy.output].MutableRaw().data(),
                workspace.addresses[static_cast<std::size_t>(copy.from)], copy.bytes);
  }
}

namespace {

bool Hold(const std::vector<StepCondition>& conditions, const StepContext& context) {
  return std::all_of(conditions.begin(), conditions.end(), [&](const StepCondition& condition) {
    return (*context.At(condition.buffer) != std::byte{0}) == condition.value;
  });
}

}  // namespace

template <class RunStep>
void Executable::RunSteps(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                          const RunStep& run_step) const {
  CheckTensors(inputs, outputs);
  const Lease workspace(*this);
  Bind(inputs, outputs, *workspace);
  const StepContext context(workspace->addresses);
  const FlushSubnormals flush(pool_threads_);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step::Run& own = workspace->own[i];
    const Step::Run* run = own ? &own : &steps_[i].run;
    run_step(steps_[i], Hold(steps_[i].conditions, context) ? run : nullptr, context);
  }
  CopyOutputs(*workspace, outputs);
}

void Executable::RunInto(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  RunSteps(inputs, outputs,
           [](const Step& /*step*/, const Step::Run* run, const StepContext& context) {
             if (run != nullptr) (*run)(context);
           });
}

std::vector<Tensor> Executable::Run(std::span<const Tensor> inputs) const {
  std::vector<Tensor> outputs = NewOutputs();
  RunInto(inputs, outputs);
  return outputs;
}

std::vector<Tensor> Executable::Profile(std::span<const Tensor> inputs,
                                        std::vector<StepTime>& times) const {
  using Clock = std::chrono::steady_clock;
  std::vector<Tensor> outputs = NewOutputs();
  times.clear();
  times.reserve(steps_.size());
  RunSteps(inputs, outputs,
           [&](const Step& step, const Step::Run* run, const StepContext& context) {
             const Clock::time_point start = Clock::now();
             if (run != nullptr) (*run)(context);
             times.push_back({.name = step.name,
                              .target = step.target,
                              .precision = step.precision,
                              .nodes = step.nodes,
                              .time = Clock::now() - start,
                              .precisions = step.precisions});
           });
  return outputs;
}

}  // namespace msc
