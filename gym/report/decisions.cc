#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gym/report/precision.h"
#include "gym/report/sections.h"

namespace msc::gym {

namespace {

/// Returns the only decision in which `other` differs; nothing if it differs in none or several.
std::optional<std::size_t> OnlyDifference(const Assignment& winner, const Assignment& other) {
  if (winner.size() != other.size()) return std::nullopt;
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < winner.size(); ++i) {
    if (winner[i] == other[i]) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

const std::string* ChoiceOf(const ReportInput& input, const Assignment& assignment,
                            std::size_t index) {
  if (index >= input.decisions.size() || index >= assignment.size()) return nullptr;
  const auto& choices = input.decisions[index].choices;
  const std::int32_t choice = assignment[index];
  if (choice < 0 || !std::cmp_less(choice, choices.size())) return nullptr;
  return &choices[static_cast<std::size_t>(choice)];
}

/// Words for a trial that is above, below or equal to the winner on the first axis.
struct Comparative {
  std::string_view more;
  std::string_view less;
  std::string_view equal;
  std::string_view unknown;
};
constexpr Comparative kOfTimes = {"slower", "faster in its trial", "as fast",
                                  "has no latency to compare"};
constexpr Comparative kOfOthers = {"worse", "better", "as good", "has no result to compare"};

/// Returns why a trial that differs from the winner in one decision did not win.
std::string Reason(const ReportInput& input, const ReportMark& other, const ReportMark& winner,
                   const Trial& trial) {
  if (trial.evaluation.failure) {
    return "failed, " + std::string(Name(trial.evaluation.failure->kind));
  }
  const bool of_time = input.latency.metric.starts_with("latency");
  const Comparative& words = of_time ? kOfTimes : kOfOthers;
  if (other.failed || !other.latency || !winner.latency) return std::string(words.unknown);
  std::string text(!other.feasible                    ? "misses the constraint"
                   : *other.latency > *winner.latency ? words.more
                   : *other.latency < *winner.latency ? words.less
                                                      : words.equal);
  text += ": " + input.latency.title + " " + OnLatencyAxis(other.latency, input, 3) + " against " +
          OnLatencyAxis(winner.latency, input, 3);
  if (other.quality && winner.quality) {
    text += ", " + input.quality.title + " " + WithUnit(other.quality, input.quality) +
            " against " + WithUnit(winner.quality, input.quality);
  }
  return text;
}

/// Returns for each decision the results of trials that differ from the winner in it alone, and of
/// measurements after the search.
std::vector<Html> ReasonsOf(const ReportInput& input, std::span<const ReportMark> marks,
                            const ReportMark& winner, const Assignment& chosen) {
  std::vector<Html> reasons(input.decisions.size());
  for (std::size_t i = 0; i < marks.size(); ++i) {
    // A repeated trial copies one that is listed already.
    if (marks[i].repeated) continue;
    const Trial& trial = input.study.trials[i];
    const auto differs = OnlyDifference(chosen, trial.assignment);
    if (!differs || *differs >= reasons.size()) continue;
    const std::string* choice = ChoiceOf(input, trial.assignment, *differs);
    if (choice == nullptr) continue;
    reasons[*differs] +=
        Markup("<li data-trial='", marks[i].number, "'><b>", *choice, "</b> (trial ",
               marks[i].number, ") ", Reason(input, marks[i], winner, trial), "</li>");
  }
  for (std::size_t i = 0; i < std::min(reasons.size(), input.instead.size()); ++i) {
    if (input.instead[i].empty()) continue;
    reasons[i] += Markup("<li>", input.instead[i], " (measured after the search)</li>");
  }
  return reasons;
}

/// Returns the text for a decision without such a trial or measurement.
std::string Fallback(const ReportInput& input, const std::optional<double>& alone) {
  std::string unknown = "unknown: no trial differs in this decision alone";
  if (!alone || input.sensitivity.empty()) return unknown;
  return unknown + "; compressed alone it loses " + FormatSignificant(alone, 3) + " (" +
         input.sensitivity + ")";
}

}  // namespace

Html DecisionSection(const ReportInput& input, std::span<const ReportMark> marks) {
  const auto winner = std::find_if(marks.begin(), marks.end(), [&](const ReportMark& mark) {
    return input.winner == mark.number;
  });
  if (winner == marks.end() || input.decisions.empty()) return {};
  const Assignment& chosen =
      input.study.trials[static_cast<std::size_t>(winner - marks.begin())].assignment;
  const std::vector<Html> reasons = ReasonsOf(input, marks, *winner, chosen);
  const PrecisionColors colors(input);
  const bool any_alone = std::any_of(input.alone.begin(), input.alone.end(),
                                     [](const auto& alone) { return IfFinite(alone).has_value(); });
  Html rows;
  for (std::size_t i = 0; i < input.decisions.size(); ++i) {
    const std::string* choice = ChoiceOf(input, chosen, i);
    if (choice == nullptr) continue;
    const std::optional<double> alone =
        i < input.alone.size() ? IfFinite(input.alone[i]) : std::nullopt;
    const std::string moot = i < input.moot.size() ? input.moot[i] : "";
    rows += Markup("<tr><td class='name'>", input.decisions[i].name, "</td><td>",
                   moot.empty() ? colors.Chip(*choice)
                                : Markup("<span class='muted'>no effect: ", moot, "</span>"),
                   "</td>",
                   any_alone ? Markup("<td class='num' data-value='", FormatExact(alone), "'>",
                                      FormatSignificant(alone, 3), "</td>")
                             : Html{},
                   "<td>",
                   reasons[i].text.empty()
                       ? Markup("<span class='muted'>", Fallback(input, alone), "</span>")
                       : Markup("<ul class='reasons'>", reasons[i], "</ul>"),
                   i < input.unsupported.size() && !input.unsupported[i].empty()
                       ? Markup("<div class='note'>", input.unsupported[i], "</div>")
                       : Html{},
                   "</td></tr>");
  }
  return Markup(
      "<section id='decisions'><h2>Why each decision was made</h2><p class='muted'>For each "
      "decision of the best configuration, the trials that differ from it in that decision alone; "
      "if there are none, a measurement of the best configuration with another choice, if time "
      "allowed one.</p>"
      "<div class='scroll'><table class='sortable'><thead><tr><th>decision</th><th>chosen</th>",
      any_alone ? Html{"<th class='num'>loss alone</th>"} : Html{},
      "<th data-unsortable>results of other choices</th></tr></thead><tbody>", rows,
      "</tbody></table></div></section>");
}

}  // namespace msc::gym
