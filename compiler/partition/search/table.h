#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "compiler/partition/problem.h"

namespace msc::detail {

inline constexpr Picoseconds kNever = std::numeric_limits<Picoseconds>::max() / 4;

/// How candidates of unknown cost count.
enum class UnknownCosts : std::uint8_t { kLeaveOut, kByBound };

/// Which of several candidates that cover and exchange the same are there: the cheapest is enough
/// for the best cover, and not for those behind it.
enum class Rivals : std::uint8_t { kCheapest, kAll };

/// A candidate that can be used.
struct Piece {
  std::uint32_t candidate = 0;
  FlowIndex first = 0;
  Picoseconds cost = 0;
  std::vector<std::uint64_t> bits;  ///< bit k is node first + k
  std::vector<TensorLabel> wants;   ///< of labelled tensors alone
  std::vector<TensorLabel> makes;
  int limit = -1;          ///< which of Table::limits it counts against
  std::int64_t bytes = 0;  ///< where there is a memory limit
};

/// Tensor that is not always dense.
struct LabelledTensor {
  FlowIndex tensor = kNoFlow;
  std::uint32_t wanted = 0;  ///< labels that some piece wants
  std::uint32_t made = 0;    ///< labels that some piece makes; dense for an input of the whole
  std::vector<Picoseconds> conversion;  ///< from * labels + to; kNever where it cannot be
};

/// A problem as searches read it: usable candidates by first node, of twins (same nodes and labels;
/// and same target or memory where that is limited) the cheapest alone or all, pins applied.
struct Table {
  Table(const CoverProblem& problem, UnknownCosts unknown, Rivals rivals = Rivals::kCheapest);

  /// Of a tensor that is not always dense.
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
  std::vector<std::uint32_t> starts;  ///< pieces whose first node is i: starts[i] .. starts[i + 1]
  std::vector<LabelledTensor> labelled;
  std::vector<std::uint32_t> labelled_index;  ///< by tensor; kNoFlow where it is always dense
  std::vector<std::int64_t> limits;           ///< most regions of each limit
  /// Dual prices: those of the nodes of a piece sum to its cost at most, so what is not covered yet
  /// costs at least the sum of its prices.
  std::vector<Picoseconds> price;
  std::vector<Picoseconds> price_from;  ///< sum of price[i..]

  [[nodiscard]] Picoseconds LowerBound() const { return price_from.front(); }
};

/// Whether candidate `index` may be used at all: its cost is neither Invalid nor, where they are
/// left out, Unknown, and no pin speaks against it.
[[nodiscard]] bool Usable(const CoverProblem& problem, std::uint32_t index, UnknownCosts unknown);

/// The first node that no usable candidate covers, with what each target says; nullopt if there is
/// none.
[[nodiscard]] std::optional<Failure> Uncoverable(const CoverProblem& problem, UnknownCosts unknown);

}  // namespace msc::detail
