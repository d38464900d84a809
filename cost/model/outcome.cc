#include "cost/model/outcome.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "cost/model/loss.h"

namespace msc::cost {
namespace {

struct StoredFailure {
  std::string kind;
  std::string detail;
  static void Fields(auto& self, auto& visit) {
    visit("kind", self.kind, "one of the closed list of reasons");
    visit("detail", self.detail, "one line for a person");
  }
};

struct StoredResult {
  std::optional<Outcome> outcome;
  std::optional<StoredFailure> failure;
  static void Fields(auto& self, auto& visit) {
    visit("outcome", self.outcome, "results of the measurement");
    visit("failure", self.failure, "why there are no results");
  }
};

/// A number of an outcome with its name and its bounds.
struct Number {
  std::string name;
  double value;
  double most = INFINITY;
  double least = 0;
};

/// Returns the first number that cannot come from a measurement, or nullptr.
const Number* FindImpossible(const std::vector<Number>& numbers) {
  for (const Number& number : numbers) {
    if (!std::isfinite(number.value) || number.value < number.least || number.value > number.most) {
      return &number;
    }
  }
  return nullptr;
}

void Add(const std::string& name, const Quality& quality, std::vector<Number>& numbers) {
  numbers.insert(numbers.end(),
                 {{name + ".accuracy", quality.accuracy.value_or(0), 1},
                  {name + ".reference_accuracy", quality.reference_accuracy.value_or(0), 1},
                  {name + ".accuracy_error", quality.accuracy_error, 1},
                  {name + ".samples", static_cast<double>(quality.samples)}});
  for (const OutputQuality& output : quality.outputs) {
    for (const auto& [loss, estimate] : output.losses) {
      const std::string path = name + "." + output.name + "." + loss;
      numbers.push_back({path, estimate.value, INFINITY, IsAgainstLabels(loss) ? -INFINITY : 0});
      numbers.push_back({path + ".error", estimate.error});
    }
    for (const auto& [loss, score] : output.scores) {
      const std::string path = name + "." + output.name + ".scores." + loss;
      for (const double value : {score.value, score.reference}) numbers.push_back({path, value});
    }
  }
  for (const MetricQuality& metric : quality.metrics) {
    const std::string path = name + "." + metric.name;
    for (const double value : {metric.loss.value, metric.value, metric.reference}) {
      numbers.push_back({path, value, INFINITY, -INFINITY});
    }
    for (const double value : {metric.loss.error, metric.range}) numbers.push_back({path, value});
  }
}

std::vector<Number> Numbers(const Outcome& outcome) {
  std::vector<Number> numbers = {
      {"weight_bytes", static_cast<double>(outcome.weight_bytes)},
      {"peak_bytes", static_cast<double>(outcome.peak_bytes)},
  };
  Add("quality", outcome.quality, numbers);
  if (outcome.held_out) Add("fresh", *outcome.held_out, numbers);
  if (outcome.latency) {
    const Latency& latency = *outcome.latency;
    numbers.insert(numbers.end(), {{"latency.median_ns", latency.median_ns},
                                   {"latency.reference_median_ns", latency.reference_median_ns},
                                   {"latency.ratio", latency.ratio},
                                   {"latency.ratio_low", latency.ratio_low},
                                   {"latency.ratio_high", latency.ratio_high},
                                   {"latency.rounds", static_cast<double>(latency.rounds)}});
    if (latency.energy) {
      const Energy& energy = *latency.energy;
      numbers.insert(numbers.end(), {{"latency.energy.joules", energy.joules},
                                     {"latency.energy.reference_joules", energy.reference_joules},
                                     {"latency.energy.ratio", energy.ratio},
                                     {"latency.energy.ratio_low", energy.ratio_low},
                                     {"latency.energy.ratio_high", energy.ratio_high}});
    }
  }
  return numbers;
}

/// Returns "disagreement" of "disagreement:probs".
std::string LossOf(std::string_view name) {
  return std::string(name.substr(0, name.find(':')));
}

/// Returns the output that lost most by a loss, the named one for "NAME:OUTPUT"; or nullptr.
const OutputQuality* WorstOutput(const std::vector<OutputQuality>& outputs, std::string_view name) {
  const std::size_t colon = name.find(':');
  const std::string loss = LossOf(name);
  const OutputQuality* worst = nullptr;
  for (const OutputQuality& output : outputs) {
    if (colon != std::string_view::npos && output.name != name.substr(colon + 1)) continue;
    const auto found = output.losses.find(loss);
    if (found == output.losses.end()) continue;
    if (worst == nullptr || found->second.value > worst->losses.at(loss).value) worst = &output;
  }
  return worst;
}

}  // namespace

std::optional<Estimate> Quality::Loss(std::string_view name) const {
  if (name == kAccuracyDrop && accuracy && reference_accuracy) {
    constexpr double kPoints = 100;
    return Estimate{kPoints * (*reference_accuracy - *accuracy), kPoints * accuracy_error};
  }
  if (const MetricQuality* metric = Metric(name)) return metric->loss;
  const OutputQuality* const worst = WorstOutput(outputs, name);
  if (worst == nullptr) return std::nullopt;
  return worst->losses.at(LossOf(name));
}

const LabelScore* Quality::Score(std::string_view name) const {
  const OutputQuality* const worst = WorstOutput(outputs, name);
  if (worst == nullptr) return nullptr;
  const auto found = worst->scores.find(LossOf(name));
  return found == worst->scores.end() ? nullptr : &found->second;
}

const MetricQuality* Quality::Metric(std::string_view name) const {
  const auto found = std::ranges::find(metrics, name, &MetricQuality::name);
  return found == metrics.end() ? nullptr : &*found;
}

std::map<std::string, Estimate> Quality::Losses() const {
  std::map<std::string, Estimate> losses;
  for (const OutputQuality& output : outputs) {
    for (const auto& [name, estimate] : output.losses) {
      if (outputs.size() > 1) losses.emplace(name + ":" + output.name, estimate);
      losses.emplace(name, *Loss(name));
    }
  }
  for (const MetricQuality& metric : metrics) losses.emplace(metric.name, metric.loss);
  if (const auto drop = Loss(kAccuracyDrop)) losses.emplace(kAccuracyDrop, *drop);
  return losses;
}

std::string ToJson(const Result<Outcome>& result) {
  nlohmann::json json;
  if (result.ok()) {
    Check(FindImpossible(Numbers(result.value())) == nullptr,
          "every number of an outcome is finite and within its bounds");
    json["outcome"] = WriteJson(result.value());
  } else {
    json["failure"] =
        WriteJson(StoredFailure{std::string(Name(result.failure().kind)), result.failure().detail});
  }
  // A detail may quote output of a crashed child, in any encoding.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<Outcome> OutcomeFromJson(std::string_view text) {
  auto stored = FromJsonText<StoredResult>(text, "the outcome");
  if (stored.outcome.has_value() == stored.failure.has_value()) {
    throw UserError("the outcome must have either 'outcome' or 'failure'");
  }
  if (stored.failure) {
    const auto kind = ParseFailureKind(stored.failure->kind);
    if (!kind) throw UserError("'" + stored.failure->kind + "' is not a kind of failure");
    return Failure{*kind, std::move(stored.failure->detail)};
  }
  const auto numbers = Numbers(*stored.outcome);
  if (const Number* bad = FindImpossible(numbers)) {
    throw UserError("'outcome." + bad->name + "' is out of range");
  }
  return *stored.outcome;
}

}  // namespace msc::cost
