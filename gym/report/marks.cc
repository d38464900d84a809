#include "gym/report/marks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "gym/report/html.h"

namespace msc::gym {

namespace {

/// Returns the value on an axis, if a chart can draw it.
std::optional<double> Value(const Trial& trial, const ReportAxis& axis) {
  const auto it = trial.evaluation.metrics.find(axis.metric);
  if (it == trial.evaluation.metrics.end()) return std::nullopt;
  // The bound keeps sums and differences of coordinates finite.
  if (!std::isfinite(it->second) || std::abs(it->second) > 1e100) return std::nullopt;
  return it->second / axis.scale;
}

std::string Choices(const std::vector<Decision>& decisions, const Assignment& assignment) {
  std::map<std::string, int> counts;
  for (std::size_t i = 0; i < std::min(decisions.size(), assignment.size()); ++i) {
    const auto& choices = decisions[i].choices;
    if (assignment[i] < 0 || !std::cmp_less(assignment[i], choices.size())) continue;
    ++counts[choices[static_cast<std::size_t>(assignment[i])]];
  }
  std::vector<std::pair<std::string, int>> order(counts.begin(), counts.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [choice, count] : order) {
    text += text.empty() ? "" : ", ";
    text += choice + " \xC3\x97 " + std::to_string(count);
  }
  return text;
}

/// Returns the choices in the order of the decisions.
std::string Recipe(const std::vector<Decision>& decisions, const Assignment& assignment) {
  std::string text;
  for (std::size_t i = 0; i < std::min(decisions.size(), assignment.size()); ++i) {
    const auto& choices = decisions[i].choices;
    if (assignment[i] < 0 || !std::cmp_less(assignment[i], choices.size())) continue;
    text += (text.empty() ? "" : ", ") + choices[static_cast<std::size_t>(assignment[i])];
  }
  return text;
}

std::string Tip(const ReportInput& input, const Trial& trial, const ReportMark& mark) {
  std::string text = "trial " + std::to_string(mark.number) + " \xC2\xB7 " + mark.source + "\n";
  if (trial.evaluation.failure) {
    const Failure& failure = *trial.evaluation.failure;
    return text + "failed: " + std::string(Name(failure.kind)) + "\n" + failure.detail;
  }
  text += input.latency.title + ": " + WithUnit(mark.latency, input.latency);
  if (mark.latency && !input.latency.inverse.empty() && *mark.latency > 0) {
    text += " (" + FormatFixed(1 / *mark.latency, 2) + "\xC3\x97 " + input.latency.inverse + ")";
  }
  if (!input.quality.metric.empty()) {
    text += "\n" + input.quality.title + ": " + WithUnit(mark.quality, input.quality);
  }
  for (std::size_t i = 0; i < input.others.size(); ++i) {
    if (!mark.others[i]) continue;
    text += "\n" + input.others[i].title + ": " + WithUnit(mark.others[i], input.others[i]);
  }
  if (!mark.choices.empty()) text += "\n" + mark.choices;
  return text + (mark.feasible ? "" : "\n" + VerdictOn(mark));
}

}  // namespace

bool MustShow(const ReportInput& input, const ReportMark& mark) {
  if (input.subject == ReportSubject::kModel) return mark.best || (mark.pareto && mark.feasible);
  return mark.best || mark.pareto || !mark.anchor.empty();
}

std::string StateOf(const ReportMark& mark) {
  return mark.failed ? "failed" : mark.feasible ? "feasible" : "infeasible";
}

std::string VerdictOn(const ReportMark& mark) {
  if (mark.failed || mark.feasible) return StateOf(mark);
  return mark.dropped ? "dropped after a rough measurement" : mark.missed;
}

Html RowClass(const ReportMark& mark) {
  const bool grey = !mark.feasible && !mark.failed;
  if (!grey && !mark.best) return {};
  return Markup(" class='", grey ? Html{"infeasible"} : Html{},
                grey && mark.best ? Html{" "} : Html{}, mark.best ? Html{"is-best"} : Html{}, "'");
}

Html BarCell(std::optional<double> value, double largest, const std::string& text) {
  value = IfFinite(value);
  if (!value) return Markup("<td class='num' data-value=''>", text, "</td>");
  const double part = largest > 0 ? std::clamp(*value / largest, 0.0, 1.0) : 0;
  return Markup("<td class='num bar' data-value='", FormatExact(value),
                "'><span class='fill' style='--part:", 100 * part, "'></span><span>", text,
                "</span></td>");
}

Html AxisHeads(const std::vector<ReportAxis>& axes) {
  Html heads;
  for (const ReportAxis& axis : axes) heads += Markup("<th class='num'>", axis.title, "</th>");
  return heads;
}

std::string OnAxis(std::optional<double> value, const ReportAxis& axis, int digits) {
  return axis.counts ? FormatFixed(value, 0) : FormatSignificant(value, digits);
}

std::string OnLatencyAxis(std::optional<double> value, const ReportInput& input, int digits) {
  return input.latency.inverse.empty() ? OnAxis(value, input.latency, 4)
                                       : FormatFixed(value, digits);
}

std::string WithUnit(std::optional<double> value, const ReportAxis& axis) {
  // The number of decimals depends on the limit or baseline, so that numbers in a column are
  // comparable.
  const double scale = std::abs(IfFinite(axis.limit).value_or(IfFinite(axis.baseline).value_or(0)));
  const bool usual = !axis.counts && scale > 1e-6 && scale < 1e6;
  // A scale of 0.5 gives 3 decimals, one of 50 gives 1.
  const int digits = usual ? std::max(0, 3 - static_cast<int>(std::ceil(std::log10(scale)))) : 0;
  return (usual ? FormatFixed(value, digits) : OnAxis(value, axis, 3)) +
         (axis.unit.empty() ? "" : " ") + axis.unit;
}

std::vector<ReportMark> ReportMarks(const ReportInput& input) {
  constexpr std::string_view kAnchor = "anchor:";
  const std::vector<Trial>& trials = input.study.trials;
  std::vector<ReportMark> marks;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const Trial& trial = trials[i];
    ReportMark& mark = marks.emplace_back();
    mark.number = trial.number;
    mark.source = trial.source;
    if (trial.source.starts_with(kAnchor)) mark.anchor = trial.source.substr(kAnchor.size());
    mark.latency = Value(trial, input.latency);
    mark.quality = Value(trial, input.quality);
    for (const ReportAxis& axis : input.others) mark.others.push_back(Value(trial, axis));
    mark.failed = trial.evaluation.failure.has_value() || !mark.latency;
    mark.feasible = !mark.failed && i < input.feasible.size() && input.feasible[i];
    mark.dropped = !mark.failed && trial.evaluation.dropped;
    if (!mark.failed && !mark.feasible) {
      const bool known = i < input.missed.size() && !input.missed[i].empty();
      mark.missed = "misses " + (known ? input.missed[i] : "the constraint");
    }
    // The finalists are measured again, so the winner may differ from the best trial.
    const bool best = input.winner ? *input.winner == trial.number : input.study.best == i;
    mark.best = !mark.failed && best;
    mark.choices = input.subject == ReportSubject::kRecipe
                       ? Recipe(input.decisions, trial.assignment)
                       : Choices(input.decisions, trial.assignment);
    mark.seconds = trial.seconds;
    mark.repeated = trial.repeated;
    mark.tip = Tip(input, trial, mark);
  }
  for (const std::size_t index : input.study.pareto) {
    if (index < marks.size() && !marks[index].failed) marks[index].pareto = true;
  }
  return marks;
}

}  // namespace msc::gym
