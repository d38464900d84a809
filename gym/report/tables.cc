#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "gym/report/plot.h"
#include "gym/report/sections.h"

namespace msc::gym {

namespace {

bool Known(const std::optional<Measured>& measured) {
  return measured && IfFinite(measured->value) && IfFinite(measured->low) &&
         IfFinite(measured->high);
}

constexpr double kWhiskerWidth = 160;
constexpr double kAsFast = 1;  ///< speed-up of the uncompressed model

/// Returns the interval to draw: the speed-up, or for recipes the mean of the first objective.
std::optional<Measured> Drawn(const ReportFinalist& finalist) {
  if (finalist.speed_up || finalist.means.empty()) return finalist.speed_up;
  return finalist.means.front();
}

/// Returns the scale that all intervals share; it always includes `baseline` if given.
PlotAxis WhiskerAxis(const std::vector<ReportFinalist>& finalists, std::optional<double> baseline) {
  std::optional<double> least = baseline;
  std::optional<double> most = baseline;
  for (const ReportFinalist& finalist : finalists) {
    const std::optional<Measured> drawn = Drawn(finalist);
    if (!Known(drawn)) continue;
    least = std::min({least.value_or(drawn->value), drawn->low, drawn->value});
    most = std::max({most.value_or(drawn->value), drawn->high, drawn->value});
  }
  const double low = least.value_or(0);
  const double high = most.value_or(0);
  // The least margin keeps an axis of equal values from being empty.
  const double margin = std::max((high - low) * 0.05, baseline ? 0.01 : 1e-12);
  PlotAxis axis;
  axis.low = std::max(low - margin, -1e100);
  axis.high = std::min(high + margin, 1e100);
  axis.from = 4;
  axis.to = kWhiskerWidth - 4;
  return axis;
}

Html Whisker(const ReportFinalist& finalist, const PlotAxis& axis, std::optional<double> baseline) {
  const std::optional<Measured> drawn = Drawn(finalist);
  if (!Known(drawn)) return {};
  const auto& [value, low, high] = *drawn;
  const Html line = baseline ? Markup("<line class='line baseline' x1='", axis.PixelOf(*baseline),
                                      "' x2='", axis.PixelOf(*baseline), "' y1='0' y2='20'/>")
                             : Html{};
  const auto text = [&](double end) {
    return baseline ? FormatFixed(end, 3) : FormatSignificant(end, 3);
  };
  const double left = axis.Clamped(low);
  const std::string state = finalist.feasible ? "feasible" : "infeasible";
  return Markup("<svg class='whisker ", state, "' viewBox='0 0 ", kWhiskerWidth,
                " 20' role='img' aria-label='interval ", text(low), " to ", text(high), "'>", line,
                // Even a very narrow interval stays visible.
                "<rect class='interval' x='", left, "' width='",
                std::max(axis.Clamped(high) - left, 1.5),
                "' y='5' height='10' rx='2'/><line class='middle' x1='", axis.Clamped(value),
                "' x2='", axis.Clamped(value), "' y1='2' y2='18'/></svg>");
}

/// Returns a cell that sorts by the number even if it shows other text.
Html NumberCell(std::optional<double> value, const std::string& text) {
  return Markup("<td class='num' data-value='", FormatExact(value), "'>", text, "</td>");
}

/// Compiler messages may be one long word: a note wraps so that it does not widen the table.
Html Note(const std::string& text) {
  return text.empty() ? Html{} : Markup("<div class='note'>", text, "</div>");
}

Html FinalistRow(const ReportFinalist& finalist, const ReportInput& input, const PlotAxis& axis) {
  const bool known = Known(finalist.speed_up);
  const std::optional<double> value =
      known ? std::optional(finalist.speed_up->value) : std::nullopt;
  const std::string interval = known ? FormatFixed(finalist.speed_up->low, 3) + " to " +
                                           FormatFixed(finalist.speed_up->high, 3)
                                     : FormatFixed(std::nullopt, 0);
  Html means;
  for (std::size_t i = 0; i < input.final_axes.size(); ++i) {
    const auto mean = i < finalist.means.size() ? finalist.means[i] : std::nullopt;
    const std::optional<double> shown = Known(mean) ? std::optional(mean->value) : std::nullopt;
    means += NumberCell(shown, WithUnit(shown, input.final_axes[i]));
  }
  return Markup("<tr", finalist.feasible ? Html{} : Html{" class='infeasible'"},
                "><td class='name'>", finalist.label, Note(finalist.note), "</td>",
                NumberCell(value, FormatFixed(value, 3) + (known ? "\xC3\x97" : "")),
                "<td class='num'>", interval, "</td><td>", Whisker(finalist, axis, kAsFast),
                "</td>", NumberCell(finalist.latency_ms, FormatSignificant(finalist.latency_ms, 4)),
                means, NumberCell(finalist.weight_bytes, FormatBytes(finalist.weight_bytes)),
                "<td>", std::string(finalist.feasible ? "yes" : "no"), "</td></tr>");
}

/// Returns a cell with a mean and its interval, if any.
Html MeanCell(const std::optional<Measured>& mean, const ReportAxis& axis) {
  if (!Known(mean)) return NumberCell(std::nullopt, OnAxis(std::nullopt, axis, 4));
  std::string text = OnAxis(mean->value, axis, 4);
  if (mean->high > mean->value) {
    text += " (" + OnAxis(mean->low, axis, 3) + " to " + OnAxis(mean->high, axis, 3) + ")";
  }
  return NumberCell(mean->value, text);
}

Html RecipeRow(const ReportFinalist& finalist, const ReportInput& input, const PlotAxis& scale) {
  Html cells;
  for (std::size_t i = 0; i < input.final_axes.size(); ++i) {
    const auto mean = i < finalist.means.size() ? finalist.means[i] : std::nullopt;
    cells += MeanCell(mean, input.final_axes[i]);
    if (i == 0) cells += Markup("<td>", Whisker(finalist, scale, std::nullopt), "</td>");
  }
  const bool best = finalist.trial && finalist.trial == input.winner;
  return Markup("<tr", best ? Html{" class='is-best'"} : Html{}, "><td class='name'>",
                finalist.label, Note(finalist.note), "</td>", cells, "<td>",
                std::string(finalist.feasible ? "yes" : "no"), "</td></tr>");
}

Html RecipeFinalists(const ReportInput& input) {
  Html heads;
  for (const ReportAxis& axis : input.final_axes) {
    heads += Markup("<th class='num'>", axis.title, "</th>");
    if (&axis == &input.final_axes.front()) heads += Html{"<th data-unsortable></th>"};
  }
  const PlotAxis scale = WhiskerAxis(input.finalists, std::nullopt);
  Html rows;
  for (const ReportFinalist& finalist : input.finalists) rows += RecipeRow(finalist, input, scale);
  return Markup(
      "<section id='finalists'><h2>Finalists</h2><p class='muted'>Trained again in turn, with "
      "seeds that no trial used",
      input.judged.empty() ? Html{} : Markup("; ", input.judged),
      ". Means over the trainings, with 95 % intervals that cover the choice of seeds and of "
      "samples; the best recipe is chosen by these means.</p><div class='scroll'>"
      "<table class='sortable'><thead><tr><th>recipe</th>",
      heads, "<th>feasible</th></tr></thead><tbody>", rows, "</tbody></table></div></section>");
}

std::string SourceName(const std::string& source) {
  if (source == "anchor") return "baselines";
  return source == "from" ? "earlier search" : source;
}

Html Commands(const std::vector<ReportCommand>& commands) {
  Html html;
  for (const ReportCommand& command : commands) {
    html +=
        Markup("<p class='muted'>", command.purpose, "</p><div class='command'><pre><code>",
               command.line, "</code></pre><button type='button' class='copy'>copy</button></div>");
  }
  return html;
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
  if (input.subject == ReportSubject::kRecipe) return RecipeFinalists(input);
  const PlotAxis axis = WhiskerAxis(input.finalists, kAsFast);
  const Html heads = AxisHeads(input.final_axes);
  Html rows;
  for (const ReportFinalist& finalist : input.finalists) {
    rows += FinalistRow(finalist, input, axis);
  }
  return Markup(
      "<section id='finalists'><h2>Finalists</h2><p class='muted'>Timed ",
      input.timed.empty() ? std::string("together, 3 times") : input.timed,
      ", interleaved with the uncompressed model",
      input.judged.empty() ? Html{} : Markup("; ", input.judged),
      ". The dashed line is the speed of that model; if an interval crosses the line, the "
      "difference is not significant. ",
      input.left_out,
      "</p><div class='scroll'>"
      "<table class='sortable'><thead><tr><th>configuration</th><th class='num'>"
      "speed-up</th><th class='num'>95 % interval</th><th data-unsortable></th>"
      "<th class='num'>latency (ms)</th>",
      heads,
      "<th class='num'>weights</th><th>feasible</th></tr></thead>"
      "<tbody>",
      rows, "</tbody></table></div></section>");
}

Html SourceSection(const ReportInput& input, std::span<const ReportMark> marks) {
  if (input.sources.empty()) return {};
  double all = 0;
  for (const SourceShare& share : input.sources) all += std::max(0.0, share.gained);
  Html rows;
  for (const SourceShare& share : input.sources) {
    const auto best = std::find_if(marks.begin(), marks.end(), [&](const ReportMark& mark) {
      return share.best && mark.number == *share.best && mark.latency;
    });
    const bool found = best != marks.end();
    const double feasible = static_cast<double>(share.feasible) /
                            static_cast<double>(std::max<std::uint64_t>(share.trials, 1));
    const double gained = all > 0 ? share.gained / all : 0;
    rows += Markup(
        "<tr><td class='name'>", SourceName(share.source), "</td><td class='num'>", share.trials,
        "</td><td class='num' data-value='", share.first, "'>", share.first, " to ", share.last,
        "</td>", BarCell(feasible, 1, FormatPercent(feasible, 0)), "<td class='num'>", share.failed,
        "</td><td class='num'>", share.repeated, "</td>",
        found ? NumberCell(best->latency, OnLatencyAxis(best->latency, input, 4))
              : NumberCell(std::nullopt, FormatFixed(std::nullopt, 0)),
        found ? Markup("<td class='num' data-trial='", best->number, "'>", best->number, "</td>")
              : Html{"<td class='num' data-value=''>\xE2\x80\x93</td>"},
        "<td class='num'>", share.better, "</td>",
        share.last_better ? Markup("<td class='num'>", *share.last_better, "</td>")
                          : Html{"<td class='num' data-value=''>\xE2\x80\x93</td>"},
        all > 0 ? BarCell(gained, 1, FormatPercent(gained, 1)) : Html{}, "</tr>");
  }
  return Markup(
      "<section id='sources'><h2>Sources of trials</h2><p class='muted'>'best' is the lowest ",
      input.latency.title,
      " of a feasible trial; 'better' counts the feasible trials that no earlier trial matched in "
      "all minimized metrics",
      all > 0 ? Html{"; 'gained' is the hypervolume that these trials added, as a share of what "
                     "all trials added. Sources that come first find the easy improvements."}
              : Html{"."},
      "</p><div class='scroll'><table class='sortable'><thead><tr><th>source</th><th class='num'>"
      "trials</th><th class='num'>numbers</th><th class='num'>feasible</th><th class='num'>failed"
      "</th><th class='num'>repeated</th><th class='num'>best</th><th class='num'>in trial</th>"
      "<th class='num'>better</th>"
      "<th class='num'>last better</th>",
      all > 0 ? Html{"<th class='num'>gained</th>"} : Html{}, "</tr></thead><tbody>", rows,
      "</tbody></table></div></section>");
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
    Html others;
    for (std::size_t i = 0; i < mark.others.size(); ++i) {
      others += NumberCell(mark.others[i], OnAxis(mark.others[i], input.others[i], 4));
    }
    rows += Markup("<tr data-trial='", mark.number, "'", RowClass(mark), "><td class='num'>",
                   mark.number, "</td><td class='long'>", mark.source, "</td><td class='long'>",
                   VerdictOn(mark), mark.repeated ? Html{" (repeated)"} : Html{}, "</td>",
                   NumberCell(mark.latency, OnLatencyAxis(mark.latency, input, 4)),
                   NumberCell(mark.quality, OnAxis(mark.quality, input.quality, 4)), others,
                   NumberCell(mark.seconds, FormatFixed(mark.seconds, 2)), "<td class='long'>",
                   mark.choices, "</td></tr>");
  }
  return Markup("<section id='trials'><details><summary><h2>All ", marks.size(),
                " trials</h2></summary><div class='scroll'><table class='sortable'><thead><tr>"
                "<th class='num'>trial</th><th>source</th><th>state</th><th class='num'>",
                input.latency.title, "</th><th class='num'>", input.quality.title, "</th>",
                AxisHeads(input.others),
                "<th class='num'>seconds</th><th>choices</th></tr></thead><tbody>", rows,
                "</tbody></table></div></details></section>");
}

Html ShippingSection(const ReportInput& input) {
  if (input.shipping.empty() && input.files.empty()) return {};
  Html files;
  for (const ReportFile& file : input.files) {
    files += Markup("<li><a href='", file.path, "'>", file.path, "</a> <span class='muted'>",
                    file.what, "</span></li>");
  }
  if (!input.files.empty()) {
    files = Markup(
        "<h3>Files</h3><p class='muted'>In the folder of this page.</p><ul "
        "class='files'>",
        files, "</ul>");
  }
  return Markup("<section id='ship'><h2>How to ship it</h2>", Commands(input.shipping), files,
                "</section>");
}

Html OriginSection(const ReportInput& input) {
  Html html;
  if (!input.commands.empty()) {
    html += Markup("<section id='reproduce'><h2>How to reproduce</h2>", Commands(input.commands),
                   "</section>");
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
