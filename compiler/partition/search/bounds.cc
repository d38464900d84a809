#include "compiler/partition/search/bounds.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace msc {
namespace {

using Indices = std::vector<std::uint32_t>;

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
  double kept = 0;    ///< bytes that a region with both need not exchange
  double saving = 0;  ///< estimated saving of such a region in microseconds
  double units = 0;   ///< sum of the two units' known costs
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

class Learner {
 public:
  Learner(const CoverProblem& problem, const Indices& units, const BoundOptions& options)
      : options_(options) {
    std::map<std::string, std::size_t> targets;
    for (const CandidateRegion& candidate : problem.candidates) {
      targets.emplace(candidate.target, targets.size());
    }
    targets_ = targets.size();
    // owner[target][node]: the unit that contains the node. A unit that overlaps an earlier one is
    // skipped.
    std::vector<Indices> owner(targets_, Indices(problem.flow.size(), kNone));
    for (const std::uint32_t unit : units) {
      Indices& mine = owner[targets.at(problem.candidates.at(unit).target)];
      const IndexSet& nodes = problem.candidates[unit].nodes;
      bool taken = false;
      nodes.ForEach([&](std::size_t node) { taken = taken || mine[node] != kNone; });
      if (taken) continue;
      nodes.ForEach([&](std::size_t node) { mine[node] = unit; });
    }
    for (std::uint32_t i = 0; i < problem.candidates.size(); ++i) {
      const std::size_t target = targets.at(problem.candidates[i].target);
      places_.push_back(PlaceOf(problem, i, owner[target]));
      places_.back().target = target;
    }
    FindJoints(problem);
    predicted_.resize(places_.size(), 0);
    answers_.resize(targets_);
  }

  void Set(CoverProblem& problem) {
    CompareAnswers(problem);
    const std::vector<Factors> factors = Learn(problem);
    FitSavings(problem, factors);
    for (std::uint32_t i = 0; i < problem.candidates.size(); ++i) {
      Cost& cost = problem.candidates[i].cost;
      if (!cost.unknown()) continue;
      const Place& place = places_[i];
      const Factors& of = factors[place.target];
      const double together = Together(problem, place, of);
      if (place.made_of && AllKnown(problem, place.inside)) predicted_[i] = together;
      const double bound = of.inside * together + of.cut * Sum(problem, place.cut) +
                           of.micros_per_byte * place.beside;
      cost = Cost::Unknown(std::min(std::max(place.floor, bound), Cost::kMaxMicros));
    }
  }

 private:
  static constexpr std::size_t kEnoughToFit = 4;
  static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);

  static Place PlaceOf(const CoverProblem& problem, std::uint32_t index, const Indices& owner) {
    const CandidateRegion& candidate = problem.candidates[index];
    const DataflowGraph& flow = problem.flow;
    Place place;
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

  void FindJoints(const CoverProblem& problem) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;
    for (Place& place : places_) {
      place.kept_apart = place.kept;
      for (std::size_t k = 1; k < place.inside.size(); ++k) {
        const std::uint32_t a = place.inside[k - 1];
        const std::uint32_t b = place.inside[k];
        const auto next = static_cast<std::uint32_t>(joints_.size());
        const auto [it, is_new] = numbers.emplace(std::pair(a, b), next);
        if (is_new) {
          const IndexSet& before = problem.candidates[a].nodes;
          const IndexSet& behind = problem.candidates[b].nodes;
          const double kept = Exchanged(problem.flow, before) + Exchanged(problem.flow, behind) -
                              Exchanged(problem.flow, before | behind);
          joints_.push_back({.before = a, .behind = b, .kept = std::max(kept, 0.0)});
        }
        place.joints.push_back(it->second);
        place.kept_apart -= joints_[it->second].kept;
      }
      place.kept_apart = std::max(place.kept_apart, 0.0);
    }
  }

  /// Returns the predicted cost of a region's units together, before the factor f: at least a
  /// quarter of the sum of their costs.
  [[nodiscard]] double Together(const CoverProblem& problem, const Place& place,
                                const Factors& of) const {
    const double parts = Sum(problem, place.inside);
    double saved = of.per_kept_byte * place.kept_apart;
    for (const std::uint32_t j : place.joints) saved += joints_[j].saving;
    return std::max(parts - saved, 0.25 * parts);
  }

  /// Records the ratios of new answers to their predictions. Equal costs of a target count once, as
  /// candidates that are alike share one answer.
  void CompareAnswers(const CoverProblem& problem) {
    std::map<std::pair<std::size_t, double>, double> ratios;
    for (std::uint32_t i = 0; i < places_.size(); ++i) {
      const Cost& cost = problem.candidates[i].cost;
      if (cost.unknown() || predicted_[i] <= 0) continue;
      if (cost.known()) {
        ratios.emplace(std::pair(places_[i].target, cost.micros()), cost.micros() / predicted_[i]);
      }
      predicted_[i] = 0;
    }
    for (const auto& [of, ratio] : ratios) answers_[of.first].push_back(ratio);
  }

  /// Estimates the saving of each joint: first by the target's factors, then so that known regions
  /// are predicted correctly, by kSweeps relaxed Kaczmarz sweeps (1937). A region's residual is
  /// divided among its joints in proportion to the costs of their units.
  void FitSavings(const CoverProblem& problem, const std::vector<Factors>& factors) {
    constexpr int kSweeps = 10;
    constexpr double kPart = 0.5;
    const auto known = [&](std::uint32_t i) {
      const Cost& cost = problem.candidates[i].cost;
      return cost.known() ? cost.micros() : 0;
    };
    for (Joint& joint : joints_) {
      const Factors& of = factors[places_[joint.before].target];
      joint.saving = of.per_join + of.per_kept_byte * joint.kept;
      joint.units = known(joint.before) + known(joint.behind);
    }
    // Regions of known cost that consist of known units, and the sum that their joints save.
    std::vector<std::pair<const Place*, double>> regions;
    for (std::uint32_t i = 0; i < places_.size(); ++i) {
      const Place& place = places_[i];
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
          off -= joints_[j].saving;
          units += joints_[j].units;
        }
        if (units <= 0) continue;
        const double by = kPart * off / units;
        for (const std::uint32_t j : place->joints) joints_[j].saving += by * joints_[j].units;
      }
    }
  }

  /// Returns the bytes of the tensors that cross the boundary of `nodes`.
  static double Exchanged(const DataflowGraph& flow, const IndexSet& nodes) {
    double bytes = 0;
    for (const FlowIndex tensor : TensorsIn(flow, nodes)) {
      bytes += static_cast<double>(flow.tensor(tensor).bytes);
    }
    for (const FlowIndex tensor : TensorsOut(flow, nodes)) {
      bytes += static_cast<double>(flow.tensor(tensor).bytes);
    }
    return bytes;
  }

  /// Returns the sum of the known costs of `units`.
  static double Sum(const CoverProblem& problem, const Indices& units) {
    double sum = 0;
    for (const std::uint32_t unit : units) {
      const Cost& cost = problem.candidates[unit].cost;
      if (cost.known()) sum += cost.micros();
    }
    return sum;
  }
  static bool AllKnown(const CoverProblem& problem, const Indices& units) {
    return std::all_of(units.begin(), units.end(),
                       [&](std::uint32_t unit) { return problem.candidates[unit].cost.known(); });
  }

  /// Returns the value of `ratios` at the quantile options_.quantile. Reorders `ratios`.
  [[nodiscard]] double Low(std::vector<double>& ratios) const {
    const auto place =
        static_cast<std::ptrdiff_t>(options_.quantile * static_cast<double>(ratios.size()));
    const auto at = ratios.begin() + std::min(place, std::ssize(ratios) - 1);
    std::nth_element(ratios.begin(), at, ratios.end());
    return *at;
  }
  [[nodiscard]] double FactorOf(std::vector<double>& ratios) const {
    if (ratios.empty()) return options_.start;
    return std::clamp(Low(ratios), 0.0, 1.0);
  }

  [[nodiscard]] std::vector<Factors> Learn(const CoverProblem& problem) const {
    std::vector<Seen> seen(targets_);
    for (std::uint32_t i = 0; i < places_.size(); ++i) {
      if (!problem.candidates[i].cost.known()) continue;
      const Place& place = places_[i];
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
    std::vector<Factors> factors(targets_);
    for (std::size_t t = 0; t < targets_; ++t) {
      if (seen[t].joined.size() >= kEnoughToFit) FitJoins(seen[t].joined, factors[t]);
      std::vector<double> ratios = answers_[t];
      if (ratios.size() < kEnoughToFit) ratios.clear();
      factors[t].inside = FactorOf(ratios);
      factors[t].cut = FactorOf(seen[t].cut);
      if (seen[t].micros_per_byte.size() > 1) {
        factors[t].micros_per_byte = options_.rate_part * Low(seen[t].micros_per_byte);
      }
    }
    return factors;
  }

  BoundOptions options_;
  std::size_t targets_ = 0;
  std::vector<Place> places_;  ///< by candidate
  std::vector<Joint> joints_;
  /// By candidate of unknown cost: its last prediction; 0 if there is none.
  std::vector<double> predicted_;
  std::vector<std::vector<double>> answers_;  ///< by target: ratios of answers to predictions
};

}  // namespace

BoundSource LearnBounds(const CoverProblem& problem, const std::vector<std::uint32_t>& units,
                        const BoundOptions& options) {
  return
      [learner = Learner(problem, units, options)](CoverProblem& of) mutable { learner.Set(of); };
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
