#include "gym/report/layer_page.h"

#include <algorithm>

#include "gym/report/html.h"
#include "gym/report/page_frame.h"

namespace msc::gym {
namespace {

std::string Hover(const LayerChart& chart, const LayerRow& row) {
  std::string text = row.name;
  for (std::size_t i = 0; i < std::min(row.cells.size(), chart.columns.size()); ++i) {
    text += "\n" + chart.columns[i] + ": " + row.cells[i];
  }
  return text;
}

Html Bars(const LayerChart& chart) {
  constexpr double kStep = 22;
  constexpr double kLeft = 320;
  constexpr double kLength = 560;
  constexpr double kNumber = 110;
  double largest = 0;
  for (const LayerRow& row : chart.rows) {
    largest =
        std::max({largest, IfFinite(row.before).value_or(0), IfFinite(row.after).value_or(0)});
  }
  const auto length = [&](std::optional<double> value) {
    return largest > 0 ? kLength * std::max(0.0, IfFinite(value).value_or(0)) / largest : 0.0;
  };
  Html rows;
  double y = 0;
  for (const LayerRow& row : chart.rows) {
    const double end = kLeft + std::max(length(row.before), length(row.after)) + 6;
    Html bars;
    if (IfFinite(row.before)) {
      bars += Markup("<rect x='", kLeft, "' y='", y + 3, "' width='", length(row.before),
                     "' height='16' fill='var(--line)'/>");
    }
    if (IfFinite(row.after)) {
      bars +=
          Markup("<rect x='", kLeft, "' y='", y + 6, "' width='", length(row.after),
                 "' height='10' fill='", Html{row.marked ? "var(--bad)" : "var(--accent)"}, "'/>");
    }
    rows += Markup("<g><title>", Hover(chart, row), "</title><text x='", kLeft - 8, "' y='", y + 16,
                   "' text-anchor='end' fill='var(--ink)'>", WithoutStart(row.name, 38), "</text>",
                   bars, "<text x='", end, "' y='", y + 16, "' fill='var(--muted)'>",
                   FormatSignificant(row.after, 3), "</text></g>");
    y += kStep;
  }
  return Markup("<svg class='bars' role='img' aria-label='", chart.title, " by layer' width='",
                kLeft + kLength + kNumber, "' height='", y,
                "' font-family='inherit' font-size='13'>", rows, "</svg>");
}

Html Table(const LayerChart& chart) {
  Html head;
  for (const std::string& column : chart.columns) head += Markup("<th>", column, "</th>");
  Html rows;
  for (const LayerRow& row : chart.rows) {
    Html cells;
    for (const std::string& cell : row.cells) cells += Markup("<td>", cell, "</td>");
    rows += Markup("<tr", row.marked ? Html{" class='is-best'"} : Html{}, "><td class='name'>",
                   row.name, "</td>", cells, "</tr>");
  }
  return Markup("<div class='scroll'><table><thead><tr><th>name</th>", head, "</tr></thead><tbody>",
                rows, "</tbody></table></div>");
}

}  // namespace

std::string RenderLayers(const LayerView& view) {
  Html facts;
  for (const std::string& fact : view.facts) facts += Markup("<p class='muted'>", fact, "</p>");
  Html charts;
  for (const LayerChart& chart : view.charts) {
    const std::string key =
        chart.before.empty() ? chart.after : chart.after + "; pale bars: " + chart.before;
    charts += Markup("<section><h2>", chart.title, "</h2><p class='muted'>Bars: ", key,
                     ".</p><div class='scroll'>", Bars(chart), "</div></section><section>",
                     Table(chart), "</section>");
  }
  return StaticPage(view.model + " \xE2\x80\x93 " + view.tool,
                    Markup("<p class='over'>mscgym ", view.tool, "</p><h1>", view.model,
                           "</h1><p class='verdict'>", view.summary, "</p>", facts, charts));
}

}  // namespace msc::gym
