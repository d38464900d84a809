#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/core/problem.h"
#include "gym/study/front.h"
#include "gym/study/study.h"

namespace msc::gym {

/// A measured number and the ends of its 95 % interval.
struct Measured {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// Which metric of the trials an axis shows.
struct ReportAxis {
  std::string metric = {};              ///< "latency_ratio"
  std::string title = {};               ///< "latency relative to f32"
  std::string unit = {};                ///< "points"; may be empty
  std::optional<double> baseline = {};  ///< what the uncompressed model has, in `unit`
  std::optional<double> limit = {};     ///< value <= limit is asked for, in `unit`
  bool counts = false;                  ///< values are whole numbers
  double scale = 1;                     ///< what a metric is divided by to be in `unit`
  /// Of a ratio to the uncompressed model what 1 / it is: "speed". Empty = no such ratio.
  std::string inverse = {};
};

/// What became of the model, in one glance. Absent = not known.
struct ReportHeadline {
  std::string configuration = {};         ///< "trial 57"; empty = none was found
  std::optional<Measured> speed_up = {};  ///< > 1 is faster than the uncompressed model
  std::optional<double> latency_ms = {};
  std::optional<double> reference_ms = {};
  std::optional<double> accuracy = {};  ///< share of labels hit, in [0, 1]
  std::optional<double> reference_accuracy = {};
  std::optional<double> accuracy_drop = {};  ///< points lost, where that is all that is known
  std::optional<double> joules = {};         ///< a call
  std::optional<double> reference_joules = {};
  std::optional<double> weight_bytes = {};
  std::optional<double> reference_weight_bytes = {};
  std::string constraint = {};  ///< "accuracy_drop <= 0.3"; empty = none was asked for
  bool constraint_met = false;
  bool unfinished = false;  ///< the search has trials, and has not come to its results
};

struct ReportLayer {
  std::string name = {};
  std::string op = {};                       ///< "Conv"
  std::string shape = {};                    ///< "1x64x14x14, 3x3"
  std::optional<double> latency_share = {};  ///< of the uncompressed model's time, in [0, 1]
  std::string chosen = {};                   ///< precision the strategy asks for
  std::string achieved = {};                 ///< precision it ran in; empty = not known
  std::optional<double> sensitivity =
      {};                           ///< what the quality loses if this layer alone is lowered
  std::optional<double> kept = {};  ///< share of its channels that stay, where that was decided
  std::string how = {};             ///< what else was chosen: "on native"; empty = nothing
  std::optional<double> before_ms = {};  ///< of the steps that compute it in the uncompressed model
  std::optional<double> after_ms = {};   ///< in the best configuration
};

/// A step of a compiled model, as it ran alone.
struct ReportStep {
  std::string name = {};
  std::string target = {};     ///< who made it
  std::string precision = {};  ///< what it computed in; empty where it only moves data
  std::string nodes = {};      ///< what it computed; empty where it only converts
  double ms = 0;
};

/// One that was measured again at the end, end to end.
struct ReportFinalist {
  std::string label = {};  ///< "trial 57", "all int8", "ONNX Runtime f32"
  std::optional<Measured> speed_up = {};
  std::optional<double> latency_ms = {};
  std::optional<double> weight_bytes = {};
  bool feasible = true;
  std::string note = {};  ///< "difference not significant"; of recipes, what they are
  std::optional<std::uint64_t> trial = {};  ///< of recipes
  /// By final axis; of recipes over trainings, in place of speed, latency and weights.
  std::vector<std::optional<Measured>> means = {};
};

struct ReportFact {
  std::string name = {};
  std::string value = {};
};

/// How long a worker was busy with something.
struct ReportTask {
  std::int64_t worker = 0;
  std::optional<std::uint64_t> trial = {};  ///< that it was about; absent = none
  double from = 0;                          ///< seconds since the start
  double to = 0;
  std::string end = {};  ///< "result", "nothing" or "lost"
};

/// A command that a reader can copy.
struct ReportCommand {
  std::string purpose = {};  ///< "search again"
  std::string line = {};
};

/// What the trials of a search are.
enum class ReportSubject : unsigned char {
  kModel,   ///< compressed models, measured beside the uncompressed one
  kRecipe,  ///< ways to train one: no speed, no layers, and choices that are words
};

/// All that a report shows. Plain data; nothing in it is trusted: text may hold anything, numbers
/// that are not finite are shown as absent, indices out of range are left out.
struct ReportInput {
  std::string model = {};    ///< name of the model
  std::string created = {};  ///< date and time as text
  std::string tool = {};     ///< "mscgym 0.1.0"
  ReportSubject subject = ReportSubject::kModel;
  ReportHeadline headline = {};
  ReportAxis latency = {};              ///< the first metric that is sought, as a rule latency
  ReportAxis quality = {};              ///< the second, or a limited one; empty metric = no scatter
  std::vector<ReportAxis> others = {};  ///< further metrics, in tables and for pointing at
  std::string sensitivity = {};         ///< what a layer's sensitivity measures: "KL in nats"
  std::vector<Decision> decisions = {};      ///< of the trials' assignments
  StudyResult study = {};                    ///< trials, best, Pareto set (ParetoOf)
  std::vector<bool> feasible = {};           ///< one flag a trial, by index
  std::vector<std::string> missed = {};      ///< by index: limits not kept, "accuracy_drop <= 0.3"
  std::optional<std::uint64_t> winner = {};  ///< number of the trial that won in the end
  std::vector<std::optional<double>> alone = {};  ///< by decision: quality lost by it alone
  /// By decision: what measuring the winner with another choice told, a sentence; may be empty.
  std::vector<std::string> instead = {};
  /// By decision: choices that were not offered, and why, a sentence; may be empty.
  std::vector<std::string> lacked = {};
  /// By decision: why what the winner chose has no effect; empty where it has.
  std::vector<std::string> moot = {};
  std::vector<ReportLayer> layers = {};       ///< in the order of the network
  std::vector<ReportStep> steps_before = {};  ///< of the uncompressed model, in their order
  std::vector<ReportStep> steps_after = {};   ///< of the best; empty = not known
  std::string volume = {};  ///< "hypervolume 0.2 below latency 1, loss 0.5"; may be empty
  std::vector<SourceShare> sources = {};  ///< who proposed; empty = not known
  std::vector<ReportFinalist> finalists = {};
  std::vector<ReportAxis> final_axes =
      {};                     ///< what finalists show; of models besides speed and weights
  std::string timed = {};     ///< of models: "together, three times over"; empty = that
  std::string judged = {};    ///< "judged on all 200 samples": finalists are; may be empty
  std::string left_out = {};  ///< "Not among them: trials 3, 7": who, and why; may be empty
  std::vector<ReportTask> tasks = {};    ///< what workers did; empty = not known
  std::vector<ReportFact> machine = {};  ///< CPU, threads, versions, hashes
  std::string config = {};               ///< resolved configuration, as JSON text
  std::vector<ReportCommand> commands = {};
};

/// One HTML page that needs nothing beside itself: no network, no other file. It forbids itself any
/// script but its own (content security policy), and all text of `input` is escaped; characters
/// that would reorder or hide text are shown by their code point.
[[nodiscard]] std::string RenderReport(const ReportInput& input);

}  // namespace msc::gym
