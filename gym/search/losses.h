#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cost/model/outcome.h"
#include "cost/quality/verdict.h"
#include "gym/search/config.h"

namespace msc::gym {

/// Returns whether a metric of the objective is a loss: one of loss.h, or of the user's own
/// metrics.
[[nodiscard]] bool IsLoss(const SearchConfig& config, std::string_view metric);

/// Returns the limits of the objective on losses.
[[nodiscard]] cost::QualityLimits LimitsOf(const SearchConfig& config);

/// Returns the loss by which layers and trials are compared in reports: the first that the search
/// minimizes or limits, else distill_loss.
[[nodiscard]] std::string MainLossOf(const SearchConfig& config);

/// Returns the losses that tables show, of those in `measured`: the main one, those with limits,
/// those of the user's own metrics, and what a reader has to know in any case: disagreement and
/// relative error.
[[nodiscard]] std::vector<std::string> ShownLosses(const SearchConfig& config,
                                                   const std::vector<std::string>& measured);

/// Returns what makes a result suspicious (cost/quality/guard.h); empty if nothing does.
[[nodiscard]] std::vector<std::string> SuspicionsOf(const SearchConfig& config,
                                                    const cost::Quality& quality);

/// Returns all losses of the outputs that lost most, the user's own metrics, and scores with
/// labels: "distillation loss 0.012 nats, disagreement 2.40 %, relative error 0.08, wer 8.2
/// (before 7.9), accuracy 90.10 % (before 90.40 %)".
[[nodiscard]] std::string QualityText(const cost::Quality& quality);
/// Returns "90.10 % (before 90.40 %)", the score with labels that belongs to a loss; empty if there
/// is none.
[[nodiscard]] std::string ScoreText(const cost::Quality& quality, std::string_view loss);
/// Returns the same for each of several outputs, one line each: "boxes (regression): ...". Empty
/// for a single output.
[[nodiscard]] std::vector<std::string> OutputLines(const cost::Quality& quality);

/// Returns a loss with its unit: "0.0123 nats", "2.40 %", "+0.30 points".
[[nodiscard]] std::string FormatLoss(std::string_view name, double value);
/// Returns a loss with half its 95 % interval: "0.0123 ± 0.0004 nats".
[[nodiscard]] std::string FormatLoss(std::string_view name, const cost::Estimate& loss);
/// Returns the same for a loss that `quality` has, but for a metric that is one number for all
/// samples, of which there is no interval: "0.3 (one number for all samples: no interval)".
[[nodiscard]] std::string IntervalText(const cost::Quality& quality, std::string_view name);

}  // namespace msc::gym
