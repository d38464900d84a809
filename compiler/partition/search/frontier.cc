#include "compiler/partition/search/frontier.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/partition/search/position.h"

namespace msc::detail {
namespace {

/// Parent of the first step.
constexpr std::uint32_t kRoot = 0xffffffffU;

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
  std::int64_t bytes = 0;  ///< of keys and states
};

std::int64_t KeyBytes(const Key& key) {
  return static_cast<std::int64_t>(key.capacity() * 8 + sizeof(Key) + sizeof(State) + 40);
}

/// Returns the states of a layer by rising bound.
std::vector<std::uint32_t> ByBound(const std::vector<State>& states) {
  std::vector<std::uint32_t> order(states.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return states[a].bound < states[b].bound;
  });
  return order;
}

/// Returns `order` without states that a cheaper state with the same covered nodes can replace.
/// Compares with at most kCompared of these.
std::vector<std::uint32_t> Undominated(const Table& table, const Layer& layer,
                                       std::size_t rest_words,
                                       const std::vector<std::uint32_t>& order) {
  constexpr std::size_t kCompared = 64;
  struct Kept {
    std::uint32_t state;
    std::vector<Live> live;
  };
  std::unordered_map<Key, std::vector<Kept>, KeyHash> groups;
  std::vector<std::uint32_t> kept;
  for (const std::uint32_t i : order) {
    Position position = Unpack(0, *layer.keys[i], rest_words);  // all have the same first node
    std::vector<Live> live = std::exchange(position.live, {});
    std::vector<Kept>& group = groups[Pack(position)];
    const Picoseconds cost = layer.states[i].cost;
    const bool dominated = std::any_of(group.begin(), group.end(), [&](const Kept& other) {
      return Replaces(table, other.live, live, cost - layer.states[other.state].cost);
    });
    if (dominated) continue;
    if (group.size() < kCompared) group.push_back({i, std::move(live)});
    kept.push_back(i);
  }
  return kept;
}

bool Overlaps(const Piece& piece, const Position& position) {
  const std::size_t words = std::min(piece.bits.size(), position.over.size());
  for (std::size_t w = 0; w < words; ++w) {
    if ((piece.bits[w] & position.over[w]) != 0) return true;
  }
  return false;
}

/// Returns the sum of the dual prices of nodes before `end` that `position` leaves uncovered.
Picoseconds PriceOfRest(const Table& table, const Position& position, std::size_t end) {
  Picoseconds rest = table.price_from[position.first] - table.price_from[end];
  for (std::size_t w = 0; w < position.over.size(); ++w) {
    for (std::uint64_t bits = position.over[w]; bits != 0; bits &= bits - 1) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(bits));
      rest -= table.price[position.first + w * 64 + bit];
    }
  }
  return rest;
}

/// Returns the pieces chosen up to step `last`.
std::vector<std::uint32_t> PathTo(std::uint32_t last, const std::vector<Step>& steps) {
  std::vector<std::uint32_t> pieces;
  for (std::uint32_t at = last; at != kRoot; at = steps[at].parent) {
    pieces.push_back(steps[at].piece);
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

class Frontier {
 public:
  Frontier(const Table& table, const FrontierConfig& config)
      : table_(table),
        config_(config),
        rest_words_(RestWords(table, config.cuts)),
        layers_(config.end - config.begin + 1) {}

  FrontierResult Run() {
    const Position start{
        .first = config_.begin, .over = {}, .live = {}, .rest = Key(rest_words_, 0)};
    Add(start, {.cost = 0, .bound = LowerBound(), .back = kRoot});
    for (std::size_t first = config_.begin; first < config_.end; ++first) {
      Layer layer = std::move(LayerAt(first));
      if (layer.states.empty()) continue;
      const std::vector<std::uint32_t> kept = Select(layer);
      for (std::size_t i = 0; i < kept.size(); ++i) {
        if (OverLimits()) {
          StopAt(first, layer, std::span(kept).subspan(i));
          return Finish();
        }
        Expand(Unpack(first, *layer.keys[kept[i]], rest_words_), layer.states[kept[i]]);
      }
      bytes_ -= layer.bytes;
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
    const std::vector<State>& goal = layers_.back().states;
    if (!goal.empty()) {
      // There is more than one goal state where regions are counted.
      const State& state = *std::min_element(
          goal.begin(), goal.end(), [](const State& a, const State& b) { return a.cost < b.cost; });
      result_.cost = state.cost;
      result_.pieces = PathTo(state.back, steps_);
      if (result_.complete) result_.lower_bound = state.cost;
    }
    result_.statistics.solves = 1;
    return std::move(result_);
  }

  /// Stores `state` at `position` if it is new or cheaper than before. Returns whether it did.
  bool Add(const Position& position, const State& state) {
    Layer& layer = LayerAt(position.first);
    const auto [it, added] =
        layer.index.emplace(Pack(position), static_cast<std::uint32_t>(layer.states.size()));
    if (added) {
      layer.keys.push_back(&it->first);
      layer.states.push_back(state);
      layer.bytes += KeyBytes(it->first);
      bytes_ += KeyBytes(it->first);
      return true;
    }
    State& known = layer.states[it->second];
    const bool cheaper = state.cost < known.cost;
    if (cheaper) known = state;
    return cheaper;
  }

  // Returns the states to expand, by rising bound.
  std::vector<std::uint32_t> Select(const Layer& layer) {
    std::vector<std::uint32_t> kept = ByBound(layer.states);
    if (!table_.labelled.empty()) kept = Undominated(table_, layer, rest_words_, kept);
    if (config_.width > 0 && kept.size() > config_.width) {
      kept.resize(config_.width);
      truncated_ = true;
    }
    return kept;
  }

  void Expand(const Position& position, const State& state) {
    ++result_.statistics.states;
    const std::size_t first = position.first;
    bool moved = false;
    for (std::uint32_t i = table_.starts[first]; i < table_.starts[first + 1]; ++i) {
      ++result_.statistics.transitions;
      if (Overlaps(table_.pieces[i], position)) continue;
      moved = true;
      const std::optional<Move> move = Choose(table_, config_.cuts, position, i);
      if (move) Follow(*move, state, i);
    }
    if (!moved) result_.stuck = std::max(result_.stuck, first);
  }

  void Follow(const Move& move, const State& from, std::uint32_t piece) {
    State reached{.cost = from.cost + table_.pieces[piece].cost + move.conversions,
                  .back = static_cast<std::uint32_t>(steps_.size())};
    reached.bound = reached.cost + PriceOfRest(table_, move.position, config_.end);
    if (reached.bound >= config_.below || !Add(move.position, reached)) return;
    steps_.push_back({from.back, piece});
    bytes_ += sizeof(Step);
    result_.statistics.peak_bytes = std::max(result_.statistics.peak_bytes, bytes_);
  }

  const Table& table_;
  const FrontierConfig& config_;
  std::size_t rest_words_;
  std::vector<Layer> layers_;
  std::vector<Step> steps_;
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
