#include "gym/report/layer_page.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

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

/// A bar with its name.
struct Bar {
  std::string name;
  std::string hover = {};
  std::optional<double> before = {};
  std::optional<double> after = {};
  bool marked = false;
  bool rest = false;  ///< stands for all rows without a bar of their own
};

/// Returns a linear scale, or a logarithmic one if most bars of a linear one would be stubs. Parts
/// of a whole are on a linear one, where lengths add up.
Scale ScaleOf(const LayerChart& chart, const std::vector<Bar>& bars) {
  std::vector<double> values;
  for (const Bar& bar : bars) {
    for (const std::optional<double>& value : {bar.before, bar.after}) {
      if (IfFinite(value)) values.push_back(*value);
    }
  }
  if (values.empty()) return {};
  Scale scale{.largest = *std::max_element(values.begin(), values.end())};
  constexpr double kRoom = 2;  // so that the least number has a bar, too
  if (!chart.adds && NeedsLogAxis(values, scale.largest))
    scale.least = LeastPositive(values) / kRoom;
  return scale;
}

/// Returns how much a row matters: its larger number; infinity if that is not finite, as an error
/// may be.
double SizeOf(const LayerRow& row) {
  double size = -1;
  for (const std::optional<double>& value : {row.before, row.after}) {
    if (value) size = std::max(size, IfFinite(value).value_or(INFINITY));
  }
  return size;
}

/// Returns the rows with the marked ones first, and then by size.
std::vector<const LayerRow*> Ranked(const LayerChart& chart) {
  std::vector<const LayerRow*> ranked;
  for (const LayerRow& row : chart.rows) ranked.push_back(&row);
  std::stable_sort(ranked.begin(), ranked.end(), [](const LayerRow* a, const LayerRow* b) {
    return a->marked != b->marked ? a->marked : SizeOf(*a) > SizeOf(*b);
  });
  return ranked;
}

/// Returns one bar for all of `rows`.
Bar RestOf(const LayerChart& chart, std::span<const LayerRow* const> rows) {
  const std::string count = std::to_string(rows.size());
  Bar rest{
      .name = chart.adds ? "the other " + count + " together" : "the other " + count + ", at most",
      .rest = true};
  const auto add = [&](std::optional<double>& whole, const std::optional<double>& part) {
    if (!IfFinite(part)) return;
    const double so_far = whole.value_or(0);
    whole = chart.adds ? so_far + *part : std::max(so_far, *part);
  };
  for (const LayerRow* row : rows) {
    add(rest.before, row->before);
    add(rest.after, row->after);
  }
  return rest;
}

constexpr std::size_t kMostBars = 12;  // besides that of the rest

/// Returns all rows in their order, or the most important ones and the rest.
std::vector<Bar> BarsOf(const LayerChart& chart) {
  std::vector<const LayerRow*> rows = Ranked(chart);
  const bool all = rows.size() <= kMostBars + 1;
  if (all) std::sort(rows.begin(), rows.end());  // as they lie in the chart
  const std::size_t shown = all ? rows.size() : kMostBars;
  std::vector<Bar> bars;
  for (std::size_t i = 0; i < shown; ++i) {
    const LayerRow& row = *rows[i];
    bars.push_back({row.name, Hover(chart, row), row.before, row.after, row.marked});
  }
  if (!all) bars.push_back(RestOf(chart, std::span(rows).subspan(shown)));
  return bars;
}

/// Returns a sentence on the largest numbers; nothing for fewer than two rows.
Html Lead(const LayerChart& chart) {
  std::vector<std::pair<double, std::string>> sizes;
  for (const LayerRow& row : chart.rows) {
    const auto value = IfFinite(chart.adds && row.before ? row.before : row.after);
    if (value) sizes.emplace_back(*value, row.name);
  }
  if (sizes.size() < 2) return {};
  std::stable_sort(sizes.begin(), sizes.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const auto& [largest, name] = sizes.front();
  if (!chart.adds) {
    return Markup("<p>The largest is ", FormatSignificant(largest, 3), ", of ", name,
                  "; half of the ", sizes.size(), " are at most ",
                  FormatSignificant(sizes[sizes.size() / 2].first, 3), ".</p>");
  }
  double whole = 0;
  double most = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    whole += sizes[i].first;
    if (i < kMostBars) most += sizes[i].first;
  }
  if (whole <= 0) return {};
  constexpr double kAll = 0.995;  // is shown as 100 %
  const Html others = sizes.size() > kMostBars && most < kAll * whole
                          ? Markup("; the ", kMostBars, " largest of ", sizes.size(), " have ",
                                   FormatPercent(most / whole, 0))
                          : Html{};
  return Markup("<p>", name, " has ", FormatPercent(largest / whole, 0), " of the whole", others,
                ".</p>");
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

Html Bars(const std::vector<Bar>& bars, const Scale& scale) {
  const auto length = [&](std::optional<double> value, Html kind) {
    return IfFinite(value) ? Markup("<span class='", kind,
                                    "' style='width:", 100 * scale.PartOf(value), "%'></span>")
                           : Html{};
  };
  Html rows;
  for (const Bar& bar : bars) {
    rows += Markup("<tr", Html{bar.rest ? " class='muted'" : ""}, "><th scope='row' title='",
                   bar.hover, "'>", WithoutMiddle(bar.name, 40), "</th><td class='lengths'>",
                   length(bar.before, {"before"}),
                   length(bar.after, {bar.marked ? "after bad" : "after"}), "</td><td class='num'>",
                   FormatSignificant(bar.after, 3), "</td></tr>");
  }
  return Markup("<table class='bars'><tbody>", rows, "</tbody></table>");
}

/// Returns a chart with its key, or a sentence if all its bars would be equal.
Html Drawing(const LayerChart& chart) {
  if (AllEqual(chart)) {
    const auto told = [](const std::string& what, std::optional<double> value) {
      return what.empty() || !IfFinite(value)
                 ? Html{}
                 : Markup("; ", what, ": ", FormatSignificant(value, 3));
    };
    const LayerRow& first = chart.rows.front();
    if (!IfFinite(first.before) && !IfFinite(first.after)) return {};
    return Markup("<p>The same for all ", chart.rows.size(), told(chart.after, first.after),
                  told(chart.before, first.before), ".</p>");
  }
  const std::vector<Bar> bars = BarsOf(chart);
  const Scale scale = ScaleOf(chart, bars);
  const std::string key =
      chart.before.empty() ? chart.after : chart.after + "; pale bars: " + chart.before;
  return Markup(Lead(chart), "<p class='muted'>Bars: ", key,
                std::string(scale.least > 0 ? " (logarithmic scale)" : ""), ".</p>",
                Bars(bars, scale));
}

Html Table(const LayerChart& chart) {
  if (chart.columns.empty()) return {};
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

Html Badge(const std::optional<LayerMark>& mark) {
  if (!mark) return {};
  return Markup("<span class='badge ", std::string(mark->bad ? "bad" : "good"), "'>",
                std::string(mark->bad ? "\xE2\x9C\x97 " : "\xE2\x9C\x93 "), mark->text, "</span> ");
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
  return StaticPage(
      view.model + " \xE2\x80\x93 " + view.tool,
      Markup("<p class='over'>mscgym ", view.tool, "</p><h1>", view.model,
             "</h1><p class='verdict'>", Badge(view.mark), view.summary, "</p>", facts, charts));
}

}  // namespace msc::gym
