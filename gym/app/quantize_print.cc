#include "gym/app/quantize_print.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include "compiler/base/file.h"
#include "compiler/base/formatted.h"
#include "compiler/base/ranks.h"
#include "compiler/pipeline/pairs.h"
#include "cost/model/loss.h"
#include "gym/app/json_output.h"
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
    return QualityJson(each.quality);
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
  const auto ranks = RankSensitivity(sensitivity);
  if (!ranks.empty()) json["rank_correlation"] = ranks;
  return json;
}

nlohmann::json JudgedJson(const Judged& judged) {
  if (judged.failure.empty()) return QualityJson(judged.quality);
  return {{"failure", judged.failure}};
}

nlohmann::json RangesJson(const ChosenRanges& ranges) {
  nlohmann::json tried = nlohmann::json::object();
  for (const TriedRanges& each : ranges.tried) tried[each.method] = JudgedJson(each.judged);
  return {{"method", ranges.method}, {"samples", ranges.samples}, {"tried", std::move(tried)}};
}

/// Prints what was decided because nobody asked for it.
void PrintDecisions(const QuantizeReport& report) {
  if (report.ranges) std::printf("%s\n", RangesText(*report.ranges).c_str());
  if (report.rounding) std::printf("%s\n", RoundingText(*report.rounding).c_str());
  if (report.kept) {
    for (const std::string& line : KeptLines(*report.kept)) std::printf("%s\n", line.c_str());
  }
}

nlohmann::json RoundingJson(const ChosenRounding& rounding) {
  nlohmann::json tried = nlohmann::json::array();
  for (const TriedRounding& each : rounding.tried) {
    tried.push_back({{"rounding", each.rounding},
                     {"correct_bias", each.correct_bias},
                     {"loss", JudgedJson(each.judged)}});
  }
  return {{"rounding", rounding.best().rounding},
          {"correct_bias", rounding.best().correct_bias},
          {"samples", rounding.samples},
          {"takes_long", rounding.takes_long},
          {"tried", std::move(tried)}};
}

}  // namespace

std::vector<std::string> LossesOf(const std::vector<SensitivityRow>& rows) {
  std::vector<std::string> names;
  for (const cost::LossInfo& info : cost::kLosses) {
    const bool has = std::ranges::any_of(rows, [&](const SensitivityRow& row) {
      return row.alone.quality.Loss(info.name) || row.without.quality.Loss(info.name);
    });
    if (has) names.emplace_back(info.name);
  }
  for (const SensitivityRow& row : rows) {
    for (const cost::MetricQuality& metric : row.alone.quality.metrics) {
      if (std::ranges::find(names, metric.name) == names.end()) names.push_back(metric.name);
    }
  }
  return names;
}

std::string MainLossOf(const std::vector<SensitivityRow>& rows) {
  const std::vector<std::string> names = LossesOf(rows);
  return names.empty() ? std::string(cost::kDistillLoss) : names[0];
}

namespace {

/// Returns the first loss against labels; empty if there is none.
std::string LabelLossOf(const std::vector<SensitivityRow>& rows) {
  const std::vector<std::string> names = LossesOf(rows);
  const auto found = std::ranges::find_if(names, cost::IsAgainstLabels);
  return found == names.end() ? "" : *found;
}

}  // namespace

std::map<std::string, double> RankSensitivity(const Sensitivity& sensitivity) {
  std::map<std::string, double> ranks;
  const std::string labelled = LabelLossOf(sensitivity.rows);
  for (const std::string& name : LossesOf(sensitivity.rows)) {
    std::vector<double> losses;
    std::vector<double> drops;
    for (const SensitivityRow& row : sensitivity.rows) {
      const auto loss = row.alone.quality.Loss(name);
      const auto drop = row.alone.quality.Loss(labelled);
      if (!row.alone.failure.empty() || !loss || !drop) continue;
      losses.push_back(loss->value);
      drops.push_back(drop->value);
    }
    if (cost::IsAgainstLabels(name) || drops.size() < 2) continue;
    ranks.emplace(name, RankCorrelation(losses, drops).value_or(0));
  }
  return ranks;
}

std::string RankText(const Sensitivity& sensitivity) {
  std::string ranks;
  for (const auto& [name, correlation] : RankSensitivity(sensitivity)) {
    ranks += (ranks.empty() ? "" : ", ") + cost::TitleOf(name) + Formatted(" %.2f", correlation);
  }
  if (ranks.empty()) return "";
  return "rank correlation with the " + cost::TitleOf(LabelLossOf(sensitivity.rows)) +
         " of each layer alone: " + ranks;
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
  const std::vector<std::string> names = LossesOf(rows);
  std::string text = "layer,bits";
  for (const char* who : {"alone_", "without_"}) {
    for (const std::string& name : names) text += "," + (who + name);
  }
  text += ",alone_failure,without_failure\n";
  const auto add = [&](const Judged& judged) {
    for (const std::string& name : names) {
      const auto loss = judged.failure.empty() ? judged.quality.Loss(name) : std::nullopt;
      text += "," + (loss ? Formatted("%.9g", loss->value) : "");
    }
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
  PrintDecisions(report);
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
    const std::string ranks = RankText(*report.sensitivity);
    if (!ranks.empty()) std::printf("%s\n", ranks.c_str());
  }
  PrintSummary(report.summary);
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
  if (report.ranges) all["ranges"] = RangesJson(*report.ranges);
  if (report.rounding) all["rounding"] = RoundingJson(*report.rounding);
  if (report.kept) {
    all["kept_f32"] = report.kept->Names();
    all["kept_f32_ends"] = report.kept->ends;
    all["kept_f32_work"] = report.kept->work;
    all["kept_f32_suffices"] = report.kept->layers.suffices;
    if (report.kept->before.failure.empty()) {
      all["quality_with_all_quantized"] = QualityJson(report.kept->before.quality);
    }
  }
  if (!report.not_finite.empty()) all["not_finite"] = report.not_finite;
  if (report.sensitivity) all["sensitivity"] = SensitivityJson(*report.sensitivity);
  AddSummaryJson(report.summary, all);
  PrintJsonResult("msc-quantize-1", all);
}

}  // namespace msc::gym
