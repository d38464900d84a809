#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/base/result.h"
#include "compiler/base/string_form.h"
#include "compiler/base/within.h"

namespace msc::cost {

/// Energy of one call of the model, measured on the CPU packages and therefore including everything
/// else that runs on them.
struct Energy {
  double joules = 0;
  double reference_joules = 0;  ///< of the uncompressed model
  double ratio = 1;             ///< median over rounds of candidate / reference
  double ratio_low = 1;         ///< minimum over rounds
  double ratio_high = 1;        ///< maximum over rounds
  bool operator==(const Energy&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("joules", self.joules, "joules per call");
    visit("reference_joules", self.reference_joules, "of the uncompressed model");
    visit("ratio", self.ratio, "median of candidate / reference");
    visit("ratio_low", self.ratio_low, "smallest ratio of the rounds");
    visit("ratio_high", self.ratio_high, "largest ratio of the rounds");
  }
};

/// Time of one call of the model, measured interleaved with the uncompressed model in one process.
struct Latency {
  double median_ns = 0;
  double reference_median_ns = 0;
  /// Median over rounds of candidate time / reference time, with a 95 % interval. Compare
  /// candidates by this ratio: disturbances of the machine affect both times and cancel.
  double ratio = 1;
  double ratio_low = 1;
  double ratio_high = 1;
  std::int64_t rounds = 0;
  bool noisy = false;  ///< the machine was disturbed until the end; the interval shows by how much
  std::optional<Energy> energy = {};  ///< if requested
  /// Returns whether the interval excludes 1; otherwise the difference is not significant.
  [[nodiscard]] bool significant() const { return ratio_high < 1 || ratio_low > 1; }
  bool operator==(const Latency&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("median_ns", self.median_ns, "nanoseconds per call");
    visit("reference_median_ns", self.reference_median_ns, "of the uncompressed model");
    visit("ratio", self.ratio, "median of candidate / reference");
    visit("ratio_low", self.ratio_low, "lower end of the 95 % interval");
    visit("ratio_high", self.ratio_high, "upper end");
    visit("rounds", self.rounds, "interleaved rounds");
    visit("noisy", self.noisy, "the machine disturbed the measurement");
    visit("energy", self.energy, "energy of a call");
  }
};

/// How far outputs are from those of the uncompressed model and from the labels. Means over samples
/// have a standard error, because only some samples were used.
struct Quality {
  double kl = 0;         ///< mean KL(softmax(reference) || softmax(candidate)), nats
  double mse = 0;        ///< mean squared difference of outputs / variance of the reference's
  double agreement = 1;  ///< share of samples with the same arg max
  std::optional<double> accuracy;            ///< share of labels hit, in [0, 1]
  std::optional<double> reference_accuracy;  ///< of the uncompressed model on the same samples
  std::int64_t samples = 0;
  double kl_error = 0;         ///< standard error of kl
  double agreement_error = 0;  ///< of agreement
  double accuracy_error = 0;   ///< of accuracy - reference_accuracy, which use the same samples
  /// Returns the percentage of samples (or rows of samples) that the uncompressed model assigns to
  /// another class.
  [[nodiscard]] double Disagreement() const { return 100 * (1 - agreement); }
  /// Returns the loss of accuracy in percentage points, below 0 for a gain; nothing without labels.
  [[nodiscard]] std::optional<double> AccuracyDrop() const {
    if (!accuracy || !reference_accuracy) return std::nullopt;
    return 100 * (*reference_accuracy - *accuracy);
  }
  bool operator==(const Quality&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("kl", self.kl, "distillation loss in nats");
    visit("mse", self.mse, "relative squared error");
    visit("agreement", self.agreement, "share of equal arg max");
    visit("accuracy", self.accuracy, "share of correctly classified samples");
    visit("reference_accuracy", self.reference_accuracy, "of the uncompressed model");
    visit("samples", self.samples, "samples compared");
    visit("kl_error", self.kl_error, "standard error of kl");
    visit("agreement_error", self.agreement_error, "of agreement");
    visit("accuracy_error", self.accuracy_error, "of accuracy - reference_accuracy");
  }
};

/// Result of measuring one candidate.
struct Outcome {
  std::optional<Latency> latency;  ///< missing if only quality was requested
  Quality quality;
  std::int64_t weight_bytes = 0;  ///< of the compressed graph's constants
  std::int64_t peak_bytes = 0;    ///< arena of the executable
  /// Quality on the held-out samples alone, which no trial used; missing if no samples were held
  /// out.
  std::optional<Quality> held_out = {};
  bool operator==(const Outcome&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("latency", self.latency, "time");
    visit("quality", self.quality, "quality");
    visit("weight_bytes", self.weight_bytes, "size of the weights");
    visit("peak_bytes", self.peak_bytes, "size of the arena");
    visit("fresh", self.held_out, "quality on samples that no trial saw");
  }
};

/// Write and read a result as {"outcome": {...}} or {"failure": {"kind": "...", "detail": "..."}},
/// the form in which results are sent and stored. OutcomeFromJson throws UserError for any other
/// text, and for numbers that are negative, too large or not finite.
[[nodiscard]] std::string ToJson(const Result<Outcome>& result);
[[nodiscard]] Result<Outcome> OutcomeFromJson(std::string_view text);

}  // namespace msc::cost

namespace msc {

template <>
struct StringForm<Result<cost::Outcome>> {
  static std::string Write(const Result<cost::Outcome>& result) { return cost::ToJson(result); }
  static Result<cost::Outcome> Read(const std::string& text) { return cost::OutcomeFromJson(text); }
};

}  // namespace msc
