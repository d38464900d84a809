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

/// The contents of manifest.json: a description of a compiled artefact.
struct ArtefactManifest {
  std::string format = "msc-artefact-2";
  std::string target;
  /// Version of library and instruction set at compilation, by target, for each target that runs a
  /// part.
  std::map<std::string, std::string> versions;
  /// Which target runs which nodes of the lowered graph, in its order; empty if `target` runs all
  /// of them.
  std::vector<PartitionRegion> regions;
  std::vector<std::string> refused;    ///< nodes that their target rejects; fallbacks run them
  std::vector<std::string> fallbacks;  ///< targets that run `refused`: "native", "reference"
  /// Precision in which every layer with weights runs, as AchievedPrecision reads it from the
  /// compiled steps.
  std::map<std::string, std::string> precisions;
  int threads = 1;
  std::int64_t arena_bytes = 0;        ///< memory for all activations, without inputs and outputs
  std::int64_t arena_lower_bound = 0;  ///< least memory that these steps need at the same time
  std::int64_t constant_bytes = 0;     ///< weights in the form that kernels read
  std::int64_t conversions = 0;        ///< steps that only copy, or change a layout or type
  std::int64_t conversion_bytes = 0;   ///< bytes that these steps read
  std::map<std::string, std::int64_t> bindings;  ///< sizes of symbolic dimensions
  std::string model_hash;                        ///< GraphHash of the canonical graph
  std::string strategy_hash;
  std::map<std::string, std::string> files;  ///< SHA-256 of graph.json and strategy.json, by name
  static void Fields(auto& self, auto& visit) {
    visit("format", self.format, "version of this file's form", Within::OneOf({"msc-artefact-2"}));
    visit("target", self.target, "target that runs the model, with its options");
    visit("versions", self.versions, "library and instruction set by target");
    visit("regions", self.regions, "regions of the lowered graph and their targets");
    visit("refused", self.refused, "nodes that their target rejects");
    visit("fallbacks", self.fallbacks, "targets that run these nodes instead");
    visit("precisions", self.precisions, "precision of layers, by node name");
    visit("threads", self.threads, "number of threads", Within{1, 4096});
    visit("arena_bytes", self.arena_bytes, "memory for activations", Within{0, 1e15});
    visit("arena_lower_bound", self.arena_lower_bound, "lower bound of the memory for activations",
          Within{0, 1e15});
    visit("constant_bytes", self.constant_bytes, "memory for weights", Within{0, 1e15});
    visit("conversions", self.conversions, "number of steps that compute no node", Within{0, 1e9});
    visit("conversion_bytes", self.conversion_bytes, "bytes that these steps read",
          Within{0, 1e15});
    visit("bindings", self.bindings, "sizes of symbolic dimensions");
    visit("model_hash", self.model_hash, "hash of the canonical graph");
    visit("strategy_hash", self.strategy_hash, "hash of the strategy");
    visit("files", self.files, "SHA-256 by file name");
  }
};

/// Called with what was written and built, before it is destroyed.
using BuiltVisitor = std::function<void(const Lowered& lowered, const Executable& executable)>;

/// Compiles a model and writes an artefact: a folder with manifest.json, strategy.json and the
/// lowered graph (graph.json, graph.weights). The manifest is written last. Equal model, strategy
/// and options give equal bytes. Calls `visit` at the end. UserError if the model does not compile;
/// SystemError, and no manifest, if a file cannot be written.
ArtefactManifest WriteArtefact(const std::string& folder, const Graph& canonical,
                               const Strategy& strategy, const TargetRegistry& registry,
                               const CompileOptions& options, const BuiltVisitor& visit = {});

/// Whether to reject an artefact if its targets here have other versions or another instruction set
/// than where it was compiled. Its numbers may then differ in their last bits, and measurements
/// from there do not apply here.
enum class OtherVersions : std::uint8_t { kRefuse, kAllow };

/// The contents of an artefact's files, before anything is built from them.
struct ArtefactParts {
  ArtefactManifest manifest;
  Lowered model;
};
/// Reads and checks an artefact's files. UserError as LoadArtefact.
[[nodiscard]] ArtefactParts ReadArtefact(const std::string& folder, const TargetRegistry& registry,
                                         OtherVersions others);

/// An artefact that was read and built.
struct Artefact {
  ArtefactManifest manifest;
  Executable executable;
};

/// Reads an artefact and builds it. UserError, before building, if the bytes of a file do not match
/// the manifest, this program lacks a target, or versions differ; it names the file, target or
/// versions.
[[nodiscard]] Result<Artefact> LoadArtefact(const std::string& folder,
                                            const TargetRegistry& registry,
                                            OtherVersions others = OtherVersions::kRefuse);

}  // namespace msc
