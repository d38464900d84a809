#include "gym/search/run_files.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "compiler/base/fields.h"
#include "gym/study/trial.h"

namespace msc::gym {
namespace {

using nlohmann::json;

// Increment a version with every change that breaks readers, here and in scripts/run_files.py.
constexpr const char* kResultsFormat = "msc-results-1";
constexpr const char* kParetoFormat = "msc-pareto-1";
constexpr const char* kEnvFormat = "msc-env-1";

std::string FactText(const char* format, json value, int indent) {
  value["format"] = format;
  return value.dump(indent, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string ResultsJson(const Findings& findings) {
  return FactText(kResultsFormat, WriteJson(findings), 1);
}

std::string ParetoJson(const Objective& objective, const StudyResult& study) {
  json list = json::array();
  for (const std::size_t index : study.pareto) {
    const Trial& trial = study.trials[index];
    list.push_back({{"trial", trial.number},
                    {"source", trial.source},
                    {"assignment", trial.assignment},
                    {"feasible", IsFeasible(objective, trial)},
                    {"metrics", trial.evaluation.metrics}});
  }
  return FactText(kParetoFormat, {{"trials", std::move(list)}}, 2);
}

std::string EnvJson(const cost::MachineFacts& machine, const std::string& model_hash) {
  json value = WriteJson(machine);
  value["model_hash"] = model_hash;
  return FactText(kEnvFormat, std::move(value), 2);
}

}  // namespace msc::gym
