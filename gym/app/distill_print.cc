#include "gym/app/distill_print.h"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "compiler/base/fields.h"
#include "gym/app/json_output.h"
#include "gym/app/quality_print.h"
#include "gym/search/losses.h"

namespace msc::gym {
void PrintDistillTable(const DistillReport& report) {
  const bool validated =
      report.settings.patience > 0 || (!report.epochs.empty() && report.epochs[0].validation != 0);
  std::printf("%5s  %10s%s\n", "epoch", "loss", validated ? "  validation" : "");
  for (std::size_t i = 0; i < report.epochs.size(); ++i) {
    std::printf("%5zu  %10.5f", i + 1, report.epochs[i].loss);
    if (validated) std::printf("  %10.5f", report.epochs[i].validation);
    std::printf("\n");
  }
  if (!report.pairs.empty()) std::printf("%s\n", report.pairs.c_str());
  if (report.before) {
    std::printf("before training, %lld samples: %s\n",
                static_cast<long long>(report.before->samples),
                QualityText(*report.before).c_str());
  }
  PrintSummary(report.summary);
}

void PrintDistillJson(const DistillReport& report) {
  nlohmann::json epochs = nlohmann::json::array();
  for (const TrainEpoch& epoch : report.epochs) {
    epochs.push_back({{"loss", epoch.loss}, {"validation", epoch.validation}});
  }
  nlohmann::json all = {{"model", report.model},
                        {"settings", ParseJson(ToJsonText(report.settings), "settings")},
                        {"epochs", std::move(epochs)}};
  if (!report.pairs.empty()) all["pairs"] = report.pairs;
  for (const LearnedLayer& layer : report.layers) {
    all["layers"].push_back(
        {{"layer", layer.layer}, {"error_before", layer.before}, {"error_after", layer.after}});
  }
  if (report.before) all["before"] = QualityJson(*report.before);
  if (report.after) all["after"] = QualityJson(*report.after);
  AddSummaryJson(report.summary, all);
  PrintJsonResult("msc-distill-1", all);
}

}  // namespace msc::gym
