#include "gym/search/measuring.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/hash.h"
#include "compiler/base/parallel.h"
#include "compiler/runtime/threads.h"
#include "cost/cache/caching_evaluator.h"
#include "cost/farm/coordinator.h"
#include "cost/farm/inproc_farm.h"
#include "cost/measure/memory.h"
#include "gym/search/regions.h"

namespace msc::gym {
namespace {

/// Returns `count` cores of one worker, wrapping around if there are too few.
std::vector<int> CoresOf(int worker, int count) {
  const std::vector<int> all = AllowedCores();
  std::vector<int> mine;
  for (int i = 0; i < count && i < static_cast<int>(all.size()); ++i) {
    mine.push_back(all[static_cast<std::size_t>(worker * count + i) % all.size()]);
  }
  return mine;
}

cost::CacheContext CacheContextOf(const Prepared& prepared, const RunPaths& paths, int workers) {
  const cost::PreparedFolder folder = cost::OpenFolder(paths.prepared());
  cost::CacheContext context;
  context.graph_hash = folder.graph_hash;
  context.samples_hash = folder.samples_hash;
  context.cpu = cost::CpuFingerprint(prepared.machine);
  cost::EvaluationSettings settings = folder.settings;
  const std::int64_t memory = std::exchange(settings.memory_mb, 0);
  context.settings = ToJsonText(settings);
  for (const NamedForm& output : folder.forms) context.settings += ToJsonText(output);
  context.memory = std::to_string(memory > 0 ? memory : cost::MemoryShareMb(workers));
  context.program = MSC_VERSION;
  for (const std::string& spec : prepared.runners) {
    context.targets[spec] = prepared.targets.Get(spec).facts().version;
  }
  return context;
}

/// Returns a hash of everything that outcomes depend on besides the strategy.
std::string TermsOf(const cost::CacheContext& context) {
  std::string terms;
  for (const auto& [target, version] : context.targets) {
    cost::Candidate candidate;
    candidate.strategy.target = target;
    terms += cost::CacheKey(context, candidate);
  }
  return Sha256Hex(terms);
}

std::string CacheFolder(const RunPaths& paths, const MeasuringOptions& options) {
  return options.cache.empty() ? paths.At("cache") : options.cache;
}

}  // namespace

cost::LocalOptions LocalFor(const std::string& program, const std::string& run,
                            const WorkerPlace& worker) {
  const RunPaths paths{run};
  const cost::PreparedFolder folder = cost::OpenFolder(paths.prepared());
  cost::LocalOptions local;
  local.folder = paths.prepared();
  local.child = {program, "measure-child"};
  local.environment = CompilerEnvironment();
  const int threads = folder.settings.threads;
  // What is not timed uses all cores that there are for a worker.
  local.quality_cores =
      CoresOf(worker.number, std::max(threads, CoreCount() / std::max(worker.of, 1)));
  local.latency_cores = CoresOf(worker.number, threads);
  local.scratch = paths.At("scratch");
  local.fits = paths.fits();
  local.memory_mb = cost::MemoryShareMb(worker.of);
  local.metric_environment = cost::MetricEnvironment(folder.settings.threads);
  return local;
}

cost::LocalOptions LocalFor(const SearchHost& host, const std::string& run,
                            const WorkerPlace& worker) {
  cost::LocalOptions local = LocalFor(host.program, run, worker);
  local.metric_functions = host.metric_functions;
  return local;
}

Measuring::Measuring(const SearchHost& host, const RunPaths& paths, const Prepared& prepared,
                     const MeasuringOptions& options)
    : terms_(TermsOf(CacheContextOf(prepared, paths, options.workers))),
      store_(CacheFolder(paths, options)),
      listener_(host.listener) {
  if (options.farm != nullptr) {
    options.farm->Open(std::filesystem::absolute(paths.folder).string());
    options.farm->Watch(options.watch);
  } else {
    // Workers of one process get core sets in the order in which they start.
    auto next = std::make_shared<std::atomic<int>>(0);
    inproc_ = std::make_unique<cost::InprocFarm>(
        options.workers, cost::FarmOptions{}, paths.folder,
        [program = host.program, functions = host.metric_functions, next,
         of = options.workers](const std::string& run) {
          const WorkerPlace place{.number = (*next)++, .of = of};
          cost::LocalOptions local = LocalFor(program, run, place);
          local.metric_functions = functions;
          return std::make_unique<cost::LocalEvaluator>(std::move(local));
        });
    inproc_->Watch(options.watch);
  }
  cost::Evaluator& machine =
      options.farm != nullptr ? static_cast<cost::Evaluator&>(*options.farm) : *inproc_;
  cache_ = std::make_unique<cost::CachingEvaluator>(
      machine, CacheFolder(paths, options), CacheContextOf(prepared, paths, options.workers),
      [this](const std::string& warning) { listener_.Warn("cache: " + warning); });
}

Measuring::~Measuring() = default;

cost::Evaluator& Measuring::evaluator() {
  return *cache_;
}

std::string Measuring::KeyOf(const std::string& name) const {
  return Sha256Hex(terms_ + name);
}

std::optional<std::string> Measuring::Recall(const std::string& key) const {
  cost::OutcomeStore::Answer answer = store_.Get(key);
  if (answer.found != cost::OutcomeStore::Found::kValue) return std::nullopt;
  return std::move(answer.value);
}

void Measuring::Keep(const std::string& key, const std::string& text) const {
  try {
    store_.Put(key, text);
  } catch (const SystemError& error) {
    listener_.Warn(std::string("cache: cannot keep estimates: ") + error.what());
  }
}

}  // namespace msc::gym
