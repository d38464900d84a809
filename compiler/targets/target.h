#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/ir/graph.h"
#include "compiler/kernel/module.h"
#include "compiler/kernel/program.h"
#include "compiler/passes/pass.h"
#include "compiler/runtime/executable.h"
#include "compiler/strategy/schedule.h"
#include "compiler/targets/spec.h"

namespace msc {

/// A part of a graph that one target computes: nodes in topological order. A region is convex: no
/// path between two of its nodes leaves the region.
struct Region {
  const Graph* graph = nullptr;
  std::vector<NodeId> nodes;
};

/// Properties that a target has in every use.
struct TargetFacts {
  std::string name;     ///< the kind, whatever the options: "onednn"
  std::string device;   ///< "cpu"
  std::string version;  ///< library version and instruction set in use; part of cache keys
  /// Most bits of int8 layers' weights with which they are at their fastest. More run as well.
  std::int64_t weight_bits = 8;
};

/// Settings that every target takes from its caller. Options of one kind are bound when the
/// registry makes the target: see options.h.
struct TargetOptions {
  int threads = 1;  ///< at least 1
};

/// The schedules that the kernel of one node can have.
struct KernelChoices {
  std::string kernel;  ///< the computation in words; equal for nodes that share a kernel
  std::vector<KernelSchedule> schedules = {};  ///< the default first
};

/// When the passes of a target run; pipeline/compile.h has the order.
enum class PassPhase : std::uint8_t {
  kBeforeLowering,  ///< on the canonical graph, with explicit Q/DQ and Cast nodes
  kLowering,        ///< after Q/DQ folding and fusion into msc.* operators
};

/// A pattern of nodes that a target proposes as one region.
struct RegionPattern {
  std::string name;  ///< label for reports: "pair of convolutions"
  std::string text;  ///< in the syntax of partition/rules/pattern_text.h: "Relu?(Conv)"
};

/// Runs parts of graphs with a library, a code generator or a device, under fixed options. Two sets
/// of options of one kind are two targets.
///
/// A new target needs a folder under targets/, one line in targets/register.cc and one CMake
/// option. A target implements either GraphToRuntime, which turns a region into library calls in
/// one step, or the two hooks GraphToKernel and KernelToRuntime. With the two hooks the memory
/// planner sees every buffer, and UpdateConstants in pipeline/compile.h can replace weights later.
/// Immutable and thread-safe after construction.
class Target {
 public:
  Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  virtual ~Target() = default;

  [[nodiscard]] const TargetFacts& facts() const noexcept { return DoFacts(); }
  /// Returns the name with the options that are not at their defaults: "onednn:threads=2". Returns
  /// the name alone for a target that no registry made.
  [[nodiscard]] std::string spec() const { return spec_.empty() ? facts().name : spec_; }
  /// Returns `caller` with the option threads of this target, where it is set, in place of the
  /// caller's.
  [[nodiscard]] TargetOptions OptionsFor(TargetOptions caller) const {
    if (threads_ > 0) caller.threads = threads_;
    return caller;
  }
  /// Returns whether the option images asks this target's regions of a partition to exchange images
  /// channels last (see pipeline/images.h) instead of dense.
  [[nodiscard]] bool ExchangesChannelsLast() const noexcept { return channels_last_; }
  /// Returns whether the target keeps images channels last between its own nodes. Such a target is
  /// likely to be faster where neighbouring regions exchange images channels last.
  [[nodiscard]] bool LaysChannelsLast() const { return DoLaysChannelsLast(); }
  /// Returns whether the target can compute the node with its types, which must all be static. If
  /// true, GraphToRuntime must not fail for this node.
  [[nodiscard]] bool Supports(const Graph& graph, NodeId node) const {
    return DoSupports(graph, node);
  }
  /// Adds the steps that compute `region`, all of whose nodes must be supported. The steps read
  /// values from builder.BufferOf() and write there every value that the caller or a node outside
  /// the region reads.
  [[nodiscard]] std::optional<Failure> GraphToRuntime(const Region& region,
                                                      const TargetOptions& options,
                                                      ExecutableBuilder& builder) const {
    return DoGraphToRuntime(region, OptionsFor(options), builder);
  }
  /// Returns the region as kernels and calls of them, under the conditions of GraphToRuntime.
  /// Failure (kUnsupported) if the target makes no kernels.
  [[nodiscard]] Result<kernel::Program> GraphToKernel(const Region& region,
                                                      const TargetOptions& options) const {
    return DoGraphToKernel(region, OptionsFor(options));
  }
  /// Compiles kernels to machine code; the module keeps their order. Failure (kUnsupported) if the
  /// target compiles no kernels.
  [[nodiscard]] Result<std::shared_ptr<const kernel::Module>> KernelToRuntime(
      std::span<const kernel::KernelFunc> funcs) const {
    return DoKernelToRuntime(funcs);
  }
  /// Returns the target's own passes for `phase`, in the order in which they run. Default: none.
  [[nodiscard]] std::vector<Pass> Passes(PassPhase phase) const { return DoPasses(phase); }
  /// Returns whether the pipeline should fold Q/DQ nodes and fuse layers into msc.* operators for
  /// this target.
  [[nodiscard]] bool WantsFusedOps() const { return DoWantsFusedOps(); }
  /// Returns the schedules that the kernel of `node`, a supported node, can have; the node
  /// attribute kScheduleAttr selects one. Empty where there is no choice.
  [[nodiscard]] KernelChoices Schedules(const Graph& graph, NodeId node) const {
    return DoSchedules(graph, node);
  }
  /// Returns whether the target computes each node separately in every region, so that a region
  /// costs the sum of the costs of its nodes.
  [[nodiscard]] bool RunsNodeByNode() const { return DoRunsNodeByNode(); }
  /// Returns patterns of regions to try besides those that the target's lowering of the whole graph
  /// makes. Every match whose nodes are all supported is tried, whether or not the target fuses
  /// them. Default: none.
  [[nodiscard]] std::vector<RegionPattern> Patterns() const { return DoPatterns(); }

 private:
  [[nodiscard]] virtual const TargetFacts& DoFacts() const noexcept = 0;
  [[nodiscard]] virtual bool DoSupports(const Graph& graph, NodeId node) const = 0;
  /// Default: runs GraphToKernel and KernelToRuntime, then adds a step for each call.
  [[nodiscard]] virtual std::optional<Failure> DoGraphToRuntime(const Region& region,
                                                                const TargetOptions& options,
                                                                ExecutableBuilder& builder) const;
  [[nodiscard]] virtual Result<kernel::Program> DoGraphToKernel(const Region& region,
                                                                const TargetOptions& options) const;
  [[nodiscard]] virtual Result<std::shared_ptr<const kernel::Module>> DoKernelToRuntime(
      std::span<const kernel::KernelFunc> funcs) const;
  [[nodiscard]] virtual std::vector<Pass> DoPasses(PassPhase /*phase*/) const { return {}; }
  [[nodiscard]] virtual bool DoWantsFusedOps() const { return false; }
  [[nodiscard]] virtual bool DoRunsNodeByNode() const { return false; }
  [[nodiscard]] virtual bool DoLaysChannelsLast() const { return false; }
  [[nodiscard]] virtual std::vector<RegionPattern> DoPatterns() const { return {}; }
  [[nodiscard]] virtual KernelChoices DoSchedules(const Graph& /*graph*/, NodeId /*node*/) const {
    return {};
  }

  friend class TargetRegistry;
  std::string spec_;
  int threads_ = 0;  // 0: the threads that the caller asks for
  bool channels_last_ = false;
};

/// A kind of target, from which the registry makes targets.
struct TargetKind {
  std::string name;
  /// Options of this kind; every kind also has CommonOptions.
  std::vector<TargetOption> options = {};
  /// Makes a target from option texts. Removes options at their defaults from `options` and puts
  /// the rest in canonical form. UserError for an invalid option, or with the reason why the target
  /// cannot run on this machine.
  std::function<std::unique_ptr<Target>(OptionMap& options)> make;
};

/// Holds the kinds of targets by name and the targets made so far, and for each kind missing from
/// this build the reason. Several threads may call Get at once.
class TargetRegistry {
 public:
  TargetRegistry();
  TargetRegistry(TargetRegistry&& other) noexcept;
  TargetRegistry& operator=(TargetRegistry&& other) noexcept;
  ~TargetRegistry();

  /// Registers a kind whose name is not registered yet.
  void Add(TargetKind kind);
  /// Registers a kind without options of its own.
  void Add(std::string name, std::unique_ptr<Target> (*make)());
  /// Records why this build has no kind `name`; error messages give the reason.
  void AddAbsent(std::string name, std::string why);

  /// Returns the target of a spec such as "onednn:threads=2". The first call makes it; later calls
  /// with equal options return the same object. UserError with the list of kinds if the name is
  /// unknown, or with the reason if the kind is missing from this build.
  [[nodiscard]] const Target& Get(std::string_view spec) const;
  /// Like Get, but returns nullptr if this build has no kind of that name.
  [[nodiscard]] const Target* Find(std::string_view spec) const;
  /// Returns the kinds of this build by name. Whether this machine can run one is known only when
  /// Get makes it.
  [[nodiscard]] const std::map<std::string, TargetKind, std::less<>>& kinds() const {
    return kinds_;
  }
  /// Returns the options that every kind has.
  [[nodiscard]] static std::vector<TargetOption> CommonOptions();
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& absent() const {
    return absent_;
  }

 private:
  struct Made;
  [[nodiscard]] const TargetKind& KindFor(std::string_view name) const;

  std::map<std::string, TargetKind, std::less<>> kinds_;
  std::map<std::string, std::string, std::less<>> absent_;
  std::unique_ptr<Made> made_;
};

}  // namespace msc
