#include "compiler/partition/search/position.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace msc::detail {
namespace {

std::uint64_t PackLive(const Live& live) {
  return (std::uint64_t{live.tensor} << 40U) | (std::uint64_t{live.made} << 32U) | live.wants;
}
Live UnpackLive(std::uint64_t word) {
  return {.tensor = static_cast<FlowIndex>(word >> 40U),
          .made = static_cast<Label>(word >> 32U),
          .wants = static_cast<std::uint32_t>(word)};
}

/// Returns the state of a tensor that no chosen piece has made or read.
Live Fresh(const Table& table, FlowIndex tensor) {
  const bool input = table.problem->flow.tensor(tensor).producer == kNoFlow;
  return {.tensor = tensor, .made = input ? kDense : kPending, .wants = 0};
}

/// Returns the additional cost of wanting label `to`.
Picoseconds Due(const Table& table, const LabelledTensor& tensor, const Live& live, Label to) {
  if (live.made == to || ((live.wants >> to) & 1U) != 0) return 0;
  return table.Convert(tensor, live.made, to);
}

/// Returns an upper bound of how much more a continuation costs with `a` than with `b`.
Picoseconds Excess(const Table& table, const Live& a, const Live& b) {
  const LabelledTensor& tensor = table.Labelled(a.tensor);
  Picoseconds excess = 0;
  if (a.made == kPending || b.made == kPending) {
    if (a.made != b.made) return kNever;
    // The label that will be made is not known yet, so count the dearest conversion for each
    // label that only `a` owes.
    for (std::uint32_t owed = a.wants & ~b.wants; owed != 0; owed &= owed - 1) {
      const auto to = static_cast<Label>(std::countr_zero(owed));
      Picoseconds most = 0;
      for (std::uint32_t made = tensor.made; made != 0; made &= made - 1) {
        const auto from = static_cast<Label>(std::countr_zero(made));
        most = std::max(most, table.Convert(tensor, from, to));
      }
      excess = std::min(kNever, excess + most);
    }
    return excess;
  }
  for (std::uint32_t wanted = tensor.wanted; wanted != 0; wanted &= wanted - 1) {
    const auto to = static_cast<Label>(std::countr_zero(wanted));
    excess += std::max<Picoseconds>(0, Due(table, tensor, a, to) - Due(table, tensor, b, to));
    excess = std::min(kNever, excess);
  }
  return excess;
}

/// Returns the entry of `tensor` in `live`, which is sorted; inserts it if it is missing.
Live& At(const Table& table, std::vector<Live>& live, FlowIndex tensor) {
  const auto it =
      std::lower_bound(live.begin(), live.end(), tensor,
                       [](const Live& entry, FlowIndex wanted) { return entry.tensor < wanted; });
  if (it != live.end() && it->tensor == tensor) return *it;
  return *live.insert(it, Fresh(table, tensor));
}

/// Enters the labels of `piece` into `lives`. Returns the cost of the conversions that it causes;
/// kNever if one is impossible.
Picoseconds EnterLabels(const Table& table, const Piece& piece, std::vector<Live>& lives) {
  Picoseconds sum = 0;
  for (const TensorLabel& entry : piece.makes) {
    const LabelledTensor& tensor = table.Labelled(entry.tensor);
    Live& live = At(table, lives, entry.tensor);
    live.made = entry.label;
    if (table.problem->flow.tensor(entry.tensor).leaves) live.wants |= 1U << kDense;
    for (std::uint32_t wants = live.wants; wants != 0; wants &= wants - 1) {
      sum += table.Convert(tensor, entry.label, static_cast<Label>(std::countr_zero(wants)));
      if (sum >= kNever) return kNever;
    }
  }
  for (const TensorLabel& entry : piece.wants) {
    Live& live = At(table, lives, entry.tensor);
    if (live.made != kPending) sum += Due(table, table.Labelled(entry.tensor), live, entry.label);
    if (sum >= kNever) return kNever;
    live.wants |= 1U << entry.label;
  }
  return sum;
}

/// Moves `first` to the first uncovered node, which bit 0 of `over` then is.
void Shift(Position& position) {
  std::vector<std::uint64_t>& over = position.over;
  std::size_t word = 0;
  while (word < over.size() && over[word] == ~std::uint64_t{0}) ++word;
  const std::size_t bit =
      word < over.size() ? static_cast<std::size_t>(std::countr_one(over[word])) : 0;
  over.erase(over.begin(), over.begin() + static_cast<std::ptrdiff_t>(word));
  if (bit > 0) {
    for (std::size_t w = 0; w < over.size(); ++w) {
      over[w] >>= bit;
      if (w + 1 < over.size()) over[w] |= over[w + 1] << (64 - bit);
    }
  }
  while (!over.empty() && over.back() == 0) over.pop_back();
  position.first += word * 64 + bit;
}

/// Counts `piece` against its limit. Returns whether the limit still holds.
bool CountLimits(const Table& table, const Piece& piece, std::vector<std::uint64_t>& rest) {
  if (piece.limit < 0) return true;
  const auto limit = static_cast<std::size_t>(piece.limit);
  return static_cast<std::int64_t>(++rest[limit]) <= table.limits[limit];
}

/// The bit of a cut is set if the cut has begun and all of its pieces that start before `first`
/// are chosen. Updates the bits for the choice of piece `index`; returns false if this completes a
/// cut.
bool FollowCuts(const Table& table, std::span<const Cut> cuts, std::size_t first, std::size_t next,
                std::uint32_t index, std::vector<std::uint64_t>& rest) {
  const auto start = [&](std::uint32_t piece) -> std::size_t { return table.pieces[piece].first; };
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const Cut& cut = cuts[i];
    if (start(cut.front()) >= next) break;  // cuts are sorted by first node
    std::uint64_t& word = rest[table.limits.size() + i / 64];
    const std::uint64_t bit = std::uint64_t{1} << (i % 64);
    const bool begun = start(cut.front()) < first;
    if (begun && (word & bit) == 0) continue;
    word &= ~bit;
    const auto due = std::partition_point(
        cut.begin(), cut.end(), [&](std::uint32_t piece) { return start(piece) < first; });
    const auto later = std::partition_point(
        due, cut.end(), [&](std::uint32_t piece) { return start(piece) < next; });
    if (later - due > 1 || (later != due && *due != index)) continue;
    if (later == cut.end()) return false;
    word |= bit;
  }
  return true;
}

/// Removes tensors that are made and of which all readers are covered.
void DropDead(const Table& table, Position& position) {
  const auto covered = [&](FlowIndex node) {
    if (node < position.first) return true;
    const std::size_t bit = node - position.first;
    return bit / 64 < position.over.size() && ((position.over[bit / 64] >> (bit % 64)) & 1U) != 0;
  };
  std::erase_if(position.live, [&](const Live& live) {
    const FlowTensor& tensor = table.problem->flow.tensor(live.tensor);
    return live.made != kPending &&
           std::all_of(tensor.readers.begin(), tensor.readers.end(), covered);
  });
}

}  // namespace

Key Pack(const Position& position) {
  Key key;
  key.reserve(1 + position.over.size() + position.live.size() + position.rest.size());
  key.push_back(position.over.size());
  key.insert(key.end(), position.over.begin(), position.over.end());
  key.insert(key.end(), position.rest.begin(), position.rest.end());
  for (const Live& live : position.live) key.push_back(PackLive(live));
  return key;
}

Position Unpack(std::size_t first, const Key& key, std::size_t rest_words) {
  Position position{.first = first, .over = {}, .live = {}, .rest = {}};
  const auto over = key.begin() + 1;
  const auto rest = over + static_cast<std::ptrdiff_t>(key.front());
  const auto live = rest + static_cast<std::ptrdiff_t>(rest_words);
  position.over.assign(over, rest);
  position.rest.assign(rest, live);
  for (auto it = live; it != key.end(); ++it) position.live.push_back(UnpackLive(*it));
  return position;
}

bool Replaces(const Table& table, const std::vector<Live>& a, const std::vector<Live>& b,
              Picoseconds budget) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (budget >= 0 && (i < a.size() || j < b.size())) {
    const FlowIndex tensor =
        std::min(i < a.size() ? a[i].tensor : kNoFlow, j < b.size() ? b[j].tensor : kNoFlow);
    const bool in_a = i < a.size() && a[i].tensor == tensor;
    const bool in_b = j < b.size() && b[j].tensor == tensor;
    const Live left = in_a ? a[i] : Fresh(table, tensor);
    const Live right = in_b ? b[j] : Fresh(table, tensor);
    i += in_a ? 1 : 0;
    j += in_b ? 1 : 0;
    budget -= Excess(table, left, right);
  }
  return budget >= 0;
}

std::size_t RestWords(const Table& table, std::span<const Cut> cuts) {
  return table.limits.size() + (cuts.size() + 63) / 64;
}

std::optional<Move> Choose(const Table& table, std::span<const Cut> cuts, const Position& from,
                           std::uint32_t index) {
  const Piece& piece = table.pieces[index];
  Position to{.first = from.first, .over = piece.bits, .live = from.live, .rest = from.rest};
  to.over.resize(std::max(to.over.size(), from.over.size()), 0);
  for (std::size_t w = 0; w < from.over.size(); ++w) to.over[w] |= from.over[w];
  const Picoseconds conversions = EnterLabels(table, piece, to.live);
  if (conversions >= kNever) return std::nullopt;
  Shift(to);
  if (!CountLimits(table, piece, to.rest) ||
      !FollowCuts(table, cuts, from.first, to.first, index, to.rest)) {
    return std::nullopt;
  }
  DropDead(table, to);
  return Move{std::move(to), conversions};
}

}  // namespace msc::detail
