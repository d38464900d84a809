#include "compiler/partition/search/bounds.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace msc {
namespace {

using Indices = std::vector<std::uint32_t>;

constexpr std::size_t kEnoughToFit = 4;
constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);

/// Relation of a candidate to the units of its target.
struct Place {
  std::size_t target = 0;
  Indices inside;        ///< units that it contains
  Indices cut;           ///< units of which it contains all anchors, but not all nodes
  double beside = 0;     ///< bytes that its other nodes write
  double written = 0;    ///< bytes that all its nodes write
  bool made_of = false;  ///< consists of several units and nothing else
  Indices joints;        ///< joints between neighbours in `inside`
  /// Bytes that the units in `inside` would exchange as regions of their own, and the candidate
  /// does not.
  double kept = 0;
  double kept_apart = 0;  ///< the part of `kept` that no joint accounts for
  bool has_anchor = false;
  double floor = 0;  ///< the lower bound that its cost had initially
};

/// Two units of a target, one right behind the other in a region.
struct Joint {
  std::uint32_t before = 0;
  std::uint32_t behind = 0;
  double kept = 0;  ///< bytes that a region with both need not exchange
};

/// What is assumed of a target; see LearnBounds.
struct Factors {
  double inside = 1;         ///< f: lower bound of a region's cost relative to its prediction
  double per_join = 0;       ///< microseconds saved by each joint
  double per_kept_byte = 0;  ///< microseconds saved by each byte that stays inside
  /// g: lower bound of a region's cost relative to a unit in `cut`
  double cut = 1;
  double micros_per_byte = 0;
};

/// A region of known cost that consists of units of known costs.
struct Joined {
  double parts = 0;  ///< sum of the units' costs
  double joins = 0;
  double kept = 0;
  double micros = 0;
};

/// Observations of one target.
struct Seen {
  std::vector<Joined> joined;
  std::vector<double> cut;
  std::vector<double> micros_per_byte;
};

/// Fits per_join and per_kept_byte, both at least 0, by least squares to the relative savings,
/// 1 - micros / parts.
void FitJoins(const std::vector<Joined>& joined, Factors& factors) {
  double jj = 0;
  double jk = 0;
  double kk = 0;
  double js = 0;
  double ks = 0;
  for (const Joined& one : joined) {
    const double j = one.joins / one.parts;
    const double k = one.kept / one.parts;
    const double saved = 1 - one.micros / one.parts;
    jj += j * j;
    jk += j * k;
    kk += k * k;
    js += j * saved;
    ks += k * saved;
  }
  const double determinant = jj * kk - jk * jk;
  // Solve the normal equations, unless their columns are almost parallel, which would make the
  // solution arbitrary.
  if (determinant > 1e-9 * jj * kk) {
    factors.per_join = (js * kk - ks * jk) / determinant;
    factors.per_kept_byte = (ks * jj - js * jk) / determinant;
    if (factors.per_join >= 0 && factors.per_kept_byte >= 0) return;
  }
  // One of the two is 0. Take the fit with one variable that reduces the sum of squares more.
  const double by_join = jj > 0 ? std::max(js / jj, 0.0) : 0;
  const double by_kept = kk > 0 ? std::max(ks / kk, 0.0) : 0;
  const bool join = by_join * js >= by_kept * ks;
  factors.per_join = join ? by_join : 0;
  factors.per_kept_byte = join ? 0 : by_kept;
}

/// Returns the bytes of the tensors that cross the boundary of `nodes`.
double Exchanged(const DataflowGraph& flow, const IndexSet& nodes) {
  double bytes = 0;
  for (const auto& tensors : {TensorsIn(flow, nodes), TensorsOut(flow, nodes)}) {
    for (const FlowIndex tensor : tensors) bytes += static_cast<double>(flow.tensor(tensor).bytes);
  }
  return bytes;
}

/// Returns the sum of the known costs of `units`.
double Sum(const CoverProblem& problem, const Indices& units) {
  double sum = 0;
  for (const std::uint32_t unit : units) {
    const Cost& cost = problem.candidates[unit].cost;
    if (cost.known()) sum += cost.micros();
  }
  return sum;
}

bool AllKnown(const CoverProblem& problem, const Indices& units) {
  return std::all_of(units.begin(), units.end(),
                     [&](std::uint32_t unit) { return problem.candidates[unit].cost.known(); });
}

/// Returns for each target and node the unit that contains the node. A unit that overlaps an
/// earlier one is skipped.
std::vector<Indices> OwnersOf(const CoverProblem& problem, const Indices& units,
                              const std::map<std::string, std::size_t>& targets) {
  std::vector<Indices> owners(targets.size(), Indices(problem.flow.size(), kNone));
  for (const std::uint32_t unit : units) {
    Indices& mine = owners[targets.at(problem.candidates.at(unit).target)];
    const IndexSet& nodes = problem.candidates[unit].nodes;
    bool taken = false;
    nodes.ForEach([&](std::size_t node) { taken = taken || mine[node] != kNone; });
    if (taken) continue;
    nodes.ForEach([&](std::size_t node) { mine[node] = unit; });
  }
  return owners;
}

Place PlaceOf(const CoverProblem& problem, std::uint32_t index, std::size_t target,
              const std::vector<Indices>& owners) {
  const CandidateRegion& candidate = problem.candidates[index];
  const DataflowGraph& flow = problem.flow;
  const Indices& owner = owners[target];
  Place place;
  place.target = target;
  if (candidate.cost.unknown()) place.floor = candidate.cost.at_least();
  const auto anchors = [&](const IndexSet& nodes) {
    std::size_t count = 0;
    nodes.ForEach([&](std::size_t n) { count += flow.node(n).kind == OpKind::kAnchor ? 1 : 0; });
    return count;
  };
  const auto written = [&](std::size_t node) {
    double bytes = 0;
    for (const FlowIndex tensor : flow.node(node).outputs) {
      bytes += static_cast<double>(flow.tensor(tensor).bytes);
    }
    return bytes;
  };
  place.has_anchor = anchors(candidate.nodes) > 0;
  std::map<std::uint32_t, std::size_t> shared;  // number of common nodes by unit
  candidate.nodes.ForEach([&](std::size_t node) {
    place.written += written(node);
    if (owner[node] != kNone && owner[node] != index) ++shared[owner[node]];
  });
  IndexSet beside = candidate.nodes;
  for (const auto& [unit, count] : shared) {
    const IndexSet& nodes = problem.candidates[unit].nodes;
    if (count == nodes.Count()) {
      place.inside.push_back(unit);
    } else if (const std::size_t all = anchors(nodes);
               all > 0 && anchors(nodes & candidate.nodes) == all) {
      place.cut.push_back(unit);
    } else {
      continue;
    }
    beside -= nodes;
  }
  beside.ForEach([&](std::size_t node) { place.beside += written(node); });
  if (place.inside.size() > 1) {
    IndexSet nodes(candidate.nodes.universe());
    for (const std::uint32_t unit : place.inside) {
      place.kept += Exchanged(flow, problem.candidates[unit].nodes);
      nodes |= problem.candidates[unit].nodes;
    }
    place.kept = std::max(place.kept - Exchanged(flow, nodes), 0.0);
  }
  place.made_of = place.inside.size() > 1 && place.cut.empty() && beside.empty();
  return place;
}

/// Returns the places of all candidates, without joints.
std::vector<Place> FindPlaces(const CoverProblem& problem, const Indices& units,
                              const std::map<std::string, std::size_t>& targets) {
  const std::vector<Indices> owners = OwnersOf(problem, units, targets);
  std::vector<Place> places;
  for (std::uint32_t i = 0; i < problem.candidates.size(); ++i) {
    places.push_back(PlaceOf(problem, i, targets.at(problem.candidates[i].target), owners));
  }
  return places;
}

/// Enters the joints of places and what these keep, and returns all joints.
std::vector<Joint> FindJoints(const CoverProblem& problem, std::vector<Place>& places) {
  std::vector<Joint> joints;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;
  for (Place& place : places) {
    place.kept_apart = place.kept;
    for (std::size_t k = 1; k < place.inside.size(); ++k) {
      const std::uint32_t a = place.inside[k - 1];
      const std::uint32_t b = place.inside[k];
      const auto next = static_cast<std::uint32_t>(joints.size());
      const auto [it, is_new] = numbers.emplace(std::pair(a, b), next);
      if (is_new) {
        const IndexSet& before = problem.candidates[a].nodes;
        const IndexSet& behind = problem.candidates[b].nodes;
        const double kept = Exchanged(problem.flow, before) + Exchanged(problem.flow, behind) -
                            Exchanged(problem.flow, before | behind);
        joints.push_back({.before = a, .behind = b, .kept = std::max(kept, 0.0)});
      }
      place.joints.push_back(it->second);
      place.kept_apart -= joints[it->second].kept;
    }
    place.kept_apart = std::max(place.kept_apart, 0.0);
  }
  return joints;
}

/// Moves the predictions (by candidate; 0 if there is none) that were answered to the ratios of
/// answers to predictions (by target). Equal costs of a target count once, as candidates that are
/// alike share one answer.
void CompareAnswers(const CoverProblem& problem, const std::vector<Place>& places,
                    std::vector<double>& predicted, std::vector<std::vector<double>>& ratios) {
  std::map<std::pair<std::size_t, double>, double> fresh;
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    const Cost& cost = problem.candidates[i].cost;
    if (cost.unknown() || predicted[i] <= 0) continue;
    if (cost.known()) {
      fresh.emplace(std::pair(places[i].target, cost.micros()), cost.micros() / predicted[i]);
    }
    predicted[i] = 0;
  }
  for (const auto& [of, ratio] : fresh) ratios[of.first].push_back(ratio);
}

/// Returns the value of `ratios` at the quantile options.quantile. Reorders `ratios`.
double Low(const BoundOptions& options, std::vector<double>& ratios) {
  const auto place =
      static_cast<std::ptrdiff_t>(options.quantile * static_cast<double>(ratios.size()));
  const auto at = ratios.begin() + std::min(place, std::ssize(ratios) - 1);
  std::nth_element(ratios.begin(), at, ratios.end());
  return *at;
}

double FactorOf(const BoundOptions& options, std::vector<double>& ratios) {
  if (ratios.empty()) return options.start;
  return std::clamp(Low(options, ratios), 0.0, 1.0);
}

/// Returns what the known costs of regions tell, by target.
std::vector<Seen> Observe(const CoverProblem& problem, const std::vector<Place>& places,
                          std::size_t targets) {
  std::vector<Seen> seen(targets);
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    if (!problem.candidates[i].cost.known()) continue;
    const Place& place = places[i];
    const double micros = problem.candidates[i].cost.micros();
    Seen& of = seen[place.target];
    if (!place.has_anchor && place.written > 0) {
      of.micros_per_byte.push_back(micros / place.written);
    }
    if (place.made_of && AllKnown(problem, place.inside)) {
      const double parts = Sum(problem, place.inside);
      const auto joints = static_cast<double>(place.joints.size());
      if (parts > 0) of.joined.push_back({parts, joints, place.kept, micros});
    }
    if (place.inside.empty() && place.cut.size() == 1 && AllKnown(problem, place.cut)) {
      const double whole = Sum(problem, place.cut);
      if (whole > 0) of.cut.push_back(micros / whole);
    }
  }
  return seen;
}

std::vector<Factors> Learn(const BoundOptions& options, std::vector<Seen> seen,
                           const std::vector<std::vector<double>>& answers) {
  std::vector<Factors> factors(seen.size());
  for (std::size_t t = 0; t < seen.size(); ++t) {
    if (seen[t].joined.size() >= kEnoughToFit) FitJoins(seen[t].joined, factors[t]);
    std::vector<double> ratios = answers[t];
    if (ratios.size() < kEnoughToFit) ratios.clear();
    factors[t].inside = FactorOf(options, ratios);
    factors[t].cut = FactorOf(options, seen[t].cut);
    if (seen[t].micros_per_byte.size() > 1) {
      factors[t].micros_per_byte = options.rate_part * Low(options, seen[t].micros_per_byte);
    }
  }
  return factors;
}

/// Estimates the saving of each joint: first by the target's factors, then so that known regions
/// are predicted correctly, by kSweeps relaxed Kaczmarz sweeps (1937). A region's residual is
/// divided among its joints in proportion to the costs of their units.
std::vector<double> FitSavings(const CoverProblem& problem, const std::vector<Place>& places,
                               const std::vector<Joint>& joints,
                               const std::vector<Factors>& factors) {
  constexpr int kSweeps = 10;
  constexpr double kPart = 0.5;
  std::vector<double> savings;
  std::vector<double> costs;  // sum of the known costs of a joint's two units
  for (const Joint& joint : joints) {
    const Factors& of = factors[places[joint.before].target];
    savings.push_back(of.per_join + of.per_kept_byte * joint.kept);
    costs.push_back(Sum(problem, {joint.before, joint.behind}));
  }
  // Regions of known cost that consist of known units, and the sum that their joints save.
  std::vector<std::pair<const Place*, double>> regions;
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    const Cost& cost = problem.candidates[i].cost;
    if (!place.made_of || !cost.known() || !AllKnown(problem, place.inside)) continue;
    const double apart = factors[place.target].per_kept_byte * place.kept_apart;
    regions.emplace_back(&place, Sum(problem, place.inside) - cost.micros() - apart);
  }
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (const auto& [place, saved] : regions) {
      double off = saved;
      double units = 0;
      for (const std::uint32_t j : place->joints) {
        off -= savings[j];
        units += costs[j];
      }
      if (units <= 0) continue;
      const double by = kPart * off / units;
      for (const std::uint32_t j : place->joints) savings[j] += by * costs[j];
    }
  }
  return savings;
}

/// Returns the predicted cost of a region's units together, before the factor f: at least a
/// quarter of the sum of their costs.
double Together(const CoverProblem& problem, const Place& place, const Factors& of,
                const std::vector<double>& savings) {
  const double parts = Sum(problem, place.inside);
  double saved = of.per_kept_byte * place.kept_apart;
  for (const std::uint32_t j : place.joints) saved += savings[j];
  return std::max(parts - saved, 0.25 * parts);
}

/// Sets the bounds of unknown costs and notes what they predict.
void SetBounds(const std::vector<Place>& places, const std::vector<Factors>& factors,
               const std::vector<double>& savings, CoverProblem& problem,
               std::vector<double>& predicted) {
  for (std::uint32_t i = 0; i < problem.candidates.size(); ++i) {
    Cost& cost = problem.candidates[i].cost;
    if (!cost.unknown()) continue;
    const Place& place = places[i];
    const Factors& of = factors[place.target];
    const double together = Together(problem, place, of, savings);
    if (place.made_of && AllKnown(problem, place.inside)) predicted[i] = together;
    const double bound =
        of.inside * together + of.cut * Sum(problem, place.cut) + of.micros_per_byte * place.beside;
    cost = Cost::Unknown(std::min(std::max(place.floor, bound), Cost::kMaxMicros));
  }
}

}  // namespace

BoundSource LearnBounds(const CoverProblem& problem, const std::vector<std::uint32_t>& units,
                        const BoundOptions& options) {
  std::map<std::string, std::size_t> targets;
  for (const CandidateRegion& candidate : problem.candidates) {
    targets.emplace(candidate.target, targets.size());
  }
  std::vector<Place> places = FindPlaces(problem, units, targets);
  std::vector<Joint> joints = FindJoints(problem, places);
  std::vector<double> predicted(places.size(), 0);
  std::vector<std::vector<double>> ratios(targets.size());
  return [options, places = std::move(places), joints = std::move(joints),
          predicted = std::move(predicted), ratios = std::move(ratios)](CoverProblem& of) mutable {
    CompareAnswers(of, places, predicted, ratios);
    const std::vector<Factors> factors = Learn(options, Observe(of, places, ratios.size()), ratios);
    const std::vector<double> savings = FitSavings(of, places, joints, factors);
    SetBounds(places, factors, savings, of, predicted);
  };
}

BoundSource LowerGivenBounds(const CoverProblem& problem) {
  std::vector<double> given;
  for (const CandidateRegion& candidate : problem.candidates) {
    given.push_back(candidate.cost.unknown() ? candidate.cost.at_least() : 0);
  }
  return [given = std::move(given)](CoverProblem& of) {
    double factor = 1;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const Cost& cost = of.candidates[i].cost;
      if (given[i] > 0 && !cost.unknown()) factor = std::min(factor, cost.at_least() / given[i]);
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
      Cost& cost = of.candidates[i].cost;
      if (cost.unknown()) cost = Cost::Unknown(factor * given[i]);
    }
  };
}

}  // namespace msc
