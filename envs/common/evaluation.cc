#include "envs/common/evaluation.h"

#include <nlohmann/json.hpp>

#include "compiler/base/json_value.h"

namespace msc::envs {
namespace {

void AddMetrics(const cost::Outcome& outcome, std::map<std::string, double>& metrics) {
  const auto set = [&](std::string_view name, double value) {
    metrics.emplace(std::string(name), value);
  };
  if (outcome.latency) {
    set(kLatency, outcome.latency->ratio);
    set(kLatencyMs, outcome.latency->median_ns * 1e-6);
    if (outcome.latency->energy) set(kEnergy, outcome.latency->energy->ratio);
  }
  for (const auto& [name, loss] : outcome.quality.Losses()) set(name, loss.value);
  set(kWeightBytes, static_cast<double>(outcome.weight_bytes));
  set(kPeakBytes, static_cast<double>(outcome.peak_bytes));
}

/// Returns a member of a record; null if it is absent.
nlohmann::json Recorded(const gym::Evaluation& evaluation, const char* key) {
  if (evaluation.record.empty()) return {};
  const nlohmann::json record = ParseJson(evaluation.record, "a trial's record");
  const auto member = record.find(key);
  return member == record.end() ? nlohmann::json() : *member;
}

}  // namespace

std::vector<std::string> MetricNames(std::span<const std::string> losses, EnergyMetric energy) {
  std::vector<std::string> names = {std::string(kLatency), std::string(kLatencyMs)};
  names.insert(names.end(), losses.begin(), losses.end());
  if (energy == EnergyMetric::kPresent) names.emplace_back(kEnergy);
  for (const std::string_view name : {kWeightBytes, kPeakBytes}) names.emplace_back(name);
  return names;
}

gym::Evaluation ToEvaluation(const Result<cost::Outcome>& result,
                             const std::string& strategy_hash) {
  gym::Evaluation evaluation;
  if (result.ok()) {
    AddMetrics(result.value(), evaluation.metrics);
  } else {
    evaluation.failure = result.failure();
  }
  // `result` is JSON already; the hash is hexadecimal and needs no escaping.
  evaluation.record =
      R"({"strategy_hash":")" + strategy_hash + R"(","result":)" + cost::ToJson(result) + "}";
  return evaluation;
}

std::optional<Result<cost::Outcome>> RecordedOutcome(const gym::Evaluation& evaluation) {
  const nlohmann::json result = Recorded(evaluation, "result");
  if (result.is_null()) return std::nullopt;
  return cost::OutcomeFromJson(result.dump());
}

std::string RecordedStrategyHash(const gym::Evaluation& evaluation) {
  const nlohmann::json hash = Recorded(evaluation, "strategy_hash");
  return hash.is_string() ? hash.get<std::string>() : "";
}

}  // namespace msc::envs
