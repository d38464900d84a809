#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/ir/graph.h"
#include "compiler/pipeline/compile.h"
#include "compiler/runtime/executable.h"
#include "compiler/targets/target.h"

namespace msc {

/// What a compiled artefact says of itself: manifest.json.
struct ArtefactManifest {
  std::string format = "msc-artefact-2";
  std::string target;
  /// Library and instruction set that it was compiled under, of each target that runs a part.
  std::map<std::string, std::string> versions;
  /// Who runs which nodes of the lowered graph, in its order; none where `target` runs all.
  std::vector<PartitionRegion> regions;
  std::vector<std::string> refused;  ///< nodes that run on "reference" instead of there
  /// What every layer with weights runs in, as AchievedPrecision reads it from the compiled steps.
  std::map<std::string, std::string> precisions;
  int threads = 1;
  std::int64_t arena_bytes = 0;        ///< memory for all activations, beside inputs and outputs
  std::int64_t arena_lower_bound = 0;  ///< what these steps need at once in any arena
  std::int64_t constant_bytes = 0;     ///< weights as the kernels want them
  std::int64_t conversions = 0;        ///< steps that only copy or change a layout or type
  std::int64_t conversion_bytes = 0;   ///< what those read
  std::map<std::string, std::int64_t> bindings;  ///< sizes given to symbolic dimensions
  std::string model_hash;                        ///< GraphHash of the canonical graph
  std::string strategy_hash;
  std::map<std::string, std::string> files;  ///< SHA-256 of every other file, by name
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("format", self.format, "version of this file's form", Within::OneOf({"msc-artefact-2"}));
    visit("target", self.target, "who runs it, with its options");
    visit("versions", self.versions, "library and instruction set by target");
    visit("regions", self.regions, "who runs which nodes of the lowered graph");
    visit("refused", self.refused, "nodes that run on reference instead");
    visit("precisions", self.precisions, "what layers run in, by node name");
    visit("threads", self.threads, "threads it runs on", Within{1, 4096});
    visit("arena_bytes", self.arena_bytes, "memory for activations", Within{0, 1e15});
    visit("arena_lower_bound", self.arena_lower_bound, "what any arena takes", Within{0, 1e15});
    visit("constant_bytes", self.constant_bytes, "memory for weights", Within{0, 1e15});
    visit("conversions", self.conversions, "steps that compute no node", Within{0, 1e9});
    visit("conversion_bytes", self.conversion_bytes, "what those read", Within{0, 1e15});
    visit("bindings", self.bindings, "sizes of symbolic dimensions");
    visit("model_hash", self.model_hash, "hash of the canonical graph");
    visit("strategy_hash", self.strategy_hash, "hash of the strategy");
    visit("files", self.files, "SHA-256 by file name");
  }
};

/// Sees what was written as it runs, before it is let go.
using BuiltVisitor = std::function<void(const Lowered& lowered, const Executable& executable)>;

/// Compiles and writes an artefact: a folder with manifest.json, strategy.json and the lowered
/// graph (graph.json, graph.weights), the manifest last. The same model, strategy and options give
/// the same bytes. UserError if it does not compile; SystemError, and no manifest, if it cannot be
/// written. `visit` is called last.
ArtefactManifest WriteArtefact(const std::string& folder, const Graph& canonical,
                               const Strategy& strategy, const TargetRegistry& registry,
                               const CompileOptions& options, const BuiltVisitor& visit = {});

/// Whether an artefact may be built where its targets have other versions or another instruction
/// set than where it was compiled: its numbers may then differ in their last bits, and what was
/// measured there says nothing of here.
enum class OtherVersions : std::uint8_t { kRefuse, kAllow };

/// What an artefact's files say, before anything is built of it.
struct ArtefactParts {
  ArtefactManifest manifest;
  Lowered model;
};
/// Reads an artefact's files. UserError as LoadArtefact.
[[nodiscard]] ArtefactParts ReadArtefact(const std::string& folder, const TargetRegistry& registry,
                                         OtherVersions others);

struct Artefact {
  ArtefactManifest manifest;
  Executable executable;
};

/// Reads an artefact back and builds it. Before that, UserError naming the file whose bytes are not
/// those of the manifest, the target that this build lacks, or the versions that differ.
[[nodiscard]] Result<Artefact> LoadArtefact(const std::string& folder,
                                            const TargetRegistry& registry,
                                            OtherVersions others = OtherVersions::kRefuse);

}  // namespace msc
