#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace msc::gym {

/// A region of a partition, for people.
struct PartitionBox {
  std::string target;
  std::string rule;                ///< which rule proposed it
  std::vector<std::string> nodes;  ///< "name (Operator)"
  std::optional<double> micros;    ///< measured by itself
  std::string alternative;         ///< the target that is next best on the same nodes; may be empty
  std::optional<double> alternative_micros;
  std::string why;
  std::vector<std::size_t> reads;  ///< boxes before it whose results it reads
  std::int64_t bytes_out = 0;      ///< what it hands over
};

/// An image that is turned between two regions.
struct PartitionTurn {
  std::string tensor;
  std::string from;  ///< "dense", or the target that has it channels last
  std::string to;
  double micros = 0;
};

/// A way to run the model that was timed whole.
struct PartitionRow {
  std::string name;
  std::size_t regions = 1;
  std::optional<double> predicted_micros;
  std::optional<double> measured_micros;
  std::optional<double> ratio;  ///< by the fastest single target's time, with its interval
  std::optional<double> ratio_low;
  std::optional<double> ratio_high;
  std::string note;  ///< why there are no figures
  bool best = false;
};

/// All that the page of a partition shows. Boxes in the order in which they run.
struct PartitionView {
  std::string model;
  std::string machine;
  std::string summary;  ///< one sentence: what was found
  std::vector<PartitionBox> boxes;
  std::vector<PartitionTurn> turns;
  std::vector<PartitionRow> rows;
  std::vector<std::string> facts;  ///< lines about the search
};

/// A page by itself: regions as boxes coloured by target, with their costs where one points; the
/// plans and the regions as tables. Nothing is loaded and no script runs.
[[nodiscard]] std::string RenderPartition(const PartitionView& view);

/// The same as a graph for Graphviz.
[[nodiscard]] std::string PartitionDot(const PartitionView& view);

}  // namespace msc::gym
