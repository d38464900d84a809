#include "gym/search/seeds.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"

namespace msc::gym {
namespace {

/// Seeds as stored in a run directory.
struct SeedsFile {
  std::string format = "msc-seeds-1";
  std::string from;
  std::string note;
  std::vector<std::string> trials = {};
  std::vector<std::string> known = {};
  static void Fields(auto& self, auto& visit) {
    visit("format", self.format, "version of this file's form", Within::OneOf({"msc-seeds-1"}));
    visit("from", self.from, "run directory that the trials come from");
    visit("note", self.note, "how its trials are used");
    visit("trials", self.trials, "journal records of trials to start with");
    visit("known", self.known, "journal records of trials whose results are reused");
  }
};

/// Translates `assignment`, made for decisions `then`, to decisions `now`; nothing if they do not
/// match.
std::optional<Assignment> Translate(const std::vector<Decision>& then, const Assignment& assignment,
                                    const std::vector<Decision>& now) {
  if (then.size() != now.size() || assignment.size() != then.size()) return std::nullopt;
  std::map<std::string, std::string> chosen;
  for (std::size_t i = 0; i < then.size(); ++i) {
    const auto choice = static_cast<std::size_t>(assignment[i]);
    if (choice >= then[i].choices.size()) return std::nullopt;
    chosen[then[i].name] = then[i].choices[choice];
  }
  Assignment translated;
  for (const Decision& decision : now) {
    const auto& choices = decision.choices;
    const auto name = chosen.find(decision.name);
    if (name == chosen.end()) return std::nullopt;
    const auto choice = std::find(choices.begin(), choices.end(), name->second);
    if (choice == choices.end()) return std::nullopt;
    translated.push_back(static_cast<std::int32_t>(choice - choices.begin()));
  }
  return translated;
}

/// Returns the part of a config that affects the measurement of a candidate.
std::string MeasuredBy(SearchConfig config) {
  const SearchConfig otherwise;
  config.model.clear();  // covered by the problem's hash
  config.from.clear();
  config.agent = otherwise.agent;
  config.seed = otherwise.seed;
  config.trials = otherwise.trials;
  config.time_budget_s = otherwise.time_budget_s;
  config.stop = otherwise.stop;
  config.finalists = otherwise.finalists;
  // "others" gives trials the same samples as "both", and is an error if it cannot.
  if (config.quality.finalists == "others") config.quality.finalists = "both";
  config.explain_s = otherwise.explain_s;
  config.compare.clear();
  config.objective.minimize.clear();
  return ToJson(config);
}

/// Returns why results of `then` are invalid now; empty if they are valid.
std::string Difference(const EarlierSearch& then, const SearchSetup& now,
                       const SearchProblem& problem) {
  if (then.header.problem != problem.Hash()) return "the model or the decisions differ";
  if (cost::CpuFingerprint(then.setup.machine) != cost::CpuFingerprint(now.machine)) {
    return "the CPU differs";
  }
  if (then.setup.machine.libraries != now.machine.libraries) return "versions differ";
  if (MeasuredBy(then.setup.config) != MeasuredBy(now.config)) return "the config differs";
  return "";
}

bool HasMetrics(const Objective& objective, const Evaluation& evaluation) {
  const auto has = [&](const std::string& metric) { return evaluation.metrics.contains(metric); };
  return std::all_of(objective.minimize.begin(), objective.minimize.end(), has) &&
         std::all_of(objective.subject_to.begin(), objective.subject_to.end(),
                     [&](const Constraint& limit) { return has(limit.metric); });
}

/// Sorts trials as SeedsFrom describes. Trials that lack a metric keep their order, after the
/// others.
std::vector<Trial> Promising(const Objective& objective, const std::vector<Trial>& trials) {
  std::vector<Trial> feasible;
  std::vector<Trial> rest;
  std::vector<Trial> unknown;
  for (const Trial& trial : trials) {
    const bool told = HasMetrics(objective, trial.evaluation);
    (!told ? unknown : IsFeasible(objective, trial) ? feasible : rest).push_back(trial);
  }
  std::vector<Trial> order;
  const std::vector<std::size_t> front = ParetoOf(objective, feasible);
  for (const std::size_t i : front) order.push_back(feasible[i]);
  for (std::size_t i = 0; i < feasible.size(); ++i) {
    if (std::find(front.begin(), front.end(), i) == front.end()) rest.push_back(feasible[i]);
  }
  const auto key = [&](const Trial& trial) {
    return std::pair(Violation(objective, trial.evaluation),
                     ObjectiveValues(objective, trial.evaluation));
  };
  std::stable_sort(rest.begin(), rest.end(),
                   [&](const Trial& a, const Trial& b) { return key(a) < key(b); });
  order.insert(order.end(), rest.begin(), rest.end());
  order.insert(order.end(), unknown.begin(), unknown.end());
  return order;
}

SeedsFile ToFile(const Seeds& seeds, const std::string& from) {
  SeedsFile file{.from = from, .note = seeds.note};
  Trial trial;
  for (const auto& [source, assignment] : seeds.trials) {
    trial.source = source;
    trial.assignment = assignment;
    file.trials.push_back(ToJson(trial));
  }
  trial.source.clear();
  for (const auto& [assignment, evaluation] : seeds.known) {
    trial.assignment = assignment;
    trial.evaluation = evaluation;
    file.known.push_back(ToJson(trial));
  }
  return file;
}

Seeds FromFile(const SeedsFile& file, const std::string& path) {
  Seeds seeds;
  seeds.note = file.note;
  for (const std::string& text : file.trials) {
    const Trial trial = TrialFromJson(text, "'" + path + "'");
    seeds.trials.emplace_back(trial.source, trial.assignment);
  }
  for (const std::string& text : file.known) {
    const Trial trial = TrialFromJson(text, "'" + path + "'");
    seeds.known.emplace(trial.assignment, trial.evaluation);
  }
  return seeds;
}

}  // namespace

Seeds SeedsFrom(const EarlierSearch& earlier, const SearchSetup& now,
                const SearchProblem& problem) {
  std::vector<Trial> fitting;
  std::set<Assignment> seen;
  const ChoiceMask mask = problem.MaskFunction();
  for (const Trial& trial : earlier.trials) {
    if (!trial.evaluation.Complete()) continue;
    const auto assignment =
        Translate(earlier.setup.decisions, trial.assignment, problem.decisions());
    if (!assignment || !IsLegal(mask, *assignment) || !seen.insert(*assignment).second) continue;
    fitting.push_back(trial);
    fitting.back().assignment = *assignment;
    fitting.back().evaluation.rough_metrics.clear();
  }
  Seeds seeds;
  const std::string difference = Difference(earlier, now, problem);
  std::set<Assignment> anchors;
  for (const auto& [name, assignment] : problem.Anchors()) anchors.insert(assignment);
  // Trials that must be measured again take at most half of this search's trials; the rest is the
  // agent's.
  const std::size_t most =
      difference.empty() ? fitting.size() : static_cast<std::size_t>(now.config.trials + 1) / 2;
  for (Trial& trial : Promising(ToObjective(now.config.objective), fitting)) {
    if (difference.empty()) seeds.known.emplace(trial.assignment, std::move(trial.evaluation));
    if (anchors.contains(trial.assignment) || seeds.trials.size() >= most) continue;
    seeds.trials.emplace_back("from:" + std::to_string(trial.number), std::move(trial.assignment));
  }
  seeds.note = std::to_string(fitting.size()) + " of " + std::to_string(earlier.trials.size()) +
               " trials fit this search; ";
  seeds.note += difference.empty() ? "their results are reused"
                                   : std::to_string(seeds.trials.size()) +
                                         " of them are measured first, because " + difference;
  return seeds;
}

Seeds FindSeeds(const RunPaths& paths, const SearchSetup& now, const SearchProblem& problem) {
  const std::string path = paths.At("seeds.json");
  const std::string& from = now.config.from;
  if (std::filesystem::exists(path)) {
    const auto file = FromJsonText<SeedsFile>(ReadFile(path), "'" + path + "'");
    if (!from.empty() && file.from != from) {
      throw UserError("'" + paths.folder + "' holds a search that started from '" + file.from +
                      "', not from '" + from + "': name that one, or another folder with --out");
    }
    return FromFile(file, path);
  }
  if (from.empty()) return {};
  std::error_code none;
  const auto size = std::filesystem::file_size(paths.journal(), none);
  if (!none && size > 0) {
    throw UserError("'" + paths.folder +
                    "' holds a search that started from no other: leave out '" + from +
                    "', or name another folder with --out");
  }
  const std::string journal = RunPaths{from}.journal();
  const JournalText text = ReadJournal(journal);
  const EarlierSearch earlier{
      .header = HeaderFromJson(text.records.front(), "the header of '" + journal + "'"),
      .setup = SetupIn(FindSearchRecords(text.records), text, journal),
      .trials = TrialsOf(text.records)};
  Seeds seeds = SeedsFrom(earlier, now, problem);
  seeds.note = "'" + from + "': " + seeds.note;
  if (!text.loss.empty()) seeds.note += "; " + text.loss;
  WriteFileAtomic(path, ToJsonText(ToFile(seeds, from), 1) + "\n");
  return seeds;
}

}  // namespace msc::gym
