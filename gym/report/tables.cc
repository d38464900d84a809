#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "gym/report/plot.h"
#include "gym/report/sections.h"

namespace msc::gym {

namespace {

bool Known(const std::optional<Measured>& measured) {
  return measured && Finite(measured->value) && Finite(measured->low) && Finite(measured->high);
}

constexpr double kWhiskerWidth = 160;

/// The scale that all intervals share; 1, "as fast as before", is always on it.
PlotAxis WhiskerAxis(const std::vector<ReportFinalist>& finalists) {
  double low = 1;
  double high = 1;
  for (const ReportFinalist& finalist : finalists) {
    if (!Known(finalist.speed_up)) continue;
    low = std::min({low, finalist.speed_up->low, finalist.speed_up->value});
    high = std::max({high, finalist.speed_up->high, finalist.speed_up->value});
  }
  const double margin = std::max((high - low) * 0.05, 0.01);
  PlotAxis axis;
  axis.low = std::max(low - margin, -1e100);
  axis.high = std::min(high + margin, 1e100);
  axis.from = 4;
  axis.to = kWhiskerWidth - 4;
  return axis;
}

Html Whisker(const ReportFinalist& finalist, const PlotAxis& axis) {
  if (!Known(finalist.speed_up)) return {};
  const auto& [value, low, high] = *finalist.speed_up;
  const double left = axis.Clamped(low);
  const std::string state = finalist.feasible ? "feasible" : "infeasible";
  return Markup("<svg class='whisker ", state, "' viewBox='0 0 ", kWhiskerWidth,
                " 20' role='img' aria-label='interval ", Fixed(low, 3), " to ", Fixed(high, 3),
                "'><line class='line baseline' x1='", axis.At(1), "' x2='", axis.At(1),
                "' y1='0' y2='20'/><rect class='interval' x='", left, "' width='",
                std::max(axis.Clamped(high) - left, 1.5),
                "' y='5' height='10' rx='2'/><line class='middle' x1='", axis.Clamped(value),
                "' x2='", axis.Clamped(value), "' y1='2' y2='18'/></svg>");
}

/// A cell that sorts by the number even where it shows something else.
Html NumberCell(std::optional<double> value, const std::string& text) {
  return Markup("<td class='num' data-value='", Exact(value), "'>", text, "</td>");
}

/// What a compiler said may be long, and in one word: it wraps rather than widen its table.
Html Note(const std::string& text) {
  return text.empty() ? Html{} : Markup("<div class='note'>", text, "</div>");
}

Html FinalistRow(const ReportFinalist& finalist, const ReportInput& input, const PlotAxis& axis) {
  const bool known = Known(finalist.speed_up);
  const std::optional<double> value =
      known ? std::optional(finalist.speed_up->value) : std::nullopt;
  const std::string interval =
      known ? Fixed(finalist.speed_up->low, 3) + " to " + Fixed(finalist.speed_up->high, 3)
            : Fixed(std::nullopt, 0);
  return Markup("<tr><td class='name'>", finalist.label, "</td>",
                NumberCell(value, Fixed(value, 3) + (known ? "\xC3\x97" : "")), "<td class='num'>",
                interval, "</td><td>", Whisker(finalist, axis), "</td>",
                NumberCell(finalist.latency_ms, Significant(finalist.latency_ms, 4)),
                NumberCell(finalist.quality, WithUnit(finalist.quality, input.quality)),
                NumberCell(finalist.weight_bytes, Bytes(finalist.weight_bytes)), "<td>",
                std::string(finalist.feasible ? "yes" : "no"), "</td><td>", Note(finalist.note),
                "</td></tr>");
}

Html Facts(const std::vector<ReportFact>& facts) {
  Html list;
  for (const ReportFact& fact : facts) {
    list += Markup("<div><dt>", fact.name, "</dt><dd>", fact.value, "</dd></div>");
  }
  return list;
}

}  // namespace

Html FinalistSection(const ReportInput& input) {
  if (input.finalists.empty()) return {};
  const PlotAxis axis = WhiskerAxis(input.finalists);
  Html rows;
  for (const ReportFinalist& finalist : input.finalists) {
    rows += FinalistRow(finalist, input, axis);
  }
  return Markup(
      "<section id='finalists'><h2>Finalists</h2><p class='muted'>Measured again, three times "
      "over, "
      "interleaved with each other and with the uncompressed model",
      input.judged.empty() ? Html{} : Markup("; ", input.judged),
      ". The dashed line is its speed; an interval that crosses it is no significant difference. ",
      input.left_out,
      "</p><div class='scroll'>"
      "<table class='sortable'><thead><tr><th>configuration</th><th class='num'>"
      "speed-up</th><th class='num'>95 % interval</th><th data-unsortable></th>"
      "<th class='num'>latency (ms)</th><th class='num'>",
      input.quality.title.empty() ? std::string("quality") : input.quality.title,
      "</th><th class='num'>weights</th><th>feasible</th><th>note</th></tr></thead>"
      "<tbody>",
      rows, "</tbody></table></div></section>");
}

Html FailureSection(const ReportInput& input) {
  std::map<std::string, std::pair<std::size_t, std::string>> reasons;
  std::size_t most = 0;
  for (const Trial& trial : input.study.trials) {
    if (!trial.evaluation.failure) continue;
    auto& [count, example] = reasons[std::string(Name(trial.evaluation.failure->kind))];
    if (++count == 1) {
      example = "trial " + std::to_string(trial.number) + ": " + trial.evaluation.failure->detail;
    }
    most = std::max(most, count);
  }
  if (reasons.empty()) return {};
  Html rows;
  for (const auto& [reason, entry] : reasons) {
    const auto& [count, example] = entry;
    const double part = static_cast<double>(count) / static_cast<double>(most);
    rows += Markup("<tr><td class='name'>", reason, "</td><td class='num bar' data-value='", count,
                   "'><span class='fill bad' style='--part:", 100 * part, "'></span><span>", count,
                   "</span></td><td>", Note(example), "</td></tr>");
  }
  return Markup(
      "<section id='failures'><h2>Failures</h2><div class='scroll'>"
      "<table class='sortable'><thead><tr><th>reason</th><th class='num'>trials</th>"
      "<th>first example</th></tr></thead><tbody>",
      rows, "</tbody></table></div></section>");
}

Html TrialSection(const ReportInput& input, std::span<const ReportMark> marks) {
  Html rows;
  for (const ReportMark& mark : marks) {
    rows += Markup(
        "<tr data-trial='", mark.number, "'", mark.best ? Html{" class='is-best'"} : Html{},
        "><td class='num'>", mark.number, "</td><td>", mark.source, "</td><td>", StateOf(mark),
        mark.repeated ? Html{" (repeated)"} : Html{}, "</td>",
        NumberCell(mark.latency, OnLatencyAxis(mark.latency, input, 4)),
        NumberCell(mark.quality, OnAxis(mark.quality, input.quality, 4)),
        NumberCell(mark.seconds, Fixed(mark.seconds, 2)), "<td>", mark.choices, "</td></tr>");
  }
  return Markup("<section id='trials'><details><summary><h2>All ", marks.size(),
                " trials</h2></summary><div class='scroll'><table class='sortable'><thead><tr>"
                "<th class='num'>trial</th><th>source</th><th>state</th><th class='num'>",
                input.latency.title, "</th><th class='num'>", input.quality.title,
                "</th><th class='num'>seconds</th><th>choices</th></tr></thead><tbody>", rows,
                "</tbody></table></div></details></section>");
}

Html OriginSection(const ReportInput& input) {
  Html html;
  if (!input.commands.empty()) {
    html += Html{"<section id='reproduce'><h2>How to reproduce</h2>"};
    for (const ReportCommand& command : input.commands) {
      html += Markup("<p class='muted'>", command.purpose, "</p><div class='command'><pre><code>",
                     command.line,
                     "</code></pre><button type='button' class='copy'>copy"
                     "</button></div>");
    }
    html += Html{"</section>"};
  }
  if (!input.machine.empty()) {
    html += Markup("<section id='machine'><h2>Machine and versions</h2><dl class='facts'>",
                   Facts(input.machine), "</dl></section>");
  }
  if (!input.config.empty()) {
    html += Markup(
        "<section id='config'><details><summary><h2>Resolved configuration</h2>"
        "</summary><pre><code>",
        input.config, "</code></pre></details></section>");
  }
  return html;
}

}  // namespace msc::gym
