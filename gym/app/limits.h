#pragma once

#include <string>
#include <vector>

#include "cost/model/outcome.h"
#include "cost/quality/verdict.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}  // namespace CLI

namespace msc::gym {

// Limits on losses, given as --limit LOSS=VALUE. LOSS is a name of cost/model/loss.h, also as
// LOSS:OUTPUT, or that of a user's own metric.

/// Adds --limit, which may be repeated. UserError, as ReadLimit, while the command line is parsed.
void AddLimitOption(CLI::App& command, cost::QualityLimits& limits);

/// Reads "LOSS=VALUE" into `limits`. UserError for other texts, for numbers that are not finite,
/// and for limits below 0 of losses that are never below 0.
void ReadLimit(const std::string& text, cost::QualityLimits& limits);

/// UserError for a limit on what is no loss at all, whatever the outputs are. `metrics`: names of
/// the user's own.
void CheckLimitNames(const cost::QualityLimits& limits, const std::vector<std::string>& metrics);

/// UserError for a limit on a loss that is not among `losses`, those that the outputs have.
void CheckLimits(const cost::QualityLimits& limits, const std::vector<std::string>& losses);

/// A limit, and the loss that was measured.
struct LimitVerdict {
  std::string loss;
  double limit = 0;
  double value = 0;
  [[nodiscard]] bool kept() const { return value <= limit; }
};
/// Returns a verdict for each limit. UserError as CheckLimits.
[[nodiscard]] std::vector<LimitVerdict> JudgeLimits(const cost::QualityLimits& limits,
                                                    const cost::Quality& quality);

/// Returns "disagreement 3.10 %, more than the limit 2.00 %", or "disagreement 1.10 % keeps the
/// limit 2.00 %".
[[nodiscard]] std::string LimitText(const LimitVerdict& verdict);

}  // namespace msc::gym
