#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cost/cache/store.h"
#include "cost/measure/local_evaluator.h"
#include "cost/model/evaluator.h"
#include "gym/search/host.h"
#include "gym/search/prepare.h"
#include "gym/search/run_paths.h"

namespace msc::cost {
class CachingEvaluator;
class FarmEvaluator;
class InprocFarm;
struct Attempt;
}  // namespace msc::cost

namespace msc::gym {

/// Index of a worker among those that measure on this machine in parallel.
struct WorkerPlace {
  int number = 0;  ///< from 0
  int of = 1;
};

/// Returns the options of a worker that measures for a run: child processes of `program` on the
/// worker's share of cores (wrapping around if there are too few) and of memory.
[[nodiscard]] cost::LocalOptions LocalFor(const std::string& program, const std::string& run,
                                          const WorkerPlace& worker = {});
/// Returns the same for a worker in the process of `host`, which also knows its metric functions.
[[nodiscard]] cost::LocalOptions LocalFor(const SearchHost& host, const std::string& run,
                                          const WorkerPlace& worker = {});

struct MeasuringOptions {
  int workers = 1;                      ///< measuring threads of this process; ignored with a farm
  std::string cache;                    ///< folder of cached outcomes; empty = inside the run
  cost::FarmEvaluator* farm = nullptr;  ///< an MPI farm to measure on, or nullptr
  /// Receives the tasks of workers, on the evaluating thread. May be empty.
  std::function<void(const cost::Attempt&)> watch = {};
};

/// The evaluators of a search: child processes, optionally a farm, and a cache. It also caches
/// texts beside outcomes.
class Measuring {
 public:
  Measuring(const SearchHost& host, const RunPaths& paths, const Prepared& prepared,
            const MeasuringOptions& options);
  Measuring(const Measuring&) = delete;
  Measuring& operator=(const Measuring&) = delete;
  ~Measuring();

  [[nodiscard]] cost::Evaluator& evaluator();

  /// Returns a hash of `name` and of everything besides the strategy that outcomes depend on. It is
  /// equal in all searches of a model that measure under the same conditions.
  [[nodiscard]] std::string KeyOf(const std::string& name) const;
  /// Returns the text last stored under the key in the folder of outcomes, by this or another
  /// search; nothing if there is none or if it is damaged.
  [[nodiscard]] std::optional<std::string> Recall(const std::string& key) const;
  /// Stores a text. If the folder cannot be written, only warns.
  void Keep(const std::string& key, const std::string& text) const;

 private:
  std::string terms_;  // hash of everything that all outcomes depend on
  cost::OutcomeStore store_;
  SearchListener& listener_;
  std::unique_ptr<cost::InprocFarm> inproc_;
  std::unique_ptr<cost::CachingEvaluator> cache_;
};

}  // namespace msc::gym
