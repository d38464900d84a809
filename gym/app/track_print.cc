#include "gym/app/track_print.h"

#include <array>
#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "compiler/base/formatted.h"
#include "gym/app/json_output.h"
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

/// Returns the value with the largest error of all stages; nothing if none was compared.
const cost::TensorError* LargestError(const TrackReport& report) {
  const cost::TensorError* largest = nullptr;
  for (const cost::StageComparison& stage : report.stages) {
    for (const cost::TensorError& error : stage.errors) {
      if (largest == nullptr || error.relative > largest->relative) largest = &error;
    }
  }
  return largest;
}

std::string StageVerdict(const cost::StageComparison& stage, double tolerance) {
  const cost::TensorError& first = stage.errors[*stage.first];
  std::string text = "'" + stage.stage + "' departs from '" + stage.reference + "' at value '" +
                     first.name + "' (" + first.op +
                     "): " + Formatted("error %.3g of its range", first.relative) +
                     Formatted(", tolerance %.3g", tolerance);
  if (*stage.first > 0) {
    text += "; the value before it, '" + stage.errors[*stage.first - 1].name + "', is correct";
  }
  return text + ".\n";
}

}  // namespace

std::string TrackVerdict(const TrackReport& report) {
  std::string text;
  std::size_t compared = 0;
  for (const cost::StageComparison& stage : report.stages) {
    compared += stage.errors.size();
    if (stage.first) text += StageVerdict(stage, report.tolerance);
  }
  for (const auto& [stage, result] : report.bisections) {
    if (result.blame != cost::Blame::kNone) text += stage + ": " + CauseText(result, stage) + "\n";
  }
  if (!text.empty()) return text.substr(0, text.size() - 1);
  const cost::TensorError* largest = LargestError(report);
  if (largest == nullptr) return "No value can be compared.";
  return "No value departs: of " + std::to_string(compared) +
         " comparisons, the largest error is " +
         Formatted("%.3g of a value's range", largest->relative) + ", of '" + largest->name +
         "' (" + largest->op + ")" + Formatted("; tolerance %.3g.", report.tolerance);
}

void PrintTrackTable(const TrackReport& report) {
  std::printf("%s\n\n", TrackVerdict(report).c_str());
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
  const nlohmann::json all = {{"model", report.model},
                              {"verdict", TrackVerdict(report)},
                              {"tolerance", report.tolerance},
                              {"stages", std::move(stages)},
                              {"bisections", std::move(bisections)},
                              {"left_out", report.left_out}};
  PrintJsonResult("msc-track-1", all);
}

}  // namespace msc::gym
