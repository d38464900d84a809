#include "gym/study/trial.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "gym/core/pareto.h"
#include "gym/study/read_record.h"

namespace msc::gym {
namespace {

using nlohmann::json;

constexpr std::int64_t kFormat = 3;  // format that this version writes; it also reads older ones
constexpr double kMaxSeconds = 1e9;
constexpr double kLatestSeconds = 253402300799;  // end of the year 9999

/// The failure of a trial in its record.
struct FailureRecord {
  std::string kind;
  std::string detail;
  static void Fields(auto& self, auto& visit) {
    visit("kind", self.kind, "why it failed");
    visit("detail", self.detail, "description for a reader");
  }
};

struct TrialRecord {
  std::uint64_t seq = 0;
  std::string type = "trial";
  std::uint64_t trial = 0;
  std::string source;
  Assignment assignment;
  std::map<std::string, double> metrics;
  std::optional<FailureRecord> failure;
  double seconds = 0;
  bool repeated = false;
  std::vector<std::map<std::string, double>> rough_metrics;
  bool dropped = false;
  double finished = 0;
  static void Fields(auto& self, auto& visit) {
    visit("seq", self.seq, "place in the journal");
    visit("type", self.type, "kind of record", Within::OneOf({"trial"}));
    visit("trial", self.trial, "number of the trial");
    visit("source", self.source, "what proposed it: the agent, an anchor or an earlier search");
    visit("assignment", self.assignment, "one choice per decision", Within{0, 2147483647});
    visit("metrics", self.metrics, "measured metrics");
    visit("failure", self.failure, "why there are no metrics");
    visit("seconds", self.seconds, "wall clock", Within{0, kMaxSeconds});
    visit("repeated", self.repeated, "copied from an equal trial");
    visit("rungs", self.rough_metrics, "rough metrics measured before, the roughest first");
    visit("dropped", self.dropped, "whether the trial ended after rough metrics");
    visit("finished", self.finished, "seconds since 1970 UTC", Within{0, kLatestSeconds});
  }
};

struct HeaderRecord {
  std::uint64_t seq = 0;
  std::string type = "study";
  StudyHeader header;
  static void Fields(auto& self, auto& visit) {
    visit("seq", self.seq, "place in the journal");
    visit("type", self.type, "kind of record", Within::OneOf({"study"}));
    visit("format", self.header.format, "version of the records", Within{.least = 1});
    visit("problem", self.header.problem, "hash of the search problem");
    visit("agent", self.header.agent, "name of the agent");
    visit("seed", self.header.seed, "seed of the study");
    visit("objective", self.header.objective, "metrics to minimize, and limits");
    visit("tool_version", self.header.tool_version, "version of the program");
    visit("machine", self.header.machine, "machine of the measurements");
  }
};

/// Checks that a record has all required keys, since ReadJson leaves the fields of missing keys
/// alone.
void Require(const json& record, const std::string& what, std::initializer_list<const char*> keys) {
  if (!record.is_object()) throw UserError(what + " is not an object");
  for (const char* key : keys) {
    if (!record.contains(key)) throw UserError(what + " has no '" + key + "'");
  }
}

/// Returns `text` as a JSON value if that loses nothing, so that a dump of the journal is readable;
/// otherwise as a string.
json Embed(const std::string& text) {
  constexpr int kMaxLevels = 32;  // ParseJson limits the depth of the whole record
  bool deep = false;
  const auto watch = [&](int depth, json::parse_event_t /*event*/, json& /*parsed*/) {
    deep = deep || depth > kMaxLevels;
    return !deep;
  };
  json value = json::parse(text, watch, false);
  if (!deep && value.is_object() &&
      value.dump(-1, ' ', false, json::error_handler_t::replace) == text) {
    return value;
  }
  return text;
}

}  // namespace

std::string ToJson(const Trial& trial) {
  for (const auto& [name, value] : trial.evaluation.metrics) {
    Check(std::isfinite(value), "metrics of an evaluation are finite");
  }
  TrialRecord record;
  record.trial = trial.number;
  record.source = trial.source;
  record.assignment = trial.assignment;
  record.metrics = trial.evaluation.metrics;
  if (const auto& failure = trial.evaluation.failure) {
    record.failure = FailureRecord{std::string(Name(failure->kind)), failure->detail};
  }
  record.seconds = trial.seconds;
  record.repeated = trial.repeated;
  record.rough_metrics = trial.evaluation.rough_metrics;
  record.dropped = trial.evaluation.dropped;
  record.finished = trial.finished;
  json value = WriteJson(record);
  value.erase("seq");
  if (!record.failure) value.erase("failure");
  if (record.rough_metrics.empty()) value.erase("rungs");
  if (!record.dropped) value.erase("dropped");
  if (trial.late) value["late"] = true;
  if (record.finished == 0) value.erase("finished");
  if (!trial.evaluation.record.empty()) value["record"] = Embed(trial.evaluation.record);
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

Trial TrialFromJson(std::string_view text, const std::string& what) {
  json value = ParseJson(text, what);
  Require(value, what, {"type", "trial", "source", "assignment", "metrics"});
  Trial trial;
  if (const auto it = value.find("record"); it != value.end()) {
    if (!it->is_object() && !it->is_string())
      throw UserError(what + ": 'record' must be an object");
    trial.evaluation.record = it->is_string() ? it->get<std::string>() : it->dump();
    value.erase(it);
  }
  if (const auto it = value.find("late"); it != value.end()) {
    if (!it->is_boolean()) throw UserError(what + ": 'late' must be true or false");
    trial.late = it->get<bool>();
    value.erase(it);
  }
  // A race had one rough stage in format 2.
  if (const auto it = value.find("rough"); it != value.end() && !value.contains("rungs")) {
    value["rungs"] = json::array({*it});
    value.erase("rough");
  }
  const auto record = ReadRecord<TrialRecord>(value, what);
  trial.number = record.trial;
  trial.source = record.source;
  trial.assignment = record.assignment;
  trial.evaluation.metrics = record.metrics;
  if (record.failure) {
    const auto kind = ParseFailureKind(record.failure->kind);
    if (!kind) throw UserError(what + ": unknown failure '" + record.failure->kind + "'");
    trial.evaluation.failure = Failure{*kind, record.failure->detail};
  }
  trial.seconds = record.seconds;
  trial.repeated = record.repeated;
  trial.evaluation.rough_metrics = record.rough_metrics;
  trial.evaluation.dropped = record.dropped;
  trial.finished = record.finished;
  return trial;
}

std::string ToJson(const StudyHeader& header) {
  json value = WriteJson(HeaderRecord{0, "study", header});
  value.erase("seq");
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

StudyHeader HeaderFromJson(std::string_view text, const std::string& what) {
  const json value = ParseJson(text, what);
  Require(value, what, {"type", "format", "problem", "agent", "seed", "objective"});
  // Check the format first: a newer format may have unknown keys and values.
  const json& format = value["format"];
  if (format.is_number_integer() && format > kFormat) {
    throw UserError(what + " was written by a newer mscgym: its format is " + format.dump() +
                    ", known here is " + std::to_string(kFormat));
  }
  return ReadRecord<HeaderRecord>(value, what).header;
}

std::string RecordType(std::string_view text, std::size_t index) {
  const std::string what = "journal record " + std::to_string(index);
  const json value = ParseJson(text, what);
  Require(value, what, {"type"});
  const json& type = value["type"];
  for (const char* known :
       {"study", "start", "setup", "trial", "tick", "task", "goal", "end", "findings"}) {
    if (type != known) continue;
    if (index > 0 && type == "study") throw UserError(what + " begins a second study");
    return known;
  }
  throw UserError(what + " is of the type " + type.dump() +
                  ", which is unknown here; a newer mscgym may have written it");
}

std::vector<std::string> HeaderDifferences(const StudyHeader& journal, const StudyHeader& now) {
  const json old_fields = WriteJson(HeaderRecord{0, "study", journal});
  const json new_fields = WriteJson(HeaderRecord{0, "study", now});
  std::vector<std::string> differences;
  for (const auto& [key, value] : new_fields.items()) {
    if (value == old_fields[key]) continue;
    differences.push_back(key + " (journal: " + old_fields[key].dump() + ", now: " + value.dump() +
                          ")");
  }
  return differences;
}

bool WasLost(const Trial& trial) {
  const auto& failure = trial.evaluation.failure;
  return failure && failure->kind == FailureKind::kLost;
}

std::vector<Trial> TrialsOf(std::span<const std::string> records) {
  std::vector<Trial> trials;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (RecordType(records[i], i) != "trial") continue;
    trials.push_back(TrialFromJson(records[i], "journal record " + std::to_string(i)));
  }
  std::stable_sort(trials.begin(), trials.end(),
                   [](const Trial& a, const Trial& b) { return a.number < b.number; });
  // A lost trial that was measured late has two records; the second one counts.
  const auto again = [](const Trial& a, const Trial& b) {
    return a.number == b.number && WasLost(a) && b.late;
  };
  std::vector<Trial> last;
  for (Trial& trial : trials) {
    if (!last.empty() && again(last.back(), trial)) last.pop_back();
    last.push_back(std::move(trial));
  }
  trials = std::move(last);
  const auto twice =
      std::adjacent_find(trials.begin(), trials.end(),
                         [](const auto& a, const auto& b) { return a.number == b.number; });
  if (twice != trials.end()) {
    throw UserError("the journal has trial " + std::to_string(twice->number) + " twice");
  }
  return trials;
}

TrialResult TrialResultOf(const Objective& objective, const Trial& trial) {
  TrialResult told;
  told.trial = trial.number;
  told.assignment = trial.assignment;
  told.seconds = trial.seconds;
  told.unknown = trial.late || WasLost(trial);
  if (told.unknown) return told;
  told.failed = trial.evaluation.failure.has_value();
  if (told.failed) return told;
  told.rough = trial.evaluation.dropped;
  told.objectives = ObjectiveValues(objective, trial.evaluation);
  told.constraints = ConstraintValues(objective, trial.evaluation);
  told.violation = Violation(objective, trial.evaluation);
  return told;
}

bool IsFeasible(const Objective& objective, const Trial& trial) {
  return trial.evaluation.Complete() && Violation(objective, trial.evaluation) == 0;
}

std::optional<std::size_t> BestOf(const Objective& objective, std::span<const Trial> trials) {
  std::optional<std::size_t> best;
  std::vector<double> least;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!IsFeasible(objective, trials[i])) continue;
    std::vector<double> values = ObjectiveValues(objective, trials[i].evaluation);
    if (best && !(values < least)) continue;
    best = i;
    least = std::move(values);
  }
  return best;
}

std::vector<std::size_t> ParetoOf(const Objective& objective, std::span<const Trial> trials) {
  std::vector<std::size_t> index;
  std::vector<std::vector<double>> points;
  // Without a feasible trial, the front of all trials shows the trade-offs.
  const bool any_feasible = std::any_of(trials.begin(), trials.end(), [&](const Trial& trial) {
    return IsFeasible(objective, trial);
  });
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!trials[i].evaluation.Complete()) continue;
    if (any_feasible && !IsFeasible(objective, trials[i])) continue;
    index.push_back(i);
    points.push_back(ObjectiveValues(objective, trials[i].evaluation));
  }
  std::vector<std::size_t> front = ParetoFront(points);
  std::stable_sort(front.begin(), front.end(),
                   [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
  for (auto& i : front) i = index[i];
  return front;
}

}  // namespace msc::gym
