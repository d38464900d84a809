#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "compiler/partition/problem.h"

namespace msc::detail {

/// Cost of what is impossible. Sums of up to four such costs do not overflow.
inline constexpr Picoseconds kNever = std::numeric_limits<Picoseconds>::max() / 4;

/// Whether searches leave out candidates of unknown cost or count them at their lower bound.
enum class UnknownCosts : std::uint8_t { kLeaveOut, kByBound };

/// Which of several candidates with the same nodes and labels a table contains. The cheapest is
/// enough for the best cover, but not for the second best and those behind it.
enum class Rivals : std::uint8_t { kCheapest, kAll };

/// A usable candidate.
struct Piece {
  std::uint32_t candidate = 0;
  FlowIndex first = 0;
  Picoseconds cost = 0;
  std::vector<std::uint64_t> bits;  ///< bit k: node first + k
  std::vector<TensorLabel> wants;   ///< only of labelled tensors
  std::vector<TensorLabel> makes;
  int limit = -1;          ///< index into Table::limits; -1 if no limit applies
  std::int64_t bytes = 0;  ///< 0 if there is no memory limit
};

/// A tensor that some candidate exchanges in a form other than dense.
struct LabelledTensor {
  FlowIndex tensor = kNoFlow;
  std::uint32_t wanted = 0;  ///< set of labels that some piece wants
  std::uint32_t made = 0;  ///< set of labels that some piece makes; an input of the graph is dense
  std::vector<Picoseconds> conversion;  ///< index: from * labels + to; kNever if impossible
};

/// A problem in the form that searches read: usable candidates sorted by first node, with pins
/// applied. Of twins (same nodes and labels; same target or memory, too, if these are limited) it
/// contains the cheapest or all.
struct Table {
  Table(const CoverProblem& problem, UnknownCosts unknown, Rivals rivals = Rivals::kCheapest);

  /// Returns the entry of a tensor that is not always dense.
  [[nodiscard]] const LabelledTensor& Labelled(FlowIndex tensor) const {
    return labelled.at(labelled_index[tensor]);
  }
  [[nodiscard]] Picoseconds Convert(const LabelledTensor& tensor, Label from, Label to) const {
    return tensor.conversion[from * labels + to];
  }
  [[nodiscard]] std::int64_t Bytes() const;

  const CoverProblem* problem;
  std::size_t nodes;
  std::size_t labels;
  std::vector<Piece> pieces;
  std::vector<std::uint32_t> starts;  ///< node i is first in pieces [starts[i], starts[i + 1])
  std::vector<LabelledTensor> labelled;
  std::vector<std::uint32_t> labelled_index;  ///< by tensor; kNoFlow if it is always dense
  std::vector<std::int64_t> limits;           ///< maximal number of regions by limit
  /// Dual prices by node. Prices of the nodes of a piece sum to at most its cost, so covering the
  /// uncovered nodes costs at least the sum of their prices.
  std::vector<Picoseconds> price;
  std::vector<Picoseconds> price_from;  ///< sum of price[i..]

  [[nodiscard]] Picoseconds LowerBound() const { return price_from.front(); }
};

/// Pieces that may not all be chosen, sorted by first node.
using Cut = std::vector<std::uint32_t>;

/// Returns whether candidate `index` may be used: its cost is neither invalid nor, with kLeaveOut,
/// unknown, and no pin excludes it.
[[nodiscard]] bool Usable(const CoverProblem& problem, std::uint32_t index, UnknownCosts unknown);

/// Returns a Failure that names the first node that no usable candidate covers, with the reason of
/// each target; nullopt if every node can be covered.
[[nodiscard]] std::optional<Failure> Uncoverable(const CoverProblem& problem, UnknownCosts unknown);

}  // namespace msc::detail
