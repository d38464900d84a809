#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gym/core/problem.h"
#include "gym/study/front.h"
#include "gym/study/study.h"

namespace msc::gym {

/// A measured number with its 95 % interval.
struct Measured {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// The metric that an axis shows.
struct ReportAxis {
  std::string metric = {};              ///< "latency_ratio"
  std::string title = {};               ///< "latency relative to f32"
  std::string unit = {};                ///< "points"; may be empty
  std::optional<double> baseline = {};  ///< of the uncompressed model, in `unit`
  std::optional<double> limit = {};     ///< value <= limit is required, in `unit`
  bool counts = false;                  ///< values are whole numbers
  double scale = 1;                     ///< divisor from the metric to `unit`
  /// For a ratio to the uncompressed model, the name of its inverse: "speed". Otherwise empty.
  std::string inverse = {};
};

/// A loss of the best configuration.
struct ReportLoss {
  std::string title;   ///< "disagreement"
  std::string number;  ///< "1.20 %"
  std::string detail;  ///< its interval and its limit; may be empty
  bool bad = false;    ///< beyond its limit, or suspicious
};

/// A sample that the best configuration changes most.
struct ReportSample {
  std::string name;     ///< "sample 17"
  std::string change;   ///< "distillation loss 0.53 nats"
  std::string before;   ///< decision or values of the uncompressed model; may be empty
  std::string after;    ///< those of the best configuration; may be empty
  std::string label;    ///< may be empty
  std::string picture;  ///< a PNG in Base64; empty = none
  std::string tokens;   ///< of a text; may be empty
};

/// A file of the run directory.
struct ReportFile {
  std::string path;  ///< relative to the page
  std::string what;  ///< "the compressed model for ONNX Runtime and others"
};

/// Results at a glance. Absent = unknown.
struct ReportHeadline {
  std::string configuration = {};         ///< "trial 57"; empty = none found
  std::optional<Measured> speed_up = {};  ///< > 1 is faster than the uncompressed model
  std::optional<double> latency_ms = {};
  std::optional<double> reference_ms = {};
  std::optional<double> accuracy = {};  ///< fraction of correct labels, in [0, 1]
  std::optional<double> reference_accuracy = {};
  std::optional<double> accuracy_drop = {};  ///< percentage points, if only the drop is known
  std::optional<double> joules = {};         ///< per inference
  std::optional<double> reference_joules = {};
  std::optional<double> weight_bytes = {};
  std::optional<double> reference_weight_bytes = {};
  std::optional<double> peak_bytes = {};  ///< memory for activations
  std::optional<double> reference_peak_bytes = {};
  std::vector<ReportLoss> losses = {};
  /// Limits on other metrics, by name of the tile: "Latency" -> "limit 2 ms".
  std::map<std::string, std::string> limits = {};
  /// What the guard allows; empty = nothing was checked.
  std::string guard = {};
  /// The best configuration against other targets.
  std::vector<ReportLoss> compared = {};
  /// "1.31x as fast as it in ONNX Runtime 1.23.2", where "it" is the uncompressed model; may be
  /// empty.
  std::string rival = {};
  /// What makes the result suspicious although it keeps its limits, one sentence each.
  std::vector<std::string> suspicions = {};
  std::string constraint = {};  ///< "accuracy_drop <= 0.3"; empty = unconstrained
  bool constraint_met = false;
  bool unfinished = false;  ///< the search has trials but no final results yet
};

struct ReportLayer {
  std::string name = {};
  std::string op = {};                       ///< "Conv"
  std::string shape = {};                    ///< "1x64x14x14, 3x3"
  std::optional<double> latency_share = {};  ///< of the uncompressed model's time, in [0, 1]
  std::string chosen = {};                   ///< precision in the strategy
  std::string achieved = {};                 ///< precision it ran in; empty = unknown
  std::optional<double> sensitivity =
      {};  ///< quality lost if this layer alone runs in its lower precision
  std::optional<double> kept = {};       ///< fraction of channels kept, if pruning was decided
  std::string how = {};                  ///< other choices: "on native"; may be empty
  std::optional<double> before_ms = {};  ///< time of its steps in the uncompressed model
  std::optional<double> after_ms = {};   ///< in the best configuration
};

/// A step of a compiled model, timed alone.
struct ReportStep {
  std::string name = {};
  std::string target = {};     ///< which target provides it
  std::string precision = {};  ///< of its arithmetic; empty for a pure copy
  std::string nodes = {};      ///< nodes it computes; empty for a conversion
  double ms = 0;
};

/// A configuration of the final end-to-end measurement.
struct ReportFinalist {
  std::string label = {};  ///< "trial 57", "all int8", "ONNX Runtime f32"
  std::optional<Measured> speed_up = {};
  std::optional<double> latency_ms = {};
  std::optional<double> weight_bytes = {};
  bool feasible = true;
  std::string note = {};  ///< "difference not significant"; for a recipe its choices
  std::optional<std::uint64_t> trial = {};  ///< for recipes
  /// By final axis. For recipes means over trainings, shown instead of speed, latency and weights.
  std::vector<std::optional<Measured>> means = {};
};

struct ReportFact {
  std::string name = {};
  std::string value = {};
};

/// A time span in which a worker was busy.
struct ReportTask {
  std::int64_t worker = 0;
  std::optional<std::uint64_t> trial = {};  ///< the trial it worked on; absent = none
  double from = 0;                          ///< seconds since the start
  double to = 0;
  std::string end = {};  ///< "result", "nothing" or "lost"
};

/// A command for the reader to copy.
struct ReportCommand {
  std::string purpose = {};  ///< "search again"
  std::string line = {};
};

/// The kind of trials of a search.
enum class ReportSubject : unsigned char {
  kModel,   ///< compressed models, measured beside the uncompressed one
  kRecipe,  ///< training recipes: no speed, no layers, choices are words
};

/// Content of a report. Plain data, none of it trusted: text may hold anything, numbers that are
/// not finite are shown as absent, and indices out of range are ignored.
struct ReportInput {
  std::string model = {};    ///< name of the model
  std::string created = {};  ///< date and time as text
  std::string tool = {};     ///< "mscgym 0.1.0"
  ReportSubject subject = ReportSubject::kModel;
  ReportHeadline headline = {};
  ReportAxis latency = {};  ///< first objective, usually latency
  /// Second objective or a constrained metric; empty metric = no scatter chart.
  ReportAxis quality = {};
  std::vector<ReportAxis> others = {};   ///< further metrics, for tables and tips
  std::string sensitivity = {};          ///< unit of layer sensitivities: "KL in nats"
  std::vector<Decision> decisions = {};  ///< of the trials' assignments
  StudyResult study = {};                ///< trials, best, Pareto set (ParetoOf)
  std::vector<bool> feasible = {};       ///< by trial index
  /// By trial index: violated limits, "accuracy_drop <= 0.3".
  std::vector<std::string> missed = {};
  /// By trial index: what was estimated before the trials, on the latency and the quality axis, in
  /// their units; empty = unknown.
  std::vector<std::optional<double>> estimated_latency = {};
  std::vector<std::optional<double>> estimated_quality = {};
  std::optional<std::uint64_t> winner = {};       ///< trial number of the final winner
  std::vector<std::optional<double>> alone = {};  ///< by decision: quality lost by it alone
  /// By decision: a sentence on the winner measured with another choice; may be empty.
  std::vector<std::string> instead = {};
  /// By decision: a sentence on choices that are unavailable, and why; may be empty.
  std::vector<std::string> unsupported = {};
  /// By decision: why the winner's choice has no effect; empty if it has.
  std::vector<std::string> moot = {};
  std::vector<ReportLayer> layers = {};       ///< in network order
  std::vector<ReportStep> steps_before = {};  ///< of the uncompressed model, in order
  std::vector<ReportStep> steps_after = {};   ///< of the best; empty = unknown
  std::string volume = {};  ///< "hypervolume 0.2 below latency 1, loss 0.5"; may be empty
  std::vector<SourceShare> sources = {};  ///< sources of proposals; empty = unknown
  std::vector<ReportFinalist> finalists = {};
  std::vector<ReportAxis> final_axes =
      {};  ///< axes of the finalists; for models, shown besides speed and weights
  /// For models: how finalists were timed; empty = "together, three times over".
  std::string timed = {};
  /// How finalists were judged: "judged on all 200 samples"; may be empty.
  std::string judged = {};
  std::string left_out = {};             ///< "Not among them: trials 3, 7" and why; may be empty
  std::vector<ReportTask> tasks = {};    ///< of the workers; empty = unknown
  std::vector<ReportFact> machine = {};  ///< CPU, threads, versions, hashes
  std::string config = {};               ///< resolved configuration, as JSON text
  std::vector<ReportCommand> commands = {};
  std::vector<ReportCommand> shipping = {};  ///< how to use the best configuration
  std::vector<ReportFile> files = {};        ///< of the run directory
  std::vector<ReportSample> changed = {};    ///< the most changed one first
};

/// Returns one self-contained HTML page that loads no other file. Its content security policy
/// forbids any script but its own. All text of `input` is escaped, and characters that would
/// reorder or hide text are shown by their code point.
[[nodiscard]] std::string RenderReport(const ReportInput& input);

}  // namespace msc::gym
