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

/// What turning a tensor from one label into another costs. Equal labels are free; a pair that was
/// never set cannot be converted.
class ConversionTable {
 public:
  /// For every tensor: fixed + per_byte * bytes of the tensor. UserError unless both are >= 0.
  void Set(Label from, Label to, double fixed_micros, double micros_per_byte = 0);
  /// For one tensor; goes before what holds for every one.
  void SetFor(FlowIndex tensor, Label from, Label to, double micros);
  /// nullopt where it cannot be.
  [[nodiscard]] std::optional<double> Micros(Label from, Label to, FlowIndex tensor,
                                             std::int64_t bytes) const;
  /// What was set for single tensors: microseconds by tensor, from and to.
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

/// How many regions some targets may have together.
struct RegionLimit {
  std::vector<std::string> targets;
  std::int64_t most = 0;
};

/// Conditions besides covering every node once. Searches say which of them they can keep.
struct SideConditions {
  std::optional<std::int64_t> max_bytes;  ///< of all chosen candidates together
  std::vector<RegionLimit> max_regions;   ///< no target is in two of them
  /// Node -> targets of which one must compute it.
  std::map<FlowIndex, std::vector<std::string>> pins;
  [[nodiscard]] bool empty() const { return !max_bytes && max_regions.empty() && pins.empty(); }
};

/// Choose candidates that cover every node exactly once and can run one after the other, such that
/// their costs and the conversions between them are least. A tensor is converted to a label once,
/// however many candidates want it. Inputs of the whole are dense, and outputs must be.
/// Source: Jeon et al., "Collage: Seamless Integration of Deep Learning Backends with Automatic
/// Placement" (PACT 2022), for the additive part.
struct CoverProblem {
  DataflowGraph flow = {};
  std::vector<Candidate> candidates = {};
  std::vector<std::string> labels = {"dense"};  ///< names, kDense first
  ConversionTable conversions = {};
  SideConditions conditions = {};
};

/// UserError where a candidate does not belong to the problem: other universe, empty, a label out
/// of range, a tensor that is not on its boundary. Does not check that regions are convex.
void CheckProblem(const CoverProblem& problem);

struct CoverStatistics {
  std::int64_t states = 0;       ///< expanded
  std::int64_t transitions = 0;  ///< candidates tried from them
  std::int64_t solves = 0;       ///< whole searches run inside this one
  std::int64_t asked = 0;        ///< costs that an oracle was asked for
  std::int64_t checked = 0;      ///< of those, answers to which a bound above 0 was known
  std::int64_t violated = 0;     ///< of those, below it
  std::int64_t audited = 0;      ///< of those checked, drawn at random
  std::int64_t refuted = 0;      ///< of those drawn, below their bound
  std::int64_t peak_bytes = 0;   ///< of the search's own tables, problem not included
};

struct Cover {
  std::vector<std::uint32_t> chosen;  ///< indices of candidates in an order in which they can run
  double micros = 0;                  ///< candidates and conversions
  double lower_bound = 0;             ///< proven: no cover costs less
  CoverStatistics statistics;
  /// 0 when proven optimal. Relative to the cost.
  [[nodiscard]] double gap() const { return micros > 0 ? (micros - lower_bound) / micros : 0; }
};

/// One conversion that a cover needs.
struct ConversionStep {
  FlowIndex tensor = kNoFlow;
  Label from = kDense;
  Label to = kDense;
  double micros = 0;
};

/// The conversions between `chosen`, by tensor. A Failure (kUnsupported) names a pair of labels
/// that cannot be converted.
[[nodiscard]] Result<std::vector<ConversionStep>> Conversions(
    const CoverProblem& problem, std::span<const std::uint32_t> chosen);

/// `chosen` in an order in which they can run: of those whose operands are there, the one that
/// starts first. A Failure names two candidates on a cycle.
[[nodiscard]] Result<std::vector<std::uint32_t>> ExecutionOrder(
    const CoverProblem& problem, std::span<const std::uint32_t> chosen);

/// Computes the cost of a cover anew, in microseconds, and checks that it covers every node once,
/// runs in the order given, has known costs, and keeps the conditions. A Failure says what is
/// wrong. Shares nothing with the searches.
[[nodiscard]] Result<double> CheckCover(const CoverProblem& problem,
                                        std::span<const std::uint32_t> chosen);

}  // namespace msc
