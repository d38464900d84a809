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
  set(kDistillLoss, outcome.quality.kl);
  set(kDisagreement, outcome.quality.Disagreement());
  if (const auto drop = outcome.quality.AccuracyDrop()) set(kAccuracyDrop, *drop);
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

std::vector<std::string> MetricNames(Labels labels, EnergyMetric energy) {
  std::vector<std::string> names;
  for (const std::string_view name : {kLatency, kLatencyMs, kDistillLoss, kDisagreement}) {
    names.emplace_back(name);
  }
  if (energy == EnergyMetric::kPresent) names.emplace_back(kEnergy);
  if (labels == Labels::kPresent) names.emplace_back(kAccuracyDrop);
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
