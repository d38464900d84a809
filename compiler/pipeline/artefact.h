#pragma once

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
  std::string format = "msc-artefact-1";
  std::string target;
  std::string target_version;  ///< library and instruction set it was compiled under
  /// Who runs which nodes of the lowered graph, in its order; none where `target` runs all.
  std::vector<PartitionRegion> regions;
  std::vector<std::string> refused;  ///< nodes that run on "reference" instead of there
  int threads = 1;
  std::map<std::string, std::int64_t> bindings;  ///< sizes given to symbolic dimensions
  std::string model_hash;                        ///< GraphHash of the canonical graph
  std::string strategy_hash;
  std::map<std::string, std::string> files;  ///< SHA-256 of every other file, by name
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("format", self.format, "version of this file's form", Within::OneOf({"msc-artefact-1"}));
    visit("target", self.target, "who runs it, with its options");
    visit("target_version", self.target_version, "library and instruction set");
    visit("regions", self.regions, "who runs which nodes of the lowered graph");
    visit("refused", self.refused, "nodes that run on reference instead");
    visit("threads", self.threads, "threads it runs on", Within{1, 4096});
    visit("bindings", self.bindings, "sizes of symbolic dimensions");
    visit("model_hash", self.model_hash, "hash of the canonical graph");
    visit("strategy_hash", self.strategy_hash, "hash of the strategy");
    visit("files", self.files, "SHA-256 by file name");
  }
};

/// Compiles and writes an artefact: a folder with manifest.json, strategy.json and the lowered
/// graph (graph.json, graph.weights), the manifest last. The same model, strategy and options give
/// the same bytes. UserError if it does not compile; SystemError, and no manifest, if it cannot be
/// written.
ArtefactManifest WriteArtefact(const std::string& folder, const Graph& canonical,
                               const Strategy& strategy, const TargetRegistry& registry,
                               const CompileOptions& options);

struct Artefact {
  ArtefactManifest manifest;
  Executable executable;
};

/// Reads an artefact back and builds it. UserError naming the file whose bytes are not those of the
/// manifest, or if this build lacks the target.
[[nodiscard]] Result<Artefact> LoadArtefact(const std::string& folder,
                                            const TargetRegistry& registry);

}  // namespace msc
