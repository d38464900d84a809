#pragma once

#include <optional>
#include <string>
#include <vector>

namespace msc::gym {

/// A layer, or a value: its bars and its line of the table.
struct LayerRow {
  std::string name;
  std::optional<double> before;  ///< bars; none where there is no number, or it is not finite
  std::optional<double> after;
  std::vector<std::string> cells;  ///< as many as the chart has columns
  bool marked = false;             ///< stands out
};

/// One chart with its table.
struct LayerChart {
  std::string title;
  std::string before;  ///< what the pale bars are; empty where there are none
  std::string after;   ///< what the bars in front of them are
  std::vector<std::string> columns;
  std::vector<LayerRow> rows;
};

/// What a tool did to each layer of a model, for people.
struct LayerView {
  std::string tool;  ///< "quantize"
  std::string model;
  std::string summary;             ///< one sentence: what came of it
  std::vector<std::string> facts;  ///< lines below it
  std::vector<LayerChart> charts;
};

/// A page by itself: bars and a table for each chart. Nothing is loaded and no script runs. Bars
/// have one scale a chart, from zero to the largest number in it.
[[nodiscard]] std::string RenderLayers(const LayerView& view);

}  // namespace msc::gym
