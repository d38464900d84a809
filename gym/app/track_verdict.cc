#include "gym/app/track_verdict.h"

#include <algorithm>
#include <span>

#include "compiler/base/formatted.h"
#include "cost/model/loss.h"
#include "gym/search/losses.h"

namespace msc::gym {
namespace {

/// Returns the stages whose values should equal those of their references.
std::span<const cost::StageComparison> Compiled(const TrackReport& report) {
  return std::span(report.stages).subspan(report.strategy ? 1 : 0);
}

bool Departs(const TrackReport& report) {
  return std::ranges::any_of(Compiled(report),
                             [](const auto& stage) { return stage.first.has_value(); }) ||
         std::ranges::any_of(report.bisections, [](const auto& bisection) {
           return bisection.second.blame != cost::Blame::kNone;
         });
}

/// Returns the line about a stage whose outputs do not hold.
std::string BrokenLine(const StageOutputs& stage) {
  const std::string in = ": in '" + stage.stage + "' ";
  if (!stage.judged.failure.empty()) return "Wrong outputs" + in + stage.judged.failure + ".\n";
  std::string reasons;
  const auto add = [&](const std::string& reason) {
    reasons += (reasons.empty() ? "" : "; ") + reason;
  };
  for (const LimitVerdict& limit : stage.limits) {
    if (!limit.kept()) add(LimitText(limit));
  }
  const bool missed = !reasons.empty();
  for (const std::string& suspicion : stage.suspicions) add(suspicion);
  const char* what = !missed                    ? "Suspicious"
                     : stage.suspicions.empty() ? "Limit missed"
                                                : "Limit missed and suspicious";
  return what + in + reasons + ".\n";
}

/// Returns the line about a stage whose outputs hold.
std::string HeldLine(const StageOutputs& stage) {
  const cost::Quality& quality = stage.judged.quality;
  std::string text =
      "Outputs hold: in '" + stage.stage + "' on " + std::to_string(quality.samples) + " samples ";
  std::string rest;
  if (const auto changed = quality.Loss(cost::kDisagreement)) {
    text += changed->value == 0
                ? "no decision changes"
                : "decisions change by " + FormatLoss(cost::kDisagreement, *changed);
    rest = ", ";
  }
  if (const auto error = quality.Loss(cost::kRelativeError)) {
    text += rest + "relative error " + FormatLoss(cost::kRelativeError, *error);
  }
  if (stage.limits.size() == 1) text += "; the limit is kept";
  if (stage.limits.size() > 1) text += "; all limits are kept";
  return text + ".\n";
}

std::string OutputLines(const OutputsReport& outputs) {
  if (!outputs.not_judged.empty()) return "Outputs are not judged: " + outputs.not_judged + ".\n";
  std::string broken;
  std::string held;
  for (const StageOutputs& stage : outputs.stages) {
    (stage.hold() ? held : broken) += stage.hold() ? HeldLine(stage) : BrokenLine(stage);
  }
  return broken + held;
}

/// Returns the first value of a stage beyond the tolerance, with its error.
std::string FirstText(const cost::StageComparison& stage) {
  const cost::TensorError& first = stage.errors[*stage.first];
  return "value '" + first.name + "' (" + first.op +
         "): " + Formatted("error %.3g of its range", first.relative);
}

std::string DepartureLine(const cost::StageComparison& stage, double tolerance) {
  std::string text = "'" + stage.stage + "' departs from '" + stage.reference + "' at " +
                     FirstText(stage) + Formatted(", tolerance %.3g", tolerance);
  if (*stage.first > 0) {
    text += "; the value before it, '" + stage.errors[*stage.first - 1].name + "', is correct";
  }
  return text + ".\n";
}

/// Returns the value with the largest error; nullptr if none was compared.
const cost::TensorError* LargestError(std::span<const cost::StageComparison> stages) {
  const cost::TensorError* largest = nullptr;
  for (const cost::StageComparison& stage : stages) {
    for (const cost::TensorError& error : stage.errors) {
      if (largest == nullptr || error.relative > largest->relative) largest = &error;
    }
  }
  return largest;
}

std::string ValueLines(const TrackReport& report) {
  std::string text;
  std::size_t compared = 0;
  for (const cost::StageComparison& stage : Compiled(report)) {
    compared += stage.errors.size();
    if (stage.first) text += DepartureLine(stage, report.tolerance);
  }
  for (const auto& [stage, result] : report.bisections) {
    if (result.blame != cost::Blame::kNone) text += stage + ": " + CauseText(result, stage) + "\n";
  }
  if (!text.empty()) return text;
  const cost::TensorError* largest = LargestError(Compiled(report));
  if (largest == nullptr) return "No value can be compared.\n";
  return "No value departs: of " + std::to_string(compared) +
         " comparisons, the largest error is " +
         Formatted("%.3g of a value's range", largest->relative) + ", of '" + largest->name +
         "' (" + largest->op + ")" + Formatted("; tolerance %.3g.\n", report.tolerance);
}

}  // namespace

std::string TrackComplaint(const TrackReport& report) {
  const auto any = [&](const auto& holds) {
    return std::ranges::any_of(report.outputs.stages, holds);
  };
  if (any([](const StageOutputs& stage) { return !stage.judged.failure.empty(); })) {
    return "wrong outputs";
  }
  if (any([](const StageOutputs& stage) {
        return !std::ranges::all_of(stage.limits, &LimitVerdict::kept);
      })) {
    return "limit missed";
  }
  if (any([](const StageOutputs& stage) { return !stage.suspicions.empty(); })) {
    return "suspicious";
  }
  return Departs(report) ? "values depart" : "";
}

std::string TrackVerdict(const TrackReport& report) {
  std::string text = OutputLines(report.outputs) + ValueLines(report);
  if (report.strategy && report.stages[0].first) {
    text += "By the strategy, '" + report.stages[0].stage + "' differs from '" +
            report.stages[0].reference + "', first at " + FirstText(report.stages[0]) + ".\n";
  }
  return text.substr(0, text.size() - 1);
}

}  // namespace msc::gym
