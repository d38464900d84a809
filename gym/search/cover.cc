#include "gym/search/cover.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/base/hash.h"
#include "compiler/ir/serialize.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/compile.h"
#include "cost/partition/partition_study.h"
#include "cost/partition/propose.h"
#include "cost/partition/turn_costs.h"
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
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
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
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
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
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("format", self.format, "version of this file's form", Within::OneOf({"msc-cover-2"}));
    visit("model_hash", self.model_hash, "hash of the canonical graph");
    visit("targets", self.targets, "targets of the regions");
    visit("rules", self.rules, "hash of the file partition.rules; empty without one");
    visit("costs", self.costs, "costs by candidate");
    visit("turns", self.turns, "costs of layout conversions of images between regions");
  }
};

std::string HashOfRules(const SearchConfig& config) {
  const std::string& path = config.partition.rules;
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

void KeepCover(const SearchConfig& config, const Prepared& prepared, const std::string& path) {
  CoverFile file;
  file.model_hash = GraphHash(*prepared.graph);
  file.targets = config.partition.targets;
  file.rules = HashOfRules(config);
  for (const Candidate& candidate : prepared.cover->candidates) {
    CandidateCost& cost = file.costs.emplace_back();
    if (candidate.cost.known()) {
      cost.micros = candidate.cost.micros();
    } else {
      cost.failure = candidate.cost.reason();
    }
  }
  const CoverProblem& problem = *prepared.cover;
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
  const auto missed = std::count_if(
      problem.candidates.begin(), problem.candidates.end(),
      [](const Candidate& candidate) { return candidate.cost.reason() == cost::kNotReached; });
  if (missed == 0) return;
  shortened.push_back("regions: " + std::to_string(missed) + " of " +
                      std::to_string(problem.candidates.size()) +
                      " were not measured, so the search does not use them");
}

}  // namespace

void PrepareCover(const SearchHost& host, const SearchConfig& config, const RunPaths& paths,
                  const TimeBudget& time, Prepared& prepared) {
  const std::string file = paths.At(kCoverFile);
  const CompileOptions compile{.threads = config.threads,
                               .bindings = BatchBindings(*prepared.graph, 1)};
  const Strategy start = StartOf(config, prepared);
  const cost::RegionSource source(*prepared.graph, start, compile);
  const std::vector<std::string>& targets = config.partition.targets;
  const PartitionRules rules = LoadPartitionRules(config.partition.rules);
  auto problem = std::make_shared<CoverProblem>(
      cost::ProposeRegions(BindSizes(*prepared.graph, compile), source, targets, prepared.targets,
                           {.channels_last = config.partition.images == "both", .rules = rules}));
  for (const std::string& text : cost::WarningsOf(rules, *problem, targets, prepared.targets)) {
    host.listener.ReportLine("[regions] " + text);
  }
  for (const auto& [node, target] : config.partition.pin) cost::PinNode(*problem, node, target);
  cost::KeepPins(*problem);
  prepared.cover = problem;
  // Regions may have targets with options of their own, such as another precision.
  for (const Candidate& candidate : problem->candidates) {
    std::vector<std::string>& runners = prepared.runners;
    if (std::find(runners.begin(), runners.end(), candidate.target) == runners.end()) {
      runners.push_back(candidate.target);
    }
  }
  if (std::filesystem::exists(file)) {
    const CoverFile found = ReadCover(file);
    if (found.model_hash != start.model_hash || found.targets != targets ||
        found.rules != HashOfRules(config)) {
      throw UserError("'" + file +
                      "' was made with another config or other rules; choose another --out");
    }
    SetCosts(found, file, *problem);
    NoteUnmeasured(*problem, prepared.shortened);
    return;
  }
  const std::string folder = RegionFolder("");
  cost::RegionMeterOptions measuring = RegionMeterFor(host.program, config.threads);
  if (config.memory_mb > 0) measuring.memory_mb = config.memory_mb;
  const cost::RegionCostContext regions =
      RegionContextFor(prepared.machine, source.graph(), config.threads);
  cost::RegionMeter meter(source, measuring);
  cost::RegionCosts costs(source, prepared.targets, meter, folder, regions);
  cost::TurnCosts turns(*problem, source, prepared.targets, measuring, folder, regions);
  std::vector<std::string> learned;
  const auto asked_to_stop = [&] { return host.listener.StopRequested(); };
  host.listener.ReportProgress("[regions] measuring layout conversions of images");
  turns.Measure(*problem, asked_to_stop);
  const auto show = [&](const std::string& text) {
    host.listener.ReportProgress("[regions] " + text);
  };
  const double end = PartEnd(time, time_parts::kRegions);
  const auto stop = [&] { return asked_to_stop() || (time.limited() && time.Used() >= end); };
  if (config.partition.learned) {
    costs.Learn();
    learned = LearnedFacts(cost::MeasureLearnedCandidates(*problem, costs, show, stop));
  } else if (time.limited()) {
    cost::MeasureInTime(*problem, costs, show, asked_to_stop, stop);
  } else {
    cost::MeasureCandidates(*problem, costs, show, stop);
  }
  for (const std::string& fact : learned) host.listener.ReportLine("[regions] " + fact);
  NoteUnmeasured(*problem, prepared.shortened);
  if (asked_to_stop()) {
    throw std::runtime_error("stopped; measured costs are kept in '" + folder + "'");
  }
  KeepCover(config, prepared, file);
}

}  // namespace msc::gym
