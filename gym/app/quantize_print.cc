#include "gym/app/quantize_print.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include "compiler/base/file.h"
#include "compiler/base/formatted.h"
#include "compiler/base/ranks.h"
#include "compiler/pipeline/pairs.h"
#include "gym/app/quality_print.h"

namespace msc::gym {
namespace {

/// Returns the text as a field of a CSV file.
std::string Quoted(std::string text) {
  for (std::size_t at = text.find('"'); at != std::string::npos; at = text.find('"', at + 2)) {
    text.insert(at, "\"");
  }
  return "\"" + text + "\"";
}

std::string Share(const std::optional<double>& value) {
  return value ? Formatted("%.5f", *value) : "-";
}

std::string Achieved(const QuantizeReport& report, const std::string& layer) {
  const auto it = report.achieved.find(layer);
  return it == report.achieved.end() || it->second.empty() ? "-" : it->second;
}

nlohmann::json SensitivityJson(const Sensitivity& sensitivity) {
  nlohmann::json layers = nlohmann::json::array();
  const auto judged = [](const Judged& each) {
    if (!each.failure.empty()) return nlohmann::json({{"failure", each.failure}});
    nlohmann::json json = QualityJson(each.quality);
    json["cosine"] = each.cosine;
    return json;
  };
  for (const SensitivityRow& row : sensitivity.rows) {
    layers.push_back({{"layer", row.layer},
                      {"weight_bits", row.bits},
                      {"alone", judged(row.alone)},
                      {"without", judged(row.without)}});
  }
  nlohmann::json json = {{"passes", sensitivity.passes},
                         {"samples", sensitivity.samples},
                         {"calibration_samples", sensitivity.calibration},
                         {"layers", std::move(layers)}};
  if (const auto ranks = RankSensitivity(sensitivity)) {
    json["rank_correlation"] = {{"kl", ranks->kl}, {"mse", ranks->mse}, {"cosine", ranks->cosine}};
  }
  return json;
}

}  // namespace

std::optional<double> AccuracyDrop(const Judged& judged) {
  const cost::Quality& quality = judged.quality;
  if (!quality.accuracy || !quality.reference_accuracy) return std::nullopt;
  return 100 * (*quality.reference_accuracy - *quality.accuracy);
}

std::optional<SensitivityRanks> RankSensitivity(const Sensitivity& sensitivity) {
  std::vector<double> kl;
  std::vector<double> mse;
  std::vector<double> cosine;
  std::vector<double> drop;
  for (const SensitivityRow& row : sensitivity.rows) {
    if (!row.alone.failure.empty()) continue;
    const auto lost = AccuracyDrop(row.alone);
    if (!lost) return std::nullopt;
    kl.push_back(row.alone.quality.kl);
    mse.push_back(row.alone.quality.mse);
    cosine.push_back(-row.alone.cosine);
    drop.push_back(*lost);
  }
  if (drop.size() < 2) return std::nullopt;
  const auto with = [&](const std::vector<double>& measure) {
    return RankCorrelation(measure, drop).value_or(0);
  };
  return SensitivityRanks{.kl = with(kl), .mse = with(mse), .cosine = with(cosine)};
}

std::string SensitivityText(const Sensitivity& sensitivity) {
  std::string text =
      "sensitivity of " + std::to_string(sensitivity.rows.size()) +
      " layers, weights rounded to the nearest: " + std::to_string(sensitivity.passes) +
      " passes over " + std::to_string(sensitivity.samples) + " samples";
  if (sensitivity.calibration > 0) {
    text += ", and one quantization from " + std::to_string(sensitivity.calibration) +
            " calibration samples";
  }
  return text;
}

std::optional<std::string> PairsText(const QuantizeReport& report) {
  std::map<std::string, PairSums> pairs;
  for (const QuantizedLayer& layer : report.layers) {
    if (layer.pairs) pairs.emplace(layer.name, *layer.pairs);
  }
  const auto worst = FindWorstPairs(pairs);
  return worst ? std::optional(PairsText(*worst, report.has_vnni)) : std::nullopt;
}

void WriteSensitivityCsv(const std::vector<SensitivityRow>& rows, const std::string& file) {
  std::string text =
      "layer,bits,alone_kl,alone_mse,alone_cosine,alone_accuracy_drop,without_kl,without_mse,"
      "without_cosine,without_accuracy_drop,alone_failure,without_failure\n";
  const auto add = [&](const Judged& judged) {
    if (!judged.failure.empty()) {
      text += ",,,,";
      return;
    }
    const auto drop = AccuracyDrop(judged);
    text += "," + Formatted("%.9g", judged.quality.kl) + "," +
            Formatted("%.9g", judged.quality.mse) + "," + Formatted("%.9g", judged.cosine) + "," +
            (drop ? Formatted("%.4f", *drop) : "");
  };
  const auto add_failure = [&](const Judged& judged) {
    text += "," + (judged.failure.empty() ? "" : Quoted(judged.failure));
  };
  for (const SensitivityRow& row : rows) {
    text += Quoted(row.layer) + "," + std::to_string(row.bits);
    add(row.alone);
    add(row.without);
    add_failure(row.alone);
    add_failure(row.without);
    text += "\n";
  }
  WriteFileAtomic(file, text);
}

void PrintQuantizeTable(const QuantizeReport& report) {
  std::size_t width = 8;
  for (const QuantizedLayer& layer : report.layers) width = std::max(width, layer.name.size());
  const int w = static_cast<int>(std::min<std::size_t>(width, 48));
  std::printf("%-*s  %9s  %11s  %21s  %s\n", w, "layer", "precision", "weight bits", "output error",
              "runs in");
  for (const QuantizedLayer& layer : report.layers) {
    const std::string name =
        layer.name.size() > 48 ? "..." + layer.name.substr(layer.name.size() - 45) : layer.name;
    std::printf("%-*s  %9s  %11s  %9s > %9s  %s\n", w, name.c_str(),
                std::string(Name(layer.precision)).c_str(),
                layer.bits == 0 ? "-" : std::to_string(layer.bits).c_str(),
                Share(layer.error_before).c_str(), Share(layer.error_after).c_str(),
                Achieved(report, layer.name).c_str());
  }
  for (const SmoothedValue& value : report.smoothed) {
    if (!value.alpha) continue;
    std::printf("smoothed %s: alpha %.1f, error %.3g > %.3g\n", value.value.c_str(), *value.alpha,
                value.error_before, value.error_after);
  }
  if (const auto text = PairsText(report)) std::printf("%s\n", text->c_str());
  if (report.sensitivity) {
    std::printf("%s\n", SensitivityText(*report.sensitivity).c_str());
    for (const SensitivityRow& row : report.sensitivity->rows) {
      for (const auto& [what, judged] :
           {std::pair("alone", &row.alone), std::pair("without it", &row.without)}) {
        if (judged->failure.empty()) continue;
        std::printf("%s, %s: %s\n", row.layer.c_str(), what, judged->failure.c_str());
      }
    }
    if (const auto ranks = RankSensitivity(*report.sensitivity)) {
      std::printf(
          "rank correlation with the accuracy drop of each layer alone: KL %.2f, MSE %.2f, cosine "
          "%.2f\n",
          ranks->kl, ranks->mse, ranks->cosine);
    }
  }
  if (report.quality && report.quality->failure.empty()) {
    PrintQuality(report.quality->quality);
    std::printf("cosine of the outputs %.5f\n", report.quality->cosine);
  }
}

void PrintQuantizeJson(const QuantizeReport& report) {
  nlohmann::json layers = nlohmann::json::array();
  for (const QuantizedLayer& layer : report.layers) {
    nlohmann::json row = {
        {"layer", layer.name}, {"precision", Name(layer.precision)}, {"weight_bits", layer.bits}};
    if (report.achieved.contains(layer.name)) row["runs_in"] = report.achieved.at(layer.name);
    if (layer.error_before) row["error_before"] = *layer.error_before;
    if (layer.error_after) row["error_after"] = *layer.error_after;
    if (layer.pairs) {
      row["pairs_can_saturate"] = layer.pairs->can_saturate;
      row["outputs_saturated"] = layer.pairs->saturated;
    }
    layers.push_back(std::move(row));
  }
  nlohmann::json smoothed = nlohmann::json::array();
  for (const SmoothedValue& value : report.smoothed) {
    nlohmann::json row = {{"value", value.value},
                          {"error_before", value.error_before},
                          {"error_after", value.error_after}};
    if (value.alpha) row["alpha"] = *value.alpha;
    smoothed.push_back(std::move(row));
  }
  nlohmann::json all = {{"model", report.model},
                        {"target", report.target},
                        {"cpu_has_vnni", report.has_vnni},
                        {"layers", std::move(layers)},
                        {"smoothed", std::move(smoothed)}};
  if (!report.not_finite.empty()) all["not_finite"] = report.not_finite;
  if (report.quality && report.quality->failure.empty()) {
    all["quality"] = QualityJson(report.quality->quality);
    all["quality"]["cosine"] = report.quality->cosine;
  }
  if (report.sensitivity) all["sensitivity"] = SensitivityJson(*report.sensitivity);
  std::printf("%s\n", all.dump(2).c_str());
}

}  // namespace msc::gym
