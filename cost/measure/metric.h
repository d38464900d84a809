#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/base/within.h"
#include "cost/model/outcome.h"

namespace msc::cost {

/// A user's own metric of the outputs of a model on samples: exactly one of a command, a shared
/// object and a Python function. docs/metrics.md describes what each gets and gives.
struct MetricSpec {
  std::vector<std::string> command = {};  ///< program, found in PATH, and its arguments
  std::vector<std::string> library = {};  ///< shared object (metric_abi.h) and arguments
  std::string function = {};              ///< of Python; a hash of its code
  std::string better = {};                ///< "higher" or "lower"
  double timeout_s = 60;                  ///< for one call, on all samples of a candidate
  bool operator==(const MetricSpec&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("command", self.command,
          "program and arguments that compute the metric; it runs without a shell");
    visit("library", self.library, "shared object that computes the metric, and arguments");
    visit("function", self.function, "set by mscgym.search(metrics=...) for a Python function");
    visit("better", self.better, "whether higher or lower values are better",
          Within::OneOf({"higher", "lower"}));
    visit("timeout_s", self.timeout_s, "time limit in seconds for one call of the metric",
          Within{0.1, 86'400});
  }
};

/// Metrics by name.
using MetricSpecs = std::map<std::string, MetricSpec>;

/// A metric with a hash of what it consists of, as far as that can be known: the words of a command
/// or library and the contents of the files that they name.
struct Metric {
  MetricSpec spec;
  std::string hash;
  bool operator==(const Metric&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("spec", self.spec, "what it is");
    visit("hash", self.hash, "hash of its words and files");
  }
};

/// Makes every word of a command or library that names a file in `folder` an absolute path, since
/// metrics run in other folders. The program of a command is such a word only if it contains a '/'.
void ResolveFiles(const std::string& folder, MetricSpec& spec);

/// Throws UserError, naming the metric, unless its name consists of letters, digits, '_', '-' and
/// '.', begins with a letter, and is not that of a loss; unless exactly one of command, library and
/// function is given; unless `better` is; and unless all files are there.
[[nodiscard]] Metric CheckedMetric(const std::string& name, const MetricSpec& spec);

/// Returns "'wer' (python3 /home/me/wer.py)".
[[nodiscard]] std::string DescribeMetric(const std::string& name, const MetricSpec& spec);

/// What a metric says of a model: one number for all samples, or one for each.
struct MetricValues {
  std::vector<double> values;
  bool whole = false;  ///< whether it is one number for all samples
  /// Returns the number, or the mean of the numbers.
  [[nodiscard]] double Mean() const;
};

/// Reads the answer of a metric for `samples` samples: {"value": 0.81}, or {"values": [...]} with a
/// finite number for each. Returns a failure (kCrash) for any other text.
[[nodiscard]] Result<MetricValues> ReadMetricValues(std::string_view text, std::int64_t samples);

/// Compares the values of a candidate with those of the uncompressed model on the same samples.
/// `noise` is the standard error of their difference due to the metric's own randomness. Returns a
/// failure (kCrash) unless both are one number, or one for each sample.
[[nodiscard]] Result<MetricQuality> CompareMetric(const std::string& name, const MetricSpec& spec,
                                                  const MetricValues& reference,
                                                  const MetricValues& candidate, double noise);

}  // namespace msc::cost
