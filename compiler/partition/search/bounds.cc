#include "compiler/partition/search/bounds.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace msc {
namespace {

using Indices = std::vector<std::uint32_t>;

/// How a candidate lies to the units of its target.
struct Place {
  std::size_t target = 0;
  Indices inside;        ///< units that are part of it
  Indices cut;           ///< units whose anchors it has, but not all of
  double beside = 0;     ///< bytes that its other nodes write
  double written = 0;    ///< bytes that all its nodes write
  bool made_of = false;  ///< of several units, and nothing else
  Indices joints;        ///< between neighbours of `inside`
  /// Bytes that those units would have handed over or taken, and it does not.
  double kept = 0;
  double kept_apart = 0;  ///< of these, what no joint keeps
  bool has_anchor = false;
  double floor = 0;  ///< the bound that its cost came with
};

/// Two units of a target, one behind the other.
struct Joint {
  std::uint32_t before = 0;
  std::uint32_t behind = 0;
  double kept = 0;    ///< bytes that need not be handed over in a region that has both
  double saving = 0;  ///< microseconds that such a region saves, as far as is known
  double units = 0;   ///< what the two cost, as far as is known
};

/// What is taken for granted of a target.
struct Factors {
  double inside = 1;         ///< of what the units less the savings are to cost
  double per_join = 0;       ///< microseconds that a joint saves
  double per_kept_byte = 0;  ///< and each byte that stays inside
  double cut = 1;
  double micros_per_byte = 0;
};

/// A known region made of known units.
struct Joined {
  double parts = 0;  ///< what they cost one by one
  double joins = 0;
  double kept = 0;
  double micros = 0;
};

/// What is known of one target.
struct Seen {
  std::vector<Joined> joined;
  std::vector<double> cut;
  std::vector<double> micros_per_byte;
};

/// Sets per_join and per_kept_byte, both at least 0, to the least squares of micros / parts.
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
  if (determinant > 1e-9 * jj * kk) {
    factors.per_join = (js * kk - ks * jk) / determinant;
    factors.per_kept_byte = (ks * jj - js * jk) / determinant;
    if (factors.per_join >= 0 && factors.per_kept_byte >= 0) return;
  }
  // One of them at its bound: the better of the two that are left.
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
    for (const Candidate& candidate : problem.candidates) {
      targets.emplace(candidate.target, targets.size());
    }
    targets_ = targets.size();
    // Of each target, the unit that has each node: the first that names it.
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
    const Candidate& candidate = problem.candidates[index];
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
    std::map<std::uint32_t, std::size_t> shared;  // nodes of each unit that it has
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

  /// What the units of a region are to cost in it, before the factor: at least a quarter of what
  /// they cost alone.
  [[nodiscard]] double Together(const CoverProblem& problem, const Place& place,
                                const Factors& of) const {
    const double parts = Sum(problem, place.inside);
    double saved = of.per_kept_byte * place.kept_apart;
    for (const std::uint32_t j : place.joints) saved += joints_[j].saving;
    return std::max(parts - saved, 0.25 * parts);
  }

  /// Notes what came of what was predicted, of costs that are the same once.
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

  /// Sets what joints save: at first what is usual for them, then so that known regions cost what
  /// they do, a few times a part of the way for each in turn (Kaczmarz 1937). What is off goes to
  /// the joints by what their units cost.
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
    // Known regions made of known units, and what their joints save together.
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

  /// Bytes that cross the boundary of `nodes`.
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

  /// Of those that are known.
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

  /// The one of `ratios` below which the quantile of them lies.
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
  /// By candidate that nobody asked for yet: what it was last predicted to cost; 0 where nothing.
  std::vector<double> predicted_;
  std::vector<std::vector<double>> answers_;  ///< by target, in parts of what was predicted
};

}  // namespace

BoundSource LearnBounds(const CoverProblem& problem, const std::vector<std::uint32_t>& units,
                        const BoundOptions& options) {
  return
      [learner = Learner(problem, units, options)](CoverProblem& of) mutable { learner.Set(of); };
}

BoundSource LowerGivenBounds(const CoverProblem& problem) {
  std::vector<double> given;
  for (const Candidate& candidate : problem.candidates) {
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
