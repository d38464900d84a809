#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "gym/report/marks.h"
#include "gym/report/precision.h"
#include "gym/report/sections.h"

namespace msc::gym {

namespace {

constexpr std::string_view kConverting = "converting";
constexpr std::string_view kMoving = "moving data";

std::vector<ReportStep> Usable(const std::vector<ReportStep>& steps) {
  std::vector<ReportStep> usable;
  for (const ReportStep& step : steps) {
    // Comparisons with NaN are false, so this drops it too; the bound keeps sums finite.
    if (step.ms > 0 && step.ms < 1e12) usable.push_back(step);
  }
  return usable;
}

/// Returns the class of a step: the precision that it computes in, or converting or moving.
std::string KindOf(const ReportStep& step) {
  if (step.nodes.empty()) return std::string(kConverting);
  return step.precision.empty() ? std::string(kMoving) : step.precision;
}

double Total(const std::vector<ReportStep>& steps) {
  double total = 0;
  for (const ReportStep& step : steps) total += step.ms;
  return total;
}

std::map<std::string, double> ByKind(const std::vector<ReportStep>& steps) {
  std::map<std::string, double> times;
  for (const ReportStep& step : steps) times[KindOf(step)] += step.ms;
  return times;
}

Html ClassOf(const std::string& kind, const PrecisionColors& colors) {
  if (kind == kConverting) return Html{"converting"};
  return kind == kMoving ? Html{"moving"} : colors.ClassOf(kind);
}

/// Draws one block per step on a scale where `longest` fills the width.
Html Bar(const std::string& label, const std::vector<ReportStep>& steps, double longest,
         const PrecisionColors& colors) {
  if (steps.empty()) return {};
  const double total = Total(steps);
  Html cells;
  for (const ReportStep& step : steps) {
    const std::string kind = KindOf(step);
    const std::string tip = (step.nodes.empty() ? step.name : step.nodes) + "\n" + step.target +
                            ", " + kind + "\n" + FormatSignificant(step.ms, 3) + " ms, " +
                            FormatPercent(step.ms / total, 1) + " of " + label;
    cells += Markup("<span class='cell ", ClassOf(kind, colors),
                    "' style='flex-grow:", std::max(100 * step.ms / total, 0.01), "' data-tip='",
                    tip, "'></span>");
  }
  return Markup("<p class='over'>", label, ": ", FormatSignificant(total, 4), " ms in ",
                steps.size(), " steps</p><div class='strip' role='group' aria-label='Steps of the ",
                label, ", each as wide as its time' style='width:", 100 * total / longest, "%'>",
                cells, "</div>");
}

Html Rows(const std::map<std::string, double>& before, const std::map<std::string, double>& after,
          double longest, const PrecisionColors& colors) {
  std::map<std::string, double> kinds = before;
  kinds.insert(after.begin(), after.end());
  const auto cell = [&](const std::map<std::string, double>& times, const std::string& kind) {
    const auto it = times.find(kind);
    const double ms = it == times.end() ? 0 : it->second;
    return times.empty() ? BarCell(std::nullopt, longest, FormatFixed(std::nullopt, 0))
                         : BarCell(ms, longest, FormatSignificant(ms, 3));
  };
  Html rows;
  for (const auto& [kind, time] : kinds) {
    rows += Markup("<tr><td><span class='chip ", ClassOf(kind, colors), "'>", kind, "</span></td>",
                   cell(before, kind), cell(after, kind), "</tr>");
  }
  return rows;
}

}  // namespace

Html BreakdownSection(const ReportInput& input) {
  const std::vector<ReportStep> before = Usable(input.steps_before);
  const std::vector<ReportStep> after = Usable(input.steps_after);
  if (before.empty() && after.empty()) return {};
  const PrecisionColors colors(input);
  // Both bars have the same scale, so their lengths compare.
  const double longest = std::max(Total(before), Total(after));
  return Markup(
      "<section id='breakdown'><h2>Where the time goes</h2><p class='muted'>Each block is a step "
      "of the compiled model. Steps were timed one by one, so their sum differs from the latency. "
      "Steps of the kind 'converting' only change a type or a layout; those of the kind 'moving "
      "data' copy values without arithmetic.</p>",
      Bar("uncompressed model", before, longest, colors),
      Bar("best configuration", after, longest, colors),
      "<div class='scroll'><table class='sortable'><thead><tr><th>kind</th><th class='num'>"
      "uncompressed (ms)</th><th class='num'>best (ms)</th></tr></thead><tbody>",
      Rows(ByKind(before), ByKind(after), longest, colors), "</tbody></table></div></section>");
}

}  // namespace msc::gym
