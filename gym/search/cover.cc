#include "gym/search/cover.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/base/hash.h"
#include "compiler/ir/serialize.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/compile.h"
#include "cost/partition/layout_conversion_costs.h"
#include "cost/partition/measure_candidates.h"
#include "cost/partition/propose.h"
#include "gym/search/config.h"
#include "gym/search/host.h"
#include "gym/search/learned_facts.h"
#include "gym/search/phase_time.h"
#include "gym/search/prepare.h"
#include "gym/search/regions.h"
#include "gym/search/run_paths.h"

namespace msc::gym {
namespace {

constexpr const char* kCoverFile = "cover.json";

struct CandidateCost {
  std::optional<double> micros;
  std::string failure;
  static void Fields(auto& self, auto& visit) {
    visit("micros", self.micros, "microseconds; absent if it cannot run",
          Within{0, Cost::kMaxMicros});
    visit("failure", self.failure, "why it cannot run");
  }
};

/// Cost of transposing an image between dense and channels last.
struct TurnCost {
  std::string tensor;
  std::string from;  ///< a label of the problem: "dense", or a target
  std::string to;
  double micros = 0;
  static void Fields(auto& self, auto& visit) {
    visit("tensor", self.tensor, "name");
    visit("from", self.from, "dense, or the target that has it channels last");
    visit("to", self.to, "the same form as `from`");
    visit("micros", self.micros, "microseconds", Within{0, Cost::kMaxMicros});
  }
};

/// Region costs of a model, in the order of candidates. A resumed run must not measure them again,
/// since its trials would then mean other plans.
struct CoverFile {
  std::string format = "msc-cover-2";
  std::string model_hash;
  std::vector<std::string> targets;
  std::string rules;  ///< SHA-256 of partition.rules, on which candidates depend
  std::vector<CandidateCost> costs;
  std::vector<TurnCost> turns;
  static void Fields(auto& self, auto& visit) {
    visit("format", self.format, "version of this file's form", Within::OneOf({"msc-cover-2"}));
    visit("model_hash", self.model_hash, "hash of the canonical graph");
    visit("targets", self.targets, "targets of the regions");
    visit("rules", self.rules, "hash of the file partition.rules; empty without one");
    visit("costs", self.costs, "costs by candidate");
    visit("turns", self.turns, "costs of layout conversions of images between regions");
  }
};

std::string HashOfRules(const SearchConfig& config) {
  const std::string& path = config.section<PartitionConfig>().rules;
  return path.empty() ? "" : Sha256Hex(ReadFile(path));
}

CoverFile ReadCover(const std::string& file) {
  return FromJsonText<CoverFile>(ReadFile(file, std::uint64_t{256} << 20U), "'" + file + "'");
}

void SetCosts(const CoverFile& found, const std::string& file, CoverProblem& problem) {
  if (found.costs.size() != problem.candidates.size()) {
    throw UserError("'" + file + "' has the costs of other regions, because the targets changed " +
                    "since; choose another --out");
  }
  for (std::size_t i = 0; i < found.costs.size(); ++i) {
    const CandidateCost& cost = found.costs[i];
    problem.candidates[i].cost =
        cost.micros ? Cost::Micros(*cost.micros) : Cost::Invalid(cost.failure);
  }
  const auto label = [&](const std::string& name) {
    const auto it = std::find(problem.labels.begin(), problem.labels.end(), name);
    if (it == problem.labels.end()) {
      throw UserError("'" + file + "' has costs of layout conversions for '" + name +
                      "', which is none of the targets; choose another --out");
    }
    return static_cast<Label>(it - problem.labels.begin());
  };
  std::map<std::string, FlowIndex> tensors;
  for (FlowIndex i = 0; i < problem.flow.tensors().size(); ++i) {
    tensors.emplace(problem.flow.tensor(i).name, i);
  }
  for (const TurnCost& turn : found.turns) {
    const auto tensor = tensors.find(turn.tensor);
    if (tensor == tensors.end()) {
      throw UserError("'" + file + "' has costs of layout conversions of '" + turn.tensor +
                      "', which the model does not have; choose another --out");
    }
    problem.conversions.SetFor(tensor->second, label(turn.from), label(turn.to), turn.micros);
  }
}

void KeepCover(const SearchConfig& config, const std::string& model_hash,
               const CoverProblem& problem, const std::string& path) {
  CoverFile file;
  file.model_hash = model_hash;
  file.targets = config.section<PartitionConfig>().targets;
  file.rules = HashOfRules(config);
  for (const CandidateRegion& candidate : problem.candidates) {
    CandidateCost& cost = file.costs.emplace_back();
    if (candidate.cost.known()) {
      cost.micros = candidate.cost.micros();
    } else {
      cost.failure = candidate.cost.reason();
    }
  }
  for (const auto& [edge, micros] : problem.conversions.tensors()) {
    const auto& [tensor, from, to] = edge;
    file.turns.push_back({.tensor = problem.flow.tensor(tensor).name,
                          .from = problem.labels.at(from),
                          .to = problem.labels.at(to),
                          .micros = micros});
  }
  WriteFileAtomic(path, ToJsonText(file) + "\n");
}

/// Reports the regions that were not measured for lack of time.
void NoteUnmeasured(const CoverProblem& problem, std::vector<std::string>& shortened) {
  const auto missed = std::count_if(problem.candidates.begin(), problem.candidates.end(),
                                    [](const CandidateRegion& candidate) {
                                      return candidate.cost.reason() == cost::kNotReached;
                                    });
  if (missed == 0) return;
  shortened.push_back("regions: " + std::to_string(missed) + " of " +
                      std::to_string(problem.candidates.size()) +
                      " were not measured, so the search does not use them");
}

/// Returns the regions without costs.
CoverProblem ProposeCover(const Preparation& preparation, const cost::RegionSource& source,
                          const CompileOptions& compile) {
  const auto& partition = preparation.config.section<PartitionConfig>();
  const Prepared& prepared = preparation.prepared;
  const PartitionRules rules = LoadPartitionRules(partition.rules);
  CoverProblem problem = cost::ProposeRegions(
      BindSizes(*prepared.graph, compile), source, partition.targets, prepared.targets,
      {.channels_last = partition.images == "both", .rules = rules});
  for (const std::string& text :
       cost::WarningsOf(rules, problem, partition.targets, prepared.targets)) {
    preparation.host.listener.ReportLine("[regions] " + text);
  }
  for (const auto& [node, target] : partition.pin) cost::PinNode(problem, node, target);
  cost::KeepPins(problem);
  return problem;
}

/// Adds the targets of regions. These may have options of their own, such as another precision.
void AddTargets(const CoverProblem& problem, std::vector<std::string>& runners) {
  for (const CandidateRegion& candidate : problem.candidates) {
    if (std::find(runners.begin(), runners.end(), candidate.target) == runners.end()) {
      runners.push_back(candidate.target);
    }
  }
}

/// Measures the costs of regions and of layout conversions.
void MeasureCosts(const Preparation& preparation, const cost::RegionSource& source,
                  CoverProblem& problem) {
  const SearchConfig& config = preparation.config;
  const TimeBudget& time = preparation.time;
  SearchListener& listener = preparation.host.listener;
  const TargetRegistry& targets = preparation.prepared.targets;
  const std::string folder = RegionFolder("");
  cost::RegionMeterOptions measuring = RegionMeterFor(preparation.host.program, config.threads);
  if (config.memory_mb > 0) measuring.memory_mb = config.memory_mb;
  const cost::RegionCostContext regions =
      RegionContextFor(preparation.prepared.machine, source.graph(), config.threads);
  cost::RegionMeter meter(source, measuring);
  cost::RegionCosts costs(source, targets, meter, folder, regions);
  cost::LayoutConversionCosts turns(problem, source, targets, measuring, folder, regions);
  const auto asked_to_stop = [&] { return listener.StopRequested(); };
  listener.ReportProgress("[regions] measuring layout conversions of images");
  turns.Measure(problem, asked_to_stop);
  const auto show = [&](const std::string& text) { listener.ReportProgress("[regions] " + text); };
  const double end = PartEnd(time, time_parts::kRegions);
  const auto stop = [&] { return asked_to_stop() || (time.limited() && time.Used() >= end); };
  if (config.section<PartitionConfig>().learned) {
    costs.Learn();
    const auto learned = cost::MeasureLearnedCandidates(problem, costs, show, stop);
    for (const std::string& fact : LearnedFacts(learned)) listener.ReportLine("[regions] " + fact);
  } else if (time.limited()) {
    cost::MeasureInTime(problem, costs, show, asked_to_stop, stop);
  } else {
    cost::MeasureCandidates(problem, costs, show, stop);
  }
  if (asked_to_stop()) {
    throw std::runtime_error("stopped; measured costs are kept in '" + folder + "'");
  }
}

}  // namespace

std::shared_ptr<const CoverProblem> MeasureCover(const Preparation& preparation) {
  const SearchConfig& config = preparation.config;
  Prepared& prepared = preparation.prepared;
  const std::string file = preparation.paths.At(kCoverFile);
  const CompileOptions compile{.threads = config.threads,
                               .bindings = BatchBindings(*prepared.graph, 1)};
  const Strategy start = StartOf(config, prepared);
  const cost::RegionSource source(*prepared.graph, start, compile);
  auto problem = std::make_shared<CoverProblem>(ProposeCover(preparation, source, compile));
  AddTargets(*problem, prepared.runners);
  if (std::filesystem::exists(file)) {
    const CoverFile found = ReadCover(file);
    if (found.model_hash != start.model_hash ||
        found.targets != config.section<PartitionConfig>().targets ||
        found.rules != HashOfRules(config)) {
      throw UserError("'" + file +
                      "' was made with another config or other rules; choose another --out");
    }
    SetCosts(found, file, *problem);
  } else {
    MeasureCosts(preparation, source, *problem);
    KeepCover(config, start.model_hash, *problem, file);
  }
  NoteUnmeasured(*problem, prepared.shortened);
  return problem;
}

}  // namespace msc::gym
