#pragma once

#include <memory>
#include <span>
#include <vector>

#include "agents/gp/gaussian_process.h"

namespace msc::agents {

/// Gaussian-process regression over assignments of names and amounts, with the kernel of
/// agents/gp/mixed_kernel.h. Compared with GaussianProcess it knows the order of choices, fits a
/// rate for each decision, and shares nothing between decisions with the same choices. It suits
/// searches for one best answer without limits.
class MixedProcess {
 public:
  /// Fits the process; parameters as for GaussianProcess.
  MixedProcess(std::span<const gym::Decision> decisions, std::span<const gym::Assignment* const> at,
               std::span<const double> values, std::span<const double> relevance);
  MixedProcess(MixedProcess&&) noexcept;
  MixedProcess& operator=(MixedProcess&&) noexcept;
  ~MixedProcess();

  /// Adds the predicted mean at `assignment` as an observation, as GaussianProcess::Believe.
  void Believe(const gym::Assignment& assignment);
  /// Returns the predictions of the noise-free values at `points`.
  [[nodiscard]] std::vector<Prediction> Predict(
      std::span<const gym::Assignment* const> points) const;
  /// Returns the log marginal likelihood of the values passed to the constructor, up to a constant
  /// that depends only on their number.
  [[nodiscard]] double log_likelihood() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace msc::agents
