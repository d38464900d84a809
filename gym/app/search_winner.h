#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "cost/model/outcome.h"
#include "gym/study/objective.h"
#include "gym/study/trial.h"

namespace msc::gym {

/// Trials worth a second look, best first: by violation, then by objectives in order; each
/// assignment once.
[[nodiscard]] std::vector<std::size_t> Ranked(const Objective& objective,
                                              std::span<const Trial> trials);

/// Whether it takes longer than the uncompressed model, by all of its 95 % interval.
[[nodiscard]] bool IsSlower(const cost::Outcome& outcome);

/// Index of the trial to answer with where the best is slower than the uncompressed model: the
/// first that takes every first choice, which compresses nothing. None where it is not among the
/// trials or not feasible, or where speed is not what is sought first.
[[nodiscard]] std::optional<std::size_t> Uncompressed(const Objective& objective,
                                                      std::span<const Trial> trials);

}  // namespace msc::gym
