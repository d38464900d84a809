#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/partition/search/table.h"

namespace msc::detail {

inline constexpr Label kPending = 0xff;  ///< label of a tensor that is wanted before it is made

/// State of a labelled tensor between covered and uncovered nodes.
struct Live {
  FlowIndex tensor = kNoFlow;
  Label made = kPending;
  std::uint32_t wants = 0;  ///< set of labels wanted so far; converted, or due once made
};

/// What the rest of a partial cover depends on.
struct Position {
  std::size_t first = 0;            ///< first uncovered node
  std::vector<std::uint64_t> over;  ///< bit k: node `first` + k is covered; no zero word at the end
  std::vector<Live> live;           ///< sorted by tensor
  std::vector<std::uint64_t> rest;  ///< a count for each limit, then a bit for each cut
};

/// A position without `first` in one array: the length of `over`, then `over`, `rest` and `live`.
using Key = std::vector<std::uint64_t>;

[[nodiscard]] Key Pack(const Position& position);
/// Restores a position whose `rest` has `rest_words` words.
[[nodiscard]] Position Unpack(std::size_t first, const Key& key, std::size_t rest_words);

/// Returns the number of words in Position::rest.
[[nodiscard]] std::size_t RestWords(const Table& table, std::span<const Cut> cuts);

/// A position behind a chosen piece.
struct Move {
  Position position;
  Picoseconds conversions = 0;  ///< cost of the conversions that the piece causes
};

/// Chooses piece `index`, which covers the first uncovered node and no covered node. Returns
/// nullopt if a conversion is impossible, a limit is exceeded, or the piece completes a cut. `cuts`
/// are sorted by the first node of their first pieces.
[[nodiscard]] std::optional<Move> Choose(const Table& table, std::span<const Cut> cuts,
                                         const Position& from, std::uint32_t index);

/// Returns whether every continuation costs with tensors `a` at most `budget` more than with
/// tensors `b`.
[[nodiscard]] bool Replaces(const Table& table, const std::vector<Live>& a,
                            const std::vector<Live>& b, Picoseconds budget);

}  // namespace msc::detail
