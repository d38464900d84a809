#include "gym/app/distill_print.h"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "compiler/base/fields.h"
#include "gym/app/json_output.h"
#include "gym/app/quality_print.h"
#include "gym/search/losses.h"

namespace msc::gym {
namespace {

void PrintOne(const char* who, const cost::Quality& quality) {
  std::printf("%-16s  %s\n", who, QualityText(quality).c_str());
}

}  // namespace

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
  if (report.before && report.after) {
    std::printf("%lld samples\n", static_cast<long long>(report.after->samples));
    PrintOne("before training", *report.before);
    PrintOne("after training", *report.after);
  }
  if (report.written) PrintWritten(*report.written);
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
  if (report.written) all["written"] = WrittenJson(*report.written);
  PrintJsonResult("msc-distill-1", all);
}

}  // namespace msc::gym
