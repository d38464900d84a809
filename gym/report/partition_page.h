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
  std::string rule;                ///< the rule that proposed it
  std::vector<std::string> nodes;  ///< "name (Operator)"
  std::optional<double> micros;    ///< measured alone
  std::string alternative;         ///< next best target for the same nodes; may be empty
  std::optional<double> alternative_micros;
  std::string why;
  std::vector<std::size_t> reads;  ///< indices of earlier boxes whose results it reads
  std::int64_t bytes_out = 0;      ///< size of its results
};

/// A transposed image between two regions.
struct PartitionTurn {
  std::string tensor;
  std::string from;  ///< "dense", or the target that keeps it channels last
  std::string to;
  double micros = 0;
};

/// A partition or single target that was timed as a whole.
struct PartitionRow {
  std::string name;
  std::size_t regions = 1;
  std::optional<double> predicted_micros;
  std::optional<double> measured_micros;
  /// To the time of the fastest single target, with its interval.
  std::optional<double> ratio = {};
  std::optional<double> ratio_low = {};
  std::optional<double> ratio_high = {};
  std::string note;  ///< why figures are missing
  bool best = false;
};

/// Content of the page of a partition. Boxes are in execution order.
struct PartitionView {
  std::string model;
  std::string machine;
  std::string summary;  ///< one sentence: the result
  std::vector<PartitionBox> boxes;
  std::vector<PartitionTurn> turns;
  std::vector<PartitionRow> rows;
  std::vector<std::string> facts;  ///< lines about the search
};

/// Returns a self-contained HTML page that begins with the result: regions as boxes coloured by
/// target, with their costs on hovering; the plans and the regions as tables. The page loads
/// nothing and runs no script.
[[nodiscard]] std::string RenderPartition(const PartitionView& view);

/// Returns the same as a graph for Graphviz.
[[nodiscard]] std::string PartitionDot(const PartitionView& view);

}  // namespace msc::gym
