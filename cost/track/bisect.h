#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>

#include "compiler/ir/tensor.h"
#include "compiler/targets/target.h"
#include "cost/track/stage.h"
#include "cost/track/store.h"

namespace msc::cost {

/// Where the fault of a compiled model lies.
enum class Blame : std::uint8_t {
  kNone,          ///< its outputs are what they should be
  kLowering,      ///< the lowered graph itself says something else: a pass, or changed weights
  kTarget,        ///< the target computes this node wrongly, also by itself
  kSurroundings,  ///< by itself the node is right: memory, or what the target joins it with
};

/// A tolerance that excuses every difference of finite numbers.
inline constexpr double kNotFiniteAlone = std::numeric_limits<double>::max();

struct BisectResult {
  Blame blame = Blame::kNone;
  std::string value;  ///< the first value that departs
  std::string node;   ///< that makes it
  std::string op;
  std::string last_good;  ///< the value before it in the graph's order that was compared; or empty
  double error = 0;       ///< of the value, relative
  double lowered_error = 0;  ///< of the lowered graph under the reference kernels, at that value
  double alone_error = 0;    ///< of the node alone, given what it should be given
  std::int64_t runs = 0;     ///< compilations it took
  /// Watching a value made the outputs right: what was found may be next to the fault only.
  bool vanishes = false;
};

/// Finds the operator where a compiled stage departs from `reference`, whose values are in the
/// store, by a binary search over the values that both have: about log2(values) compilations, each
/// with one value more as an output. With several faults, one of them. `tolerance` as in
/// StageComparison; kNotFiniteAlone finds where numbers that are not finite come from, in a store
/// that has the outputs and any of the other values. UserError if not even the outputs can be
/// compared.
[[nodiscard]] BisectResult Bisect(
    const TrackStage& stage, const std::string& reference, const TrackStore& store,
    std::span<const Tensor> inputs, double tolerance, const TargetRegistry& registry,
    const std::function<void(std::int64_t low, std::int64_t high)>& progress = {});

/// "the target", ... for people.
[[nodiscard]] std::string Explain(const BisectResult& result, const std::string& target);

}  // namespace msc::cost
