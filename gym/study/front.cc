#include "gym/study/front.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <utility>

#include "gym/core/pareto.h"

namespace msc::gym {
namespace {

void Raise(std::vector<double>& largest, const std::vector<double>& values) {
  if (largest.empty()) largest = values;
  for (std::size_t i = 0; i < values.size(); ++i) largest[i] = std::max(largest[i], values[i]);
}

std::string Number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

}  // namespace

FeasibleFront::FeasibleFront(Objective objective) : objective_(std::move(objective)) {}

bool FeasibleFront::Add(const Trial& trial) {
  if (!trial.evaluation.Complete()) return false;
  std::vector<double> values = ObjectiveValues(objective_, trial.evaluation);
  Raise(of_all_, values);
  if (trial.source.starts_with("anchor:")) Raise(of_baselines_, values);
  if (!Feasible(objective_, trial)) return false;
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

std::string VolumeText(const Objective& objective, std::span<const Trial> trials) {
  FeasibleFront front(objective);
  for (const Trial& trial : trials) front.Add(trial);
  const auto volume = front.Volume();
  if (!volume) return "";
  std::string text = "hypervolume " + Number(*volume) + " below ";
  for (std::size_t i = 0; i < objective.minimize.size(); ++i) {
    text += (i > 0 ? ", " : "") + objective.minimize[i] + " " + Number(front.Reference()[i]);
  }
  return text;
}

}  // namespace msc::gym
