#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compiler/compress/prune/prune.h"
#include "compiler/compress/prune/score.h"
#include "compiler/ir/graph.h"

namespace msc {

/// A layer as `groups` linear maps of the same size, y = W x + b at every output position: x are
/// the inputs under the kernel, channel by channel, y the output channels of the group.
struct LinearForm {
  std::int64_t groups = 1;
  std::int64_t inputs = 0;   ///< of one group: channels * taps
  std::int64_t outputs = 0;  ///< of one group
  std::int64_t taps = 1;     ///< inputs in a row that belong to one index of the weights' in_axis
};
/// Of Conv, MatMul and Gemm (alpha = beta = 1, transA = 0) in f32; nullopt for others.
[[nodiscard]] std::optional<LinearForm> ReadLinearForm(const Graph& graph,
                                                       const WeightedLayer& layer);

/// Weights as [groups * outputs, inputs] and back.
[[nodiscard]] std::vector<float> ReadRows(const Graph& graph, const WeightedLayer& layer,
                                          const LinearForm& form);
[[nodiscard]] Tensor WriteRows(const Graph& graph, const WeightedLayer& layer,
                               const LinearForm& form, std::span<const float> rows);

/// Picks up to `most` output positions a sample out of `y`'s shape; the same for equal arguments.
/// `y` [N, M, spatial...] of a Conv, else [..., M].
[[nodiscard]] std::vector<std::int64_t> PickPositions(const Node& node, const Dims& y,
                                                      std::int64_t most, std::uint64_t seed);
/// x at these positions, one row each: [positions, groups * inputs].
[[nodiscard]] std::vector<float> InputRows(const Graph& graph, const WeightedLayer& layer,
                                           const Tensor& x, const Dims& y,
                                           std::span<const std::int64_t> positions);
/// y at these positions: [positions, M].
[[nodiscard]] std::vector<float> OutputRows(const Node& node, const Tensor& y,
                                            std::span<const std::int64_t> positions);

/// Second moments of the inputs, and of inputs with wanted outputs, of one linear map.
/// Memory 8 * (inputs + outputs)^2 bytes at most. Not thread-safe.
class LinearMoments {
 public:
  LinearMoments(std::int64_t inputs, std::int64_t outputs);
  LinearMoments(LinearMoments&&) noexcept;
  LinearMoments& operator=(LinearMoments&&) noexcept;
  ~LinearMoments();

  /// `count` rows, `x_stride` and `y_stride` apart; `y` may be nullptr if there are no outputs.
  void Add(std::int64_t count, const float* x, std::int64_t x_stride, const float* y,
           std::int64_t y_stride);
  [[nodiscard]] std::int64_t count() const;
  /// Mean of x x^T, about the means of x if they are to be taken off: [inputs, inputs], symmetric.
  enum class About : std::uint8_t { kZero, kMean };
  [[nodiscard]] std::vector<double> Gram(About about) const;
  [[nodiscard]] std::vector<double> MeanInput() const;
  [[nodiscard]] std::vector<double> MeanOutput() const;
  /// Mean |W x + b - y|^2 as a share of the variance of y.
  [[nodiscard]] double Error(std::span<const float> weights, std::span<const float> bias) const;
  /// Of y, summed over the outputs: what Error is a share of.
  [[nodiscard]] double Variance() const;

  struct Fit {
    std::vector<float> weights;  ///< [outputs, inputs]
    std::vector<float> bias;     ///< [outputs]; as given where it may not change
    double error_before = 0;     ///< share of the outputs' variance that is missed
    double error_after = 0;
  };
  /// Weights and bias that minimise sum |W x + b - y|^2 + ridge * d * |W - weights|^2, d being the
  /// mean second moment of an input times the count: where the samples say nothing, the old weights
  /// stay. Without `free_bias` b stays as given. Never worse than before on the samples seen.
  [[nodiscard]] Fit Solve(std::span<const float> weights, std::span<const float> bias,
                          bool free_bias, double ridge) const;

 private:
  friend class UnitElimination;
  struct Sums;
  std::unique_ptr<Sums> sums_;
};

/// Scores the units of one group by what the layers that read them lose, as shares of the variance
/// of their outputs.
class UnitElimination {
 public:
  UnitElimination();
  UnitElimination(const UnitElimination&) = delete;
  UnitElimination& operator=(const UnitElimination&) = delete;
  ~UnitElimination();

  /// A layer that reads units: `unit_of` says which an input belongs to, -1 for none.
  void AddReader(const LinearMoments& moments, std::span<const float> weights,
                 std::vector<std::int32_t> unit_of);
  [[nodiscard]] bool empty() const;

  /// kEnergy: output energy that unit u alone carries. kObs: removes the unit that costs least,
  /// lets the remaining weights make up for it, and so on; a unit's score is what its own removal
  /// added, at least that of the one before, so that the order of scores is the order of removal.
  /// Source: Hassibi and Stork 1992, applied to blocks of inputs of a linear layer as in Frantar
  /// and Alistarh 2022 (arXiv 2208.11580), equations 2 and 3, and Kurtic et al. 2023 (arXiv
  /// 2302.04089).
  [[nodiscard]] std::vector<double> Score(const PruneGroup& group, ScoreMethod method) const;

 private:
  struct Reader;
  std::vector<std::unique_ptr<Reader>> readers_;
};

}  // namespace msc
