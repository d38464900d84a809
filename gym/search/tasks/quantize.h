#pragma once

#include <optional>

#include "envs/quantize/quantize_config.h"
#include "gym/search/task.h"

namespace msc::gym {

/// Searches for the precision of every layer (envs/quantize).
class QuantizeTask final : public SearchTask {
 public:
  using Section = envs::QuantizeConfig;
  QuantizeTask();
  [[nodiscard]] std::optional<FitOptions> FitOf(const SearchConfig& config) const override;
  [[nodiscard]] ProblemFactory Prepare(const Preparation& preparation) const override;
};

}  // namespace msc::gym
