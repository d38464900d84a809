#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gym/report/html.h"

namespace msc::gym {

/// A linear axis: values low..high on pixels from..to, with ticks at round numbers.
struct PlotAxis {
  double low = 0;
  double high = 1;
  double from = 0;
  double to = 1;
  std::vector<double> ticks;
  int digits = 0;  ///< after the point, enough for the ticks

  [[nodiscard]] double At(double value) const {
    return from + (value - low) / (high - low) * (to - from);
  }
  [[nodiscard]] double Clamped(double value) const;  ///< At, kept on the axis
  [[nodiscard]] bool Holds(double value) const { return value >= low && value <= high; }
};

/// From low to high, which are finite, with about `count` ticks at round numbers between; widened
/// where there is nothing between. Pixels are left at their defaults.
[[nodiscard]] PlotAxis MakeAxis(double low, double high, int count);

/// Where a range of `values` should end: at the largest, unless few lie far beyond the rest, which
/// would squeeze everything else; those are drawn at the edge. `least` is always inside.
[[nodiscard]] double RobustHigh(std::vector<double> values, double least);

/// Pixels of a chart and of the plot inside it.
struct PlotFrame {
  double width = 640;
  double height = 380;
  double left = 56;
  double right = 622;
  double top = 30;
  double bottom = 334;
};

struct PlotTitles {
  std::string id;           ///< of the svg element
  std::string description;  ///< for who cannot see it
  std::string x;
  std::string y;
  bool zooms = false;   ///< marks are points, lines are in data: it can be zoomed (charts.js)
  bool counts = false;  ///< x is whole numbers
};

/// Opens the svg: grid lines, ticks, axis titles and a clip path "ID-clip" over the plot. `x` and
/// `y` have their pixels set.
[[nodiscard]] Html OpenPlot(const PlotFrame& frame, const PlotTitles& titles, const PlotAxis& x,
                            const PlotAxis& y);

/// Labels beside points, never over each other, and over as few marks as can be.
class PlotLabels {
 public:
  explicit PlotLabels(const PlotFrame& frame) : frame_(frame) {}
  /// A mark at (x, y), to be told before labels are placed.
  void Avoid(double x, double y) { marks_.push_back({x, y}); }
  /// A label near (x, y), or nothing where no place is free. Text longer than 22 bytes is cut.
  [[nodiscard]] Html Place(double x, double y, const std::string& text);

 private:
  struct Rect {
    double left, top, right, bottom;
  };
  struct Spot {
    double x, y;
  };
  [[nodiscard]] bool Free(const Rect& rect) const;
  [[nodiscard]] std::ptrdiff_t Covered(const Rect& rect) const;

  PlotFrame frame_;
  std::vector<Rect> taken_;
  std::vector<Spot> marks_;
};

}  // namespace msc::gym
