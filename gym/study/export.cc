#include "gym/study/export.h"

#include <cmath>
#include <ctime>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "compiler/base/fields.h"
#include "compiler/base/formatted.h"

namespace msc::gym {
namespace {

using nlohmann::json;

// Codes of Optuna's journal format: operations, directions and trial states.
constexpr int kCreateStudy = 0;
constexpr int kCreateTrial = 4;
constexpr int kMinimize = 1;
constexpr int kComplete = 1;
constexpr int kPruned = 2;
constexpr int kFail = 3;

std::string Cell(const std::string& text) {
  // Layer names come from the model file, and a spreadsheet would execute a cell that begins with
  // "=".
  const bool runs =
      !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos;
  std::string safe(runs ? 1 : 0, '\'');
  safe += text;
  if (safe.find_first_of(",\"\r\n") == std::string::npos) return safe;
  std::string quoted = "\"";
  for (const char c : safe) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

/// Returns the shortest text that reads back as the same number; empty if the value is not finite.
std::string Cell(double value) {
  return std::isfinite(value) ? json(value).dump() : "";
}

std::string Line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) line += (line.empty() ? "" : ",") + cell;
  return line + "\r\n";
}

const std::string& ChoiceOf(std::span<const Decision> decisions, const Trial& trial,
                            std::size_t decision) {
  return decisions[decision].choices[static_cast<std::size_t>(trial.assignment[decision])];
}

std::string FailureOf(const Trial& trial) {
  const auto& failure = trial.evaluation.failure;
  if (trial.evaluation.dropped) return "dropped: only rough metrics";
  return failure ? std::string(Name(failure->kind)) + ": " + failure->detail : "";
}

/// Returns the constraint values that Optuna's samplers and plots read; at most 0 means satisfied.
json ConstraintsOf(const Objective& objective, const Trial& trial) {
  json constraints = json::array();
  for (const double value : ConstraintValues(objective, trial.evaluation)) {
    constraints.push_back(value);
  }
  return constraints;
}

/// Returns a local time without a zone, such as "2026-01-31T23:59:59.123456", or null if the
/// journal does not have it. Every version of Optuna reads this form as local time. Later versions
/// write a zone, but the first versions cannot compare a time that has a zone with their own.
json TimeOf(const Trial& trial, double seconds_before) {
  if (trial.finished <= seconds_before) return nullptr;
  const double moment = trial.finished - seconds_before;
  const auto whole = static_cast<std::time_t>(moment);
  std::tm parts{};
  ::localtime_r(&whole, &parts);
  const auto micros = static_cast<int>((moment - static_cast<double>(whole)) * 1e6);
  return Formatted("%04d-%02d-%02dT%02d:%02d:%02d.%06d", parts.tm_year + 1900, parts.tm_mon + 1,
                   parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, micros);
}

}  // namespace

std::string StudyAsCsv(const StudyHeader& header, std::span<const Trial> trials,
                       std::span<const Decision> decisions) {
  std::set<std::string> metrics;
  for (const Trial& trial : trials) {
    CheckAssignment(decisions, trial.assignment);
    for (const auto& [metric, value] : trial.evaluation.metrics) metrics.insert(metric);
  }
  std::vector<std::string> titles = {"trial",    "source",  "feasible",
                                     "repeated", "failure", "seconds"};
  for (const std::string& metric : metrics) titles.push_back(Cell(metric));
  for (const Decision& decision : decisions) titles.push_back(Cell("choice:" + decision.name));
  std::string text = Line(titles);
  for (const Trial& trial : trials) {
    std::vector<std::string> cells = {std::to_string(trial.number),
                                      Cell(trial.source),
                                      IsFeasible(header.objective, trial) ? "true" : "false",
                                      trial.repeated ? "true" : "false",
                                      Cell(FailureOf(trial)),
                                      Cell(trial.seconds)};
    for (const std::string& metric : metrics) {
      const auto it = trial.evaluation.metrics.find(metric);
      cells.push_back(it == trial.evaluation.metrics.end() ? "" : Cell(it->second));
    }
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      cells.push_back(Cell(ChoiceOf(decisions, trial, i)));
    }
    text += Line(cells);
  }
  return text;
}

std::string StudyAsOptuna(const StudyHeader& header, std::span<const Trial> trials,
                          std::span<const Decision> decisions, const std::string& name) {
  const auto line = [](json record) {
    record["worker_id"] = "mscgym";
    return record.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  };
  // One record creates the study, one each creates a trial that has ended.
  std::string text = line({{"op_code", kCreateStudy},
                           {"study_name", name},
                           {"directions", json(header.objective.minimize.size(), kMinimize)}});
  json distributions = json::object();
  for (const Decision& decision : decisions) {
    const json distribution = {{"name", "CategoricalDistribution"},
                               {"attributes", {{"choices", decision.choices}}}};
    distributions[decision.name] =
        distribution.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  for (const Trial& trial : trials) {
    CheckAssignment(decisions, trial.assignment);
    json params = json::object();
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      // Optuna stores a categorical value as the index of its choice, a float.
      params[decisions[i].name] = static_cast<double>(trial.assignment[i]);
    }
    json attributes = {{"trial", trial.number},
                       {"source", trial.source},
                       {"seconds", trial.seconds},
                       {"repeated", trial.repeated}};
    for (const auto& [metric, value] : trial.evaluation.metrics) attributes[metric] = value;
    const bool failed = trial.evaluation.failure.has_value();
    if (failed) attributes["failure"] = FailureOf(trial);
    json record = {{"op_code", kCreateTrial},
                   {"study_id", 0},
                   {"datetime_start", TimeOf(trial, trial.seconds)},
                   {"state", failed                     ? kFail
                             : trial.evaluation.dropped ? kPruned
                                                        : kComplete},
                   {"distributions", distributions},
                   {"params", std::move(params)},
                   {"user_attrs", std::move(attributes)}};
    if (trial.finished > 0) record["datetime_complete"] = TimeOf(trial, 0);
    if (trial.evaluation.Complete()) {
      record["values"] = ObjectiveValues(header.objective, trial.evaluation);
      if (!header.objective.subject_to.empty()) {
        record["system_attrs"] = {{"constraints", ConstraintsOf(header.objective, trial)}};
      }
    }
    text += line(std::move(record));
  }
  return text;
}

}  // namespace msc::gym
