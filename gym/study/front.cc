#include "gym/study/front.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "compiler/base/formatted.h"
#include "gym/core/pareto.h"

namespace msc::gym {
namespace {

void Raise(std::vector<double>& largest, const std::vector<double>& values) {
  if (largest.empty()) largest = values;
  for (std::size_t i = 0; i < values.size(); ++i) largest[i] = std::max(largest[i], values[i]);
}

}  // namespace

FeasibleFront::FeasibleFront(Objective objective) : objective_(std::move(objective)) {}

bool FeasibleFront::Add(const Trial& trial) {
  if (!trial.evaluation.Complete()) return false;
  std::vector<double> values = ObjectiveValues(objective_, trial.evaluation);
  Raise(of_all_, values);
  if (trial.source.starts_with("anchor:")) Raise(of_baselines_, values);
  if (!IsFeasible(objective_, trial)) return false;
  // A point that equals one of the front adds nothing to it.
  const bool beaten = std::any_of(points_.begin(), points_.end(), [&](const auto& point) {
    return std::equal(point.begin(), point.end(), values.begin(), std::less_equal<>{});
  });
  if (beaten) return false;
  std::erase_if(points_, [&](const auto& point) { return Dominates(values, point); });
  points_.push_back(std::move(values));
  return true;
}

const std::vector<double>& FeasibleFront::Reference() const {
  return of_baselines_.empty() ? of_all_ : of_baselines_;
}

std::optional<double> FeasibleFront::Volume() const {
  if (objective_.minimize.size() < 2 || Reference().empty()) return std::nullopt;
  return Hypervolume(points_, Reference());
}

std::vector<SourceShare> SharesOf(const Objective& objective, std::span<const Trial> trials) {
  FeasibleFront whole(objective);
  for (const Trial& trial : trials) whole.Add(trial);
  const bool measured = objective.minimize.size() > 1 && !whole.Reference().empty();
  std::vector<SourceShare> shares;
  FeasibleFront front(objective);
  double volume = 0;
  std::map<std::string, std::vector<double>> least;
  for (const Trial& trial : trials) {
    const std::string source = trial.source.substr(0, trial.source.find(':'));
    auto share = std::find_if(shares.begin(), shares.end(),
                              [&](const SourceShare& each) { return each.source == source; });
    if (share == shares.end()) {
      shares.push_back({.source = source, .first = trial.number});
      share = std::prev(shares.end());
    }
    share->last = trial.number;
    ++share->trials;
    share->failed += trial.evaluation.failure ? 1 : 0;
    share->repeated += trial.repeated ? 1 : 0;
    const bool joined = front.Add(trial);
    if (!IsFeasible(objective, trial)) continue;
    ++share->feasible;
    std::vector<double> values = ObjectiveValues(objective, trial.evaluation);
    if (!share->best || values < least[source]) {
      share->best = trial.number;
      least[source] = std::move(values);
    }
    if (!joined) continue;
    ++share->better;
    share->last_better = trial.number;
    if (!measured) continue;
    // All gains refer to the reference point of the whole study, so that they add up.
    const double grown = Hypervolume(front.points(), whole.Reference());
    share->gained += grown - volume;
    volume = grown;
  }
  return shares;
}

std::string VolumeText(const Objective& objective, std::span<const Trial> trials) {
  FeasibleFront front(objective);
  for (const Trial& trial : trials) front.Add(trial);
  const auto volume = front.Volume();
  if (!volume) return "";
  std::string text = "hypervolume " + Formatted("%.4g", *volume) + " below ";
  for (std::size_t i = 0; i < objective.minimize.size(); ++i) {
    text +=
        (i > 0 ? ", " : "") + objective.minimize[i] + " " + Formatted("%.4g", front.Reference()[i]);
  }
  return text;
}

}  // namespace msc::gym
