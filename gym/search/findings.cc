#include "gym/search/findings.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "envs/common/evaluation.h"
#include "gym/search/losses.h"

namespace msc::gym {

Evaluation EvaluationOf(const Finalist& finalist) {
  return envs::ToEvaluation(finalist.result, StrategyHash(finalist.strategy));
}

std::vector<std::string> SuspicionsOfBest(const SearchConfig& config, const Findings& findings) {
  if (!findings.best) return {};
  if (!findings.finalists.empty()) {
    const Finalist& best = findings.finalists.at(*findings.best);
    if (!best.result.ok()) return {};
    return SuspicionsOf(config, best.result.value().quality);
  }
  std::vector<std::string> most;
  for (const RecipeRepeat& repeat : findings.recipes.at(*findings.best).repeats) {
    if (!repeat.result.ok()) continue;
    std::vector<std::string> found = SuspicionsOf(config, repeat.result.value().quality);
    if (found.size() <= most.size()) continue;
    most = std::move(found);
    for (std::string& text : most) {
      text = "trained with seed " + std::to_string(repeat.seed) + ", " + text;
    }
  }
  return most;
}

std::string SuspicionLines(const std::vector<std::string>& suspicions) {
  std::string lines;
  for (const std::string& suspicion : suspicions) lines += "suspicious: " + suspicion + '\n';
  return lines;
}

std::string ConstraintText(const ObjectiveConfig& objective) {
  std::string text;
  for (const auto& [metric, limit] : objective.subject_to) {
    text += (text.empty() ? "" : ", ") + metric + " <= " + nlohmann::json(limit).dump();
  }
  return text;
}

std::string JudgedText(const Findings& findings) {
  if (findings.judged == 0) return "";
  const std::int64_t end = findings.judged_from + findings.judged;
  const auto apart = [&](std::int64_t first) {
    return std::to_string(first + 1) + " to " + std::to_string(end) + ", which no trial saw";
  };
  if (findings.judged_from > 0) return "judged on samples " + apart(findings.judged_from);
  return "judged on all " + std::to_string(findings.judged) + " samples, " +
         (findings.held_out_from > 0 ? "and separately on samples " + apart(findings.held_out_from)
                                     : "including those of trials");
}

std::string TimedText(const Findings& findings) {
  if (findings.timings == 0) return "in their trials";
  if (findings.timings == 3) return "together, 3 times";
  const std::string text =
      "together, " +
      (findings.timings == 1 ? std::string("once") : std::to_string(findings.timings) + " times");
  return findings.timing_part == 1
             ? text
             : text + ", for 1/" + std::to_string(findings.timing_part) + " of the usual time";
}

std::string ShortenedLines(const Findings& findings) {
  std::string lines;
  for (const std::string& what : findings.shortened) {
    lines += "cut short by time_budget_s: " + what + '\n';
  }
  return lines;
}

std::string WarningLines(const Findings& findings) {
  std::string lines;
  for (const std::string& warning : findings.warnings) lines += "warning: " + warning + '\n';
  return lines;
}

}  // namespace msc::gym
