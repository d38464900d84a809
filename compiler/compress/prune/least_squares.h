#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compiler/compress/prune/prune.h"
#include "compiler/compress/prune/score.h"
#include "compiler/ir/graph.h"

namespace msc {

/// Second moments of the inputs of one linear map, and of its inputs with its wanted outputs. Takes
/// at most 8 * (inputs + outputs)^2 bytes. As long as there are fewer rows than inputs, keeps the
/// rows in place of the moments, which are computed when Gram asks for them: nothing else needs
/// them. Later it keeps a few hundred rows whose products are to be added. Not thread-safe.
class LinearMoments {
 public:
  /// `threads` compute the sums, with the same result for any number.
  LinearMoments(std::int64_t inputs, std::int64_t outputs, int threads = 1);
  LinearMoments(LinearMoments&&) noexcept;
  LinearMoments& operator=(LinearMoments&&) noexcept;
  ~LinearMoments();

  /// Adds `count` rows, which are `x_stride` and `y_stride` apart. `y` may be nullptr if there are
  /// no outputs.
  void Add(std::int64_t count, const float* x, std::int64_t x_stride, const float* y,
           std::int64_t y_stride);
  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] int threads() const;
  /// Returns the mean of x x^T, about zero or about the mean of x: [inputs, inputs], symmetric.
  enum class About : std::uint8_t { kZero, kMean };
  [[nodiscard]] std::vector<double> Gram(About about) const;
  [[nodiscard]] std::vector<double> MeanInput() const;
  [[nodiscard]] std::vector<double> MeanOutput() const;
  /// Returns the mean of |W x + b - y|^2 relative to the variance of y.
  [[nodiscard]] double Error(std::span<const float> weights, std::span<const float> bias) const;
  /// Returns the variance of y, summed over the outputs; Error is relative to it.
  [[nodiscard]] double Variance() const;

  struct Fit {
    std::vector<float> weights;  ///< [outputs, inputs]
    std::vector<float> bias;     ///< [outputs]; unchanged unless it is free
    double error_before = 0;     ///< remaining share of the outputs' variance
    double error_after = 0;
  };
  /// Returns weights and bias that minimise sum |W x + b - y|^2 + ridge * d * |W - weights|^2,
  /// where d is the mean second moment of an input times the count: directions that the samples do
  /// not cover keep their old weights. Without `free_bias` b stays as given. The error on these
  /// samples is never larger than before.
  [[nodiscard]] Fit Solve(std::span<const float> weights, std::span<const float> bias,
                          bool free_bias, double ridge) const;

 private:
  struct Sums;
  std::unique_ptr<Sums> sums_;
};

/// Scores the units of one group by the loss in the layers that read them, relative to the variance
/// of these layers' outputs.
class UnitElimination {
 public:
  UnitElimination();
  UnitElimination(const UnitElimination&) = delete;
  UnitElimination& operator=(const UnitElimination&) = delete;
  ~UnitElimination();

  /// Adds a layer that reads units. `unit_of` is the unit of each input, -1 for none.
  void AddReader(const LinearMoments& moments, std::span<const float> weights,
                 std::vector<std::int32_t> unit_of);
  [[nodiscard]] bool empty() const;

  /// Returns the scores. kEnergy: output energy that unit u alone carries. kObs: removes the unit
  /// that costs least, lets the remaining weights compensate for it, and repeats. The score of a
  /// unit is the loss that its own removal added, but at least the score of the unit removed
  /// before, so that the order of scores is the order of removal.
  /// Source: Hassibi and Stork 1992, applied to blocks of inputs of a linear layer as in Frantar
  /// and Alistarh 2022 (arXiv 2208.11580), equations 2 and 3, and Kurtic et al. 2023 (arXiv
  /// 2302.04089).
  [[nodiscard]] std::vector<double> Score(const PruneGroup& group, ScoreMethod method) const;

 private:
  struct Reader;
  std::vector<std::unique_ptr<Reader>> readers_;
};

}  // namespace msc
