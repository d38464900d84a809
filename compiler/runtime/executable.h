#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"

namespace msc {

/// A memory area that steps read and write. Ids are dense, from 0.
enum class BufferId : std::uint32_t {};

/// The addresses of buffers during one run, as its steps see them.
class StepContext {
 public:
  explicit StepContext(std::span<std::byte* const> addresses) : addresses_(addresses) {}
  [[nodiscard]] std::byte* At(BufferId id) const {
    return addresses_[static_cast<std::size_t>(id)];
  }

 private:
  std::span<std::byte* const> addresses_;
};

/// A boolean in a buffer, and the value that it must have for a step to run.
struct StepCondition {
  BufferId buffer{};
  bool value = false;
};

/// A call into a kernel or a library.
struct Step {
  std::string name;    ///< shown in profiles: "conv1+relu"
  std::string target;  ///< target that made it
  /// Names of the graph nodes it computes; empty for a reorder.
  std::vector<std::string> nodes = {};
  /// "int8", a type such as "f32" or "i64", or "mixed"; "" for moving data.
  std::string precision = {};
  std::vector<BufferId> reads = {};
  std::vector<BufferId> writes = {};
  /// Computes the step. Several threads may call it at once, each with its own buffers.
  using Run = std::function<void(const StepContext&)>;
  Run run = {};
  /// Set instead of `run` for a step that keeps state between its runs: makes a Run that only one
  /// thread at a time calls, mostly with the same buffers. Thread-safe itself.
  std::function<Run()> make_run = {};
  /// Precision of each layer, by node name, for a step with several layers, if known.
  std::map<std::string, std::string> precisions = {};
  /// Threads of the pool on which its library runs loops without adopting the FloatMode of the
  /// calling thread.
  int pool_threads = 1;
  /// A run leaves the step out if one of these does not hold. The builder sets them.
  std::vector<StepCondition> conditions = {};
};

/// Memory use of an executable. Inputs and outputs belong to the caller and are not counted:
/// kernels read and write them in place.
struct MemoryUse {
  /// The arena for all activations and scratch space; concurrent runs have one each.
  std::size_t arena_bytes = 0;
  /// Most bytes that steps need at the same time: no arena for these steps in this order can be
  /// smaller.
  std::size_t arena_lower_bound = 0;
  std::size_t unplanned_bytes = 0;  ///< bytes of the same buffers without sharing
  std::size_t constant_bytes = 0;   ///< weights in the form that kernels read
  /// Steps that compute no node of the graph: they copy values, change their layout or type, or
  /// fill the space around them.
  std::size_t conversions = 0;
  std::size_t conversion_bytes = 0;  ///< bytes that these steps read
};

/// Constants that one target made for its steps, with a digest of the rest of these steps. If
/// another lowering has the same digest, its constants can replace these.
struct ConstantGroup {
  std::string code;  ///< digest of kernels, calls and sizes, without the values of constants
  std::vector<BufferId> constants = {};
};

/// Time of one step in a profile, about 0 if the run left it out; other fields as in Step.
struct StepTime {
  std::string name;
  std::string target;
  std::string precision;
  std::vector<std::string> nodes;
  std::chrono::nanoseconds time{};
  std::map<std::string, std::string> precisions = {};  ///< as Step::precisions
};

/// A compiled graph that is ready to run: steps over one arena. May be moved only while it does not
/// run.
///
/// Several threads may call Run, RunInto and Profile at once. Each call works in its own workspace
/// (an arena, addresses, state of steps). A new workspace is made when more calls run at once than
/// ever before, and is kept for later calls. Each calling thread has as many threads of the pool
/// for itself as the executable was compiled for.
class Executable {
 public:
  Executable(Executable&&) noexcept;
  Executable& operator=(Executable&&) noexcept;
  ~Executable();

  /// Runs the graph. Inputs and outputs are in the graph's order, dense row-major, with types and
  /// dims as compiled. UserError if an input does not fit.
  [[nodiscard]] std::vector<Tensor> Run(std::span<const Tensor> inputs) const;
  /// Runs the graph into `outputs`, which an earlier Run made. Allocates nothing except for a new
  /// workspace. Latency is measured on this function.
  void RunInto(std::span<const Tensor> inputs, std::span<Tensor> outputs) const;
  /// Works as Run and measures the time of every step.
  [[nodiscard]] std::vector<Tensor> Profile(std::span<const Tensor> inputs,
                                            std::vector<StepTime>& times) const;

  /// Returns the groups in the order in which targets added them.
  [[nodiscard]] const std::vector<ConstantGroup>& constant_groups() const noexcept {
    return constant_groups_;
  }
  /// Replaces a constant by another tensor of the same size, or copies that to its place in the
  /// block of packed weights. Must not be called while the executable runs.
  void SetConstant(BufferId constant, const TensorPtr& tensor);

  [[nodiscard]] const MemoryUse& memory() const noexcept { return memory_; }
  [[nodiscard]] const std::vector<Step>& steps() const noexcept { return steps_; }
  [[nodiscard]] const std::vector<ValueType>& input_types() const noexcept { return input_types_; }
  [[nodiscard]] const std::vector<ValueType>& output_types() const noexcept {
    return output_types_;
  }

 private:
  friend class ExecutableBuilder;
  struct Workspace;
  struct Idle;
  class Lease;
  /// A buffer in the caller's memory: `tensor` is a position among inputs or outputs.
  struct Bound {
    BufferId buffer{};
    std::size_t tensor = 0;
    std::size_t offset = 0;  ///< bytes
  };
  /// A buffer in the arena.
  struct Placed {
    BufferId buffer{};
    std::size_t offset = 0;  ///< bytes
  };
  /// An output that cannot be written in place because it is an input, a constant, or occurs twice.
  struct Copy {
    BufferId from{};
    std::size_t output = 0;
    std::size_t bytes = 0;
  };
  /// A buffer in a constant.
  struct Constant {
    BufferId buffer{};
    std::size_t owner = 0;   ///< position in keep_alive_
    std::size_t offset = 0;  ///< bytes
    std::size_t bytes = 0;
  };

  Executable();
  /// Makes the first workspace, after everything else is set.
  void Prepare();
  [[nodiscard]] std::unique_ptr<Workspace> NewWorkspace() const;
  void CheckTensors(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const;
  template <class RunStep>
  void RunSteps(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                const RunStep& run_step) const;
  void Bind(std::span<const Tensor> inputs, std::span<Tensor> outputs, Workspace& workspace) const;
  void CopyOutputs(const Workspace& workspace, std::span<Tensor> outputs) const;
  [[nodiscard]] std::vector<Tensor> NewOutputs() const;

  std::vector<Step> steps_;
  int pool_threads_ = 1;  ///< maximum over all steps
  std::vector<std::shared_ptr<const void>> keep_alive_;
  std::shared_ptr<const void> block_;  ///< the owner of all constants that Build moved together
  std::vector<std::byte*> addresses_;  ///< by buffer; set only for constants
  std::vector<Placed> placed_;
  std::vector<Bound> inputs_;
  std::vector<Bound> outputs_;
  std::vector<Constant> constants_;
  std::vector<ConstantGroup> constant_groups_;
  std::vector<Copy> copies_;
  std::vector<ValueType> input_types_;
  std::vector<ValueType> output_types_;
  std::vector<Dims> input_dims_;
  std::vector<Dims> output_dims_;
  std::unique_ptr<Idle> idle_;
  MemoryUse memory_;
};

/// Collects steps from targets, then plans memory. Every value of the graph that crosses from one
/// target to another is in a dense row-major buffer; inside its region a target may use buffers of
/// any layout.
class ExecutableBuilder {
 public:
  /// `graph` must have static types throughout and outlive the builder.
  explicit ExecutableBuilder(const Graph& graph);
  ExecutableBuilder(const ExecutableBuilder&) = delete;
  ExecutableBuilder& operator=(const ExecutableBuilder&) = delete;
  ~ExecutableBuilder();

  /// Returns the dense buffer of a value: graph input, constant, or made on first request.
  [[nodiscard]] BufferId BufferOf(ValueId value);
  /// Adds a private buffer (blocked activations, scratch). It lives from the first step that writes
  /// it to the last step that reads it. It is not zeroed.
  [[nodiscard]] BufferId AddBuffer(std::size_t bytes);
  /// Adds bytes that never change and are outside the arena, such as packed weights. `owner` keeps
  /// `data` alive.
  [[nodiscard]] BufferId AddConstant(std::shared_ptr<const void> owner, const void* data,
                                     std::size_t bytes);
  /// Makes `view` share the memory of `of` from byte `offset` on, so that Reshape, Split and Concat
  /// cost nothing and a sum is computed in place. All buffers that share memory live as long as any
  /// of them is used. `view` must not be an input or a constant, and must fit into `of` at
  /// `offset`. Steps must not write into the memory of an input or a constant. Does nothing if the
  /// two share memory already.
  void Alias(BufferId view, BufferId of, std::size_t offset = 0);
  /// Adds a step. Steps run in the order in which they were added.
  void AddStep(Step step);
  /// Sets the conditions of the steps that are added from now on. Earlier steps write the booleans,
  /// unless they are inputs or constants. Whoever reads what such a step writes must do so only if
  /// all of them hold.
  void SetConditions(std::vector<StepCondition> conditions) { conditions_ = std::move(conditions); }
  /// States that the code of a region's steps depends on neither value nor place of these
  /// constants.
  void AddConstantGroup(ConstantGroup group) { constant_groups_.push_back(std::move(group)); }

  /// Plans the arena and returns the executable, ready to run. The builder must not be used
  /// afterwards.
  [[nodiscard]] Executable Build() &&;

 private:
  struct Buffer;
  [[nodiscard]] Buffer& At(BufferId id);
  [[nodiscard]] std::size_t Root(std::size_t buffer) const;
  /// Returns the bytes from the start of the root to the start of `buffer`.
  [[nodiscard]] std::size_t OffsetInRoot(std::size_t buffer) const;
  void PlaceOutputs(Executable& executable);
  void JoinConstants(Executable& executable);
  void PlaceArena(Executable& executable);
  void PlaceRest(Executable& executable);

  const Graph* graph_;
  std::vector<Buffer> buffers_;
  std::vector<BufferId> value_buffers_;
  std::vector<Step> steps_;
  std::vector<StepCondition> conditions_;
  std::vector<ConstantGroup> constant_groups_;
  std::vector<std::shared_ptr<const void>> keep_alive_;
};

}  // namespace msc
