#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "compiler/strategy/strategy.h"
#include "cost/model/outcome.h"
#include "gym/search/config.h"
#include "gym/search/findings.h"

namespace msc::gym {

/// What config.compare asks to time beside the finalists.
struct ComparedPlan {
  std::vector<Compared> rows;        ///< one per target; a Failure says why a target is unavailable
  std::vector<std::size_t> timed;    ///< indices of the rows that can be timed
  std::vector<Strategy> strategies;  ///< of these: the uncompressed model on the target
};
[[nodiscard]] ComparedPlan PlanCompared(const SearchConfig& config);

/// Returns whether a strategy changes the model and an ONNX file can hold it on one target, so that
/// its exported model says something that the uncompressed one does not.
[[nodiscard]] bool IsExported(const Strategy& strategy);

/// Returns the product that a target runs, as "ONNX Runtime 1.23.2"; the spec if readers of
/// exported models (reader.h) do not include the target.
[[nodiscard]] std::string RunnerOf(const Compared& compared);
/// Returns the same without its version: "ONNX Runtime".
[[nodiscard]] std::string ProductOf(const Compared& compared);
/// Returns "f32 on ONNX Runtime 1.23.2", or "the exported model on ONNX Runtime 1.23.2".
[[nodiscard]] std::string WhatOf(const Compared& compared);

/// Returns how many times as fast the first is as the second; both were timed beside the same
/// uncompressed model. The interval is that of a difference of logarithms of which only the
/// intervals are known; it counts both as independent, which makes it too wide rather than too
/// narrow. Source: Zou and Donner, "Construction of confidence limits about effect measures: a
/// general approach" (Statistics in Medicine, 2008).
[[nodiscard]] SpeedRatio SpeedAgainst(const cost::Latency& fast, const cost::Latency& slow);

/// Returns how many times as fast the best finalist is as a row; nothing without a best, or if one
/// of them was not timed.
[[nodiscard]] std::optional<SpeedRatio> BestAgainst(const Findings& findings,
                                                    const Compared& compared);

}  // namespace msc::gym
