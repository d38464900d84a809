#include "gym/app/track_print.h"

#include <array>
#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "compiler/base/formatted.h"
#include "cost/model/loss.h"
#include "gym/app/json_output.h"
#include "gym/app/quality_print.h"
#include "gym/search/losses.h"

namespace msc::gym {
namespace {

std::string Short(const std::string& name, std::size_t most) {
  return name.size() > most ? "..." + name.substr(name.size() - most + 3) : name;
}

/// Returns null for infinity and NaN, which JSON lacks.
nlohmann::json Number(double value) {
  if (std::isfinite(value)) return value;
  return nullptr;
}

const char* Name(cost::Blame blame) {
  constexpr std::array kNames = {"none", "lowering", "target", "surroundings"};
  return kNames.at(static_cast<std::size_t>(blame));
}

void PrintStage(const cost::StageComparison& stage) {
  constexpr std::size_t kMaxName = 44;
  std::printf("%s against %s\n", stage.stage.c_str(), stage.reference.c_str());
  std::printf("  %-44s  %-20s  %10s  %10s  %9s  %s\n", "value", "operator", "largest", "of range",
              "noise", "cosine");
  for (std::size_t i = 0; i < stage.errors.size(); ++i) {
    const cost::TensorError& error = stage.errors[i];
    std::printf("%s %-44s  %-20s  %10.3g  %10.3g  %9.3g  %.6f\n", stage.first == i ? ">" : " ",
                Short(error.name, kMaxName).c_str(), Short(error.op, 20).c_str(), error.largest,
                error.relative, error.noise, error.cosine);
  }
  if (!stage.other_shapes.empty()) {
    std::printf("  %zu more differ in size or type, such as %s\n", stage.other_shapes.size(),
                stage.other_shapes[0].c_str());
  }
  if (stage.errors.empty()) std::printf("  no value can be compared\n");
  if (stage.first) {
    std::printf("first beyond the tolerance: %s\n", stage.errors[*stage.first].name.c_str());
  }
}

/// Returns all losses with their intervals: "disagreement 3.10 +- 1.20 %, relative error ...".
std::string LossesText(const cost::OutputQuality& output) {
  std::string text;
  for (const auto& [name, loss] : output.losses) {
    text += (text.empty() ? "" : ", ") + cost::TitleOf(name) + " " + FormatLoss(name, loss);
  }
  return text;
}

void PrintOutputs(const TrackReport& report) {
  const auto print = [](bool hold, const std::string& stage, const std::string& output,
                        const std::string& kind, const std::string& losses) {
    std::printf("%s %-20s  %-24s  %-13s  %s\n", hold ? " " : "!", Short(stage, 20).c_str(),
                Short(output, 24).c_str(), kind.c_str(), losses.c_str());
  };
  if (report.outputs.stages.empty()) return;
  std::printf("outputs against those of baseline (95 %% intervals over samples)\n");
  print(true, "stage", "output", "kind", "losses");
  for (const StageOutputs& stage : report.outputs.stages) {
    if (!stage.judged.failure.empty()) print(false, stage.stage, "", "", stage.judged.failure);
    const cost::Quality& quality = stage.judged.quality;
    for (const cost::OutputQuality& output : quality.outputs) {
      print(stage.hold(), stage.stage, output.name, StringForm<OutputKind>::Write(output.kind),
            LossesText(output));
    }
    for (const cost::MetricQuality& metric : quality.metrics) {
      print(stage.hold(), stage.stage, "", "metric",
            metric.name + Formatted(" %.6g", metric.value) +
                Formatted(" (before %.6g)", metric.reference));
    }
  }
  std::printf("\n");
}

nlohmann::json OutputsJson(const StageOutputs& stage) {
  nlohmann::json json = {{"stage", stage.stage}, {"holds", stage.hold()}};
  if (!stage.judged.failure.empty()) {
    json["failure"] = stage.judged.failure;
    return json;
  }
  json["quality"] = QualityJson(stage.judged.quality);
  json["outputs"] = nlohmann::json::array();
  for (const cost::OutputQuality& output : stage.judged.quality.outputs) {
    nlohmann::json losses = nlohmann::json::object();
    for (const auto& [name, loss] : output.losses) {
      losses[name] = {{"value", loss.value}, {"standard_error", loss.error}};
    }
    json["outputs"].push_back({{"output", output.name},
                               {"kind", StringForm<OutputKind>::Write(output.kind)},
                               {"losses", std::move(losses)}});
  }
  json["limits"] = nlohmann::json::array();
  for (const LimitVerdict& limit : stage.limits) {
    json["limits"].push_back({{"loss", limit.loss},
                              {"limit", limit.limit},
                              {"value", limit.value},
                              {"kept", limit.kept()}});
  }
  json["suspicions"] = stage.suspicions;
  return json;
}

}  // namespace

void PrintTrackTable(const TrackReport& report) {
  std::printf("%s\n\n", TrackVerdict(report).c_str());
  PrintOutputs(report);
  for (const cost::StageComparison& stage : report.stages) PrintStage(stage);
  for (const auto& [stage, result] : report.bisections) {
    std::printf("%s: %s\n", stage.c_str(), CauseText(result, stage).c_str());
    if (result.blame == cost::Blame::kNone) continue;
    std::printf(
        "  node %s (%s) computes %s: error %.3g of its range; the node run alone %.3g, the "
        "lowered graph on reference %.3g\n",
        result.node.c_str(), result.op.c_str(), result.value.c_str(), result.error,
        result.alone_error, result.lowered_error);
    if (!result.last_good.empty()) std::printf("  last correct: %s\n", result.last_good.c_str());
    std::printf("  found in %lld runs\n", static_cast<long long>(result.runs));
  }
  std::printf("tolerance: %g of a value's range\n", report.tolerance);
  if (report.random) std::printf("%s\n", kRandomNote);
  if (report.left_out > 0) {
    std::printf("%lld values were not stored: --store-mb is too small for them\n",
                static_cast<long long>(report.left_out));
  }
}

void PrintTrackJson(const TrackReport& report) {
  nlohmann::json stages = nlohmann::json::array();
  for (const cost::StageComparison& stage : report.stages) {
    nlohmann::json errors = nlohmann::json::array();
    for (const cost::TensorError& error : stage.errors) {
      errors.push_back({{"value", error.name},
                        {"op", error.op},
                        {"dims", error.dims},
                        {"largest", Number(error.largest)},
                        {"relative", Number(error.relative)},
                        {"noise", Number(error.noise)},
                        {"cosine", error.cosine},
                        {"not_finite", error.not_finite}});
    }
    nlohmann::json row = {{"stage", stage.stage},
                          {"reference", stage.reference},
                          {"errors", std::move(errors)},
                          {"other_shapes", stage.other_shapes}};
    if (stage.first) row["first"] = stage.errors[*stage.first].name;
    stages.push_back(std::move(row));
  }
  nlohmann::json bisections = nlohmann::json::array();
  for (const auto& [stage, result] : report.bisections) {
    nlohmann::json row = {{"stage", stage}, {"blame", Name(result.blame)}, {"runs", result.runs}};
    if (result.blame != cost::Blame::kNone) {
      row["node"] = result.node;
      row["op"] = result.op;
      row["value"] = result.value;
      row["last_good"] = result.last_good;
      row["error"] = Number(result.error);
      row["alone_error"] = Number(result.alone_error);
      row["lowered_error"] = Number(result.lowered_error);
      row["vanishes"] = result.vanishes;
    }
    bisections.push_back(std::move(row));
  }
  nlohmann::json outputs = nlohmann::json::array();
  for (const StageOutputs& stage : report.outputs.stages) outputs.push_back(OutputsJson(stage));
  nlohmann::json all = {{"model", report.model},
                        {"verdict", TrackVerdict(report)},
                        {"complaint", TrackComplaint(report)},
                        {"outputs", std::move(outputs)},
                        {"tolerance", report.tolerance},
                        {"stages", std::move(stages)},
                        {"bisections", std::move(bisections)},
                        {"left_out", report.left_out}};
  if (!report.outputs.not_judged.empty()) all["not_judged"] = report.outputs.not_judged;
  PrintJsonResult("msc-track-1", all);
}

}  // namespace msc::gym
