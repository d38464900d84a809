#include "cost/learned/region_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/base/parallel.h"
#include "compiler/base/ranks.h"
#include "compiler/base/rng.h"
#include "cost/learned/region_features.h"
#include "cost/learned/sum_fit.h"

namespace msc::cost {
namespace {

constexpr std::size_t kLeastModels = 3;
constexpr std::size_t kLeastSamples = 60;
/// Most samples of a target: fitting more takes longer than the accuracy is worth.
constexpr std::size_t kMaxSamples = 3000;
constexpr std::size_t kMaxFolds = 5;
constexpr double kLeastCorrelation = 0.8;
constexpr double kCovered = 0.95;
/// Lower bound of a predicted sum, whose logarithm is taken.
constexpr double kLeastMicros = 1e-2;
/// Bound on the logarithms that trees are fitted to: a larger deviation comes from a disturbed
/// machine, not from the region.
constexpr double kMostOff = 1.5;
constexpr BoostOptions kBoost = {.trees = 150, .depth = 4, .rate = 0.08, .least = 8, .share = 0.7};

/// Returns whether a sample is possible. Samples come from files, and an impossible one would spoil
/// the sums over all others.
bool Usable(const CostSample& sample) {
  constexpr double kLeastTime = 1e-4;  // microseconds
  constexpr double kMaxTime = 1e12;
  constexpr double kMaxWork = 1e18;
  const auto sane = [](double x) { return std::abs(x) <= kMaxWork; };  // false for NaN
  if (sample.features.size() != RegionFeatureCount()) return false;
  if (!(sample.micros >= kLeastTime && sample.micros <= kMaxTime)) return false;
  if (!std::all_of(sample.features.begin(), sample.features.end(), sane)) return false;
  const std::vector<double> terms = WorkTerms(sample.features);
  return std::all_of(terms.begin(), terms.end(), sane);
}

using Samples = std::vector<const CostSample*>;

Samples Draw(Samples samples) {
  Rng rng(1);
  for (std::size_t i = 0; i < std::min(kMaxSamples, samples.size()); ++i) {
    std::swap(samples[i], samples[i + rng.Below(samples.size() - i)]);
  }
  samples.resize(std::min(kMaxSamples, samples.size()));
  return samples;
}

/// Returns the value below which the given part of the values lies.
double Quantile(std::vector<double> values, double part) {
  const auto at = static_cast<std::size_t>(std::ceil(part * static_cast<double>(values.size())));
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size() - 1, at));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace

RegionModel::Regression::Regression(std::span<const CostSample* const> samples) {
  std::vector<std::vector<double>> rows;
  std::vector<double> targets;
  for (const CostSample* sample : samples) {
    rows.push_back(WorkTerms(sample->features));
    targets.push_back(sample->micros);
  }
  factors_ = FitSum(rows, targets);
  // Trees fit the logarithm of what the sum leaves, so that errors are relative. The sum is one of
  // their features.
  for (std::size_t i = 0; i < samples.size(); ++i) {
    rows[i] = samples[i]->features;
    rows[i].push_back(LogOfSum(rows[i]));
    targets[i] = std::clamp(std::log(targets[i]) - rows[i].back(), -kMostOff, kMostOff);
  }
  trees_ = BoostedTrees(rows, targets, kBoost);
}

double RegionModel::Regression::LogOfSum(std::span<const double> features) const {
  return std::log(std::max(SumOf(WorkTerms(features), factors_), kLeastMicros));
}

double RegionModel::Regression::Predict(std::span<const double> features) const {
  std::vector<double> row(features.begin(), features.end());
  row.push_back(LogOfSum(features));
  return row.back() + trees_.Predict(row);
}

/// Sets error and spreads by predicting each sample from samples of other models.
void RegionModel::Prove(std::span<const CostSample* const> samples, OfTarget& of) {
  std::map<std::string, std::size_t> order;
  for (const CostSample* sample : samples) order.emplace(sample->model, order.size());
  LearnedError& error = of.error;
  error.samples = samples.size();
  error.models = order.size();
  if (error.models < kLeastModels || error.samples < kLeastSamples) return;
  const std::size_t folds = std::min(kMaxFolds, order.size());
  std::vector<double> predicted;
  std::vector<double> logs;
  std::vector<double> off;
  std::array<std::vector<double>, 2> off_of_kind;
  for (std::size_t fold = 0; fold < folds; ++fold) {
    Samples known;
    Samples held;
    // Regions of one model resemble each other, so whole models are held out.
    for (const CostSample* sample : samples) {
      (order.at(sample->model) % folds == fold ? held : known).push_back(sample);
    }
    const Regression regression(known);
    for (const CostSample* sample : held) {
      predicted.push_back(regression.Predict(sample->features));
      logs.push_back(std::log(sample->micros));
      off.push_back(std::abs(predicted.back() - logs.back()));
      off_of_kind.at(HasLayer(sample->features) ? 1 : 0).push_back(off.back());
      error.error += std::abs(std::exp(predicted.back() - logs.back()) - 1);
    }
  }
  error.error /= static_cast<double>(predicted.size());
  error.typical = std::exp(Quantile(off, 0.5)) - 1;
  error.factor = std::exp(Quantile(off, kCovered));
  error.correlation = RankCorrelation(predicted, logs).value_or(0);
  error.trusted = error.correlation >= kLeastCorrelation;
  for (std::size_t kind = 0; kind < off_of_kind.size(); ++kind) {
    const std::vector<double>& own = off_of_kind.at(kind);
    // Few errors of one kind say little about the tails.
    of.spreads.at(kind) = SpreadOf(own.size() < kLeastSamples / 2 ? off : own);
  }
}

double RegionModel::SpreadOf(const std::vector<double>& off) {
  // For a normal distribution, both terms are its standard deviation: 68.3 % of the absolute errors
  // are below one deviation and 95 % below 1.96. The larger one covers the longer tails of these
  // errors.
  return std::max(Quantile(off, 0.683), Quantile(off, kCovered) / 1.96);
}

RegionModel::RegionModel(std::span<const CostSample> samples) {
  std::map<std::string, Samples> by_target;
  for (const CostSample& sample : samples) {
    if (Usable(sample)) by_target[sample.target].push_back(&sample);
  }
  std::vector<std::pair<Samples, OfTarget*>> work;
  work.reserve(by_target.size());
  for (auto& [target, all] : by_target) work.emplace_back(Draw(std::move(all)), &targets_[target]);
  ForEachOnThreads(CoreCount(), work.size(), [&](std::size_t i) {
    const auto& [own, of] = work[i];
    Prove(own, *of);
    if (of->error.trusted) of->regression = Regression(own);
  });
  for (const auto& [target, of] : targets_) errors_.emplace(target, of.error);
}

std::optional<RegionModel::Prediction> RegionModel::Predict(
    const std::string& target, std::span<const double> features) const {
  const auto it = targets_.find(target);
  if (it == targets_.end() || !it->second.error.trusted) return std::nullopt;
  return Prediction{.micros = std::exp(it->second.regression.Predict(features)),
                    .spread = it->second.spreads.at(HasLayer(features) ? 1 : 0)};
}

}  // namespace msc::cost
