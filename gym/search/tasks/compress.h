#pragma once

#include <optional>
#include <string>
#include <vector>

#include "envs/compress/compress_config.h"
#include "gym/search/task.h"

namespace msc::gym {

/// Searches for channels and precisions together, and for what the config adds (envs/compress).
class CompressTask final : public SearchTask {
 public:
  using Section = envs::CompressConfig;
  CompressTask();
  void CheckConfig(const SearchConfig& config, const Graph& graph) const override;
  [[nodiscard]] std::vector<std::string> OtherTargets(const SearchConfig& config) const override;
  [[nodiscard]] std::optional<FitOptions> FitOf(const SearchConfig& config) const override;
  [[nodiscard]] ProblemFactory Prepare(const Preparation& preparation) const override;
  void AddFindings(const Graph& graph, const Strategy& best, Findings& findings) const override;
  void AddToReport(const SearchSetup& setup, const Findings& findings, const RunPaths& paths,
                   ReportInput& input) const override;
};

}  // namespace msc::gym
