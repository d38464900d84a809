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
  std::vector<std::string> cells;  ///< one per column of the chart
  bool marked = false;             ///< highlighted
};

/// A chart with its table.
struct LayerChart {
  std::string title;
  std::string before = {};  ///< meaning of the pale bars; empty = none
  std::string after;        ///< meaning of the bars in front of them
  std::vector<std::string> columns;
  std::vector<LayerRow> rows = {};
};

/// The effect of a tool on each layer of a model, for people.
struct LayerView {
  std::string tool;  ///< "quantize"
  std::string model;
  std::string summary;                  ///< one sentence: the result
  std::vector<std::string> facts = {};  ///< lines below it
  std::vector<LayerChart> charts = {};
};

/// Returns a self-contained HTML page with bars and a table for each chart. The page loads nothing
/// and runs no script. The bars of a chart share one scale, from zero to its largest number, or a
/// logarithmic one if most of them would be stubs; a sentence replaces bars that are all equal.
[[nodiscard]] std::string RenderLayers(const LayerView& view);

}  // namespace msc::gym
