#include "compiler/partition/search/table.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace msc::detail {
namespace {

using PieceKey = std::tuple<FlowIndex, std::vector<std::uint64_t>, std::vector<std::uint64_t>, int,
                            std::int64_t>;

PieceKey KeyOf(const Piece& piece) {
  std::vector<std::uint64_t> labels;
  const auto add = [&](const TensorLabel& entry, std::uint64_t makes) {
    // A label has 8 bits, so the three parts do not overlap.
    labels.push_back((std::uint64_t{entry.tensor} << 9U) | (std::uint64_t{entry.label} << 1U) |
                     makes);
  };
  for (const TensorLabel& entry : piece.wants) add(entry, 0);
  for (const TensorLabel& entry : piece.makes) add(entry, 1);
  return {piece.first, piece.bits, std::move(labels), piece.limit, piece.bytes};
}

std::vector<std::uint64_t> RelativeBits(const IndexSet& nodes) {
  const std::size_t first = nodes.First();
  std::vector<std::uint64_t> bits((nodes.Last() - first) / 64 + 1, 0);
  nodes.ForEach([&](std::size_t node) {
    bits[(node - first) / 64] |= std::uint64_t{1} << ((node - first) % 64);
  });
  return bits;
}

/// Returns for each tensor whether some candidate wants or makes it in a form other than dense.
std::vector<char> NotAlwaysDense(const CoverProblem& problem) {
  std::vector<char> labelled(problem.flow.tensors().size(), 0);
  for (const CandidateRegion& candidate : problem.candidates) {
    for (const auto* list : {&candidate.wants, &candidate.makes}) {
      for (const TensorLabel& entry : *list) {
        if (entry.label != kDense) labelled[entry.tensor] = 1;
      }
    }
  }
  return labelled;
}

template <class Visit>
void ForEachNode(const Piece& piece, Visit&& visit) {
  for (std::size_t i = 0; i < piece.bits.size(); ++i) {
    for (std::uint64_t rest = piece.bits[i]; rest != 0; rest &= rest - 1) {
      visit(piece.first + i * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
    }
  }
}

/// Returns a feasible solution of the dual of the set partition program. Each node starts with the
/// least share cost / size of its pieces, then takes the slack that its pieces have left.
std::vector<Picoseconds> DualPrices(const Table& table) {
  std::vector<Picoseconds> price(table.nodes, kNever);
  std::vector<std::vector<std::uint32_t>> around(table.nodes);
  for (std::uint32_t i = 0; i < table.pieces.size(); ++i) {
    const Piece& piece = table.pieces[i];
    Picoseconds count = 0;
    ForEachNode(piece, [&](std::size_t) { ++count; });
    ForEachNode(piece, [&](std::size_t node) {
      // Division rounds down, so the prices of a piece never sum to more than its cost.
      price[node] = std::min(price[node], piece.cost / count);
      around[node].push_back(i);
    });
  }
  for (Picoseconds& value : price) value = value == kNever ? 0 : value;
  std::vector<Picoseconds> slack(table.pieces.size());
  for (std::uint32_t i = 0; i < table.pieces.size(); ++i) {
    slack[i] = table.pieces[i].cost;
    ForEachNode(table.pieces[i], [&](std::size_t node) { slack[i] -= price[node]; });
  }
  for (std::size_t node = 0; node < table.nodes; ++node) {
    if (around[node].empty()) continue;
    // Raising a price by the least slack of the pieces around the node keeps all of their sums
    // within their costs.
    Picoseconds least = kNever;
    for (const std::uint32_t i : around[node]) least = std::min(least, slack[i]);
    price[node] += least;
    for (const std::uint32_t i : around[node]) slack[i] -= least;
  }
  return price;
}

}  // namespace

bool Usable(const CoverProblem& problem, std::uint32_t index, UnknownCosts unknown) {
  const CandidateRegion& candidate = problem.candidates[index];
  if (candidate.cost.invalid()) return false;
  if (candidate.cost.unknown() && unknown == UnknownCosts::kLeaveOut) return false;
  return std::all_of(problem.conditions.pins.begin(), problem.conditions.pins.end(),
                     [&](const auto& pin) {
                       return !candidate.nodes.Contains(pin.first) ||
                              std::find(pin.second.begin(), pin.second.end(), candidate.target) !=
                                  pin.second.end();
                     });
}

std::optional<Failure> Uncoverable(const CoverProblem& problem, UnknownCosts unknown) {
  IndexSet covered = problem.flow.EmptySet();
  for (std::uint32_t i = 0; i < problem.candidates.size(); ++i) {
    if (Usable(problem, i, unknown)) covered |= problem.candidates[i].nodes;
  }
  const std::size_t node = covered.FirstOutside();
  if (node == problem.flow.size()) return std::nullopt;
  std::set<std::string> said;
  for (const CandidateRegion& candidate : problem.candidates) {
    if (!candidate.nodes.Contains(node)) continue;
    std::string why = candidate.target + ": ";
    if (candidate.cost.invalid()) {
      why += candidate.cost.reason();
    } else if (candidate.cost.unknown()) {
      why += "its cost is unknown";
    } else {
      why += "another target is pinned here";
    }
    said.insert(std::move(why));
  }
  std::string text = "no target can compute node '" + problem.flow.node(node).name + "' (" +
                     problem.flow.node(node).op + ")";
  if (said.empty()) text += ": none offers to";
  std::string separator = ": ";
  for (const std::string& why : said) {
    text += std::exchange(separator, "; ") + why;
  }
  return Failure{FailureKind::kUnsupported, std::move(text)};
}

Table::Table(const CoverProblem& of, UnknownCosts unknown, Rivals rivals)
    : problem(&of), nodes(of.flow.size()), labels(of.labels.size()) {
  // Tensors that are dense in every cover need no labels and no conversions.
  const std::vector<char> is_labelled = NotAlwaysDense(of);
  labelled_index.assign(is_labelled.size(), kNoFlow);
  for (FlowIndex tensor = 0; tensor < is_labelled.size(); ++tensor) {
    if (is_labelled[tensor] == 0) continue;
    labelled_index[tensor] = static_cast<std::uint32_t>(labelled.size());
    const FlowTensor& flow = of.flow.tensor(tensor);
    LabelledTensor entry{.tensor = tensor,
                         // Outputs of the graph are wanted dense, and its inputs come dense.
                         .wanted = flow.leaves ? 1U << kDense : 0U,
                         .made = flow.producer == kNoFlow ? 1U << kDense : 0U,
                         .conversion = std::vector<Picoseconds>(labels * labels, kNever)};
    for (std::size_t from = 0; from < labels; ++from) {
      for (std::size_t to = 0; to < labels; ++to) {
        const auto micros = of.conversions.Micros(static_cast<Label>(from), static_cast<Label>(to),
                                                  tensor, flow.bytes);
        if (micros) entry.conversion[from * labels + to] = ToPicoseconds(*micros);
      }
    }
    labelled.push_back(std::move(entry));
  }
  std::map<std::string, int> limited;
  for (const RegionLimit& limit : of.conditions.max_regions) {
    for (const std::string& target : limit.targets) {
      limited.emplace(target, static_cast<int>(limits.size()));
    }
    limits.push_back(limit.most);
  }

  // Of pieces with equal keys only the cheapest is kept: it can replace the others in any cover
  // without any other change.
  std::map<PieceKey, std::size_t> known;
  for (std::uint32_t i = 0; i < of.candidates.size(); ++i) {
    if (!Usable(of, i, unknown)) continue;
    const CandidateRegion& candidate = of.candidates[i];
    Piece piece{.candidate = i,
                .first = static_cast<FlowIndex>(candidate.nodes.First()),
                .cost = ToPicoseconds(candidate.cost.at_least()),
                .bits = RelativeBits(candidate.nodes),
                .wants = {},
                .makes = {}};
    if (of.conditions.max_bytes) piece.bytes = candidate.bytes;
    if (!labelled.empty()) {
      for (const FlowIndex tensor : TensorsIn(of.flow, candidate.nodes)) {
        if (is_labelled[tensor] != 0) {
          piece.wants.push_back({tensor, LabelOf(candidate.wants, tensor)});
        }
      }
      for (const FlowIndex tensor : TensorsOut(of.flow, candidate.nodes)) {
        if (is_labelled[tensor] != 0) {
          piece.makes.push_back({tensor, LabelOf(candidate.makes, tensor)});
        }
      }
    }
    if (const auto it = limited.find(candidate.target); it != limited.end()) {
      piece.limit = it->second;
    }
    if (rivals == Rivals::kAll) {
      pieces.push_back(std::move(piece));
      continue;
    }
    const auto [it, added] = known.emplace(KeyOf(piece), pieces.size());
    if (added) {
      pieces.push_back(std::move(piece));
    } else if (piece.cost < pieces[it->second].cost) {
      pieces[it->second] = std::move(piece);
    }
  }
  // Covers grow from the first open node, so pieces that start at one node lie together.
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.first < b.first; });
  starts.assign(nodes + 1, 0);
  for (const Piece& piece : pieces) {
    ++starts[piece.first + 1];
    for (const TensorLabel& entry : piece.wants) {
      labelled[labelled_index[entry.tensor]].wanted |= 1U << entry.label;
    }
    for (const TensorLabel& entry : piece.makes) {
      labelled[labelled_index[entry.tensor]].made |= 1U << entry.label;
    }
  }
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  price = DualPrices(*this);
  price_from.assign(nodes + 1, 0);
  for (std::size_t i = nodes; i-- > 0;) price_from[i] = price_from[i + 1] + price[i];
}

std::int64_t Table::Bytes() const {
  std::size_t bytes = pieces.size() * sizeof(Piece) + (starts.size() + price.size() * 2) * 8;
  for (const Piece& piece : pieces) {
    bytes += piece.bits.capacity() * 8 +
             (piece.wants.capacity() + piece.makes.capacity()) * sizeof(TensorLabel);
  }
  for (const LabelledTensor& tensor : labelled) {
    bytes += sizeof tensor + tensor.conversion.capacity() * sizeof(Picoseconds);
  }
  return static_cast<std::int64_t>(bytes);
}

}  // namespace msc::detail
