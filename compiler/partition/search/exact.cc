#include "compiler/partition/search/exact.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "compiler/partition/search/cycle.h"

namespace msc::detail {
namespace {

/// Beam widths: states kept for each node, doubled from the first to the last width until there is
/// a cover.
constexpr std::size_t kFirstWidth = 8;
constexpr std::size_t kLastWidth = 4096;
/// Limit of the number of cuts, at which the search ends with the best cover it has.
constexpr std::size_t kMaxCuts = 2000;

/// Nodes [begin, end) and the cuts that apply to them.
struct Segment {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<Cut> cuts;
};

/// Solution of a segment. Pieces are numbered from the first one of the segment.
struct SegmentCover {
  std::vector<std::uint32_t> pieces;
  Picoseconds cost = kNever;
  Picoseconds lower_bound = 0;
};

std::vector<std::uint32_t> CandidatesOf(const Table& table,
                                        const std::vector<std::uint32_t>& pieces) {
  std::vector<std::uint32_t> candidates;
  candidates.reserve(pieces.size());
  for (const std::uint32_t piece : pieces) candidates.push_back(table.pieces[piece].candidate);
  return candidates;
}

/// Inserts `cut` into `cuts`, which are sorted by the first node of their first pieces.
void InsertCut(const Table& table, Cut cut, std::vector<Cut>& cuts) {
  const FlowIndex first = table.pieces[cut.front()].first;
  std::size_t place = 0;
  while (place < cuts.size() && table.pieces[cuts[place].front()].first <= first) ++place;
  cuts.insert(cuts.begin() + static_cast<std::ptrdiff_t>(place), std::move(cut));
}

/// Runs the frontier search until the cover it finds can run: regions that wait for each other
/// become a cut.
class SegmentSolver {
 public:
  SegmentSolver(const Table& table, Segment segment, const SearchOptions& options,
                CoverStatistics& statistics)
      : table_(table), segment_(std::move(segment)), options_(options), statistics_(statistics) {}

  FrontierResult Beam(std::size_t width) {
    FrontierResult result;
    for (; width <= kLastWidth; width *= 2) {
      result = Run(width, kNever);
      if (!result.pieces.empty() || result.complete) break;
    }
    return result;
  }

  FrontierResult Exact() {
    FrontierResult best = Beam(kFirstWidth);
    if (best.complete) return best;
    // The beam's cost is an upper bound: the full search drops states that cannot get below it, and
    // if it finds nothing, the beam's cover is optimal.
    FrontierResult full = Run(0, best.cost);
    if (full.pieces.empty()) {
      // There is no cheaper cover, or the limits ended the search before it was found.
      best.lower_bound = std::max(best.lower_bound, full.lower_bound);
      best.complete = full.complete;
      best.stuck = std::max(best.stuck, full.stuck);
      return best;
    }
    return full;
  }

 private:
  FrontierResult Run(std::size_t width, Picoseconds below) {
    // The narrowest beam runs without limits, since it is small.
    const bool limited = width != kFirstWidth;
    while (true) {
      FrontierResult result =
          RunFrontier(table_, {.begin = segment_.begin,
                               .end = segment_.end,
                               .cuts = segment_.cuts,
                               .width = width,
                               .below = below,
                               .max_bytes = limited ? options_.max_bytes : 0,
                               .max_states = limited ? options_.max_states : 0});
      Add(result.statistics, statistics_);
      const std::vector<std::uint32_t> chosen = CandidatesOf(table_, result.pieces);
      const std::vector<std::uint32_t> cycle = FindCycle(*table_.problem, chosen);
      if (cycle.empty()) return result;
      // No cover that can run contains all members of the cycle, so the cut excludes none.
      Cut cut;
      for (const std::uint32_t member : cycle) {
        const auto place = std::find(chosen.begin(), chosen.end(), member) - chosen.begin();
        cut.push_back(result.pieces[static_cast<std::size_t>(place)]);
      }
      // Pieces are sorted by first node, so indices in rising order are, too.
      std::sort(cut.begin(), cut.end());
      InsertCut(table_, std::move(cut), segment_.cuts);
      if (segment_.cuts.size() > kMaxCuts) {
        result.pieces.clear();
        result.cost = kNever;
        result.complete = false;
        return result;
      }
    }
  }

  const Table& table_;
  Segment segment_;
  const SearchOptions& options_;
  CoverStatistics& statistics_;
};

/// Key of a segment: everything that its solution depends on, with nodes, pieces and tensors
/// numbered from its beginning. Segments with equal keys have equal solutions.
class Signature {
 public:
  Signature(const Table& table, std::size_t begin, std::size_t end) : table_(table), begin_(begin) {
    const DataflowGraph& flow = table.problem->flow;
    Put(end - begin);
    for (std::size_t node = begin; node < end; ++node) {
      const std::vector<FlowIndex>& producers = flow.producers(node);
      const auto inside = std::lower_bound(producers.begin(), producers.end(), begin);
      Put(static_cast<std::uint64_t>(producers.end() - inside));
      for (auto it = inside; it != producers.end(); ++it) Put(*it - begin);
    }
    for (std::uint32_t i = table.starts[begin]; i < table.starts[end]; ++i) {
      const Piece& piece = table.pieces[i];
      Put(piece.first - begin);
      Put(static_cast<std::uint64_t>(piece.cost));
      Put(piece.bits.size());
      for (const std::uint64_t word : piece.bits) Put(word);
      PutLabels(piece.wants);
      PutLabels(piece.makes);
    }
  }

  [[nodiscard]] std::string Take() && { return std::move(text_); }

 private:
  void Put(std::uint64_t word) {
    text_.append(reinterpret_cast<const char*>(&word), sizeof word);  // NOLINT
  }

  void PutLabels(const std::vector<TensorLabel>& list) {
    Put(list.size());
    for (const TensorLabel& entry : list) {
      Put(entry.label);
      const auto [it, added] = tensors_.emplace(entry.tensor, tensors_.size());
      Put(it->second);
      if (added) PutTensor(entry.tensor);
    }
  }

  void PutTensor(FlowIndex tensor) {
    const FlowTensor& flow = table_.problem->flow.tensor(tensor);
    Put(flow.leaves ? 1 : 0);
    Put(flow.producer == kNoFlow ? 0 : flow.producer - begin_ + 1);
    Put(flow.readers.size());
    for (const FlowIndex reader : flow.readers) Put(reader - begin_);
    for (const Picoseconds cost : table_.Labelled(tensor).conversion) {
      Put(static_cast<std::uint64_t>(cost));
    }
  }

  const Table& table_;
  std::size_t begin_;
  std::string text_;
  std::unordered_map<FlowIndex, std::size_t> tensors_;
};

enum class Effort : std::uint8_t { kExact, kBeam };

class Solver {
 public:
  Solver(const Table& table, const std::vector<Cut>& forbidden, Effort effort, std::size_t width,
         const SearchOptions& options)
      : table_(table), forbidden_(forbidden), effort_(effort), width_(width), options_(options) {}

  Result<Cover> Solve() {
    // Cuts and limits of regions tie segments to each other.
    std::vector<std::size_t> points = {0, table_.nodes};
    if (forbidden_.empty() && table_.limits.empty()) points = CutPoints(table_);
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      if (points[i] == points[i + 1]) continue;
      const SegmentCover& part = SolveOnce(points[i], points[i + 1]);
      if (part.pieces.empty()) return NoCover();
      for (const std::uint32_t piece : part.pieces) {
        cover_.chosen.push_back(table_.pieces[table_.starts[points[i]] + piece].candidate);
      }
      cost_ += part.cost;
      lower_bound_ += part.lower_bound;
    }
    cover_.micros = ToMicros(cost_);
    cover_.lower_bound = ToMicros(lower_bound_);
    cover_.statistics.peak_bytes += table_.Bytes();
    return std::move(cover_);
  }

 private:
  const SegmentCover& SolveOnce(std::size_t begin, std::size_t end) {
    const auto [it, added] = solved_.emplace(Signature(table_, begin, end).Take(), SegmentCover{});
    if (!added) return it->second;
    SegmentSolver solver(table_, {begin, end, forbidden_}, options_, cover_.statistics);
    FrontierResult result = effort_ == Effort::kExact ? solver.Exact() : solver.Beam(width_);
    stuck_ = result.stuck;
    complete_ = result.complete;
    for (std::uint32_t& piece : result.pieces) piece -= table_.starts[begin];
    // Dual prices bound the cost of a segment also if limits ended its search.
    it->second = {.pieces = std::move(result.pieces),
                  .cost = result.cost,
                  .lower_bound = std::max(result.lower_bound,
                                          table_.price_from[begin] - table_.price_from[end])};
    if (it->second.lower_bound > it->second.cost) it->second.lower_bound = it->second.cost;
    return it->second;
  }

  [[nodiscard]] Failure NoCover() const {
    if (!complete_) {
      return {FailureKind::kOutOfMemory,
              "the search reached its limit of memory or states before it found a cover"};
    }
    if (!forbidden_.empty()) return {FailureKind::kUnsupported, "there is no other cover"};
    return {FailureKind::kUnsupported,
            "no choice of candidates covers every node exactly once and keeps the conditions; the "
            "best attempts end at node '" +
                table_.problem->flow.node(stuck_).name + "'"};
  }

  const Table& table_;
  const std::vector<Cut>& forbidden_;
  Effort effort_;
  std::size_t width_;
  const SearchOptions& options_;
  std::unordered_map<std::string, SegmentCover> solved_;
  Cover cover_;
  Picoseconds cost_ = 0;
  Picoseconds lower_bound_ = 0;
  std::size_t stuck_ = 0;
  bool complete_ = true;
};

}  // namespace

void Add(const CoverStatistics& more, CoverStatistics& sum) {
  sum.states += more.states;
  sum.transitions += more.transitions;
  sum.solves += more.solves;
  sum.asked += more.asked;
  sum.peak_bytes = std::max(sum.peak_bytes, more.peak_bytes);
}

std::vector<std::size_t> CutPoints(const Table& table) {
  // Running sums of crossed[k] count the pieces and labelled tensors that lie across the place in
  // front of node k.
  std::vector<std::int64_t> crossed(table.nodes + 2, 0);
  const auto cross = [&](std::size_t first, std::size_t last) {
    ++crossed[first + 1];
    --crossed[last + 1];
  };
  for (const Piece& piece : table.pieces) {
    const std::uint64_t top = piece.bits.back();
    const std::size_t width =
        piece.bits.size() * 64 - static_cast<std::size_t>(std::countl_zero(top));
    cross(piece.first, piece.first + width - 1);
  }
  for (const LabelledTensor& tensor : table.labelled) {
    const FlowTensor& flow = table.problem->flow.tensor(tensor.tensor);
    if (flow.readers.empty()) continue;
    const FlowIndex first = flow.producer == kNoFlow ? flow.readers.front() : flow.producer;
    cross(first, flow.readers.back());
  }
  std::vector<std::size_t> points = {0};
  std::int64_t across = 0;
  for (std::size_t k = 1; k < table.nodes; ++k) {
    across += crossed[k];
    if (across == 0) points.push_back(k);
  }
  points.push_back(table.nodes);
  return points;
}

Result<Cover> SolveExactly(const Table& table, const std::vector<Cut>& forbidden,
                           const SearchOptions& options) {
  return Solver(table, forbidden, Effort::kExact, 0, options).Solve();
}

Result<Cover> SolveByBeam(const Table& table, const std::vector<Cut>& forbidden, std::size_t width,
                          const SearchOptions& options) {
  return Solver(table, forbidden, Effort::kBeam, width, options).Solve();
}

Result<Cover> ExactSearch(const CoverProblem& problem, const SearchOptions& options) {
  return SolveExactly(Table(problem, UnknownCosts::kLeaveOut), {}, options);
}

Result<Cover> BeamSearch(const CoverProblem& problem, const SearchOptions& options) {
  return SolveByBeam(Table(problem, UnknownCosts::kLeaveOut), {}, kFirstWidth, options);
}

}  // namespace msc::detail
