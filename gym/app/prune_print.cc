#include "gym/app/prune_print.h"

#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "compiler/base/formatted.h"
#include "gym/app/json_output.h"

namespace msc::gym {
namespace {

double Percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 100;
}

std::string Share(const std::optional<double>& value) {
  return value ? Formatted("%.1f %%", 100 * *value) : "-";
}

void PrintTimes(const PruneReport& report) {
  for (const TimedPrunePlan& plan : report.tried) {
    std::printf("tried: %.1f %% of the multiply-adds take %.1f %% of the time\n", 100 * plan.macs,
                100 * plan.time);
  }
  if (!report.sparsity.empty()) {
    std::printf(
        "zeros save no time, because kernels multiply by them like by other weights: any gain "
        "comes "
        "from removed channels\n");
  }
}

}  // namespace

void PrintPruneTable(const PruneReport& report) {
  std::size_t width = 8;
  for (const PrunedLayer& layer : report.layers) width = std::max(width, layer.name.size());
  const int w = static_cast<int>(std::min<std::size_t>(width, 48));
  std::printf("%-*s  %15s  %21s  %10s  %s\n", w, "layer", "channels", "million MACs", "score kept",
              "output error, refitted");
  for (const PrunedLayer& layer : report.layers) {
    const std::string name =
        layer.name.size() > 48 ? "..." + layer.name.substr(layer.name.size() - 45) : layer.name;
    const std::string macs =
        report.open_sizes.empty()
            ? Formatted("%9.3f > ", layer.macs * 1e-6) + Formatted("%9.3f", layer.macs_kept * 1e-6)
            : "-";
    std::printf("%-*s  %6lld > %6lld  %21s  %10s", w, name.c_str(),
                static_cast<long long>(layer.channels), static_cast<long long>(layer.channels_kept),
                macs.c_str(), Share(layer.score_kept).c_str());
    if (layer.reconstructed) {
      std::printf("  %.4f > %.4f", layer.reconstructed->error_before,
                  layer.reconstructed->error_after);
      if (layer.reconstructed->zeros) {
        std::printf(", %s zeros", Share(layer.reconstructed->zeros).c_str());
      }
    }
    if (!layer.fixed_because.empty()) std::printf("  not pruned: %s", layer.fixed_because.c_str());
    std::printf("\n");
  }
  if (report.open_sizes.empty()) {
    std::printf("multiply-adds %.3f > %.3f million (%.1f %%), ", report.macs * 1e-6,
                report.macs_kept * 1e-6, Percent(report.macs_kept, report.macs));
  } else {
    std::printf("multiply-adds not counted: %s\n", report.open_sizes.c_str());
  }
  std::printf("weights %.3f > %.3f MB (%.1f %%)\n", report.bytes * 1e-6, report.bytes_kept * 1e-6,
              Percent(report.bytes_kept, report.bytes));
  PrintTimes(report);
  PrintSummary(report.summary);
}

void PrintPruneJson(const PruneReport& report) {
  nlohmann::json layers = nlohmann::json::array();
  for (const PrunedLayer& layer : report.layers) {
    nlohmann::json row = {{"layer", layer.name},
                          {"channels", layer.channels},
                          {"channels_kept", layer.channels_kept}};
    if (report.open_sizes.empty()) {
      row["macs"] = layer.macs;
      row["macs_kept"] = layer.macs_kept;
    }
    if (!layer.group.empty()) row["group"] = layer.group;
    if (!layer.fixed_because.empty()) row["fixed_because"] = layer.fixed_because;
    if (layer.score_kept) row["score_kept"] = *layer.score_kept;
    if (layer.reconstructed) {
      row["error_before"] = layer.reconstructed->error_before;
      row["error_after"] = layer.reconstructed->error_after;
      if (layer.reconstructed->zeros) row["zeros"] = *layer.reconstructed->zeros;
    }
    layers.push_back(std::move(row));
  }
  nlohmann::json all = {{"model", report.model},
                        {"score", report.score},
                        {"weight_bytes", report.bytes},
                        {"weight_bytes_kept", report.bytes_kept},
                        {"layers", std::move(layers)}};
  if (report.open_sizes.empty()) {
    all["macs"] = report.macs;
    all["macs_kept"] = report.macs_kept;
  } else {
    all["open_sizes"] = report.open_sizes;
  }
  if (!report.sparsity.empty()) all["sparsity"] = report.sparsity;
  for (const TimedPrunePlan& plan : report.tried) {
    all["tried"].push_back({{"macs", plan.macs}, {"time", plan.time}});
  }
  AddSummaryJson(report.summary, all);
  PrintJsonResult("msc-prune-1", all);
}

}  // namespace msc::gym
