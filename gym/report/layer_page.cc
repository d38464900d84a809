#include "gym/report/layer_page.h"

#include <algorithm>
#include <cmath>

#include "gym/report/html.h"
#include "gym/report/page_frame.h"
#include "gym/report/plot.h"

namespace msc::gym {
namespace {

std::string Hover(const LayerChart& chart, const LayerRow& row) {
  std::string text = row.name;
  for (std::size_t i = 0; i < std::min(row.cells.size(), chart.columns.size()); ++i) {
    text += "\n" + chart.columns[i] + ": " + row.cells[i];
  }
  return text;
}

/// The scale of a chart's bars.
struct Scale {
  double largest = 0;
  double least = 0;  ///< of a logarithmic scale the largest number that has no bar; otherwise 0
  [[nodiscard]] double PartOf(std::optional<double> value) const {
    const double number = IfFinite(value).value_or(0);
    if (number <= least || largest <= 0) return 0;
    return least > 0 ? std::log(number / least) / std::log(largest / least) : number / largest;
  }
};

/// Returns a linear scale, or a logarithmic one if most bars of a linear one would be stubs.
Scale ScaleOf(const LayerChart& chart) {
  std::vector<double> values;
  for (const LayerRow& row : chart.rows) {
    for (const std::optional<double>& value : {row.before, row.after}) {
      if (IfFinite(value)) values.push_back(*value);
    }
  }
  if (values.empty()) return {};
  Scale scale{.largest = *std::max_element(values.begin(), values.end())};
  constexpr double kRoom = 2;  // so that the least number has a bar, too
  if (NeedsLogAxis(values, scale.largest)) scale.least = LeastPositive(values) / kRoom;
  return scale;
}

/// Returns whether several rows have the same numbers, so that their bars would say nothing.
bool AllEqual(const LayerChart& chart) {
  return chart.rows.size() > 1 &&
         std::all_of(chart.rows.begin(), chart.rows.end(), [&](const LayerRow& row) {
           const LayerRow& first = chart.rows.front();
           return IfFinite(row.before) == IfFinite(first.before) &&
                  IfFinite(row.after) == IfFinite(first.after);
         });
}

Html Bars(const LayerChart& chart, const Scale& scale) {
  constexpr double kStep = 22;
  constexpr double kLeft = 320;
  constexpr double kLength = 560;
  constexpr double kNumber = 90;
  const auto length = [&](std::optional<double> value) { return kLength * scale.PartOf(value); };
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
                   "' text-anchor='end' fill='var(--ink)'>", WithoutMiddle(row.name, 40), "</text>",
                   bars, "<text x='", end, "' y='", y + 16, "' fill='var(--muted)'>",
                   FormatSignificant(row.after, 3), "</text></g>");
    y += kStep;
  }
  const double width = kLeft + kLength + kNumber;
  return Markup("<svg class='bars' role='img' aria-label='", chart.title, " by layer' width='",
                width, "' height='", y, "' viewBox='0 0 ", width, " ", y,
                "' font-family='inherit' font-size='12'>", rows, "</svg>");
}

/// Returns a chart with its key, or a sentence if all its bars would be equal.
Html Drawing(const LayerChart& chart) {
  const Scale scale = ScaleOf(chart);
  const std::string unit = scale.least > 0 ? " (logarithmic scale)" : "";
  if (AllEqual(chart)) {
    const auto told = [](const std::string& what, std::optional<double> value) {
      return what.empty() || !IfFinite(value)
                 ? Html{}
                 : Markup("; ", what, ": ", FormatSignificant(value, 3));
    };
    const LayerRow& first = chart.rows.front();
    return Markup("<p>The same for all ", chart.rows.size(), told(chart.after, first.after),
                  told(chart.before, first.before), ".</p>");
  }
  const std::string key =
      chart.before.empty() ? chart.after : chart.after + "; pale bars: " + chart.before;
  return Markup("<p class='muted'>Bars: ", key, unit, ".</p><div class='scroll'>",
                Bars(chart, scale), "</div>");
}

Html Table(const LayerChart& chart) {
  Html head;
  for (const std::string& column : chart.columns) head += Markup("<th>", column, "</th>");
  Html rows;
  for (const LayerRow& row : chart.rows) {
    Html cells;
    for (const std::string& cell : row.cells) cells += Markup("<td class='long'>", cell, "</td>");
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
    charts +=
        Markup("<section><h2>", chart.title, "</h2>", Drawing(chart), Table(chart), "</section>");
  }
  return StaticPage(view.model + " \xE2\x80\x93 " + view.tool,
                    Markup("<p class='over'>mscgym ", view.tool, "</p><h1>", view.model,
                           "</h1><p class='verdict'>", view.summary, "</p>", facts, charts));
}

}  // namespace msc::gym
