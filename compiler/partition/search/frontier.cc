#include "compiler/partition/search/frontier.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "compiler/base/error.h"

namespace msc::detail {
namespace {

/// Parent of the first step.
constexpr std::uint32_t kRoot = 0xffffffffU;
constexpr Label kPending = 0xff;  ///< label of a tensor that is wanted before it is made

/// State of a labelled tensor between covered and uncovered nodes.
struct Live {
  FlowIndex tensor = kNoFlow;
  Label made = kPending;
  std::uint32_t wants = 0;  ///< set of labels wanted so far; converted, or due once made
  [[nodiscard]] std::uint64_t Pack() const {
    return (std::uint64_t{tensor} << 40U) | (std::uint64_t{made} << 32U) | wants;
  }
  static Live Unpack(std::uint64_t word) {
    return {.tensor = static_cast<FlowIndex>(word >> 40U),
            .made = static_cast<Label>(word >> 32U),
            .wants = static_cast<std::uint32_t>(word)};
  }
};

/// What later steps depend on in a partial cover. A key is the length of `over`, then `over`,
/// `rest` and `live`.
struct Position {
  std::vector<std::uint64_t> over;  ///< bit k: node `first` + k is covered; no zero word at the end
  std::vector<Live> live;           ///< sorted by tensor
  std::vector<std::uint64_t> rest;  ///< a bit for each cut, then a count for each limit
};

using Key = std::vector<std::uint64_t>;
struct KeyHash {
  std::size_t operator()(const Key& key) const noexcept {
    std::uint64_t hash = key.size();
    for (const std::uint64_t word : key) {
      hash = (hash ^ word) * 0xff51afd7ed558ccdU;
      hash ^= hash >> 32U;
    }
    return static_cast<std::size_t>(hash);
  }
};

/// The cheapest known way to a position.
struct State {
  Picoseconds cost = 0;
  Picoseconds bound = 0;  ///< cost plus dual prices of uncovered nodes
  /// Index of the last step.
  std::uint32_t back = kRoot;
};

/// A piece chosen after the step `parent`.
struct Step {
  std::uint32_t parent = kRoot;
  std::uint32_t piece = 0;
};

/// States with the same first uncovered node.
struct Layer {
  std::unordered_map<Key, std::uint32_t, KeyHash> index;
  std::vector<const Key*> keys;  ///< by state; they lie in `index`
  std::vector<State> states;
};

class Frontier {
 public:
  Frontier(const Table& table, const FrontierConfig& config)
      : table_(table),
        config_(config),
        layers_(config.end - config.begin + 1),
        cut_words_((config.cuts.size() + 63) / 64) {}

  FrontierResult Run() {
    Position start;
    start.rest.assign(cut_words_ + table_.limits.size(), 0);
    Add(config_.begin, start, {.cost = 0, .bound = LowerBound(), .back = kRoot});
    for (std::size_t first = config_.begin; first < config_.end; ++first) {
      Layer layer = std::move(LayerAt(first));
      if (layer.states.empty()) continue;
      const std::vector<std::uint32_t> kept = Select(layer);
      for (std::size_t i = 0; i < kept.size(); ++i) {
        if (OverLimits()) {
          StopAt(first, layer, std::span(kept).subspan(i));
          return Finish();
        }
        Expand(first, *layer.keys[kept[i]], layer.states[kept[i]]);
      }
      bytes_ -= LayerBytes(layer);
    }
    result_.complete = !truncated_;
    result_.lower_bound = truncated_ ? LowerBound() : config_.below;
    return Finish();
  }

 private:
  Layer& LayerAt(std::size_t first) { return layers_[first - config_.begin]; }
  [[nodiscard]] Picoseconds LowerBound() const {
    return table_.price_from[config_.begin] - table_.price_from[config_.end];
  }
  [[nodiscard]] bool OverLimits() const {
    return (config_.max_bytes > 0 && bytes_ > config_.max_bytes) ||
           (config_.max_states > 0 && result_.statistics.states >= config_.max_states);
  }

  // Every path to a cover that is not finished goes through one of these states, so the least of
  // their bounds is a lower bound.
  void StopAt(std::size_t first, const Layer& layer, std::span<const std::uint32_t> left) {
    Picoseconds bound = config_.below;
    for (const std::uint32_t i : left) bound = std::min(bound, layer.states[i].bound);
    for (std::size_t next = first + 1; next <= config_.end; ++next) {
      for (const State& state : LayerAt(next).states) bound = std::min(bound, state.bound);
    }
    result_.lower_bound = truncated_ ? LowerBound() : bound;
  }

  FrontierResult Finish() {
    const Layer& goal = layers_.back();
    if (!goal.states.empty()) {
      // There is more than one goal state where regions are counted.
      const State& state =
          *std::min_element(goal.states.begin(), goal.states.end(),
                            [](const State& a, const State& b) { return a.cost < b.cost; });
      result_.cost = state.cost;
      for (std::uint32_t at = state.back; at != kRoot; at = steps_[at].parent) {
        result_.pieces.push_back(steps_[at].piece);
      }
      std::reverse(result_.pieces.begin(), result_.pieces.end());
      if (result_.complete) result_.lower_bound = state.cost;
    }
    result_.statistics.solves = 1;
    return std::move(result_);
  }

  [[nodiscard]] Key Pack(const Position& position) const {
    Key key;
    key.reserve(1 + position.over.size() + position.live.size() + position.rest.size());
    key.push_back(position.over.size());
    key.insert(key.end(), position.over.begin(), position.over.end());
    key.insert(key.end(), position.rest.begin(), position.rest.end());
    for (const Live& live : position.live) key.push_back(live.Pack());
    return key;
  }

  [[nodiscard]] Position Unpack(const Key& key) const {
    Position position;
    const auto over = key.begin() + 1;
    const auto rest = over + static_cast<std::ptrdiff_t>(key.front());
    const auto live = rest + static_cast<std::ptrdiff_t>(cut_words_ + table_.limits.size());
    position.over.assign(over, rest);
    position.rest.assign(rest, live);
    for (auto it = live; it != key.end(); ++it) position.live.push_back(Live::Unpack(*it));
    return position;
  }

  static std::int64_t KeyBytes(const Key& key) {
    return static_cast<std::int64_t>(key.capacity() * 8 + sizeof(Key) + sizeof(State) + 40);
  }
  static std::int64_t LayerBytes(const Layer& layer) {
    std::int64_t bytes = 0;
    for (const Key* key : layer.keys) bytes += KeyBytes(*key);
    return bytes;
  }

  /// Stores `state` at `position` and returns it if it is new or cheaper than before; else returns
  /// nullptr.
  State* Add(std::size_t first, const Position& position, const State& state) {
    Layer& layer = LayerAt(first);
    const auto [it, added] =
        layer.index.emplace(Pack(position), static_cast<std::uint32_t>(layer.states.size()));
    if (added) {
      layer.keys.push_back(&it->first);
      layer.states.push_back(state);
      bytes_ += KeyBytes(it->first);
      return &layer.states.back();
    }
    State& known = layer.states[it->second];
    if (known.cost <= state.cost) return nullptr;
    known = state;
    return &known;
  }

  // Returns the states to expand, by rising bound.
  std::vector<std::uint32_t> Select(const Layer& layer) {
    std::vector<std::uint32_t> order(layer.states.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return layer.states[a].bound < layer.states[b].bound;
    });
    std::vector<std::uint32_t> kept;
    if (table_.labelled.empty()) {
      kept = std::move(order);
    } else {
      kept = Undominated(layer, order);
    }
    if (config_.width > 0 && kept.size() > config_.width) {
      kept.resize(config_.width);
      truncated_ = true;
    }
    return kept;
  }

  // Drops states that a cheaper state with the same covered nodes can replace. Compares with at
  // most kCompared of these.
  std::vector<std::uint32_t> Undominated(const Layer& layer,
                                         const std::vector<std::uint32_t>& order) const {
    constexpr std::size_t kCompared = 64;
    struct Kept {
      std::uint32_t state;
      std::vector<Live> live;
    };
    std::unordered_map<Key, std::vector<Kept>, KeyHash> groups;
    std::vector<std::uint32_t> kept;
    for (const std::uint32_t i : order) {
      Position position = Unpack(*layer.keys[i]);
      std::vector<Live> live = std::move(position.live);
      position.live.clear();
      std::vector<Kept>& group = groups[Pack(position)];
      const Picoseconds cost = layer.states[i].cost;
      const bool dominated = std::any_of(group.begin(), group.end(), [&](const Kept& other) {
        return Replaces(other.live, live, cost - layer.states[other.state].cost);
      });
      if (dominated) continue;
      if (group.size() < kCompared) group.push_back({i, std::move(live)});
      kept.push_back(i);
    }
    return kept;
  }

  // Returns whether every continuation costs with tensors `a` at most `budget` more than with
  // tensors `b`.
  [[nodiscard]] bool Replaces(const std::vector<Live>& a, const std::vector<Live>& b,
                              Picoseconds budget) const {
    std::size_t i = 0;
    std::size_t j = 0;
    while (budget >= 0 && (i < a.size() || j < b.size())) {
      const FlowIndex tensor =
          std::min(i < a.size() ? a[i].tensor : kNoFlow, j < b.size() ? b[j].tensor : kNoFlow);
      const bool in_a = i < a.size() && a[i].tensor == tensor;
      const bool in_b = j < b.size() && b[j].tensor == tensor;
      const Live left = in_a ? a[i] : Fresh(tensor);
      const Live right = in_b ? b[j] : Fresh(tensor);
      i += in_a ? 1 : 0;
      j += in_b ? 1 : 0;
      budget -= Excess(left, right);
    }
    return budget >= 0;
  }

  // Returns the state of a tensor that no chosen piece has made or read.
  [[nodiscard]] Live Fresh(FlowIndex tensor) const {
    const bool input = table_.problem->flow.tensor(tensor).producer == kNoFlow;
    return {.tensor = tensor, .made = input ? kDense : kPending, .wants = 0};
  }

  /// Returns the additional cost of wanting label `to`.
  [[nodiscard]] Picoseconds Due(const LabelledTensor& tensor, const Live& live, Label to) const {
    if (live.made == to || ((live.wants >> to) & 1U) != 0) return 0;
    return table_.Convert(tensor, live.made, to);
  }

  // Returns an upper bound of how much more a continuation costs with `a` than with `b`.
  [[nodiscard]] Picoseconds Excess(const Live& a, const Live& b) const {
    const LabelledTensor& tensor = table_.Labelled(a.tensor);
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
          most = std::max(most, table_.Convert(tensor, from, to));
        }
        excess = std::min(kNever, excess + most);
      }
      return excess;
    }
    for (std::uint32_t wanted = tensor.wanted; wanted != 0; wanted &= wanted - 1) {
      const auto to = static_cast<Label>(std::countr_zero(wanted));
      excess += std::max<Picoseconds>(0, Due(tensor, a, to) - Due(tensor, b, to));
      excess = std::min(kNever, excess);
    }
    return excess;
  }

  void Expand(std::size_t first, const Key& key, const State& state) {
    ++result_.statistics.states;
    const Position position = Unpack(key);
    bool moved = false;
    for (std::uint32_t i = table_.starts[first]; i < table_.starts[first + 1]; ++i) {
      const Piece& piece = table_.pieces[i];
      ++result_.statistics.transitions;
      const std::size_t words = std::min(piece.bits.size(), position.over.size());
      bool overlaps = false;
      for (std::size_t w = 0; w < words; ++w) {
        overlaps = overlaps || (piece.bits[w] & position.over[w]) != 0;
      }
      if (overlaps) continue;
      moved = true;
      Apply(first, position, state, i);
    }
    if (!moved) result_.stuck = std::max(result_.stuck, first);
  }

  void Apply(std::size_t first, const Position& from, const State& state, std::uint32_t index) {
    const Piece& piece = table_.pieces[index];
    Position to{.over = piece.bits, .live = from.live, .rest = from.rest};
    to.over.resize(std::max(to.over.size(), from.over.size()), 0);
    for (std::size_t w = 0; w < from.over.size(); ++w) to.over[w] |= from.over[w];
    const Picoseconds conversions = Convert(piece, to.live);
    if (conversions >= kNever) return;
    const std::size_t next = Shift(first, to.over);
    if (!CountLimits(piece, to.rest) || !FollowCuts(first, next, index, to.rest)) return;
    DropDead(next, to);
    const Picoseconds cost = state.cost + piece.cost + conversions;
    const Picoseconds bound = cost + Rest(next, to.over);
    if (bound >= config_.below) return;
    State* reached = Add(next, to, {.cost = cost, .bound = bound, .back = kRoot});
    if (reached == nullptr) return;
    reached->back = static_cast<std::uint32_t>(steps_.size());
    steps_.push_back({state.back, index});
    bytes_ += sizeof(Step);
    result_.statistics.peak_bytes = std::max(result_.statistics.peak_bytes, bytes_);
  }

  // Shifts `over` until bit 0 is the first uncovered node, and returns that node.
  std::size_t Shift(std::size_t first, std::vector<std::uint64_t>& over) const {
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
    return first + word * 64 + bit;
  }

  // Returns the sum of the dual prices of uncovered nodes.
  [[nodiscard]] Picoseconds Rest(std::size_t first, const std::vector<std::uint64_t>& over) const {
    Picoseconds rest = table_.price_from[first] - table_.price_from[config_.end];
    for (std::size_t w = 0; w < over.size(); ++w) {
      for (std::uint64_t bits = over[w]; bits != 0; bits &= bits - 1) {
        rest -= table_.price[first + w * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
      }
    }
    return rest;
  }

  // Returns the entry of `tensor` in `live`, which is sorted; inserts it if it is missing.
  Live& At(std::vector<Live>& live, FlowIndex tensor) const {
    const auto it =
        std::lower_bound(live.begin(), live.end(), tensor,
                         [](const Live& entry, FlowIndex wanted) { return entry.tensor < wanted; });
    if (it != live.end() && it->tensor == tensor) return *it;
    return *live.insert(it, Fresh(tensor));
  }

  // Enters the labels of `piece` into `lives`. Returns the cost of the conversions that it causes;
  // kNever if one is impossible.
  Picoseconds Convert(const Piece& piece, std::vector<Live>& lives) const {
    Picoseconds sum = 0;
    for (const TensorLabel& entry : piece.makes) {
      const LabelledTensor& tensor = table_.Labelled(entry.tensor);
      Live& live = At(lives, entry.tensor);
      live.made = entry.label;
      if (table_.problem->flow.tensor(entry.tensor).leaves) live.wants |= 1U << kDense;
      for (std::uint32_t wants = live.wants; wants != 0; wants &= wants - 1) {
        sum += table_.Convert(tensor, entry.label, static_cast<Label>(std::countr_zero(wants)));
        if (sum >= kNever) return kNever;
      }
    }
    for (const TensorLabel& entry : piece.wants) {
      Live& live = At(lives, entry.tensor);
      if (live.made != kPending) sum += Due(table_.Labelled(entry.tensor), live, entry.label);
      if (sum >= kNever) return kNever;
      live.wants |= 1U << entry.label;
    }
    return sum;
  }

  // Removes tensors that are made and of which all readers are covered.
  void DropDead(std::size_t first, Position& position) const {
    const auto covered = [&](FlowIndex node) {
      if (node < first) return true;
      const std::size_t bit = node - first;
      return bit / 64 < position.over.size() && ((position.over[bit / 64] >> (bit % 64)) & 1U) != 0;
    };
    std::erase_if(position.live, [&](const Live& live) {
      const FlowTensor& tensor = table_.problem->flow.tensor(live.tensor);
      return live.made != kPending &&
             std::all_of(tensor.readers.begin(), tensor.readers.end(), covered);
    });
  }

  // Counts `piece` against its limit. Returns whether the limit still holds.
  bool CountLimits(const Piece& piece, std::vector<std::uint64_t>& rest) const {
    if (piece.limit < 0) return true;
    const auto limit = static_cast<std::size_t>(piece.limit);
    return static_cast<std::int64_t>(++rest[cut_words_ + limit]) <= table_.limits[limit];
  }

  // The bit of a cut is set if the cut has begun and all of its pieces that start before `first`
  // are chosen. Updates the bits for the choice of piece `index`; returns false if this completes a
  // cut.
  bool FollowCuts(std::size_t first, std::size_t next, std::uint32_t index,
                  std::vector<std::uint64_t>& rest) const {
    const auto start = [&](std::uint32_t piece) -> std::size_t {
      return table_.pieces[piece].first;
    };
    for (std::size_t i = 0; i < config_.cuts.size(); ++i) {
      const Cut& cut = config_.cuts[i];
      if (start(cut.front()) >= next) break;  // cuts are sorted by first node
      std::uint64_t& word = rest[i / 64];
      const std::uint64_t bit = std::uint64_t{1} << (i % 64);
      const bool alive = start(cut.front()) >= first || (word & bit) != 0;
      word &= ~bit;
      if (!alive) continue;
      const auto due = std::partition_point(
          cut.begin(), cut.end(), [&](std::uint32_t piece) { return start(piece) < first; });
      const auto later = std::partition_point(
          due, cut.end(), [&](std::uint32_t piece) { return start(piece) < next; });
      const bool kept = due == later || (later - due == 1 && *due == index);
      if (!kept) continue;
      if (later == cut.end()) return false;
      word |= bit;
    }
    return true;
  }

  const Table& table_;
  const FrontierConfig& config_;
  std::vector<Layer> layers_;
  std::vector<Step> steps_;
  std::size_t cut_words_;
  std::int64_t bytes_ = 0;
  bool truncated_ = false;
  FrontierResult result_;
};

}  // namespace

FrontierResult RunFrontier(const Table& table, const FrontierConfig& config) {
  Check(std::is_sorted(config.cuts.begin(), config.cuts.end(),
                       [&](const Cut& a, const Cut& b) {
                         return table.pieces[a.front()].first < table.pieces[b.front()].first;
                       }),
        "cuts are by their first piece");
  Check(table.problem->flow.tensors().size() < (std::size_t{1} << 24U),
        "a tensor has a number of 24 bits");
  return Frontier(table, config).Run();
}

}  // namespace msc::detail
