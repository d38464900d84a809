#include <algorithm>
#include <cmath>
#include <string>

#include "gym/report/sections.h"

namespace msc::gym {

namespace {

/// Returns the measurement if all three numbers are finite.
std::optional<Measured> Known(const std::optional<Measured>& measured) {
  const bool known =
      measured && IfFinite(measured->value) && IfFinite(measured->low) && IfFinite(measured->high);
  return known ? measured : std::nullopt;
}

std::string Verdict(const ReportHeadline& headline) {
  if (headline.unfinished) return "The search was not finished.";
  if (headline.configuration.empty()) return "No configuration was found.";
  const auto speed_up = Known(headline.speed_up);
  if (!speed_up) return "The speed of the best configuration is not known.";
  const std::string rival = headline.rival.empty() ? "." : "; " + headline.rival + ".";
  // An interval that contains 1 does not exclude equal speed.
  if (speed_up->low <= 1 && speed_up->high >= 1) {
    return "No significant difference in speed to the uncompressed model" + rival;
  }
  return FormatFixed(speed_up->value, 2) + "\xC3\x97 as fast as the uncompressed model" +
         (speed_up->value < 1 ? ": slower" : "") + rival;
}

Html Badge(const ReportHeadline& headline) {
  if (!headline.suspicions.empty()) {
    return Markup("<span class='badge bad'>\xE2\x9C\x97 suspicious</span>");
  }
  if (headline.constraint.empty() || headline.unfinished) return {};
  const bool met = headline.constraint_met && !headline.configuration.empty();
  return Markup(
      "<span class='badge ", std::string(met ? "good" : "bad"), "'>",
      std::string(met ? "\xE2\x9C\x93 constraint met: " : "\xE2\x9C\x97 constraint not met: "),
      headline.constraint, "</span>");
}

struct TileText {
  std::string title;
  std::string number;
  std::string unit = {};
  std::string detail = {};
  bool bad = false;
};

Html Tile(const TileText& tile) {
  constexpr std::size_t kLong = 10;  // letters that a narrow tile has no room for in large type
  return Markup("<div class='tile", Html{tile.bad ? " bad" : ""}, "'><dt>", tile.title,
                "</dt><dd><strong", Html{tile.number.size() > kLong ? " class='long'" : ""}, ">",
                tile.number, " <span class='unit'>", tile.unit, "</span></strong><small>",
                tile.detail, "</small></dd></div>");
}

/// Returns ", limit 2 ms" if the tile's metric is limited.
std::string LimitOf(const ReportHeadline& headline, const std::string& tile) {
  const auto limit = headline.limits.find(tile);
  return limit == headline.limits.end() ? "" : ", " + limit->second;
}

Html SpeedTile(const ReportHeadline& headline) {
  const auto speed_up = Known(headline.speed_up);
  if (!speed_up) {
    return Tile({"Speed-up", FormatFixed(std::nullopt, 0), "", "not measured"});
  }
  return Tile({"Speed-up", FormatFixed(speed_up->value, 2) + "\xC3\x97", "",
               "95 % interval " + FormatFixed(speed_up->low, 2) + " to " +
                   FormatFixed(speed_up->high, 2) + LimitOf(headline, "Speed-up")});
}

/// Shows both latencies with the decimals that the reference needs.
Html LatencyTile(const ReportHeadline& headline) {
  const auto reference = IfFinite(headline.reference_ms);
  const int digits = !reference || *reference >= 100 ? 1 : *reference >= 10 ? 2 : 3;
  return Tile({"Latency", FormatFixed(headline.latency_ms, digits), "ms",
               "was " + FormatFixed(reference, digits) + " ms" + LimitOf(headline, "Latency")});
}

/// Returns calls per second one after the other, with 3 digits: "497".
std::string Rate(double ms) {
  const double rate = 1e3 / ms;
  return rate >= 100 ? FormatFixed(rate, 0) : FormatSignificant(rate, 3);
}

Html ThroughputTile(const ReportHeadline& headline) {
  const auto latency = IfFinite(headline.latency_ms);
  const auto reference = IfFinite(headline.reference_ms);
  if (!latency || !reference || *latency <= 0 || *reference <= 0) return {};
  return Tile({"Throughput", Rate(*latency), "calls/s",
               "one after the other, was " + Rate(*reference) + " calls/s"});
}

std::string Signed(double value, int digits) {
  const std::string text = FormatFixed(std::abs(value), digits);
  // The text decides, as what rounds to 0 has no sign.
  const bool zero = text.find_first_not_of("0.") == std::string::npos;
  return (zero ? "\xC2\xB1" : value < 0 ? "\xE2\x88\x92" : "+") + text;
}

Html AccuracyTile(const ReportHeadline& headline) {
  const auto accuracy = IfFinite(headline.accuracy);
  const auto reference = IfFinite(headline.reference_accuracy);
  const auto drop = IfFinite(headline.accuracy_drop);
  if (drop) return Tile({"Accuracy", Signed(-*drop, 2), "points"});
  if (!accuracy || !reference) return {};
  return Tile({"Accuracy", Signed((*accuracy - *reference) * 100, 2), "points",
               FormatPercent(accuracy, 2) + ", was " + FormatPercent(reference, 2)});
}

/// Returns the title of a tile in the case of its neighbours.
std::string Capital(std::string title) {
  if (!title.empty() && title[0] >= 'a' && title[0] <= 'z') {
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
  }
  return title;
}

Html LossTiles(const ReportHeadline& headline) {
  Html tiles;
  for (const ReportLoss& loss : headline.losses) {
    tiles += Tile({Capital(loss.title), loss.number, "", loss.detail, loss.bad});
  }
  return tiles;
}

Html GuardTile(const ReportHeadline& headline) {
  if (headline.guard.empty()) return {};
  const bool bad = !headline.suspicions.empty();
  return Tile({"Guard", bad ? "suspicious" : "passed", "", headline.guard, bad});
}

/// Shows the best configuration beside the uncompressed model on other targets.
Html ComparedTiles(const ReportHeadline& headline) {
  Html tiles;
  for (const ReportLoss& compared : headline.compared) {
    tiles += Tile({compared.title, compared.number, "", compared.detail});
  }
  return tiles;
}

Html MemoryTile(const ReportHeadline& headline) {
  const auto bytes = IfFinite(headline.peak_bytes);
  if (!bytes) return {};
  const auto reference = IfFinite(headline.reference_peak_bytes);
  return Tile({"Memory for activations", FormatBytes(bytes), "",
               (reference ? "was " + FormatBytes(reference) : std::string("of one call")) +
                   LimitOf(headline, "Memory for activations")});
}

/// Lists what makes the result suspicious.
Html Suspicions(const ReportHeadline& headline) {
  Html lines;
  for (const std::string& text : headline.suspicions) lines += Markup("<li>", text, "</li>");
  if (headline.suspicions.empty()) return {};
  return Markup("<div class='warning'><p>Look at this result before you use it:</p><ul>", lines,
                "</ul></div>");
}

Html SizeTile(const ReportHeadline& headline) {
  const auto bytes = IfFinite(headline.weight_bytes);
  const auto reference = IfFinite(headline.reference_weight_bytes);
  if (!bytes || !reference || *reference <= 0) return {};
  return Tile(
      {"Weights", Signed((*bytes / *reference - 1) * 100, 0), "%",
       FormatBytes(bytes) + ", was " + FormatBytes(reference) + LimitOf(headline, "Weights")});
}

Html EnergyTile(const ReportHeadline& headline) {
  const auto joules = IfFinite(headline.joules);
  const auto reference = IfFinite(headline.reference_joules);
  if (!joules || !reference || *reference <= 0) return {};
  return Tile({"Energy", Signed((*joules / *reference - 1) * 100, 0), "%",
               FormatSignificant(*joules * 1e3, 3) + " mJ per call, was " +
                   FormatSignificant(*reference * 1e3, 3) + " mJ" + LimitOf(headline, "Energy")});
}

Html TrialTile(std::span<const ReportMark> marks) {
  const auto failed =
      std::count_if(marks.begin(), marks.end(), [](const ReportMark& mark) { return mark.failed; });
  const auto feasible = std::count_if(marks.begin(), marks.end(),
                                      [](const ReportMark& mark) { return mark.feasible; });
  return Tile({"Trials", std::to_string(marks.size()), "",
               std::to_string(feasible) + " feasible, " + std::to_string(failed) + " failed"});
}

using Value = std::optional<double> ReportMark::*;

/// Returns the winner's result on an axis in the final trainings.
std::optional<Measured> FinalOn(const ReportInput& input, const ReportAxis& axis) {
  for (const ReportFinalist& finalist : input.finalists) {
    if (!finalist.trial || finalist.trial != input.winner) continue;
    for (std::size_t i = 0; i < std::min(finalist.means.size(), input.final_axes.size()); ++i) {
      if (input.final_axes[i].metric == axis.metric) return Known(finalist.means[i]);
    }
  }
  return std::nullopt;
}

/// Shows the best recipe on an axis beside the baselines: from the final trainings, or from its
/// trial if it was not trained again.
Html AxisTile(const ReportInput& input, const ReportAxis& axis, std::span<const ReportMark> marks,
              Value value) {
  if (axis.metric.empty()) return {};
  std::optional<double> best;
  std::string baselines;
  for (const ReportMark& mark : marks) {
    if (mark.best) best = mark.*value;
    if (mark.anchor.empty() || mark.failed || !(mark.*value)) continue;
    baselines += (baselines.empty() ? "" : ", ") + mark.anchor + " " + OnAxis(mark.*value, axis, 3);
  }
  std::string detail = baselines.empty() ? "" : "baselines: " + baselines;
  if (const auto mean = FinalOn(input, axis)) {
    best = mean->value;
    // A recipe without margin has no interval.
    if (mean->high > mean->value) {
      detail = "95 % interval " + OnAxis(mean->low, axis, 3) + " to " +
               OnAxis(mean->high, axis, 3) + (detail.empty() ? "" : "; ") + detail;
    }
  }
  return Tile({axis.title, OnAxis(best, axis, 4), axis.unit, detail});
}

/// Returns "8 epochs, rate 0.001" if there is a best recipe.
std::string RecipeVerdict(const ReportHeadline& headline, std::span<const ReportMark> marks) {
  const auto best =
      std::find_if(marks.begin(), marks.end(), [](const ReportMark& mark) { return mark.best; });
  if (headline.unfinished) return "The search was not finished.";
  if (best == marks.end()) return "No recipe was found.";
  return "The best recipe: " + best->choices + ".";
}

}  // namespace

Html HeadlineSection(const ReportInput& input, std::span<const ReportMark> marks) {
  const ReportHeadline& headline = input.headline;
  const bool recipe = input.subject == ReportSubject::kRecipe;
  Html tiles;
  if (recipe) {
    tiles += AxisTile(input, input.latency, marks, &ReportMark::latency);
    tiles += AxisTile(input, input.quality, marks, &ReportMark::quality);
  } else {
    tiles += SpeedTile(headline);
    tiles += LatencyTile(headline);
    tiles += ThroughputTile(headline);
    tiles += ComparedTiles(headline);
  }
  tiles += AccuracyTile(headline);
  tiles += LossTiles(headline);
  tiles += GuardTile(headline);
  tiles += EnergyTile(headline);
  tiles += SizeTile(headline);
  tiles += MemoryTile(headline);
  tiles += TrialTile(marks);
  Html from;
  if (!headline.configuration.empty()) {
    from = Markup("<p class='muted'>Best configuration: ", headline.configuration, "</p>");
  }
  return Markup("<header><p class='over'>", input.tool, " \xC2\xB7 ", input.created, "</p><h1>",
                input.model, "</h1><p class='verdict'>",
                recipe ? RecipeVerdict(headline, marks) : Verdict(headline), " ", Badge(headline),
                "</p>", Suspicions(headline), from, "<dl class='tiles'>", tiles, "</dl></header>");
}

}  // namespace msc::gym
