#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/base/rng.h"
#include "compiler/partition/search/baselines.h"
#include "compiler/partition/search/exact.h"

namespace msc::detail {
namespace {

using Chosen = std::vector<std::uint32_t>;
/// A gene for each region of the first stage that the target could take: 1 gives it to the target.
using Genome = std::vector<char>;

// The published settings, except for the number of generations.
constexpr std::size_t kPopulation = 50;
constexpr std::size_t kTournament = 5;
constexpr double kCrossover = 0.5;
constexpr double kMutation = 0.2;
constexpr double kFlip = 0.05;

/// First stage: minimizes the sum of candidates' costs and a constant for each region, without
/// conversions.
Result<Cover> OperatorLevel(const CoverProblem& problem, const SearchOptions& options) {
  CoverProblem additive = problem;
  for (CandidateRegion& candidate : additive.candidates) {
    candidate.wants.clear();
    candidate.makes.clear();
    if (candidate.cost.known()) candidate.cost += Cost::Micros(options.region_micros);
  }
  return ExactSearch(additive, options);
}

/// Second stage: decides which regions of the first stage go to one target.
class GraphLevel {
 public:
  GraphLevel(const CoverProblem& problem, Chosen base, const std::string& target)
      : problem_(problem), base_(std::move(base)) {
    for (std::uint32_t i = 0; i < problem.candidates.size(); ++i) {
      if (problem.candidates[i].target == target && Usable(problem, i, UnknownCosts::kLeaveOut)) {
        offers_.push_back(i);
      }
    }
    std::stable_sort(offers_.begin(), offers_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return problem.candidates[a].nodes.Count() > problem.candidates[b].nodes.Count();
    });
    IndexSet takes = problem.flow.EmptySet();
    for (const std::uint32_t i : offers_) takes |= problem.candidates[i].nodes;
    for (std::size_t i = 0; i < base_.size(); ++i) {
      if (problem.candidates[base_[i]].nodes.SubsetOf(takes)) genes_.push_back(i);
    }
  }

  [[nodiscard]] std::size_t genes() const { return genes_.size(); }

  /// Returns the cover of a genome. Regions given to the target are merged into its candidates,
  /// largest first; regions that fit into none stay as they were.
  [[nodiscard]] Chosen Decode(const Genome& genome) const {
    IndexSet given = problem_.flow.EmptySet();
    for (std::size_t g = 0; g < genes_.size(); ++g) {
      if (genome[g] != 0) given |= problem_.candidates[base_[genes_[g]]].nodes;
    }
    Chosen chosen;
    for (const std::uint32_t i : offers_) {
      const IndexSet& nodes = problem_.candidates[i].nodes;
      if (!nodes.SubsetOf(given) || CutsABase(nodes)) continue;
      chosen.push_back(i);
      given -= nodes;
    }
    IndexSet covered = problem_.flow.EmptySet();
    for (const std::uint32_t i : chosen) covered |= problem_.candidates[i].nodes;
    for (const std::uint32_t i : base_) {
      if (problem_.candidates[i].nodes.Disjoint(covered)) chosen.push_back(i);
    }
    return chosen;
  }

  /// Returns the cost of the cover in microseconds; kFailed if it cannot run.
  [[nodiscard]] double Fitness(const Genome& genome) {
    const auto [it, added] = known_.emplace(genome, 0.0);
    if (!added) return it->second;
    constexpr double kFailed = 1e12;
    it->second = kFailed;
    const Result<Chosen> order = ExecutionOrder(problem_, Decode(genome));
    if (!order.ok()) return kFailed;
    const Result<double> cost = CheckCover(problem_, order.value());
    if (cost.ok()) it->second = cost.value();
    return it->second;
  }
  [[nodiscard]] std::size_t evaluations() const { return known_.size(); }

 private:
  // A region of the first stage is given away as a whole or not at all.
  [[nodiscard]] bool CutsABase(const IndexSet& nodes) const {
    return std::any_of(base_.begin(), base_.end(), [&](std::uint32_t i) {
      const IndexSet& region = problem_.candidates[i].nodes;
      return region.Intersects(nodes) && !region.SubsetOf(nodes);
    });
  }

  const CoverProblem& problem_;
  Chosen base_;
  std::vector<std::uint32_t> offers_;
  std::vector<std::size_t> genes_;
  std::map<Genome, double> known_;
};

const Genome& Tournament(const std::vector<Genome>& population, GraphLevel& level, Rng& rng) {
  const Genome* best = nullptr;
  for (std::size_t i = 0; i < kTournament; ++i) {
    const Genome& rival = population[rng.Below(population.size())];
    if (best == nullptr || level.Fitness(rival) < level.Fitness(*best)) best = &rival;
  }
  return *best;
}

Genome Evolve(GraphLevel& level, const SearchOptions& options) {
  Rng rng(options.seed);
  std::vector<Genome> population(kPopulation, Genome(level.genes(), 0));
  // The population begins with the first stage as it is, everything given to the target, and random
  // genomes.
  population[1].assign(level.genes(), 1);
  for (std::size_t i = 2; i < population.size(); ++i) {
    for (char& gene : population[i]) gene = static_cast<char>(rng.Below(2));
  }
  const auto better = [&](const Genome& a, const Genome& b) {
    return level.Fitness(a) < level.Fitness(b);
  };
  // The best genome is kept apart, as a generation may lose it.
  Genome best = *std::min_element(population.begin(), population.end(), better);
  for (int generation = 0; generation < options.generations; ++generation) {
    std::vector<Genome> next;
    while (next.size() < population.size()) {
      next.push_back(Tournament(population, level, rng));
    }
    // Two-point crossover: the genes between two places are exchanged.
    for (std::size_t i = 0; i + 1 < next.size(); i += 2) {
      if (rng.Uniform() >= kCrossover) continue;
      const std::size_t a = rng.Below(level.genes() + 1);
      const std::size_t b = rng.Below(level.genes() + 1);
      for (std::size_t g = std::min(a, b); g < std::max(a, b); ++g) {
        std::swap(next[i][g], next[i + 1][g]);
      }
    }
    for (Genome& genome : next) {
      if (rng.Uniform() >= kMutation) continue;
      for (char& gene : genome) gene ^= static_cast<char>(rng.Uniform() < kFlip ? 1 : 0);
    }
    population = std::move(next);
    const Genome& leader = *std::min_element(population.begin(), population.end(), better);
    if (better(leader, best)) best = leader;
  }
  return best;
}

}  // namespace

Result<Cover> PaperSearch(const CoverProblem& problem, const SearchOptions& options) {
  Result<Cover> first = OperatorLevel(problem, options);
  if (!first.ok()) return first.failure();
  std::string target = options.graph_target;
  if (target.empty() && !options.priority.empty()) target = options.priority.front();
  GraphLevel level(problem, first.value().chosen, target);
  Cover cover;
  cover.statistics = first.value().statistics;
  cover.chosen = first.value().chosen;
  if (level.genes() > 0) cover.chosen = level.Decode(Evolve(level, options));
  cover.statistics.asked = static_cast<std::int64_t>(level.evaluations());
  return cover;
}

}  // namespace msc::detail
