#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cost/cache/store.h"
#include "cost/measure/local_evaluator.h"
#include "cost/model/evaluator.h"
#include "gym/app/command.h"
#include "gym/app/search_run.h"

namespace msc::cost {
class CachingEvaluator;
class FarmEvaluator;
class InprocFarm;
struct Attempt;
}  // namespace msc::cost

namespace msc::gym {

/// One of those that measure on this machine at a time.
struct WorkerPlace {
  int number = 0;  ///< from 0
  int of = 1;
};

/// How a worker measures for a run: in children of this program, on its share of the cores,
/// wrapping round where there are too few, and of the memory.
[[nodiscard]] cost::LocalOptions LocalFor(const AppContext& context, const std::string& run,
                                          const WorkerPlace& worker = {});

struct MeasuringOptions {
  int workers = 1;                      ///< threads of this process that measure; without transport
  std::string cache;                    ///< folder of outcomes; empty = the run's own
  cost::FarmEvaluator* farm = nullptr;  ///< an MPI farm to measure on, or none
  /// Hears what workers were busy with, from the thread that evaluates. May be empty.
  std::function<void(const cost::Attempt&)> watch = {};
};

/// Evaluators from the machine up: children, farm, cache; and texts that are kept with outcomes.
class Measuring {
 public:
  Measuring(const AppContext& context, const RunPaths& paths, const Prepared& prepared,
            const MeasuringOptions& options);
  Measuring(const Measuring&) = delete;
  Measuring& operator=(const Measuring&) = delete;
  ~Measuring();

  [[nodiscard]] cost::Evaluator& evaluator();

  /// Hash of `name` and of all that outcomes depend on besides the strategy. Equal in all searches
  /// of a model that measure on the same terms.
  [[nodiscard]] std::string KeyOf(const std::string& name) const;
  /// What was last kept under that key in the folder of outcomes, by this search or another;
  /// nothing where there is none that is sound.
  [[nodiscard]] std::optional<std::string> Recall(const std::string& key) const;
  /// A folder that cannot be written to costs a warning only.
  void Keep(const std::string& key, const std::string& text) const;

 private:
  std::string terms_;  // hash of what all outcomes depend on
  cost::OutcomeStore store_;
  std::unique_ptr<cost::InprocFarm> inproc_;
  std::unique_ptr<cost::CachingEvaluator> cache_;
};

}  // namespace msc::gym
