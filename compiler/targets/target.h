#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/pass.h"
#include "compiler/runtime/executable.h"

namespace msc {

/// Part of a graph that one target computes. Nodes in topological order; the region is convex: no
/// path leaves it and comes back.
struct Region {
  const Graph* graph = nullptr;
  std::vector<NodeId> nodes;
};

/// Facts that hold for every use of a target.
struct TargetFacts {
  std::string name;     ///< "onednn"
  std::string device;   ///< "cpu"
  std::string version;  ///< library version and instruction set in use: enters cache keys
};

/// How a target is asked to compile.
struct TargetOptions {
  int threads = 1;  ///< >= 1
};

/// When a target's own passes run; see pipeline/compile.h for the order.
enum class PassPhase : std::uint8_t {
  kBeforeLowering,  ///< canonical graph, Q/DQ and Cast nodes still explicit
  kLowering,        ///< after Q/DQ folding and fusion into msc.* operators
};

/// Something that runs parts of graphs: a library, a code generator, a device.
///
/// Adding one: a folder under targets/, one line in targets/register.cc, one CMake option.
/// Hooks still to come (issue 3): GraphToKernel, KernelToRuntime, UpdateConstants. Immutable and
/// thread-safe after construction.
class Target {
 public:
  Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  virtual ~Target() = default;

  [[nodiscard]] const TargetFacts& facts() const noexcept { return DoFacts(); }
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
    return DoGraphToRuntime(region, options, builder);
  }
  /// Passes of this target's own for `phase`, in order. Default: none.
  [[nodiscard]] std::vector<Pass> Passes(PassPhase phase) const { return DoPasses(phase); }
  /// Whether the graph is to be folded and fused into msc.* operators for it.
  [[nodiscard]] bool WantsFusedOps() const { return DoWantsFusedOps(); }

 private:
  [[nodiscard]] virtual const TargetFacts& DoFacts() const noexcept = 0;
  [[nodiscard]] virtual bool DoSupports(const Graph& graph, NodeId node) const = 0;
  [[nodiscard]] virtual std::optional<Failure> DoGraphToRuntime(
      const Region& region, const TargetOptions& options, ExecutableBuilder& builder) const = 0;
  [[nodiscard]] virtual std::vector<Pass> DoPasses(PassPhase /*phase*/) const { return {}; }
  [[nodiscard]] virtual bool DoWantsFusedOps() const { return false; }
};

/// Targets by name. Names that this build lacks are remembered with the reason.
class TargetRegistry {
 public:
  void Add(std::unique_ptr<Target> target);
  void AddAbsent(std::string name, std::string why);
  /// UserError listing what there is, or why this one is absent.
  [[nodiscard]] const Target& Get(std::string_view name) const;
  [[nodiscard]] std::vector<const Target*> All() const;
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& absent() const {
    return absent_;
  }

 private:
  std::map<std::string, std::unique_ptr<Target>, std::less<>> targets_;
  std::map<std::string, std::string, std::less<>> absent_;
};

}  // namespace msc
