#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/sample_source.h"
#include "compiler/targets/target.h"

namespace msc::gym {

/// How long a call of a model takes on a target.
struct TargetTime {
  std::string target;
  std::optional<double> f32_ms = {};   ///< nothing if it was not timed
  std::optional<double> int8_ms = {};  ///< with all layers in int8 that the target computes so
  /// Returns the shorter one; infinity without any.
  [[nodiscard]] double Least() const;
  /// Returns "onednn 18.9 (f32), 2.64 (int8) ms".
  [[nodiscard]] std::string Text() const;
};

/// Times one sample a call on each of `targets`, in turns in this process, in f32 and in int8 with
/// ranges by a few of `samples`. Slow ones are given up early; all of it takes a few seconds, on
/// `native` half a minute where a large model is compiled for the first time. Targets that this
/// machine lacks and models that do not compile are left out.
/// Returns the times, the target with the least one first.
[[nodiscard]] std::vector<TargetTime> TimeTargets(const Graph& graph, const SampleSource& samples,
                                                  std::span<const std::string> targets, int threads,
                                                  const TargetRegistry& registry);

}  // namespace msc::gym
