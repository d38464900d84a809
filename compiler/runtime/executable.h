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

/// One memory area that steps read and write. Ids are dense, from 0.
enum class BufferId : std::uint32_t {};

/// What a step sees while it runs: the addresses of the buffers, valid for this run only.
class StepContext {
 public:
  explicit StepContext(std::span<std::byte* const> addresses) : addresses_(addresses) {}
  [[nodiscard]] std::byte* At(BufferId id) const {
    return addresses_[static_cast<std::size_t>(id)];
  }

 private:
  std::span<std::byte* const> addresses_;
};

/// One call into a kernel or a library.
struct Step {
  std::string name;                ///< for profiles: "conv1+relu"
  std::string target;              ///< who made it
  std::vector<std::string> nodes;  ///< names of the graph nodes it computes; empty for a reorder
  std::string precision;  ///< what really runs: "f32", "bf16", "int8", "" for data movement
  std::vector<BufferId> reads;
  std::vector<BufferId> writes;
  /// Computes it. Several threads may be in it at once, each with buffers of its own.
  using Run = std::function<void(const StepContext&)>;
  Run run;
  /// Instead of `run`, for a step that keeps something between its runs: makes a Run that only one
  /// thread at a time is in, mostly with the same buffers. Thread-safe itself.
  std::function<Run()> make_run = {};
  /// Of a step with several layers what each of them runs in, by node name, where that is known.
  std::map<std::string, std::string> precisions = {};
  /// Threads of the pool that loops of its library use, which know nothing of the FloatMode of
  /// whoever runs the step.
  int pool_threads = 1;
};

/// Where the memory of an executable goes. Inputs and outputs are the caller's and not counted:
/// kernels read and write them in place.
struct MemoryUse {
  /// The one arena for all activations and scratch space; one each for runs at the same time.
  std::size_t arena_bytes = 0;
  /// What its steps need at once: no arena for these steps in this order can be smaller.
  std::size_t arena_lower_bound = 0;
  std::size_t unplanned_bytes = 0;  ///< what the same buffers would take without sharing
  std::size_t constant_bytes = 0;   ///< weights as the kernels want them
  /// Steps that compute no node of the graph: they copy values, change their layout or type, or
  /// fill what lies around them.
  std::size_t conversions = 0;
  std::size_t conversion_bytes = 0;  ///< what those read
};

/// Constants that one target made for its steps, and what else those steps consist of: where that
/// is the same, other constants may take their place.
struct ConstantGroup {
  std::string code;  ///< digest of kernels, calls and sizes: all but the values of the constants
  std::vector<BufferId> constants;
};

struct StepTime {
  std::string name;
  std::string target;
  std::string precision;
  std::vector<std::string> nodes;
  std::chrono::nanoseconds time{};
  std::map<std::string, std::string> precisions = {};  ///< as Step::precisions
};

/// A compiled graph, ready to run: steps over one arena. Movable while nobody runs it.
///
/// Several threads may be in Run, RunInto and Profile at once. Each call works in a workspace of
/// its own (an arena, the addresses, what steps keep). Workspaces are made when there are more
/// calls at once than ever before, and stay for later calls. Each thread that calls has as many
/// threads of the pool for itself as the executable was compiled for.
class Executable {
 public:
  Executable(Executable&&) noexcept;
  Executable& operator=(Executable&&) noexcept;
  ~Executable();

  /// Inputs and outputs in the graph's order, dense row-major, types and dims as compiled.
  /// UserError if an input does not fit.
  [[nodiscard]] std::vector<Tensor> Run(std::span<const Tensor> inputs) const;
  /// As Run, into `outputs` made by an earlier Run: no allocation, but for a new workspace. What
  /// latency is measured on.
  void RunInto(std::span<const Tensor> inputs, std::span<Tensor> outputs) const;
  /// As Run, timing every step.
  [[nodiscard]] std::vector<Tensor> Profile(std::span<const Tensor> inputs,
                                            std::vector<StepTime>& times) const;

  /// Groups in the order in which targets added them.
  [[nodiscard]] const std::vector<ConstantGroup>& constant_groups() const noexcept {
    return constant_groups_;
  }
  /// Puts other bytes, as many, in the place of a constant. Not while it runs.
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
  /// A buffer in memory of the caller: `tensor` is a position among inputs or outputs.
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
  /// An output that cannot be written in place: it is an input, a constant, or given twice.
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
  /// Makes the first workspace, once all else is there.
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
  int pool_threads_ = 1;  ///< most of any step
  std::vector<std::shared_ptr<const void>> keep_alive_;
  std::vector<std::byte*> addresses_;  ///< by buffer; those of constants alone
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
/// target to another lives in a dense row-major buffer; inside its region a target makes buffers of
/// whatever layout it likes.
class ExecutableBuilder {
 public:
  /// `graph` must have static types throughout and outlive the builder.
  explicit ExecutableBuilder(const Graph& graph);
  ExecutableBuilder(const ExecutableBuilder&) = delete;
  ExecutableBuilder& operator=(const ExecutableBuilder&) = delete;
  ~ExecutableBuilder();

  /// The dense buffer of a value: graph input, constant, or made on first request.
  [[nodiscard]] BufferId BufferOf(ValueId value);
  /// A private buffer (blocked activations, scratch). Its lifetime is from the first step that
  /// writes it to the last that reads it; nothing is zeroed.
  [[nodiscard]] BufferId AddBuffer(std::size_t bytes);
  /// Bytes that never change and live outside the arena, such as packed weights.
  [[nodiscard]] BufferId AddConstant(std::shared_ptr<const void> owner, const void* data,
                                     std::size_t bytes);
  /// Makes `view` share the memory of `of` from byte `offset` on (Reshape, Split and Concat cost
  /// nothing, a sum is done in place). All live as long as any of them is used. `view` is neither
  /// input nor constant and fits into `of` there. Steps must not write into the memory of an input
  /// or a constant. Nothing happens where the two share memory already.
  void Alias(BufferId view, BufferId of, std::size_t offset = 0);
  /// Steps run in the order in which they were added.
  void AddStep(Step step);
  /// Says that the steps of a region are the same code whatever is in these constants.
  void AddConstantGroup(ConstantGroup group) { constant_groups_.push_back(std::move(group)); }

  /// Plans the arena and hands the executable over, ready to run. The builder is spent.
  [[nodiscard]] Executable Build() &&;

 private:
  struct Buffer;
  [[nodiscard]] Buffer& At(BufferId id);
  [[nodiscard]] std::size_t Root(std::size_t buffer) const;
  /// Bytes from the start of the root to that of `buffer`.
  [[nodiscard]] std::size_t OffsetInRoot(std::size_t buffer) const;
  void PlaceOutputs(Executable& executable);
  void PlaceArena(Executable& executable);
  void PlaceRest(Executable& executable);

  const Graph* graph_;
  std::vector<Buffer> buffers_;
  std::vector<BufferId> value_buffers_;
  std::vector<Step> steps_;
  std::vector<ConstantGroup> constant_groups_;
  std::vector<std::shared_ptr<const void>> keep_alive_;
};

}  // namespace msc
