#include "gym/report/plot.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace msc::gym {

double PlotAxis::PixelOf(double value) const {
  const double part = log ? std::log(std::max(value, low) / low) / std::log(high / low)
                          : (value - low) / (high - low);
  return from + part * (to - from);
}

double PlotAxis::Clamped(double value) const {
  return PixelOf(std::clamp(value, low, high));
}

std::string PlotAxis::TickText(double tick) const {
  if (!log) return FormatFixed(tick, digits);
  return zero && tick <= low ? "0" : FormatSignificant(tick, 1);
}

PlotAxis MakeAxis(double low, double high, int count) {
  // Treats a range below rounding error as empty, so that the step cannot become 0.
  if (!(high - low > std::max(1e-12 * std::max(std::abs(low), std::abs(high)), 1e-100))) {
    const double half = std::max(std::abs(low) * 0.1, 1e-6);
    low -= half;
    high += half;
  }
  // Divided first, so that the difference cannot overflow.
  const double rough = high / count - low / count;
  // Ticks at 1, 2 or 5 times a power of ten are easy to read.
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double lead = rough / power;
  const double step = power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
  PlotAxis axis;
  axis.low = low;
  axis.high = high;
  // Multiply the step instead of adding it up, so that rounding errors do not accumulate.
  // The tolerance keeps a tick at the end of an axis that rounding moved beyond it.
  const double first = std::ceil(low / step - 1e-9);
  const int most = static_cast<int>(std::floor(high / step + 1e-9) - first);
  for (int i = 0; i <= most; ++i) axis.ticks.push_back((first + i) * step);
  // A step of 1, 2 or 5 times 10^-k needs k decimals.
  axis.digits = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 12);
  return axis;
}

PlotAxis MakeLogAxis(double low, double high, bool zero) {
  constexpr double kMostDecades = 12;  // smaller values are as good as 0
  high = std::clamp(high, 1e-90, 1e100);
  low = std::clamp(low, high * std::pow(10.0, -kMostDecades), high / 2);
  PlotAxis axis;
  axis.log = true;
  axis.zero = zero;
  // Room for the mark at 0, about one tick.
  axis.low = zero ? low / std::max(3.0, std::pow(high / low, 0.15)) : low;
  axis.high = high;
  if (zero) axis.ticks.push_back(axis.low);
  const auto decades = std::log10(high / low);
  const int every = std::max(1, static_cast<int>(std::ceil(decades / 6)));
  for (int power = static_cast<int>(std::floor(std::log10(low)));
       power <= static_cast<int>(std::ceil(std::log10(high))); ++power) {
    if (power % every != 0) continue;
    for (const double lead : {1.0, 2.0, 5.0}) {
      const double tick = lead * std::pow(10.0, power);
      const bool wanted = lead == 1 || decades < 2;
      if (wanted && tick >= low && tick <= high) axis.ticks.push_back(tick);
    }
  }
  return axis;
}

double LeastPositive(const std::vector<double>& values) {
  double least = 0;
  for (const double value : values) {
    if (value > 0 && (least == 0 || value < least)) least = value;
  }
  return least;
}

bool NeedsLogAxis(const std::vector<double>& values, double high) {
  constexpr double kDecades = 100;
  std::size_t low = 0;
  double least = high;
  for (const double value : values) {
    if (value < 0) return false;
    if (value <= high / 10) ++low;
    if (value > 0) least = std::min(least, value);
  }
  return high > kDecades * least && 2 * low > values.size();
}

double RobustHigh(std::vector<double> values, double least) {
  if (values.empty()) return least;
  std::sort(values.begin(), values.end());
  const double most = std::max(values.back(), least);
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  };
  // The 90th percentile plus the spread of the middle 80 %.
  const double usual = std::max(least, 2 * at(0.9) - at(0.1));
  return std::min(most, usual);
}

namespace {

/// Returns the values and pixels of the axes, with which the script redraws them.
Html Zoom(const PlotFrame& frame, const PlotTitles& titles, const PlotAxis& x, const PlotAxis& y) {
  if (!titles.zooms) return {};
  const auto range = [](const PlotAxis& axis) {
    return Markup(FormatExact(axis.low), " ", FormatExact(axis.high), " ", axis.from, " ", axis.to,
                  Html{axis.log ? " log" : ""}, Html{axis.zero ? " zero" : ""});
  };
  return Markup(" data-zoom data-frame='", frame.left, " ", frame.right, " ", frame.top, " ",
                frame.bottom, "' data-x='", range(x), "' data-y='", range(y), "'",
                titles.counts ? Html{" data-whole"} : Html{});
}

}  // namespace

Html OpenPlot(const PlotFrame& frame, const PlotTitles& titles, const PlotAxis& x,
              const PlotAxis& y) {
  Html svg = Markup("<svg class='plot", Html{frame.width > 1000 ? " broad" : ""}, "' id='",
                    titles.id, "' viewBox='0 0 ", frame.width, " ", frame.height, "'",
                    Zoom(frame, titles, x, y), " role='group' aria-label='", titles.description,
                    "'><defs><clipPath id='", titles.id, "-clip'><rect x='", frame.left, "' y='",
                    frame.top, "' width='", frame.right - frame.left, "' height='",
                    frame.bottom - frame.top, "'/></clipPath></defs><g class='scale'>");
  for (const double tick : y.ticks) {
    svg += Markup("<line class='grid' x1='", frame.left, "' x2='", frame.right, "' y1='",
                  y.PixelOf(tick), "' y2='", y.PixelOf(tick), "'/><text class='tick' x='",
                  frame.left - 8, "' y='", y.PixelOf(tick) + 4, "' text-anchor='end'>",
                  y.TickText(tick), "</text>");
  }
  for (const double tick : x.ticks) {
    svg += Markup("<line class='grid faint' x1='", x.PixelOf(tick), "' x2='", x.PixelOf(tick),
                  "' y1='", frame.top, "' y2='", frame.bottom, "'/><text class='tick' x='",
                  x.PixelOf(tick), "' y='", frame.bottom + 18, "' text-anchor='middle'>",
                  x.TickText(tick), "</text>");
  }
  svg += Markup("</g><text class='title' x='", frame.right, "' y='", frame.bottom + 38,
                "' text-anchor='end'>", titles.x, "</text><text class='title' x='", 4.0, "' y='",
                14.0, "'>", titles.y, "</text>");
  return svg;
}

bool PlotLabels::Free(const Rect& rect) const {
  return rect.left >= frame_.left && rect.right <= frame_.right && rect.top >= frame_.top &&
         rect.bottom <= frame_.bottom &&
         std::none_of(taken_.begin(), taken_.end(), [&](const Rect& other) {
           return rect.left < other.right && other.left < rect.right && rect.top < other.bottom &&
                  other.top < rect.bottom;
         });
}

std::ptrdiff_t PlotLabels::Covered(const Rect& rect) const {
  constexpr double kRadius = 4;
  return std::count_if(marks_.begin(), marks_.end(), [&](const Spot& spot) {
    return spot.x > rect.left - kRadius && spot.x < rect.right + kRadius &&
           spot.y > rect.top - kRadius && spot.y < rect.bottom + kRadius;
  });
}

Html PlotLabels::Place(double x, double y, const std::string& text) {
  const std::string shown = WithoutEnd(text, 24);
  // Upper estimate of the width of a letter at 12 pixels, for the fonts that browsers may choose.
  const double width = 6.8 * static_cast<double>(shown.size());
  std::optional<Rect> best;
  // Of equally good places the first wins: right of the point, above or below its height, at which
  // a line may leave the point.
  for (const double dx : {11.0, -width - 11, -width / 2, 4.0, -width - 4}) {
    for (const double dy : {-8.0, 20.0, 4.0, -24.0, 36.0}) {
      if (dy == 4.0 && std::abs(dx) < 11) continue;  // would cover the point itself
      const Rect rect{x + dx, y + dy - 11, x + dx + width, y + dy + 3};
      if (Free(rect) && (!best || Covered(rect) < Covered(*best))) best = rect;
    }
  }
  if (!best) return {};
  taken_.push_back(*best);
  return Markup("<text class='label' x='", best->left, "' y='", best->bottom - 3, "'>", shown,
                "</text>");
}

}  // namespace msc::gym
