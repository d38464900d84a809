#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/base/string_form.h"
#include "compiler/base/within.h"
#include "compiler/compress/distill/trainer.h"
#include "compiler/strategy/strategy.h"
#include "cost/measure/child_protocol.h"
#include "cost/model/outcome.h"
#include "gym/core/problem.h"
#include "gym/search/config.h"

namespace msc::gym {

/// Sensitivity to one decision: the effect of that decision alone on the uncompressed model.
struct LayerSensitivity {
  std::string layer;                     ///< name of the decision
  std::string choice = "int8";           ///< the choice that was tried
  std::map<std::string, double> losses;  ///< by name (cost/model/loss.h)
  std::string failure;                   ///< why losses are missing; empty if they are not
  static void Fields(auto& self, auto& visit) {
    visit("layer", self.layer, "name of the decision");
    visit("choice", self.choice, "its choice");
    visit("losses", self.losses, "distances from the uncompressed model");
    visit("failure", self.failure, "why there are no losses");
  }
};

/// A candidate of the final measurement, on the samples of finalists.
struct Finalist {
  std::uint64_t trial = 0;
  Strategy strategy;
  Result<cost::Outcome> result = Failure{};
  static void Fields(auto& self, auto& visit) {
    visit("trial", self.trial, "number of the trial");
    visit("strategy", self.strategy, "strategy that was measured");
    visit("result", self.result, "outcome or failure");
  }
};
[[nodiscard]] Evaluation EvaluationOf(const Finalist& finalist);

/// A trial that ranked as a finalist but violates a limit on the samples of finalists.
struct Rejected {
  std::uint64_t trial = 0;
  Result<cost::Outcome> result = Failure{};  ///< without latency
  static void Fields(auto& self, auto& visit) {
    visit("trial", self.trial, "number of the trial");
    visit("result", self.result, "outcome or failure");
  }
};

/// How many times as fast one is as another, with its 95 % interval.
struct SpeedRatio {
  double value = 1;
  double low = 1;
  double high = 1;
  /// Returns whether the interval excludes 1.
  [[nodiscard]] bool significant() const { return high < 1 || low > 1; }
  static void Fields(auto& self, auto& visit) {
    visit("value", self.value, "how many times as fast");
    visit("low", self.low, "lower end of the 95 % interval");
    visit("high", self.high, "upper end");
  }
};

/// Another target beside the finalists: with the uncompressed model, timed together with them, or
/// with the best as it is exported for that target, timed beside the same uncompressed model.
struct Compared {
  std::string target;                        ///< spec
  std::string version;                       ///< TargetFacts::version; empty if unavailable
  bool exported = false;                     ///< ran the exported best
  Result<cost::Outcome> result = Failure{};  ///< without quality
  std::optional<SpeedRatio> best;            ///< how many times as fast the best finalist is
  static void Fields(auto& self, auto& visit) {
    visit("target", self.target, "target that ran the model");
    visit("version", self.version, "version of its library, and instruction set");
    visit("exported", self.exported, "whether the model was the exported best");
    visit("result", self.result, "outcome or failure");
    visit("best", self.best, "how many times as fast the best finalist is");
  }
};

/// The winner with one decision changed, measured beside it.
struct Neighbour {
  std::string decision;                      ///< name of the decision
  std::string choice;                        ///< replaces the winner's choice
  Result<cost::Outcome> result = Failure{};  ///< on the samples of a trial
  /// Of the winner, on the same samples and timed together.
  Result<cost::Outcome> winner = Failure{};
  static void Fields(auto& self, auto& visit) {
    visit("decision", self.decision, "name of the decision");
    visit("choice", self.choice, "choice that replaces that of the winner");
    visit("result", self.result, "outcome or failure");
    visit("winner", self.winner, "result of the winner, measured beside it");
  }
};

/// A sample that the best changes much, for people.
struct ShownSample {
  cost::ChangedSample change;
  std::optional<std::int32_t> label;  ///< its class, if samples are labelled
  std::string picture;                ///< PictureOf (sample_view.h)
  std::string tokens;                 ///< TokensOf
  static void Fields(auto& self, auto& visit) {
    visit("change", self.change, "which sample, and how it changed");
    visit("label", self.label, "its label");
    visit("picture", self.picture, "a PNG in Base64, if the input is an image");
    visit("tokens", self.tokens, "the first numbers, if the input holds integers");
  }
};

/// An additional training by a recipe.
struct RecipeRepeat {
  std::uint64_t seed = 0;
  Result<cost::Outcome> result = Failure{};  ///< quality only
  static void Fields(auto& self, auto& visit) {
    visit("seed", self.seed, "seed of the order of samples");
    visit("result", self.result, "outcome or failure");
  }
};

/// A recipe that was trained several times with seeds that no trial used (recipe_finalists.h).
struct RecipeFinalist {
  std::uint64_t trial = 0;
  TrainSettings recipe;                   ///< settings of the trial's training
  std::vector<RecipeRepeat> repeats;      ///< those finished so far
  std::map<std::string, double> metrics;  ///< means over the trainings that did not fail
  /// By metric, half the width of the 95 % interval of its mean; covers the spread of trainings and
  /// the finite number of samples.
  std::map<std::string, double> margins;
  /// Means and margins on held-out samples, if these are judged separately.
  std::map<std::string, double> held_out_metrics;
  std::map<std::string, double> held_out_margins;
  static void Fields(auto& self, auto& visit) {
    visit("trial", self.trial, "number of the trial");
    JsonText recipe{self.recipe};
    visit("recipe", recipe, "settings of the training");
    visit("repeats", self.repeats, "trainings with other seeds");
    visit("metrics", self.metrics, "means over the repeats that did not fail");
    visit("margins", self.margins, "half widths of the 95 % intervals of the means");
    visit("fresh_metrics", self.held_out_metrics, "means on samples that no trial saw");
    visit("fresh_margins", self.held_out_margins, "half widths of their 95 % intervals");
  }
};

/// Results of a search after its trials. Stored in the journal (record.h), the only input of
/// `mscgym report`, and in results.json for other tools.
struct Findings {
  std::vector<LayerSensitivity> sensitivities;
  std::int64_t probed = 0;  ///< decisions with a sensitivity, or that would have one with more time
  /// Index of the first sample that judges finalists; all later ones do, too.
  std::int64_t judged_from = 0;
  std::int64_t judged = 0;  ///< number of these samples; 0 = no finalist was judged
  /// No trial used the samples from this index on; 0 = none are held out.
  std::int64_t held_out_from = 0;
  std::vector<std::string> warnings;  ///< about these samples, for a person
  std::string judged_hash;            ///< for recipes: hash of these samples and of the student
  std::vector<Finalist> finalists;
  std::vector<RecipeFinalist> recipes;  ///< for a search of recipes, instead of finalists
  std::vector<Rejected> rejected;
  std::vector<Compared> compared;
  std::optional<std::uint64_t> best;  ///< index into finalists or recipes; feasible on all samples
  /// Likewise, if there is no best: has the smallest violation.
  std::optional<std::uint64_t> nearest;
  /// What makes the best suspicious although it keeps the limits (SuspicionsOfBest).
  std::vector<std::string> suspicions;
  std::vector<Neighbour> neighbours;    ///< of the best, for decisions that no trial informs about
  std::vector<cost::Profile> profiles;  ///< of the uncompressed model and of the best
  std::vector<ShownSample> changed;     ///< the judged samples that the best changes most
  std::int64_t timings = 3;  ///< how often finalists were timed together; 0 = only in their trials
  std::int64_t timing_part = 1;        ///< each timing took one of so many parts of the time
  std::vector<std::string> shortened;  ///< for a person: what time_budget_s left no time for
  double used_s = 0;                   ///< part of time_budget_s used by then; 0 = unknown
  std::string pairs;  ///< the best's loss by saturating pair sums (PairsText); empty = none
  /// ONNX files written for the best, or for the nearest if there is no best, by name; each with
  /// what of the strategy it does not hold (ReaderModel::notes).
  std::map<std::string, std::vector<std::string>> models;
  std::map<std::string, double> kept;  ///< KeptShares of the best, if it prunes
  static void Fields(auto& self, auto& visit) {
    visit("sensitivities", self.sensitivities, "losses with one decision changed alone");
    visit("probed", self.probed,
          "number of decisions that have a sensitivity, or would with more time",
          Within{.least = 0});
    visit("judged_from", self.judged_from, "first sample that finalists are judged on",
          Within{.least = 0});
    visit("judged", self.judged, "number of samples that finalists are judged on",
          Within{.least = 0});
    visit("fresh_from", self.held_out_from,
          "first of them that no trial saw; 0 = not judged separately", Within{.least = 0});
    visit("warnings", self.warnings, "warnings about these samples");
    visit("judged_hash", self.judged_hash, "hash of these samples and of the training of recipes");
    visit("finalists", self.finalists, "candidates that were measured again together");
    visit("recipes", self.recipes, "recipes that were trained again");
    visit("rejected", self.rejected, "candidates that were judged on all samples and not timed");
    visit("compared", self.compared, "other targets, timed beside the finalists");
    visit("best", self.best, "index of the best finalist");
    visit("nearest", self.nearest,
          "index of the finalist nearest to the limits if none keeps them");
    visit("suspicions", self.suspicions,
          "what makes the best suspicious although it keeps the limits");
    visit("neighbours", self.neighbours, "the best with one decision changed");
    visit("profiles", self.profiles, "step times of the uncompressed model and of the best");
    visit("changed", self.changed, "samples that the best changes most");
    visit("timings", self.timings, "how often finalists were timed together; 0 = in their trials",
          Within{0, 1000});
    visit("timing_part", self.timing_part, "divisor of the time for each of these timings",
          Within{1, 1000});
    visit("shortened", self.shortened, "phases that time_budget_s shortened");
    visit("used_s", self.used_s, "seconds that the search has taken so far", Within{0, 1e12});
    visit("pairs", self.pairs, "overflow of the best on CPUs without VNNI");
    visit("models", self.models, "ONNX files written, with notes on what they do not hold");
    visit("kept", self.kept, "share of its channels that a layer of the best keeps");
  }
};

/// Returns what makes the best finalist or recipe suspicious (cost/quality/guard.h), one sentence
/// each; empty if there is no best or nothing does. Of a recipe, whose trainings differ, it is that
/// of the training with most suspicions, since a user trains once.
[[nodiscard]] std::vector<std::string> SuspicionsOfBest(const SearchConfig& config,
                                                        const Findings& findings);

/// Returns one line "suspicious: ..." per suspicion.
[[nodiscard]] std::string SuspicionLines(const std::vector<std::string>& suspicions);

/// Returns "accuracy_drop <= 0.3, distill_loss <= 0.1"; empty without constraints.
[[nodiscard]] std::string ConstraintText(const ObjectiveConfig& objective);
/// Returns "judged on all 200 samples, and on 101 to 200, which no trial saw, by themselves",
/// "judged on samples 101 to 200, which no trial saw", or "judged on all 200 samples, those of
/// trials included"; empty if no finalist was judged.
[[nodiscard]] std::string JudgedText(const Findings& findings);
/// Returns how finalists were timed: "together, three times over", "together, once, in 1/4 of the
/// time", or "in their trials".
[[nodiscard]] std::string TimedText(const Findings& findings);
/// Returns one line "left out or cut short, by time_budget_s: ..." per item.
[[nodiscard]] std::string ShortenedLines(const Findings& findings);
/// Returns one line "warning: ..." per warning.
[[nodiscard]] std::string WarningLines(const Findings& findings);

}  // namespace msc::gym
