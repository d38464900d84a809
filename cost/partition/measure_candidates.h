#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/partition/problem.h"
#include "cost/partition/learned_study.h"
#include "cost/partition/region_costs.h"

namespace msc::cost {

/// Reason of the invalid cost of a candidate that measuring did not reach.
inline constexpr const char* kNotReached = "was not measured: stopped";

/// Measures given candidates of a problem, in several calls.
class CandidateMeasurer {
 public:
  /// All arguments must outlive this object; the functions may be empty. `progress` occasionally
  /// receives a line of text. Once `stop` returns true, nothing more is measured.
  CandidateMeasurer(CoverProblem& problem, RegionCosts& costs,
                    const std::function<void(const std::string&)>& progress,
                    const std::function<bool()>& stop);

  /// Returns the costs of the candidates of these indices and stores the memory that they need in
  /// the problem.
  std::vector<Cost> operator()(std::span<const std::uint32_t> candidates);
  /// Does the same and stores the costs in the problem.
  void Store(std::span<const std::uint32_t> candidates);
  /// Returns how many candidates were not reached before `stop` returned true.
  [[nodiscard]] std::size_t missed() const noexcept { return missed_; }

 private:
  CoverProblem& problem_;
  RegionCosts& costs_;
  const std::function<void(const std::string&)>& progress_;
  const std::function<bool()>& stop_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::size_t missed_ = 0;
};

/// Returns the regions of the candidates of these indices.
[[nodiscard]] std::vector<MeasuredRegion> RegionsOf(const CoverProblem& problem,
                                                    std::span<const std::uint32_t> candidates);

/// Returns the indices of all candidates.
[[nodiscard]] std::vector<std::uint32_t> AllCandidates(const CoverProblem& problem);
/// Returns the indices of whole graphs, of the regions without which other covers are unlikely, and
/// of the others.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> ByNeed(const CoverProblem& problem);

/// Measures the costs of all candidates of `problem`, or finds them cached, and stores them there.
/// A candidate that cannot run, or was not reached before `stop` returned true, becomes Invalid.
/// `progress` occasionally receives a line of text; both callbacks may be empty.
void MeasureCandidates(CoverProblem& problem, RegionCosts& costs,
                       const std::function<void(const std::string&)>& progress,
                       const std::function<bool()>& stop);
/// Does the same in limited time. First come whole graphs, which only `stop` ends. Then come single
/// nodes and units, without which other covers are unlikely, and then all others; `late` ends these
/// as well.
void MeasureInTime(CoverProblem& problem, RegionCosts& costs,
                   const std::function<void(const std::string&)>& progress,
                   const std::function<bool()>& stop, const std::function<bool()>& late);

/// Does the same as MeasureCandidates, but does not measure candidates that the model of `costs`
/// rules out (MeasureFastest). They become Invalid with this reason.
LearnedUse MeasureLearnedCandidates(CoverProblem& problem, RegionCosts& costs,
                                    const std::function<void(const std::string&)>& progress,
                                    const std::function<bool()>& stop);

}  // namespace msc::cost
