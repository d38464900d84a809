#include "gym/report/partition_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <string_view>

#include "gym/report/html.h"
#include "gym/report/page_frame.h"

namespace msc::gym {
namespace {

// Light enough for dark text.
constexpr std::array<std::string_view, 8> kColours = {"#9ecae9", "#ffbf79", "#88d27a", "#f2a6c4",
                                                      "#d6a5c9", "#f2cf5b", "#83bcb6", "#d8b5a5"};
constexpr std::string_view kInk = "#1b1f24";

/// Returns the i-th colour: one of the palette first, then light colours whose hues are far apart.
std::string ColourAt(std::size_t i) {
  if (i < kColours.size()) return std::string(kColours.at(i));
  // 360 / phi^2 degrees: multiples of it divide the circle most evenly, however many there are.
  constexpr double kGoldenAngle = 137.508;
  const double hue = std::fmod(kGoldenAngle * static_cast<double>(i), 360);
  std::string colour = "#";
  for (const double shift : {0.0, 120.0, 240.0}) {
    // Distance in hue: 0 at the channel's own hue, 1 at the opposite one.
    const double part = std::abs(std::remainder(hue - shift, 360)) / 180;
    constexpr double kLeast = 0x90;
    constexpr double kMost = 0xf4;
    const double value = kMost - part * (kMost - kLeast);
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto byte = static_cast<std::size_t>(std::lround(value));
    colour += kDigits[byte / 16];
    colour += kDigits[byte % 16];
  }
  return colour;
}

/// Assigns a colour to each target, in order of appearance.
std::map<std::string, std::string> ColoursOf(const PartitionView& view) {
  std::map<std::string, std::string> colours;
  for (const PartitionBox& box : view.boxes) {
    colours.try_emplace(box.target, ColourAt(colours.size()));
  }
  return colours;
}

std::string Micros(std::optional<double> micros) {
  return micros ? FormatSignificant(micros, 4) + " µs" : "–";
}

std::string Title(const PartitionBox& box) {
  return box.nodes.empty() ? "" : WithoutMiddle(box.nodes.front(), 37);
}

/// Returns the hover text of a box.
std::string Hover(const PartitionBox& box) {
  std::string text = box.target + ", " + Micros(box.micros);
  if (!box.alternative.empty()) {
    text += "; next best " + box.alternative + ", " + Micros(box.alternative_micros);
  }
  text += "\n" + box.why;
  constexpr std::size_t kMost = 12;
  for (std::size_t i = 0; i < std::min(box.nodes.size(), kMost); ++i) text += "\n" + box.nodes[i];
  if (box.nodes.size() > kMost) {
    text += "\nand " + std::to_string(box.nodes.size() - kMost) + " more";
  }
  return text;
}

struct Place {
  std::size_t rank = 0;  ///< length of the longest path to it
  std::size_t slot = 0;  ///< position among the boxes of its rank
};

std::vector<Place> PlaceBoxes(const PartitionView& view) {
  std::vector<Place> places(view.boxes.size());
  std::map<std::size_t, std::size_t> taken;
  for (std::size_t i = 0; i < places.size(); ++i) {
    // Boxes are in order of execution, so those that a box reads have ranks already.
    for (const std::size_t from : view.boxes[i].reads) {
      places[i].rank = std::max(places[i].rank, places[from].rank + 1);
    }
    places[i].slot = taken[places[i].rank]++;
  }
  return places;
}

Html Drawing(const PartitionView& view) {
  constexpr double kWidth = 300;
  constexpr double kHeight = 44;
  constexpr double kStepX = 330;
  constexpr double kStepY = 66;
  constexpr double kMargin = 8;
  const auto colours = ColoursOf(view);
  const std::vector<Place> places = PlaceBoxes(view);
  std::size_t ranks = 1;
  std::size_t slots = 1;
  for (const Place& place : places) {
    ranks = std::max(ranks, place.rank + 1);
    slots = std::max(slots, place.slot + 1);
  }
  const auto x = [&](const Place& place) {
    return kMargin + static_cast<double>(place.slot) * kStepX;
  };
  const auto y = [&](const Place& place) {
    return kMargin + static_cast<double>(place.rank) * kStepY;
  };
  // A box lies below all that it reads, as its rank is greater.
  Html lines;
  Html boxes;
  for (std::size_t i = 0; i < view.boxes.size(); ++i) {
    const PartitionBox& box = view.boxes[i];
    const double left = x(places[i]);
    const double top = y(places[i]);
    for (const std::size_t from : box.reads) {
      lines +=
          Markup("<line x1='", x(places[from]) + kWidth / 2, "' y1='", y(places[from]) + kHeight,
                 "' x2='", left + kWidth / 2, "' y2='", top, "' stroke='var(--grey)'/>");
    }
    boxes += Markup(
        "<g class='region'><title>", Hover(box), "</title><rect x='", left, "' y='", top,
        "' width='", kWidth, "' height='", kHeight, "' rx='6' fill='", colours.at(box.target),
        "'/><text x='", left + kMargin, "' y='", top + 18, "' fill='", std::string(kInk), "'>",
        WithoutEnd(box.target, 22), " · ", Micros(box.micros), "</text><text x='", left + kMargin,
        "' y='", top + 35, "' fill='", std::string(kInk), "' font-size='12'>", Title(box),
        box.nodes.size() > 1 ? " + " + std::to_string(box.nodes.size() - 1) : "", "</text></g>");
  }
  const double width = static_cast<double>(slots) * kStepX + kMargin;
  const double height = static_cast<double>(ranks) * kStepY + kMargin;
  return Markup("<svg id='regions' width='", width, "' height='", height, "' viewBox='0 0 ", width,
                " ", height, "' font-family='inherit' font-size='14'>", lines, boxes, "</svg>");
}

Html Rows(const PartitionView& view) {
  Html rows;
  for (const PartitionRow& row : view.rows) {
    const std::string ratio = row.ratio ? FormatSignificant(row.ratio, 4) + " [" +
                                              FormatSignificant(row.ratio_low, 4) + ", " +
                                              FormatSignificant(row.ratio_high, 4) + "]"
                                        : row.note;
    const std::optional<double> error =
        row.predicted_micros && row.measured_micros
            ? std::optional(*row.measured_micros / *row.predicted_micros - 1)
            : std::nullopt;
    rows += Markup("<tr><td class='long'>", row.name, std::string(row.best ? " ★" : ""),
                   "</td><td class='num'>", row.regions, "</td><td class='num'>",
                   Micros(row.predicted_micros), "</td><td class='num'>",
                   Micros(row.measured_micros), "</td><td class='num'>", FormatPercent(error, 1),
                   "</td><td class='long'>", ratio, "</td></tr>");
  }
  return Markup(
      "<section id='plans'><h2>Plans timed as whole models, interleaved</h2><div "
      "class='scroll'><table>"
      "<thead><tr><th>plan</th><th class='num'>regions</th><th class='num'>sum of its regions</th>"
      "<th class='num'>whole model</th><th class='num'>whole against sum</th><th>ratio to the "
      "fastest single target, 95 % "
      "interval</th></tr></thead><tbody>",
      rows, "</tbody></table></div></section>");
}

Html Boxes(const PartitionView& view) {
  const auto colours = ColoursOf(view);
  Html rows;
  for (std::size_t i = 0; i < view.boxes.size(); ++i) {
    const PartitionBox& box = view.boxes[i];
    rows += Markup("<tr title='", Hover(box), "'><td>", i + 1,
                   "</td><td><span style='background:", colours.at(box.target),
                   ";color:", std::string(kInk), ";padding:0 6px;border-radius:4px'>", box.target,
                   "</span></td><td class='long'>", Title(box),
                   box.nodes.size() > 1 ? " + " + std::to_string(box.nodes.size() - 1) : "",
                   "</td><td class='num'>", Micros(box.micros), "</td><td class='long'>",
                   box.alternative.empty() ? "–" : box.alternative, "</td><td class='num'>",
                   Micros(box.alternative_micros), "</td><td class='long'>", box.why, "</td></tr>");
  }
  return Markup(
      "<section id='table'><h2>Regions in order of execution</h2><div class='scroll'>"
      "<table><thead><tr><th>#</th><th>target</th><th>nodes</th><th class='num'>measured "
      "alone</th><th>next best target</th><th class='num'>its "
      "time</th><th>why</th></tr></thead><tbody>",
      rows, "</tbody></table></div></section>");
}

/// Returns the table of transposes between regions; nothing if there are none.
Html Turns(const PartitionView& view) {
  if (view.turns.empty()) return {};
  Html rows;
  for (const PartitionTurn& turn : view.turns) {
    rows += Markup("<tr><td class='long'>", turn.tensor, "</td><td>", turn.from, "</td><td>",
                   turn.to, "</td><td class='num'>", Micros(turn.micros), "</td></tr>");
  }
  return Markup(
      "<section id='turns'><h2>Layout conversions of images between regions</h2><div "
      "class='scroll'><table>"
      "<thead><tr><th>tensor</th><th>from</th><th>to</th><th class='num'>measured "
      "alone</th></tr></thead>"
      "<tbody>",
      rows, "</tbody></table></div></section>");
}

/// Returns a quoted string of the DOT language.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return quoted + "\"";
}

}  // namespace

std::string RenderPartition(const PartitionView& view) {
  Html facts;
  for (const std::string& fact : view.facts) facts += Markup("<li>", fact, "</li>");
  if (!view.facts.empty()) {
    facts = Markup("<section id='facts'><h2>How it was found</h2><ul>", facts, "</ul></section>");
  }
  return StaticPage(view.model + " – partition",
                    Markup("<p class='over'>partition over targets · ", view.machine, "</p><h1>",
                           view.model, "</h1><p class='verdict'>", view.summary, "</p>", Rows(view),
                           "<section><h2>Regions by target</h2><div class='scroll'>", Drawing(view),
                           "</div></section>", Boxes(view), Turns(view), facts));
}

std::string PartitionDot(const PartitionView& view) {
  const auto colours = ColoursOf(view);
  std::string text = "digraph partition {\n  node [shape=box, style=\"rounded,filled\"];\n";
  for (std::size_t i = 0; i < view.boxes.size(); ++i) {
    const PartitionBox& box = view.boxes[i];
    text += "  r" + std::to_string(i) +
            " [label=" + Quoted(box.target + ", " + Micros(box.micros) + "\n" + Title(box)) +
            ", tooltip=" + Quoted(Hover(box)) + ", fillcolor=" + Quoted(colours.at(box.target)) +
            "];\n";
  }
  for (std::size_t i = 0; i < view.boxes.size(); ++i) {
    for (const std::size_t from : view.boxes[i].reads) {
      text += "  r" + std::to_string(from) + " -> r" + std::to_string(i) +
              " [label=" + Quoted(FormatBytes(static_cast<double>(view.boxes[from].bytes_out))) +
              "];\n";
    }
  }
  return text + "}\n";
}

}  // namespace msc::gym
