#include "gym/app/quality_print.h"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "cost/quality/choose_form.h"
#include "gym/search/losses.h"

namespace msc::gym {

void PrintQuality(const cost::Quality& quality) {
  std::printf("%lld samples: %s\n", static_cast<long long>(quality.samples),
              QualityText(quality).c_str());
  for (const std::string& line : OutputLines(quality)) std::printf("  %s\n", line.c_str());
}

void PrintForms(const OutputForms& forms) {
  std::fprintf(stderr, "%s\n", cost::FormatForms(forms).c_str());
}

nlohmann::json QualityJson(const cost::Quality& quality) {
  nlohmann::json json = {{"samples", quality.samples}, {"losses", nlohmann::json::object()}};
  for (const auto& [name, loss] : quality.Losses()) {
    json["losses"][name] = {{"value", loss.value}, {"standard_error", loss.error}};
  }
  for (const cost::OutputQuality& output : quality.outputs) {
    json["outputs"][output.name] = StringForm<OutputKind>::Write(output.kind);
  }
  for (const cost::MetricQuality& metric : quality.metrics) {
    json["metrics"][metric.name] = {{"value", metric.value}, {"reference", metric.reference}};
  }
  for (const cost::OutputQuality& output : quality.outputs) {
    for (const auto& [loss, score] : output.scores) {
      // "accuracy" of "accuracy_drop"
      json["scores"][output.name][loss.substr(0, loss.rfind('_'))] = {
          {"value", score.value}, {"reference", score.reference}};
    }
  }
  if (quality.accuracy) json["accuracy"] = *quality.accuracy;
  if (quality.reference_accuracy) json["reference_accuracy"] = *quality.reference_accuracy;
  return json;
}

}  // namespace msc::gym
