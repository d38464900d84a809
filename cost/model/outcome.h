#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/base/string_form.h"
#include "compiler/base/within.h"
#include "compiler/ir/output_form.h"

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

/// Mean over samples, with its standard error: only some samples were used.
struct Estimate {
  double value = 0;
  double error = 0;
  bool operator==(const Estimate&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("value", self.value, "mean over samples");
    visit("error", self.error, "standard error of the mean");
  }
};

/// How well an output agrees with its labels.
struct LabelScore {
  double value = 0;
  double reference = 0;  ///< of the uncompressed model
  bool operator==(const LabelScore&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("value", self.value, "mean over samples");
    visit("reference", self.reference, "of the uncompressed model");
  }
};

/// Losses of one output.
struct OutputQuality {
  std::string name = {};
  OutputKind kind = OutputKind::kRegression;
  std::map<std::string, Estimate> losses = {};  ///< by name (loss.h)
  /// By the loss that is their difference; in the unit of that loss, % instead of points.
  std::map<std::string, LabelScore> scores = {};
  bool operator==(const OutputQuality&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("name", self.name, "name of the output");
    visit("kind", self.kind, "what its numbers mean");
    visit("losses", self.losses,
          "distances from the uncompressed model, and how much worse scores with labels are");
    visit("scores", self.scores, "scores with labels, by the loss that is their difference");
  }
};

/// A user's own metric on the samples compared.
struct MetricQuality {
  std::string name = {};
  /// How much worse it is than that of the uncompressed model, in its own unit; below 0 if it is
  /// better.
  Estimate loss = {};
  double value = 0;
  double reference = 0;  ///< of the uncompressed model
  /// Whether it is one number for all samples. The error of the loss is then that of the metric's
  /// own randomness, and says nothing of other samples.
  bool whole = false;
  /// Otherwise the largest difference between values of samples: what one sample may be worth.
  double range = 0;
  bool operator==(const MetricQuality&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("name", self.name, "name of the metric");
    visit("loss", self.loss, "how much worse it is than that of the uncompressed model");
    visit("value", self.value, "value");
    visit("reference", self.reference, "of the uncompressed model");
    visit("whole", self.whole, "whether it is one number for all samples");
    visit("range", self.range, "largest difference between values of samples");
  }
};

/// How far outputs are from those of the uncompressed model and from the labels.
struct Quality {
  std::vector<OutputQuality> outputs = {};
  /// Share of labels hit, in [0, 1]; of several labelled outputs, of that which lost most.
  std::optional<double> accuracy = {};
  std::optional<double> reference_accuracy = {};  ///< of the uncompressed model
  double accuracy_error = 0;  ///< standard error of the difference, which is of the same samples
  std::int64_t samples = 0;
  std::vector<MetricQuality> metrics = {};  ///< the user's own
  /// Returns a loss by its name (loss.h): of the output that lost most, of one output for
  /// "NAME:OUTPUT", for accuracy_drop in percentage points, and for the name of a metric of the
  /// user its loss. Returns nothing if it is not defined for these outputs, or without labels.
  [[nodiscard]] std::optional<Estimate> Loss(std::string_view name) const;
  /// Returns the score with labels that belongs to a loss, of the same output as Loss; or nullptr.
  [[nodiscard]] const LabelScore* Score(std::string_view name) const;
  /// Returns a metric of the user, or nullptr.
  [[nodiscard]] const MetricQuality* Metric(std::string_view name) const;
  /// Returns all losses by name: those of the outputs that lost most, of several outputs those of
  /// each, and those of metrics.
  [[nodiscard]] std::map<std::string, Estimate> Losses() const;
  bool operator==(const Quality&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("outputs", self.outputs, "losses of every output");
    visit("accuracy", self.accuracy, "share of correctly classified samples");
    visit("reference_accuracy", self.reference_accuracy, "of the uncompressed model");
    visit("accuracy_error", self.accuracy_error, "of accuracy - reference_accuracy");
    visit("samples", self.samples, "samples compared");
    visit("metrics", self.metrics, "metrics of the user");
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
