#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/partition/candidate.h"
#include "compiler/partition/cost.h"
#include "compiler/partition/dataflow.h"

namespace msc {

/// Costs of converting a tensor from one label into another. Equal labels cost nothing. A pair of
/// labels without an entry cannot be converted.
class ConversionTable {
 public:
  /// Sets the cost of a pair for every tensor: fixed_micros + micros_per_byte * bytes of the
  /// tensor. UserError unless both are in [0, Cost::kMaxMicros].
  void Set(Label from, Label to, double fixed_micros, double micros_per_byte = 0);
  /// Sets the cost for one tensor, which takes precedence over that of the pair. UserError as in
  /// Set.
  void SetFor(FlowIndex tensor, Label from, Label to, double micros);
  /// Returns the cost in microseconds; nullopt if the conversion is impossible.
  [[nodiscard]] std::optional<double> Micros(Label from, Label to, FlowIndex tensor,
                                             std::int64_t bytes) const;
  /// Returns the costs that were set for single tensors: microseconds by tensor, from and to.
  [[nodiscard]] const std::map<std::tuple<FlowIndex, Label, Label>, double>& tensors() const {
    return tensors_;
  }

 private:
  struct Line {
    double fixed = 0;
    double per_byte = 0;
  };
  std::map<std::pair<Label, Label>, Line> lines_;
  std::map<std::tuple<FlowIndex, Label, Label>, double> tensors_;
};

/// Upper limit of the number of regions of a set of targets together.
struct RegionLimit {
  std::vector<std::string> targets;
  std::int64_t most = 0;
};

/// Constraints besides covering every node once. Each search documents which of them it supports.
struct SideConditions {
  std::optional<std::int64_t> max_bytes;  ///< memory limit of all chosen candidates together
  std::vector<RegionLimit> max_regions;   ///< a target occurs in at most one of them
  /// Node -> targets, one of which must compute the node.
  std::map<FlowIndex, std::vector<std::string>> pins;
  [[nodiscard]] bool empty() const { return !max_bytes && max_regions.empty() && pins.empty(); }
};

/// A minimization problem: choose candidates that cover every node exactly once and can run one
/// after the other, such that the sum of their costs and of the conversions between them is
/// minimal. A tensor is converted to a label once, however many candidates want that label. Inputs
/// and outputs of the graph are dense. Source: Jeon et al., "Collage: Seamless Integration of Deep
/// Learning Backends with Automatic Placement" (PACT 2022), for the additive part.
struct CoverProblem {
  DataflowGraph flow = {};
  std::vector<CandidateRegion> candidates = {};
  std::vector<std::string> labels = {"dense"};  ///< names, kDense first
  ConversionTable conversions = {};
  SideConditions conditions = {};
};

/// Checks that every candidate belongs to the problem. UserError if one is of another universe, is
/// empty, has a label out of range, or labels a tensor that is not on its boundary; or if pins or
/// limits are malformed. Does not check that regions are convex.
void CheckProblem(const CoverProblem& problem);

/// Counters of a search, for reports and tests.
struct CoverStatistics {
  std::int64_t states = 0;       ///< states that were expanded
  std::int64_t transitions = 0;  ///< candidates tried from these states
  std::int64_t solves = 0;       ///< complete searches that were run inside this one
  std::int64_t asked = 0;        ///< costs requested from an oracle
  std::int64_t checked = 0;      ///< of `asked`: answers for which a lower bound above 0 was known
  std::int64_t violated = 0;     ///< of `checked`: answers below their bound
  std::int64_t audited = 0;      ///< of `checked`: drawn at random for the audit
  std::int64_t refuted = 0;      ///< of `audited`: answers below their bound
  std::int64_t peak_bytes = 0;   ///< memory of the search's own tables, without the problem
};

/// A solution of a CoverProblem.
struct Cover {
  std::vector<std::uint32_t> chosen;  ///< indices of candidates, in an order in which they can run
  double micros = 0;                  ///< sum of candidates and conversions
  double lower_bound = 0;             ///< proven: no cover costs less
  CoverStatistics statistics;
  /// Returns the optimality gap relative to the cost; 0 if the cover is proven optimal.
  [[nodiscard]] double gap() const { return micros > 0 ? (micros - lower_bound) / micros : 0; }
};

/// One conversion that a cover needs.
struct ConversionStep {
  FlowIndex tensor = kNoFlow;
  Label from = kDense;
  Label to = kDense;
  double micros = 0;
};

/// Returns the conversions that the candidates `chosen` need, by tensor. A Failure (kUnsupported)
/// names a tensor and the pair of labels that cannot be converted.
[[nodiscard]] Result<std::vector<ConversionStep>> ConversionsNeeded(
    const CoverProblem& problem, std::span<const std::uint32_t> chosen);

/// Returns `chosen` in an order in which they can run: of the candidates whose operands are ready,
/// the one with the first node comes next. The Failure names the candidates that wait for each
/// other.
[[nodiscard]] Result<std::vector<std::uint32_t>> ExecutionOrder(
    const CoverProblem& problem, std::span<const std::uint32_t> chosen);

/// Computes the cost of a cover from scratch, in microseconds, and checks that the cover contains
/// every node once, runs in the order given, has known costs, and meets the side conditions. The
/// Failure says what is wrong. Independent of the searches: shares no code with them.
[[nodiscard]] Result<double> CheckCover(const CoverProblem& problem,
                                        std::span<const std::uint32_t> chosen);

}  // namespace msc
