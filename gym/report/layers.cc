#include <algorithm>
#include <array>
#include <string>
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
    largest = std::max(largest, Finite(layer.*field).value_or(0));
  }
  return largest;
}

/// A number with a bar as long as its part of `largest`. Sorts by the number.
Html BarCell(std::optional<double> value, double largest, const std::string& text) {
  value = Finite(value);
  if (!value) return Markup("<td class='num' data-value=''>", text, "</td>");
  const double part = largest > 0 ? std::clamp(*value / largest, 0.0, 1.0) : 0;
  return Markup("<td class='num bar' data-value='", Exact(value),
                "'><span class='fill' style='--part:", 100 * part, "'></span><span>", text,
                "</span></td>");
}

Html Strip(const ReportInput& input, const PrecisionColors& colors) {
  double known = 0;
  for (const ReportLayer& layer : input.layers) {
    known += std::max(0.0, Finite(layer.latency_share).value_or(0));
  }
  Html cells;
  for (const ReportLayer& layer : input.layers) {
    const double share = std::max(0.0, Finite(layer.latency_share).value_or(0));
    // Without times all are equally wide; with them even the smallest can still be pointed at.
    const double width = known > 0 ? std::max(share / known * 100, 0.25) : 1;
    const std::string tip = layer.name + "\n" + layer.op + " " + layer.shape + "\n" + layer.chosen +
                            ", " + Percent(layer.latency_share, 1) + " of the time";
    cells += Markup("<span class='cell ", colors.ClassOf(layer.chosen),
                    "' style='flex-grow:", width, "' data-tip='", tip, "'></span>");
  }
  return Markup(
      "<div class='strip' role='img' aria-label='Precision of each layer, as wide "
      "as its share of the time'>",
      cells, "</div>");
}

Html LayerRow(std::size_t index, const ReportInput& input, const PrecisionColors& colors,
              const std::pair<double, double>& largest) {
  const ReportLayer& layer = input.layers[index];
  const bool differs = !layer.achieved.empty() && layer.achieved != layer.chosen;
  return Markup(
      "<tr><td class='num' data-value='", index, "'>", index + 1, "</td><td class='name'>",
      layer.name, "</td><td>", layer.op, "</td><td>", layer.shape, "</td>",
      BarCell(layer.latency_share, largest.first, Percent(layer.latency_share, 1)), "<td>",
      colors.Chip(layer.chosen), "</td><td>", colors.Chip(layer.achieved),
      differs ? Html{" <span class='differs'>differs</span>"} : Html{}, "</td>",
      BarCell(layer.sensitivity, largest.second, Significant(layer.sensitivity, 3)), "</tr>");
}

}  // namespace

PrecisionColors::PrecisionColors(const ReportInput& input) {
  for (const ReportLayer& layer : input.layers) {
    Add(layer.chosen);
    Add(layer.achieved);
  }
  for (const Decision& decision : input.decisions) {
    for (const std::string& choice : decision.choices) Add(choice);
  }
}

void PrecisionColors::Add(const std::string& choice) {
  if (choice.empty() || colors_.contains(choice)) return;
  const auto* known = std::find_if(kKnown.begin(), kKnown.end(),
                                   [&](const auto& item) { return item.first == choice; });
  if (known != kKnown.end()) {
    colors_[choice] = known->second;
    return;
  }
  const auto others = std::count_if(colors_.begin(), colors_.end(), [](const auto& item) {
    return item.second >= static_cast<int>(kKnown.size());
  });
  colors_[choice] =
      std::min(static_cast<int>(kKnown.size() + static_cast<std::size_t>(others)), kColors - 1);
}

Html PrecisionColors::ClassOf(const std::string& choice) const {
  const auto it = colors_.find(choice);
  return it == colors_.end() ? Html{"unknown"} : Markup("p", it->second);
}

Html PrecisionColors::Chip(const std::string& choice) const {
  if (choice.empty()) return Html{"<span class='muted'>\xE2\x80\x93</span>"};
  return Markup("<span class='chip ", ClassOf(choice), "'>", choice, "</span>");
}

Html PrecisionColors::Legend() const {
  std::vector<std::pair<int, std::string>> order;
  for (const auto& [choice, color] : colors_) order.emplace_back(color, choice);
  std::sort(order.begin(), order.end());
  Html items;
  for (const auto& [color, choice] : order) items += Markup("<li>", Chip(choice), "</li>");
  return Markup("<ul class='legend' aria-label='Precisions'>", items, "</ul>");
}

Html LayerSection(const ReportInput& input) {
  if (input.layers.empty()) return {};
  const PrecisionColors colors(input);
  const std::pair largest = {Largest(input.layers, &ReportLayer::latency_share),
                             Largest(input.layers, &ReportLayer::sensitivity)};
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
      "Each block is a layer, as wide as its share of the uncompressed model's time.",
      sensitivity, "</p>", Strip(input, colors), colors.Legend(),
      "<div class='scroll'><table class='sortable'><thead><tr><th class='num'>#</th>"
      "<th>layer</th><th>operator</th><th>shape</th><th class='num'>share of time</th>"
      "<th>chosen</th><th>achieved</th><th class='num'>sensitivity</th></tr></thead>"
      "<tbody>",
      rows, "</tbody></table></div></section>");
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
    const Assignment& assignment = input.study.trials[index].assignment;
    Html cells;
    for (std::size_t i = 0; i < std::min(assignment.size(), input.decisions.size()); ++i) {
      const Decision& decision = input.decisions[i];
      if (assignment[i] < 0 || !std::cmp_less(assignment[i], decision.choices.size())) continue;
      const std::string& choice = decision.choices[static_cast<std::size_t>(assignment[i])];
      cells += Markup("<span class='cell ", colors.ClassOf(choice), "' data-tip='",
                      decision.name + ": " + choice, "'></span>");
    }
    const ReportMark& mark = marks[index];
    rows +=
        Markup("<tr data-trial='", mark.number, "'", mark.best ? Html{" class='is-best'"} : Html{},
               "><td class='num'>", mark.number, mark.best ? Html{" \xE2\x98\x85"} : Html{},
               "</td><td class='num'>", Fixed(mark.latency, 3), "</td><td class='num'>",
               WithUnit(mark.quality, input.quality), "</td><td>",
               std::string(mark.feasible ? "yes" : "no"),
               "</td><td class='wide'><div class='strip small'>", cells, "</div></td></tr>");
  }
  return Markup(
      "<section id='front'><h2>Pareto set</h2><p class='muted'>What each trade of "
      "speed for quality chose, a block a decision, in the order of the network.</p>"
      "<div class='scroll'><table><thead><tr><th class='num'>trial</th>"
      "<th class='num'>",
      input.latency.title, "</th><th class='num'>", input.quality.title,
      "</th><th>feasible</th><th>choices</th></tr></thead><tbody>", rows,
      "</tbody></table></div></section>");
}

}  // namespace msc::gym
