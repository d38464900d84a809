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

/// Cause of a fault in a compiled model.
enum class Blame : std::uint8_t {
  kNone,  ///< the outputs are correct
  /// The lowered graph itself computes something else, because of a pass or changed weights.
  kLowering,
  kTarget,  ///< the target computes this node wrongly, even alone
  /// The target computes the node correctly alone; the cause is memory or fusion with other nodes.
  kSurroundings,
};

/// Tolerance that accepts every difference of finite numbers, so that only values that are not
/// finite count.
inline constexpr double kNotFiniteAlone = std::numeric_limits<double>::max();

struct BisectResult {
  Blame blame = Blame::kNone;
  std::string value;  ///< first value that departs from the reference
  std::string node;   ///< producer of that value
  /// Operator of that node.
  std::string op;
  std::string last_good;  ///< last value before it that was compared and is correct; empty if none
  double error = 0;       ///< relative error of the value
  /// Relative error of the value in the lowered graph under the reference kernels.
  double lowered_error = 0;
  /// Relative error of the node alone, on the inputs that the reference kernels compute.
  double alone_error = 0;
  std::int64_t runs = 0;  ///< number of compilations
  /// Whether the outputs became correct while a value was watched. The found node may then only be
  /// near the fault.
  bool vanishes = false;
};

/// Finds the operator at which a compiled stage departs from the stage `reference`, whose values
/// are in `store`.
///
/// A binary search over the values that both stages have takes about log2(values) compilations,
/// each with one more value as an output. If there are several faults, it finds one of them.
/// `tolerance` is that of CompareStage. kNotFiniteAlone finds the origin of values that are not
/// finite; the store then needs the outputs, and any of the other values. `progress` (optional)
/// receives the remaining range of values. UserError if no output can be compared. InternalError if
/// the stage is not compiled.
[[nodiscard]] BisectResult BisectStage(
    const TrackStage& stage, const std::string& reference, const TrackStore& store,
    std::span<const Tensor> inputs, double tolerance, const TargetRegistry& registry,
    const std::function<void(std::int64_t low, std::int64_t high)>& progress = {});

/// Returns the cause as text for the user; `target` is the name to use for the target.
[[nodiscard]] std::string CauseText(const BisectResult& result, const std::string& target);

}  // namespace msc::cost
