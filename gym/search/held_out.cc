#include "gym/search/held_out.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "envs/common/evaluation.h"
#include "gym/search/losses.h"

namespace msc::gym {
namespace {

/// Returns whether some of the first `learned` calibration samples are among the judging samples
/// with index `first` to `end` - 1.
bool Calibrated(const SearchConfig& config, std::int64_t learned, std::int64_t first,
                std::int64_t end) {
  const cost::DataConfig& judged = config.quality.data;
  const cost::DataConfig& calibrated = config.calibration.data;
  if (judged.images != calibrated.images || judged.shuffle != calibrated.shuffle) return false;
  const std::int64_t count = calibrated.count > 0 ? std::min(calibrated.count, learned) : learned;
  return calibrated.first + count > judged.first + first && calibrated.first < judged.first + end;
}

std::string OverlapText(const SearchConfig& config) {
  return "samples of '" + config.quality.data.images + "' that are used for calibration";
}

constexpr const char* kMove = "move 'calibration.data.first' or 'quality.data.first'";

FinalPlan PlanOthers(const SearchConfig& config, std::int64_t learned, const SampleCounts& counts) {
  if (counts.trials >= counts.all) {
    throw UserError("'quality.finalists' is \"others\", but trials may use " +
                    std::to_string(counts.trials) + " samples and there are only " +
                    std::to_string(counts.all) +
                    ": lower 'quality.samples' or 'quality.most_samples'");
  }
  if (Calibrated(config, learned, counts.trials, counts.all)) {
    throw UserError("finalists would be judged on " + OverlapText(config) + ": " + kMove);
  }
  return {.trials = counts.trials, .from = counts.trials};
}

}  // namespace

SampleCounts CountsOf(const SearchConfig& config, std::int64_t all) {
  const QualityConfig& quality = config.quality;
  // By default, half of the samples are held out (docs/decisions/0008).
  return {.trials =
              std::max(quality.samples, quality.most_samples > 0 ? quality.most_samples : all / 2),
          .all = all};
}

FinalPlan PlanFinals(const SearchConfig& config, std::int64_t learned, const SampleCounts& counts) {
  if (config.quality.finalists == "others") return PlanOthers(config, learned, counts);
  FinalPlan plan;
  if (Calibrated(config, learned, 0, counts.all)) {
    plan.warnings.push_back("finalists are judged on " + OverlapText(config) +
                            ", so they may look better than they are: " + kMove);
  }
  if (config.quality.finalists == "all") return plan;
  const std::int64_t held_out = std::max<std::int64_t>(counts.all - counts.trials, 0);
  if (held_out < kLeastHeldOut) {
    plan.warnings.push_back(
        "finalists are judged on samples that trials saw: trials may use " +
        std::to_string(std::min(counts.trials, counts.all)) + " of " + std::to_string(counts.all) +
        " samples, which leaves fewer than " + std::to_string(kLeastHeldOut) +
        "; lower 'quality.samples' or 'quality.most_samples', or give more samples");
  } else if (!Calibrated(config, learned, counts.trials, counts.all)) {
    plan.trials = plan.held_out = counts.trials;
  }
  return plan;
}

std::string ContradictionText(const SearchConfig& config, const cost::Outcome& outcome) {
  if (!outcome.held_out) return "";
  std::string text;
  for (const std::string& metric : cost::MissedLimits(*outcome.held_out, LimitsOf(config))) {
    text += (text.empty() ? "on the samples that no trial saw, " : ", and ") + metric +
            " <= " + nlohmann::json(config.objective.subject_to.at(metric)).dump() +
            " is missed by more than the 95 % interval";
  }
  return text;
}

}  // namespace msc::gym
