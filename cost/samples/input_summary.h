#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/dtype.h"
#include "compiler/base/shape.h"
#include "compiler/ir/tensor.h"

namespace msc::cost {

/// Statistics of the numbers of an input over all samples, collected sample by sample. Deviations
/// are those of the population.
class ValueStatistics {
 public:
  /// Adds one sample; other than real numbers are left out.
  void Add(const Tensor& sample);

  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }
  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] double deviation() const;
  /// Returns the share of numbers that are 0, in [0, 1].
  [[nodiscard]] double zeros() const;
  /// Returns a number, and a share in [0, 1] that it has at least: that of the most frequent number
  /// if this is above one half (majority vote of Boyer and Moore).
  [[nodiscard]] double frequent() const { return frequent_; }
  [[nodiscard]] double frequent_share() const;
  /// Returns the number of samples of several numbers that are all equal.
  [[nodiscard]] std::int64_t constant_samples() const { return constant_; }
  /// Returns the number of samples that are equal to the first one.
  [[nodiscard]] std::int64_t same_samples() const { return same_; }
  [[nodiscard]] std::int64_t samples() const { return samples_; }

 private:
  double low_ = 0;
  double high_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // sum of squared deviations (Welford)
  double count_ = 0;
  double zeros_ = 0;
  std::int64_t samples_ = 0;
  std::int64_t constant_ = 0;
  std::int64_t same_ = 0;
  double frequent_ = 0;
  double votes_ = 0;
  Tensor first_;
};

/// What the samples of one input look like.
struct InputSummary {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<Dims> sizes;  ///< of samples, one for each group
  bool for_all = false;     ///< one sample, which all share
  ValueStatistics values;
};

/// Returns a table with a line for each input: type, shape, smallest, mean, deviation, largest,
/// share of zeros.
[[nodiscard]] std::string FormatSummary(std::span<const InputSummary> inputs, std::int64_t samples);

/// Returns a line for each input whose samples hardly resemble real use: all of one number, many of
/// a single number, or several that are all the same.
[[nodiscard]] std::vector<std::string> WarningsOf(std::span<const InputSummary> inputs);

}  // namespace msc::cost
