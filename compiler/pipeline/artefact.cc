#include "compiler/pipeline/artefact.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/base/hash.h"
#include "compiler/ir/serialize.h"
#include "compiler/passes/chain.h"
#include "compiler/pipeline/quantize.h"

namespace msc {
namespace {

/// graph.json lists each tensor of graph.weights with its digest, and LoadGraph checks it.
constexpr const char* kFiles[] = {"graph.json", "strategy.json"};

std::string Path(const std::string& folder, const std::string& file) {
  return folder + "/" + file;
}

/// Returns the targets that run those nodes which the targets asked for reject.
std::vector<std::string> FallbacksOf(const Executable& built,
                                     const std::vector<std::string>& refused) {
  const std::set<std::string> names(refused.begin(), refused.end());
  std::set<std::string> targets;
  for (const Step& step : built.steps()) {
    if (std::ranges::any_of(step.nodes, [&](const auto& node) { return names.contains(node); })) {
      targets.insert(step.target);
    }
  }
  return {targets.begin(), targets.end()};
}

/// Returns the versions on this machine of all targets that run a part of `manifest`.
std::map<std::string, std::string> VersionsHere(const ArtefactManifest& manifest,
                                                const TargetRegistry& registry) {
  std::set<std::string> specs = {manifest.target};
  for (const PartitionRegion& region : manifest.regions) specs.insert(region.target);
  specs.insert(manifest.fallbacks.begin(), manifest.fallbacks.end());
  std::map<std::string, std::string> versions;
  for (const std::string& spec : specs) versions[spec] = registry.Get(spec).facts().version;
  return versions;
}

void CheckVersions(const ArtefactManifest& manifest, const TargetRegistry& registry,
                   const std::string& folder) {
  for (const auto& [spec, here] : VersionsHere(manifest, registry)) {
    const auto there = manifest.versions.find(spec);
    if (there != manifest.versions.end() && there->second == here) continue;
    throw UserError("'" + folder + "' was compiled with " + spec + " " +
                    (there == manifest.versions.end() ? "of no version" : there->second) +
                    ", and here it is " + here +
                    "; compile the model again, or allow other versions (--any-version)");
  }
}

void CheckFiles(const ArtefactManifest& manifest, const std::string& folder,
                const std::string& manifest_path) {
  for (const char* file : kFiles) {
    const auto it = manifest.files.find(file);
    const std::string path = Path(folder, file);
    if (it == manifest.files.end()) {
      throw UserError("'" + manifest_path + "' does not list " + file);
    }
    if (Sha256Hex(ReadFile(path, std::uint64_t{1} << 34U)) != it->second) {
      throw UserError("'" + path + "' is not the file that '" + manifest_path +
                      "' lists; compile the model again");
    }
  }
}

}  // namespace

ArtefactManifest WriteArtefact(const std::string& folder, const Graph& canonical,
                               const Strategy& strategy, const TargetRegistry& registry,
                               const CompileOptions& options, const BuiltVisitor& visit) {
  const Target& target = registry.Get(strategy.target);
  const Lowered lowered = LowerFor(ApplyStrategy(canonical, strategy), strategy, registry, options);
  // Build it once, to be sure that what is written can be built.
  const Result<Executable> built = BuildExecutable(lowered, registry, options);
  if (!built.ok()) throw UserError("the model does not compile: " + built.failure().detail);

  MakeFolders(folder);
  TensorDigests digests;
  SaveGraph(lowered.graph, Path(folder, "graph"), digests);
  // Whether a strategy knows the shapes that it was made for does not change what it compiles to.
  Strategy bare = strategy;
  bare.inputs = {};
  WriteFileAtomic(Path(folder, "strategy.json"), ToJson(bare, 2) + "\n");
  ArtefactManifest manifest;
  manifest.target = target.spec();
  manifest.regions = lowered.regions;
  manifest.refused = RejectedNodes(lowered, registry);
  manifest.fallbacks = FallbacksOf(built.value(), manifest.refused);
  manifest.versions = VersionsHere(manifest, registry);
  for (const LayerChain& chain : FindLayerChains(canonical)) {
    const std::string& layer = canonical.node(chain.producer).name;
    manifest.precisions[layer] = AchievedPrecision(built.value(), target.facts().name, layer);
  }
  manifest.threads = target.OptionsFor({.threads = options.threads}).threads;
  const MemoryUse& memory = built.value().memory();
  manifest.arena_bytes = static_cast<std::int64_t>(memory.arena_bytes);
  manifest.arena_lower_bound = static_cast<std::int64_t>(memory.arena_lower_bound);
  manifest.constant_bytes = static_cast<std::int64_t>(memory.constant_bytes);
  manifest.conversions = static_cast<std::int64_t>(memory.conversions);
  manifest.conversion_bytes = static_cast<std::int64_t>(memory.conversion_bytes);
  manifest.bindings = options.bindings;
  manifest.model_hash = GraphHash(canonical, digests);
  manifest.strategy_hash = StrategyHash(strategy);
  for (const char* file : kFiles) {
    manifest.files[file] = Sha256Hex(ReadFile(Path(folder, file), std::uint64_t{1} << 34U));
  }
  // Written last, as it holds the digests of the other files.
  WriteFileAtomic(Path(folder, "manifest.json"), ToJsonText(manifest, 2) + "\n");
  if (visit) visit(lowered, built.value());
  return manifest;
}

ArtefactParts ReadArtefact(const std::string& folder, const TargetRegistry& registry,
                           OtherVersions others) {
  const std::string manifest_path = Path(folder, "manifest.json");
  auto manifest =
      FromJsonText<ArtefactManifest>(ReadFile(manifest_path), "'" + manifest_path + "'");
  if (manifest.model_hash.empty()) {
    throw UserError("'" + manifest_path +
                    "' does not say of which model it is: its model_hash is empty; compile the "
                    "model again");
  }
  CheckFiles(manifest, folder, manifest_path);
  if (others == OtherVersions::kRefuse) CheckVersions(manifest, registry, folder);
  Lowered model{.graph = LoadGraph(Path(folder, "graph")),
                .target = manifest.target,
                .regions = manifest.regions};
  return {.manifest = std::move(manifest), .model = std::move(model)};
}

Result<Artefact> LoadArtefact(const std::string& folder, const TargetRegistry& registry,
                              OtherVersions others) {
  ArtefactParts parts = ReadArtefact(folder, registry, others);
  const CompileOptions options{.threads = parts.manifest.threads};
  Result<Executable> executable = BuildExecutable(parts.model, registry, options);
  if (!executable.ok()) return executable.failure();
  return Artefact{.manifest = std::move(parts.manifest),
                  .executable = std::move(executable).value()};
}

}  // namespace msc
