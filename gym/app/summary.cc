#include "gym/app/summary.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include "compiler/base/formatted.h"
#include "cost/quality/guard.h"
#include "gym/app/next_command.h"
#include "gym/app/quality_print.h"

namespace msc::gym {
namespace {

/// Returns whether a model with this strategy has less to compute than the f32 model.
bool ShouldBeFaster(const Strategy& strategy) {
  const auto is_cut = [](const auto& group) {
    return std::ssize(group.second.keep) < group.second.units;
  };
  const auto is_narrow = [](const auto& layer) { return layer.second != Precision::kF32; };
  return std::ranges::any_of(strategy.prune.groups, is_cut) ||
         std::ranges::any_of(strategy.quantize.layers, is_narrow);
}

std::vector<std::string> FindProblems(const Summary& summary, const SummaryInput& input) {
  std::vector<std::string> problems;
  if (summary.quality) {
    for (const std::string& suspicion :
         cost::FindSuspicions(*summary.quality, input.judged->limits, input.judged->guard)) {
      problems.push_back("suspicious: " + suspicion);
    }
  }
  for (const LimitVerdict& limit : summary.limits) {
    if (!limit.kept()) problems.push_back("limit: " + LimitText(limit));
  }
  if (summary.speed.slower() && ShouldBeFaster(*input.strategy)) {
    problems.push_back("slower: " + SpeedText(summary.speed));
  }
  return problems;
}

}  // namespace

Summary Summarize(const SummaryInput& input, const AppContext& context) {
  return Summarize(input,
                   MeasureSpeed({.f32 = input.f32,
                                 .compressed = input.compressed,
                                 .samples = input.samples,
                                 .run = input.run,
                                 .targets = input.targets},
                                input.speed),
                   context);
}

Summary Summarize(const SummaryInput& input, Speed speed, const AppContext& context) {
  Summary summary{.written = input.written,
                  .plan = input.plan,
                  .weight_bytes = CountContents(*input.compressed).weight_bytes,
                  .f32_weight_bytes = CountContents(*input.f32).weight_bytes,
                  .speed = std::move(speed),
                  .quality = input.quality};
  if (summary.quality) summary.limits = JudgeLimits(input.judged->limits, *summary.quality);
  summary.problems = FindProblems(summary, input);
  summary.next = NextCommand({.model = input.model,
                              .shapes = input.shapes,
                              .onnx = summary.written ? summary.written->file : "",
                              .plan = input.plan,
                              .target = input.run.target,
                              .threads = input.run.threads,
                              .slower = summary.speed.slower() && ShouldBeFaster(*input.strategy)},
                             context.words, *input.targets);
  return summary;
}

void PrintSummary(const Summary& summary) {
  std::printf("\n");
  if (summary.written) PrintWritten(*summary.written);
  if (!summary.plan.empty()) std::printf("wrote strategy %s\n", summary.plan.c_str());
  if (!summary.written && summary.plan.empty()) std::printf("nothing was written\n");
  std::printf("size: %.3f MB of weights, %.1f %% of the f32 model's\n",
              static_cast<double>(summary.weight_bytes) * 1e-6,
              100 * static_cast<double>(summary.weight_bytes) /
                  static_cast<double>(std::max<std::int64_t>(summary.f32_weight_bytes, 1)));
  std::printf("speed: %s\n", SpeedText(summary.speed).c_str());
  if (summary.quality) {
    std::printf("agreement on ");
    PrintQuality(*summary.quality);
  } else {
    std::printf("agreement: not measured; give samples with --test\n");
  }
  for (const LimitVerdict& limit : summary.limits) {
    if (limit.kept()) std::printf("limit: %s\n", LimitText(limit).c_str());
  }
  std::printf("next: %s\n", summary.next.c_str());
}

void AddSummaryJson(const Summary& summary, nlohmann::json& json) {
  if (summary.written) json["written"] = WrittenJson(*summary.written);
  if (!summary.plan.empty()) json["strategy"] = summary.plan;
  json["size"] = {{"weight_bytes", summary.weight_bytes},
                  {"f32_weight_bytes", summary.f32_weight_bytes}};
  AddSpeedJson(summary.speed, json);
  if (summary.quality) json["quality"] = QualityJson(*summary.quality);
  for (const LimitVerdict& limit : summary.limits) {
    json["limits"].push_back({{"loss", limit.loss},
                              {"limit", limit.limit},
                              {"value", limit.value},
                              {"kept", limit.kept()}});
  }
  json["problems"] = summary.problems;
  json["next"] = summary.next;
}

void ReportProblems(const Summary& summary, AppContext& context) {
  std::fflush(stdout);  // so that these lines come last
  for (const std::string& problem : summary.problems) {
    std::fprintf(stderr, "%s\n", problem.c_str());
    context.exit_code = kExitInfeasible;
  }
}

}  // namespace msc::gym
