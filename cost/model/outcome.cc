#include "cost/model/outcome.h"

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"

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

/// A number of an outcome with its name and its largest possible value.
struct Number {
  std::string name;
  double value;
  double most = INFINITY;
};

/// Returns the first number that cannot come from a measurement, or nullptr.
const Number* FindImpossible(const std::vector<Number>& numbers) {
  for (const Number& number : numbers) {
    if (!std::isfinite(number.value) || number.value < 0 || number.value > number.most) {
      return &number;
    }
  }
  return nullptr;
}

void Add(const std::string& name, const Quality& quality, std::vector<Number>& numbers) {
  numbers.insert(numbers.end(),
                 {{name + ".kl", quality.kl},
                  {name + ".mse", quality.mse},
                  {name + ".agreement", quality.agreement, 1},
                  {name + ".accuracy", quality.accuracy.value_or(0), 1},
                  {name + ".reference_accuracy", quality.reference_accuracy.value_or(0), 1},
                  {name + ".samples", static_cast<double>(quality.samples)},
                  {name + ".kl_error", quality.kl_error},
                  {name + ".agreement_error", quality.agreement_error, 1},
                  {name + ".accuracy_error", quality.accuracy_error, 1}});
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

}  // namespace

std::string ToJson(const Result<Outcome>& result) {
  nlohmann::json json;
  if (result.ok()) {
    Check(FindImpossible(Numbers(result.value())) == nullptr,
          "every number of an outcome is finite and not negative");
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
