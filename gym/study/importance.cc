#include "gym/study/importance.h"

#include <numeric>

#include "compiler/base/error.h"
#include "compiler/base/ranks.h"

namespace msc::gym {
namespace {

constexpr std::size_t kFewest = 10;
constexpr std::size_t kFolds = 5;
constexpr std::size_t kAll = kFolds;  // no fold is left out

double Mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Additive model, one mean plus one effect per choice of each decision, fitted by backfitting:
/// each decision's effects are the means of the residuals of the others. Each mean counts one extra
/// residual of 0, which shrinks the effects of rare choices.
class Sum {
 public:
  Sum(std::span<const Decision> decisions, std::span<const Assignment> assignments,
      std::span<const double> values, std::size_t left_out)
      : effects_(decisions.size()) {
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < values.size(); ++i) {
      // Folds interleave trials, so that each has early and late ones.
      if (i % kFolds != left_out) rows.push_back(i);
    }
    for (const std::size_t i : rows) mean_ += values[i] / static_cast<double>(rows.size());
    std::vector<double> rest;  // residual of each row
    for (const std::size_t i : rows) rest.push_back(values[i] - mean_);
    for (std::size_t k = 0; k < decisions.size(); ++k) {
      effects_[k].assign(decisions[k].choices.size(), 0.0);
    }
    constexpr int kSweeps = 30;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      for (std::size_t k = 0; k < effects_.size(); ++k) {
        std::vector<double> sums(effects_[k].size(), 0.0);
        std::vector<double> counts(effects_[k].size(), 1.0);
        for (std::size_t r = 0; r < rows.size(); ++r) {
          const auto choice = static_cast<std::size_t>(assignments[rows[r]][k]);
          sums[choice] += rest[r] + effects_[k][choice];
          counts[choice] += 1;
        }
        for (std::size_t r = 0; r < rows.size(); ++r) {
          const auto choice = static_cast<std::size_t>(assignments[rows[r]][k]);
          rest[r] += effects_[k][choice] - sums[choice] / counts[choice];
        }
        for (std::size_t c = 0; c < sums.size(); ++c) effects_[k][c] = sums[c] / counts[c];
      }
    }
  }

  [[nodiscard]] double Effect(std::size_t decision, const Assignment& assignment) const {
    return effects_[decision][static_cast<std::size_t>(assignment[decision])];
  }
  [[nodiscard]] double At(const Assignment& assignment) const {
    double value = mean_;
    for (std::size_t k = 0; k < effects_.size(); ++k) value += Effect(k, assignment);
    return value;
  }

 private:
  double mean_ = 0;
  std::vector<std::vector<double>> effects_;
};

}  // namespace

std::optional<Importance> DecisionImportance(std::span<const Decision> decisions,
                                             std::span<const Assignment> assignments,
                                             std::span<const double> values) {
  Check(assignments.size() == values.size(), "one value an assignment");
  if (values.size() < kFewest || decisions.empty()) return std::nullopt;
  // Ranks need no scale, and bound the influence of extreme values.
  const std::vector<double> ranks = Ranks(values);
  const double mean = Mean(ranks);
  double whole = 0;
  double missed = 0;
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    const Sum sum(decisions, assignments, ranks, fold);
    for (std::size_t i = fold; i < ranks.size(); i += kFolds) {
      whole += (ranks[i] - mean) * (ranks[i] - mean);
      missed += (ranks[i] - sum.At(assignments[i])) * (ranks[i] - sum.At(assignments[i]));
    }
  }
  if (whole <= 0) return std::nullopt;
  Importance importance;
  // The coefficient of determination on trials that were left out of the fit.
  importance.predicted = 1 - missed / whole;
  const Sum sum(decisions, assignments, ranks, kAll);
  double all = 0;
  for (std::size_t k = 0; k < decisions.size(); ++k) {
    // Each choice counts as often as trials took it.
    std::vector<double> effects;
    for (const Assignment& assignment : assignments) effects.push_back(sum.Effect(k, assignment));
    const double middle = Mean(effects);
    double variance = 0;
    for (const double effect : effects) variance += (effect - middle) * (effect - middle);
    importance.shares.push_back(variance);
    all += variance;
  }
  if (all <= 0) return std::nullopt;
  for (double& share : importance.shares) share /= all;
  return importance;
}

}  // namespace msc::gym
