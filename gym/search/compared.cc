#include "gym/search/compared.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "compiler/base/error.h"
#include "compiler/compress/quantize/reader.h"
#include "compiler/targets/spec.h"
#include "gym/search/registries.h"

namespace msc::gym {
namespace {

/// Returns the product of a target; empty if there is none.
std::string_view ProductFor(const std::string& spec) {
  const std::string name = ParseTargetSpec(spec).name;
  for (const ReaderRules& reader : AllReaders()) {
    if (reader.name == name) return reader.runtime;
  }
  return "";
}

}  // namespace

ComparedPlan PlanCompared(const SearchConfig& config) {
  ComparedPlan plan;
  const TargetRegistry targets = MakeTargets();
  for (const std::string& spec : config.compare) {
    Compared& row = plan.rows.emplace_back();
    row.target = spec;
    try {
      row.version = targets.Get(spec).facts().version;
    } catch (const UserError& absent) {
      row.result = Failure{FailureKind::kUnsupported, absent.what()};
      continue;
    }
    plan.timed.push_back(plan.rows.size() - 1);
    plan.strategies.emplace_back().target = spec;
  }
  return plan;
}

bool IsExported(const Strategy& strategy) {
  if (!strategy.partition.empty()) return false;
  const auto& layers = strategy.quantize.layers;
  return strategy.prune != PrunePlan{} || strategy.fit != FitPlan{} ||
         std::any_of(layers.begin(), layers.end(),
                     [](const auto& layer) { return layer.second != Precision::kF32; });
}

std::string ProductOf(const Compared& compared) {
  const std::string_view product = ProductFor(compared.target);
  return product.empty() ? compared.target : std::string(product);
}

std::string RunnerOf(const Compared& compared) {
  const std::string product = ProductOf(compared);
  if (product == compared.target || compared.version.empty()) return product;
  // What follows the number is the instruction set.
  return product + " " + compared.version.substr(0, compared.version.find(' '));
}

std::string WhatOf(const Compared& compared) {
  return (compared.exported ? "the exported model on " : "f32 on ") + RunnerOf(compared);
}

SpeedRatio SpeedAgainst(const cost::Latency& fast, const cost::Latency& slow) {
  const double ratio = slow.ratio / fast.ratio;
  const double down =
      std::hypot(std::log(slow.ratio / slow.ratio_low), std::log(fast.ratio_high / fast.ratio));
  const double up =
      std::hypot(std::log(slow.ratio_high / slow.ratio), std::log(fast.ratio / fast.ratio_low));
  return {.value = ratio, .low = ratio * std::exp(-down), .high = ratio * std::exp(up)};
}

std::optional<SpeedRatio> BestAgainst(const Findings& findings, const Compared& compared) {
  if (!findings.best || !compared.result.ok()) return std::nullopt;
  const Finalist& best = findings.finalists.at(*findings.best);
  if (!best.result.ok()) return std::nullopt;
  const auto& fast = best.result.value().latency;
  const auto& slow = compared.result.value().latency;
  if (!fast || !slow) return std::nullopt;
  return SpeedAgainst(*fast, *slow);
}

}  // namespace msc::gym
