#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gym/report/html.h"

namespace msc::gym {

/// A linear or logarithmic axis: maps values low..high to pixels from..to, with ticks at round
/// numbers.
struct PlotAxis {
  double low = 0;
  double high = 1;
  double from = 0;
  double to = 1;
  std::vector<double> ticks;
  int digits = 0;     ///< decimals that the ticks need
  bool log = false;   ///< logarithmic; low > 0
  bool zero = false;  ///< of a logarithmic axis: its low end stands for 0

  [[nodiscard]] double PixelOf(double value) const;
  [[nodiscard]] double Clamped(double value) const;  ///< PixelOf, clamped to the axis
  [[nodiscard]] bool Holds(double value) const {
    return (value >= low || (zero && value >= 0)) && value <= high;
  }
  [[nodiscard]] std::string TickText(double tick) const;
};

/// Returns an axis from low to high (finite) with about `count` ticks at round numbers. Widens an
/// empty range. Pixels keep their defaults.
[[nodiscard]] PlotAxis MakeAxis(double low, double high, int count);

/// Returns a logarithmic axis for positive values from `low` to `high`, with ticks at powers of
/// ten, or at 1, 2 and 5 times these over less than two decades. With `zero` its low end stands for
/// 0 and lies below all values.
[[nodiscard]] PlotAxis MakeLogAxis(double low, double high, bool zero);

/// Returns the smallest value above 0; 0 if there is none.
[[nodiscard]] double LeastPositive(const std::vector<double>& values);

/// Returns whether a linear axis up to `high` would flatten the values, none below 0: most would
/// share its lowest tenth, although they span two decades or more.
[[nodiscard]] bool NeedsLogAxis(const std::vector<double>& values, double high);

/// Returns the upper end of an axis for `values`: the largest value, or less if a few outliers
/// would squeeze everything else; the caller draws outliers at the edge. The result is at least
/// `least`.
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
  std::string description;  ///< for readers who cannot see it
  std::string x;
  std::string y;
  bool zooms = false;   ///< charts.js may zoom it: marks are points, lines are in data units
  bool counts = false;  ///< x holds whole numbers
};

/// Opens the svg: grid lines, ticks, axis titles and a clip path "ID-clip" over the plot. The
/// pixels of `x` and `y` must be set.
[[nodiscard]] Html OpenPlot(const PlotFrame& frame, const PlotTitles& titles, const PlotAxis& x,
                            const PlotAxis& y);

/// Places labels beside points. Labels never overlap each other and cover as few marks as possible.
class PlotLabels {
 public:
  explicit PlotLabels(const PlotFrame& frame) : frame_(frame) {}
  /// Registers a mark at (x, y). Call it for all marks before the first Place.
  void Avoid(double x, double y) { marks_.push_back({x, y}); }
  /// Returns a label near (x, y), or nothing if no place is free. Cuts text longer than 22 bytes.
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
