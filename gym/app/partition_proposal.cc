#include "gym/app/partition_proposal.h"

#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "compiler/base/formatted.h"
#include "cost/partition/propose.h"
#include "gym/app/json_output.h"

namespace msc::gym {
namespace {

/// Typical time to build and time one region.
constexpr double kSecondsEach = 0.25;
constexpr double kNanosPerMicro = 1e3;

struct Row {
  const CandidateRegion* candidate = nullptr;
  std::vector<std::string> nodes;
  std::optional<double> micros;
  std::string failure;            ///< known failure to run
  std::optional<std::size_t> as;  ///< earlier row with the same cost
  bool known = false;

  [[nodiscard]] double Seconds() const { return known || as ? 0 : kSecondsEach; }
};

std::vector<Row> RowsOf(const CoverProblem& problem, cost::RegionCosts& costs) {
  std::vector<cost::MeasuredRegion> regions;
  for (const CandidateRegion& candidate : problem.candidates) {
    regions.push_back({cost::NodeNames(problem, candidate), candidate.target});
  }
  const std::vector<std::uint32_t> alike = costs.Alike(regions);
  std::map<std::uint32_t, std::size_t> first;
  std::vector<Row> rows;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    Row& row = rows.emplace_back();
    row.candidate = &problem.candidates[i];
    if (const auto found = costs.Find(regions[i])) {
      row.known = true;
      if (found->ok()) {
        row.micros = found->value().latency.value().median_ns / kNanosPerMicro;
      } else {
        row.failure = found->failure().detail;
      }
    } else if (const auto [it, is_new] = first.emplace(alike[i], i); !is_new) {
      row.as = it->second;
    }
    row.nodes = std::move(regions[i].nodes);
  }
  return rows;
}

using Counts = std::map<std::pair<std::string, std::string>, std::size_t>;  ///< by target and rule

void PrintJson(const CoverProblem& problem, const std::vector<Row>& rows, const Counts& counts,
               std::size_t unknown, std::size_t turns) {
  nlohmann::ordered_json by_rule = nlohmann::ordered_json::array();
  for (const auto& [key, count] : counts) {
    by_rule.push_back({{"target", key.first}, {"rule", key.second}, {"candidates", count}});
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json& item = list.emplace_back();
    item = {{"target", row.candidate->target},
            {"rule", RulesOf(*row.candidate)},
            {"nodes", row.nodes},
            {"known", row.known},
            {"estimated_seconds", row.Seconds()}};
    if (row.micros) item["micros"] = *row.micros;
    if (!row.failure.empty()) item["failure"] = row.failure;
    if (row.as) item["same_as"] = *row.as;
  }
  const nlohmann::ordered_json root = {
      {"nodes", problem.flow.size()},
      {"candidates", rows.size()},
      {"to_measure", unknown},
      {"turns_to_measure", turns},
      {"estimated_seconds", static_cast<double>(unknown + turns) * kSecondsEach},
      {"by_rule", by_rule},
      {"list", list}};
  PrintJsonResult("msc-partition-costs-1", root);
}

std::string CostText(const Row& row) {
  if (row.micros) return Formatted("%.1f us", *row.micros);
  if (row.known) return "does not run";
  return row.as ? Formatted("same as %zu", *row.as + 1) : Formatted("%.2f s", row.Seconds());
}

void PrintRows(const std::vector<Row>& rows) {
  std::printf("  %5s  %-32s %12s  %s\n", "#", "target", "cost", "nodes (proposed by)");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    constexpr std::size_t kMaxNames = 4;
    const std::vector<std::string>& nodes = rows[i].nodes;
    std::string names = nodes.front();
    for (std::size_t k = 1; k < nodes.size() && k < kMaxNames; ++k) names += ", " + nodes[k];
    if (nodes.size() > kMaxNames) names += " + " + std::to_string(nodes.size() - kMaxNames);
    std::printf("  %5zu  %-32s %12s  %s (%s)\n", i + 1, rows[i].candidate->target.c_str(),
                CostText(rows[i]).c_str(), names.c_str(), RulesOf(*rows[i].candidate).c_str());
  }
}

}  // namespace

void PrintProposal(const CoverProblem& problem, cost::RegionCosts& costs, std::size_t turns,
                   bool json) {
  const std::vector<Row> rows = RowsOf(problem, costs);
  Counts counts;
  std::size_t unknown = 0;
  for (const Row& row : rows) {
    ++counts[{row.candidate->target, RulesOf(*row.candidate)}];
    unknown += row.known || row.as ? 0 : 1;
  }
  if (json) {
    PrintJson(problem, rows, counts, unknown, turns);
    return;
  }
  PrintRows(rows);
  std::printf("%zu nodes, %zu candidates:\n", problem.flow.size(), rows.size());
  for (const auto& [key, count] : counts) {
    std::printf("  %-32s %-20s %6zu\n", key.first.c_str(), key.second.c_str(), count);
  }
  std::printf(
      "still to be measured: %zu distinct structures and %zu layout conversions of images, in "
      "about "
      "%.0f s\n",
      unknown, turns, static_cast<double>(unknown + turns) * kSecondsEach);
}

}  // namespace msc::gym
