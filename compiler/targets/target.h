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

/// Part of a graph that one target computes. Nodes in topological order; the region is convex: no
/// path leaves it and comes back.
struct Region {
  const Graph* graph = nullptr;
  std::vector<NodeId> nodes;
};

/// Facts that hold for every use of a target.
struct TargetFacts {
  std::string name;     ///< "onednn": the kind, whatever the options
  std::string device;   ///< "cpu"
  std::string version;  ///< library version and instruction set in use: enters cache keys
};

/// How a target is asked to compile. What is particular to a target are options of its own, bound
/// when the registry makes it: see options.h.
struct TargetOptions {
  int threads = 1;  ///< >= 1
};

/// What can be chosen about the kernel of one node.
struct KernelChoices {
  std::string kernel;  ///< what it computes, in words: equal for nodes whose kernels are the same
  std::vector<KernelSchedule> schedules;  ///< first what it has if nobody chooses
};

/// When a target's own passes run; see pipeline/compile.h for the order.
enum class PassPhase : std::uint8_t {
  kBeforeLowering,  ///< canonical graph, Q/DQ and Cast nodes still explicit
  kLowering,        ///< after Q/DQ folding and fusion into msc.* operators
};

/// What a target would like to get as one region.
struct RegionPattern {
  std::string name;  ///< for people: "pair of convolutions"
  std::string text;  ///< as partition/rules/pattern_text.h reads it: "Relu?(Conv)"
};

/// Something that runs parts of graphs: a library, a code generator, a device; with its options.
/// Two option sets of one kind are two targets.
///
/// Adding one: a folder under targets/, one line in targets/register.cc, one CMake option. A target
/// gives either GraphToRuntime, one step from a region to calls into a library, or the two hooks
/// GraphToKernel and KernelToRuntime, between which the memory planner sees every buffer, and by
/// which weights can be replaced later (UpdateConstants in pipeline/compile.h). Immutable and
/// thread-safe once it is made.
class Target {
 public:
  Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  virtual ~Target() = default;

  [[nodiscard]] const TargetFacts& facts() const noexcept { return DoFacts(); }
  /// What it is, options included: "onednn:threads=2". The name alone where all are at their
  /// defaults, or where no registry made it.
  [[nodiscard]] std::string spec() const { return spec_.empty() ? facts().name : spec_; }
  /// How it compiles for a caller that asks for `caller`: the option threads goes before.
  [[nodiscard]] TargetOptions OptionsFor(TargetOptions caller) const {
    if (threads_ > 0) caller.threads = threads_;
    return caller;
  }
  /// How it is to exchange images with other regions of a partition: channels last where the option
  /// images says so (see pipeline/images.h), else dense.
  [[nodiscard]] bool ExchangesChannelsLast() const noexcept { return channels_last_; }
  /// Whether images lie channels last between its own nodes, so that it is likely to gain where
  /// others exchange them like that.
  [[nodiscard]] bool LaysChannelsLast() const { return DoLaysChannelsLast(); }
  /// Truthful: yes means that GraphToRuntime will not fail for this node with these types.
  /// All types of the node are static.
  [[nodiscard]] bool Supports(const Graph& graph, NodeId node) const {
    return DoSupports(graph, node);
  }
  /// Adds the steps that compute `region`. Every node is Supported. Reads values from
  /// builder.BufferOf() and writes there what nodes outside the region or the caller read.
  [[nodiscard]] std::optional<Failure> GraphToRuntime(const Region& region,
                                                      const TargetOptions& options,
                                                      ExecutableBuilder& builder) const {
    return DoGraphToRuntime(region, OptionsFor(options), builder);
  }
  /// The region as kernels and the calls of them. Same conditions as GraphToRuntime. A Failure
  /// (kUnsupported) from a target that goes from graph to runtime in one step.
  [[nodiscard]] Result<kernel::Program> GraphToKernel(const Region& region,
                                                      const TargetOptions& options) const {
    return DoGraphToKernel(region, OptionsFor(options));
  }
  /// Machine code of kernels, in their order. A Failure (kUnsupported) as above.
  [[nodiscard]] Result<std::shared_ptr<const kernel::Module>> KernelToRuntime(
      std::span<const kernel::KernelFunc> funcs) const {
    return DoKernelToRuntime(funcs);
  }
  /// Passes of this target's own for `phase`, in order. Default: none.
  [[nodiscard]] std::vector<Pass> Passes(PassPhase phase) const { return DoPasses(phase); }
  /// Whether the graph is to be folded and fused into msc.* operators for it.
  [[nodiscard]] bool WantsFusedOps() const { return DoWantsFusedOps(); }
  /// How the kernel of `node`, which it supports, may be written: one of these goes into the
  /// attribute kScheduleAttr of the node. None where there is nothing to choose.
  [[nodiscard]] KernelChoices Schedules(const Graph& graph, NodeId node) const {
    return DoSchedules(graph, node);
  }
  /// Whether it computes each node by itself whatever region it is in, so that a region costs what
  /// its nodes cost one by one.
  [[nodiscard]] bool RunsNodeByNode() const { return DoRunsNodeByNode(); }
  /// Regions that are to be tried besides those that its lowering of the whole graph makes: every
  /// match of which it supports all nodes, whatever it fuses of them. Default: none.
  [[nodiscard]] std::vector<RegionPattern> Patterns() const { return DoPatterns(); }

 private:
  [[nodiscard]] virtual const TargetFacts& DoFacts() const noexcept = 0;
  [[nodiscard]] virtual bool DoSupports(const Graph& graph, NodeId node) const = 0;
  /// Default: GraphToKernel, KernelToRuntime, and a step for each call.
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
  int threads_ = 0;  // 0: what the caller says
  bool channels_last_ = false;
};

/// A kind of target: what the registry makes targets of.
struct TargetKind {
  std::string name;
  std::vector<TargetOption> options;  ///< its own; every kind has CommonOptions besides
  /// Makes one. Takes option texts and leaves those that are not at their defaults, in canonical
  /// form. UserError for an option that does not fit, or saying why the target cannot be had here.
  std::function<std::unique_ptr<Target>(OptionMap& options)> make;
};

/// Kinds of targets by name, and the targets made of them so far. Names that this build lacks are
/// remembered with the reason. Get may be called from several threads at once.
class TargetRegistry {
 public:
  TargetRegistry();
  TargetRegistry(TargetRegistry&& other) noexcept;
  TargetRegistry& operator=(TargetRegistry&& other) noexcept;
  ~TargetRegistry();

  void Add(TargetKind kind);
  /// A kind without options of its own.
  void Add(std::string name, std::unique_ptr<Target> (*make)());
  void AddAbsent(std::string name, std::string why);

  /// The target of a spec such as "onednn:threads=2"; made at the first call, the same object for
  /// equal options afterwards. UserError listing what there is, or why this one is absent.
  [[nodiscard]] const Target& Get(std::string_view spec) const;
  /// As Get, or nullptr where there is no such name in this build.
  [[nodiscard]] const Target* Find(std::string_view spec) const;
  /// Kinds of this build, by name. That a machine can run them is known when one is made.
  [[nodiscard]] const std::map<std::string, TargetKind, std::less<>>& kinds() const {
    return kinds_;
  }
  /// The options that every kind has.
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
