#include "gym/app/search_measuring.h"

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <vector>

#include "compiler/base/fields.h"
#include "compiler/runtime/threads.h"
#include "cost/cache/caching_evaluator.h"
#include "cost/farm/coordinator.h"
#include "cost/farm/inproc_farm.h"

namespace msc::gym {
namespace {

/// The core set of one worker: its share of the cores, wrapping round where there are too few.
std::vector<int> CoresOf(int worker, int threads) {
  const std::vector<int> all = AllowedCores();
  std::vector<int> mine;
  for (int i = 0; i < threads && i < static_cast<int>(all.size()); ++i) {
    mine.push_back(all[static_cast<std::size_t>(worker * threads + i) % all.size()]);
  }
  return mine;
}

cost::CacheContext CacheContextOf(const Prepared& prepared, const RunPaths& paths) {
  const cost::PreparedFolder folder = cost::OpenFolder(paths.prepared());
  cost::CacheContext context;
  context.graph_hash = folder.graph_hash;
  context.samples_hash = folder.samples_hash;
  context.cpu = cost::CpuFingerprint(prepared.machine);
  context.settings = ToJsonText(folder.settings);
  context.program = MSC_VERSION;
  for (const std::string& spec : prepared.runners) {
    context.targets[spec] = prepared.targets.Get(spec).facts().version;
  }
  return context;
}

}  // namespace

cost::LocalOptions LocalFor(const AppContext& context, const std::string& run, int worker) {
  const RunPaths paths{run};
  const cost::PreparedFolder folder = cost::OpenFolder(paths.prepared());
  cost::LocalOptions local;
  local.folder = paths.prepared();
  local.child = {context.self, "measure-child"};
  local.quality_cores = CoresOf(worker, folder.settings.threads);
  local.latency_cores = local.quality_cores;
  local.scratch = paths.At("scratch");
  return local;
}

Measuring::Measuring(const AppContext& context, const RunPaths& paths, const Prepared& prepared,
                     const MeasuringOptions& options) {
  if (options.farm != nullptr) {
    options.farm->Open(std::filesystem::absolute(paths.folder).string());
    options.farm->Watch(options.watch);
  } else {
    // Workers of one process get core sets in the order in which they start.
    auto next = std::make_shared<std::atomic<int>>(0);
    inproc_ = std::make_unique<cost::InprocFarm>(
        options.workers, cost::FarmOptions{}, paths.folder,
        [&context, next](const std::string& run) {
          return std::make_unique<cost::LocalEvaluator>(LocalFor(context, run, (*next)++));
        });
    inproc_->Watch(options.watch);
  }
  cost::Evaluator& machine =
      options.farm != nullptr ? static_cast<cost::Evaluator&>(*options.farm) : *inproc_;
  cache_ = std::make_unique<cost::CachingEvaluator>(
      machine, options.cache.empty() ? paths.At("cache") : options.cache,
      CacheContextOf(prepared, paths),
      [](const std::string& warning) { std::fprintf(stderr, "cache: %s\n", warning.c_str()); });
}

Measuring::~Measuring() = default;

cost::Evaluator& Measuring::evaluator() {
  return *cache_;
}

}  // namespace msc::gym
