#pragma once

#include <optional>
#include <string>
#include <vector>

namespace msc::gym {

/// A layer or a value: its bars and its table row.
struct LayerRow {
  std::string name;
  std::optional<double> before = {};  ///< bars; absent or not finite = no bar
  std::optional<double> after;
  std::vector<std::string> cells = {};  ///< one per column of the chart
  bool marked = false;                  ///< highlighted
};

/// A chart with its table.
struct LayerChart {
  std::string title;
  std::string before = {};                ///< meaning of the pale bars; empty = none
  std::string after = {};                 ///< meaning of the bars in front of them
  bool adds = false;                      ///< numbers are parts of a whole: bytes, not errors
  std::vector<std::string> columns = {};  ///< of the table; empty = no table
  std::vector<LayerRow> rows = {};
};

/// A badge before the summary: red if `bad`, else green.
struct LayerMark {
  std::string text;
  bool bad = false;
};

/// The effect of a tool on each layer of a model, for people.
struct LayerView {
  std::string tool;  ///< "quantize"
  std::string model;
  std::string summary;                  ///< the result in a sentence, or a few lines
  std::optional<LayerMark> mark = {};   ///< whether the result is what was asked for
  std::vector<std::string> facts = {};  ///< lines below it
  std::vector<LayerChart> charts = {};
};

/// Returns a self-contained HTML page with bars and a table for each chart. The page loads nothing
/// and runs no script. A chart begins with its largest number. If it has many rows, bars are drawn
/// of the marked and the largest ones, largest first; the last bar stands for the others: their sum
/// if the numbers add up, else the largest of them. The bars share one scale, from zero to the
/// largest number, or a logarithmic one if most of them would be stubs and they do not add up; a
/// sentence replaces bars
/// that are all equal, and nothing those that are all absent.
[[nodiscard]] std::string RenderLayers(const LayerView& view);

}  // namespace msc::gym
