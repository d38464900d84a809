#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "gym/report/precision.h"
#include "gym/report/sections.h"

namespace msc::gym {

namespace {

constexpr int kColors = 8;
constexpr std::array<std::pair<std::string_view, int>, 5> kKnown = {
    {{"f32", 0}, {"bf16", 1}, {"int8", 2}, {"f16", 3}, {"int4", 4}}};

double Largest(const std::vector<ReportLayer>& layers, std::optional<double> ReportLayer::*field) {
  double largest = 0;
  for (const ReportLayer& layer : layers) {
    largest = std::max(largest, IfFinite(layer.*field).value_or(0));
  }
  return largest;
}

/// Largest value of each column, which scales its bars.
struct Largests {
  double share = 0;
  double sensitivity = 0;
  double ms = 0;
};

/// Returns the attributes of a block that is filled to the height of its share.
Html Filled(std::string_view classes, double share) {
  return Markup(" class='cell part ", Html{std::string(classes)},
                "' style='--kept:", 100 * std::clamp(share, 0.0, 1.0));
}

bool AnyTimes(const ReportInput& input) {
  return std::any_of(input.layers.begin(), input.layers.end(), [](const ReportLayer& layer) {
    return IfFinite(layer.before_ms) || IfFinite(layer.after_ms);
  });
}

bool AnyKept(const ReportInput& input) {
  return std::any_of(input.layers.begin(), input.layers.end(),
                     [](const ReportLayer& layer) { return IfFinite(layer.kept).has_value(); });
}

Html Strip(const ReportInput& input, const PrecisionColors& colors) {
  double known = 0;
  for (const ReportLayer& layer : input.layers) {
    known += std::max(0.0, IfFinite(layer.latency_share).value_or(0));
  }
  Html cells;
  for (const ReportLayer& layer : input.layers) {
    const double share = std::max(0.0, IfFinite(layer.latency_share).value_or(0));
    // Without times all layers have equal width. With times, even the smallest stays wide enough to
    // point at.
    const double width = known > 0 ? std::max(share / known * 100, 0.25) : 1;
    std::string tip = layer.name + "\n" + layer.op + " " + layer.shape + "\n" + layer.chosen +
                      ", " + FormatPercent(layer.latency_share, 1) + " of the time";
    const std::optional<double> kept = IfFinite(layer.kept);
    if (!layer.how.empty()) tip += "\n" + layer.how;
    if (kept) tip += "\n" + FormatPercent(kept, 1) + " of its channels kept";
    const Html color = colors.ClassOf(layer.chosen);
    cells += Markup(
        "<span", kept ? Filled(color.text, *kept) : Markup(" class='cell ", color, "' style='"),
        kept ? Html{";"} : Html{}, "flex-grow:", width, "' data-tip='", tip, "'></span>");
  }
  const Html what{AnyKept(input) ? "Precision and channels" : "Precision"};
  return Markup("<div class='strip' role='group' aria-label='", what,
                " of each layer, as wide as its share of the time'>", cells, "</div>");
}

Html LayerRow(std::size_t index, const ReportInput& input, const PrecisionColors& colors,
              const Largests& largest) {
  const ReportLayer& layer = input.layers[index];
  const bool differs = !layer.achieved.empty() && layer.achieved != layer.chosen;
  return Markup(
      "<tr><td class='num' data-value='", index, "'>", index + 1, "</td><td class='name'>",
      layer.name, "</td><td>", layer.op, "</td><td>", layer.shape, "</td>",
      BarCell(layer.latency_share, largest.share, FormatPercent(layer.latency_share, 1)),
      AnyTimes(input)
          ? Markup(BarCell(layer.before_ms, largest.ms, FormatSignificant(layer.before_ms, 3)),
                   BarCell(layer.after_ms, largest.ms, FormatSignificant(layer.after_ms, 3)))
          : Html{},
      layer.how.empty() ? Html{"<td>"} : Html{"<td class='long'>"}, colors.Chip(layer.chosen),
      layer.how.empty() ? Html{} : Markup(" <span class='muted'>", layer.how, "</span>"),
      "</td><td>", colors.Chip(layer.achieved),
      differs ? Html{" <span class='differs'>differs</span>"} : Html{}, "</td>",
      AnyKept(input) ? BarCell(layer.kept, 1, FormatPercent(layer.kept, 1)) : Html{},
      BarCell(layer.sensitivity, largest.sensitivity, FormatSignificant(layer.sensitivity, 3)),
      "</tr>");
}

/// Returns one block per decision.
Html FrontCells(const ReportInput& input, const PrecisionColors& colors,
                const Assignment& assignment) {
  Html cells;
  for (std::size_t i = 0; i < std::min(assignment.size(), input.decisions.size()); ++i) {
    const Decision& decision = input.decisions[i];
    if (assignment[i] < 0 || !std::cmp_less(assignment[i], decision.choices.size())) continue;
    const std::string& choice = decision.choices[static_cast<std::size_t>(assignment[i])];
    const std::optional<double> density = DensityOf(choice);
    cells += Markup(
        "<span",
        density ? Filled("density", *density) : Markup(" class='cell ", colors.ClassOf(choice)),
        "' data-tip='", decision.name + ": " + choice, "'></span>");
  }
  return cells;
}

}  // namespace

PrecisionColors::PrecisionColors(const ReportInput& input) {
  for (const ReportLayer& layer : input.layers) {
    Add(layer.chosen);
    Add(layer.achieved);
    of_layers_.insert({layer.chosen, layer.achieved});
  }
  for (const auto* steps : {&input.steps_before, &input.steps_after}) {
    for (const ReportStep& step : *steps) Add(step.precision);
  }
  if (input.subject == ReportSubject::kRecipe) return;
  for (const Decision& decision : input.decisions) {
    for (const std::string& choice : decision.choices) Add(choice);
  }
}

std::optional<double> DensityOf(const std::string& choice) {
  double value = 0;
  const char* const end = choice.data() + choice.size();
  const auto read = std::from_chars(choice.data(), end, value);
  const bool whole = read.ec == std::errc() && read.ptr == end;
  return whole && value > 0 && value <= 1 ? std::optional(value) : std::nullopt;
}

void PrecisionColors::Add(const std::string& choice) {
  if (choice.empty() || colors_.contains(choice) || DensityOf(choice)) return;
  const auto* known = std::find_if(kKnown.begin(), kKnown.end(),
                                   [&](const auto& item) { return item.first == choice; });
  if (known != kKnown.end()) {
    colors_[choice] = known->second;
    return;
  }
  const auto others = std::count_if(colors_.begin(), colors_.end(), [](const auto& item) {
    return item.second >= static_cast<int>(kKnown.size());
  });
  // Further choices share the last colour.
  colors_[choice] =
      std::min(static_cast<int>(kKnown.size() + static_cast<std::size_t>(others)), kColors - 1);
}

Html PrecisionColors::ClassOf(const std::string& choice) const {
  if (DensityOf(choice)) return Html{"density"};
  const auto it = colors_.find(choice);
  return it == colors_.end() ? Html{"unknown"} : Markup("p", it->second);
}

Html PrecisionColors::Chip(const std::string& choice) const {
  if (choice.empty()) return Html{"<span class='muted'>\xE2\x80\x93</span>"};
  return Markup("<span class='chip ", ClassOf(choice), "'>", choice, "</span>");
}

Html PrecisionColors::Legend() const {
  std::vector<std::pair<int, std::string>> order;
  for (const auto& [choice, color] : colors_) {
    // Other decisions, such as schedules, have colours too but dozens of choices; the legend omits
    // them.
    const bool is_precision =
        color < static_cast<int>(kKnown.size()) || of_layers_.contains(choice);
    if (is_precision) order.emplace_back(color, choice);
  }
  std::sort(order.begin(), order.end());
  Html items;
  for (const auto& [color, choice] : order) items += Markup("<li>", Chip(choice), "</li>");
  return Markup("<ul class='legend' aria-label='Precisions'>", items, "</ul>");
}

Html LayerSection(const ReportInput& input) {
  if (input.layers.empty()) return {};
  const PrecisionColors colors(input);
  const Largests largest = {.share = Largest(input.layers, &ReportLayer::latency_share),
                            .sensitivity = Largest(input.layers, &ReportLayer::sensitivity),
                            .ms = std::max(Largest(input.layers, &ReportLayer::before_ms),
                                           Largest(input.layers, &ReportLayer::after_ms))};
  Html rows;
  for (std::size_t i = 0; i < input.layers.size(); ++i) {
    rows += LayerRow(i, input, colors, largest);
  }
  Html sensitivity;
  if (!input.sensitivity.empty()) {
    sensitivity = Markup(" Sensitivity: ", input.sensitivity, ".");
  }
  return Markup(
      "<section id='layers'><h2>Layers of the best configuration</h2><p class='muted'>"
      "Each block is a layer, as wide as its share of the uncompressed model's time",
      AnyKept(input) ? Html{", and filled up to the share of its channels that was kept."}
                     : Html{"."},
      sensitivity, "</p>", Strip(input, colors), colors.Legend(),
      "<div class='scroll'><table class='sortable'><thead><tr><th class='num'>#</th>"
      "<th>layer</th><th>operator</th><th>shape</th><th class='num'>share of time</th>",
      AnyTimes(input) ? Html{"<th class='num'>before (ms)</th><th class='num'>after (ms)</th>"}
                      : Html{},
      "<th>chosen</th><th>achieved</th>",
      AnyKept(input) ? Html{"<th class='num'>channels kept</th>"} : Html{},
      "<th class='num'>sensitivity</th></tr></thead><tbody>", rows,
      "</tbody></table></div></section>");
}

Html FrontSection(const ReportInput& input, std::span<const ReportMark> marks) {
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (marks[i].pareto && !marks[i].repeated) front.push_back(i);
  }
  if (front.empty() || input.decisions.empty()) return {};
  std::stable_sort(front.begin(), front.end(), [&](std::size_t a, std::size_t b) {
    return *marks[a].latency < *marks[b].latency;
  });
  const PrecisionColors colors(input);
  Html rows;
  for (const std::size_t index : front) {
    const Trial& trial = input.study.trials[index];
    const ReportMark& mark = marks[index];
    Html others;
    for (std::size_t i = 0; i < mark.others.size(); ++i) {
      others += Markup("<td class='num'>", WithUnit(mark.others[i], input.others[i]), "</td>");
    }
    // A strip of blocks suits many decisions with few choices; the choices of a recipe are short
    // text.
    const Html choices = input.subject == ReportSubject::kRecipe
                             ? Markup("<td>", mark.choices, "</td>")
                             : Markup("<td class='wide'><div class='strip small'>",
                                      FrontCells(input, colors, trial.assignment), "</div></td>");
    rows += Markup("<tr data-trial='", mark.number, "'", RowClass(mark), "><td class='num'>",
                   mark.number, mark.best ? Html{" \xE2\x98\x85"} : Html{}, "</td><td class='num'>",
                   OnLatencyAxis(mark.latency, input, 3), "</td><td class='num'>",
                   WithUnit(mark.quality, input.quality), "</td>", others, "<td>", VerdictOn(mark),
                   "</td>", choices, "</tr>");
  }
  const bool kept = marks[front.front()].feasible;
  Html volume;
  if (!input.volume.empty()) {
    volume = Markup("<p class='muted'>Of the trials that keep the limits: ", input.volume, ".</p>");
  }
  return Markup(
      "<section id='front'><h2>Pareto set</h2><p class='muted'>",
      input.subject == ReportSubject::kRecipe
          ? Html{"Recipes that no other recipe matches or beats in every metric."}
          : Html{"The choices of each configuration, one block for each decision, in the order of "
                 "the network."},
      kept ? Html{}
           : Html{" <strong>No trial keeps the limits: this is the Pareto set of all trials that "
                  "succeeded.</strong>"},
      "</p>", volume,
      "<div class='scroll'><table><thead><tr><th class='num'>trial</th>"
      "<th class='num'>",
      input.latency.title, "</th><th class='num'>", input.quality.title, "</th>",
      AxisHeads(input.others), "<th>limits</th><th>choices</th></tr></thead><tbody>", rows,
      "</tbody></table></div></section>");
}

}  // namespace msc::gym
