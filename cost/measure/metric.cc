#include "cost/measure/metric.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/hash.h"
#include "cost/model/loss.h"
#include "cost/quality/output_meter.h"

namespace msc::cost {
namespace {

bool IsFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

bool IsLetter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

void CheckName(const std::string& name) {
  constexpr std::size_t kLongest = 64;
  const bool fits =
      !name.empty() && name.size() <= kLongest && IsLetter(name[0]) &&
      std::ranges::all_of(name, [](char c) {
        return IsLetter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
      });
  if (!fits) {
    throw UserError("a metric cannot be called '" + name +
                    "': use letters, digits, '_', '-' and '.', with a letter first");
  }
  constexpr std::array<std::string_view, 6> kTaken = {"latency",      "latency_ms", "energy",
                                                      "weight_bytes", "peak_bytes", "train_steps"};
  if (FindLoss(name) != nullptr || std::ranges::find(kTaken, name) != kTaken.end()) {
    throw UserError("a metric cannot be called '" + name + "': MSCGym has one of that name");
  }
}

/// Adds the contents of a file of any size.
void AddFile(const std::string& path, Sha256& hash) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 1U << 16U> buffer{};
  while (file.read(buffer.data(), buffer.size()) || file.gcount() > 0) {
    hash.Add(std::string_view(buffer.data(), static_cast<std::size_t>(file.gcount())));
  }
  if (!file.eof()) throw UserError("cannot read '" + path + "'");
}

/// Returns the difference between the largest and the smallest of all values.
double RangeOf(const MetricValues& a, const MetricValues& b) {
  const auto [low, high] = std::ranges::minmax(a.values);
  const auto [other_low, other_high] = std::ranges::minmax(b.values);
  return std::max(high, other_high) - std::min(low, other_low);
}

/// The answer of a metric.
struct Answer {
  std::optional<double> value;
  std::optional<std::vector<double>> values;
  static void Fields(auto& self, auto& visit) {
    visit("value", self.value, "of all samples");
    visit("values", self.values, "of each sample");
  }
};

/// Returns the beginning of a text, in one line.
std::string Quoted(std::string_view text) {
  constexpr std::size_t kMost = 80;
  std::string quoted;
  for (const char c : text.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    quoted += byte < ' ' || byte > '~' ? ' ' : c;
  }
  return "'" + quoted + (text.size() > kMost ? "...'" : "'");
}

Failure Wrong(const std::string& what) {
  return {FailureKind::kCrash, what};
}

}  // namespace

void ResolveFiles(const std::string& folder, MetricSpec& spec) {
  const auto resolve = [&](std::string& word) {
    const std::filesystem::path path(word);
    if (word.empty() || path.is_absolute()) return;
    const std::string absolute =
        std::filesystem::absolute(folder / path).lexically_normal().string();
    if (IsFile(absolute)) word = absolute;
  };
  for (std::string& word : spec.library) resolve(word);
  for (std::size_t i = 0; i < spec.command.size(); ++i) {
    if (i > 0 || spec.command[i].find('/') != std::string::npos) resolve(spec.command[i]);
  }
}

Metric CheckedMetric(const std::string& name, const MetricSpec& spec) {
  CheckName(name);
  const std::string metric = "metric '" + name + "'";
  const int kinds = (spec.command.empty() ? 0 : 1) + (spec.library.empty() ? 0 : 1) +
                    (spec.function.empty() ? 0 : 1);
  if (kinds != 1) throw UserError(metric + ": give either 'command' or 'library'");
  if (spec.better.empty()) {
    throw UserError(metric + ": set 'better' to \"higher\" or \"lower\", whichever is better");
  }
  const std::vector<std::string>& words = spec.command.empty() ? spec.library : spec.command;
  if (!words.empty() && words[0].find('/') != std::string::npos && !IsFile(words[0])) {
    throw UserError(metric + ": there is no file '" + words[0] + "'");
  }
  if (!spec.library.empty() && !IsFile(spec.library[0])) {
    throw UserError(metric + ": there is no file '" + spec.library[0] +
                    "'; paths are relative to the config file");
  }
  Sha256 hash;
  for (const std::string& word : words) {
    hash.Add(std::to_string(word.size()) + ":" + word);
    if (IsFile(word)) AddFile(word, hash);
  }
  hash.Add(spec.function);
  return {.spec = spec, .hash = hash.Hex()};
}

std::string DescribeMetric(const std::string& name, const MetricSpec& spec) {
  std::string words = spec.function.empty() ? "" : "a Python function";
  for (const std::string& word : spec.command.empty() ? spec.library : spec.command) {
    words += (words.empty() ? "" : " ") + word;
  }
  return "'" + name + "' (" + words + ")";
}

double MetricValues::Mean() const {
  Check(!values.empty(), "a metric has values");
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

Result<MetricValues> ReadMetricValues(std::string_view text, std::int64_t samples) {
  Answer answer;
  try {
    answer = FromJsonText<Answer>(text, "the answer");
  } catch (const UserError& error) {
    return Wrong("gave " + Quoted(text) + " instead of {\"value\": NUMBER} or {\"values\": " +
                 "[NUMBER, ...]}: " + error.what());
  }
  if (answer.value.has_value() == answer.values.has_value()) {
    return Wrong("gave " + Quoted(text) + ", without a number in either 'value' or 'values'");
  }
  if (answer.value) return MetricValues{{*answer.value}, true};
  if (std::cmp_not_equal(answer.values->size(), samples)) {
    return Wrong("gave " + std::to_string(answer.values->size()) + " values for " +
                 std::to_string(samples) + " samples");
  }
  return MetricValues{*std::move(answer.values), false};
}

Result<MetricQuality> CompareMetric(const std::string& name, const MetricSpec& spec,
                                    const MetricValues& reference, const MetricValues& candidate,
                                    double noise) {
  if (reference.whole != candidate.whole || reference.values.size() != candidate.values.size()) {
    return Wrong("gave one number at one time and one for each sample at another");
  }
  const double sign = spec.better == "lower" ? 1 : -1;
  MetricQuality quality{.name = name,
                        .value = candidate.Mean(),
                        .reference = reference.Mean(),
                        .whole = candidate.whole};
  Spread lost;
  for (std::size_t i = 0; i < candidate.values.size(); ++i) {
    lost.Add(sign * (candidate.values[i] - reference.values[i]));
  }
  quality.loss = lost.Total();
  quality.loss.error = std::hypot(quality.loss.error, noise);
  if (!quality.whole) quality.range = RangeOf(reference, candidate);
  for (const double value :
       {quality.loss.value, quality.loss.error, quality.value, quality.range}) {
    if (!std::isfinite(value)) return Wrong("gave numbers that are too large to average");
  }
  return quality;
}

}  // namespace msc::cost
