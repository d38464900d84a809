#include "compiler/strategy/strategy.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/hash.h"

namespace msc {
namespace {

constexpr std::array<std::string_view, 3> kPrecisions = {"f32", "bf16", "int8"};

void CheckDigest(const std::string& digest, const std::string& what) {
  if (digest.empty()) return;
  if (digest.size() != 64 || digest.find_first_not_of("0123456789abcdef") != std::string::npos) {
    throw UserError(what + " must be empty or 64 hexadecimal digits");
  }
}

bool IsPositiveFloat(double value) {
  return value > 0 && static_cast<double>(static_cast<float>(value)) == value;
}

void CheckMeaning(const Strategy& strategy, const std::string& what) {
  CheckDigest(strategy.fit.samples, what + ": fit.samples");
  CheckDigest(strategy.fit.weights, what + ": fit.weights");
  for (const auto& [tensor, scale] : strategy.quantize.activations) {
    if (!IsPositiveFloat(scale.scale)) {
      throw UserError(what + ": quantize.activations." + tensor +
                      ".scale must be a positive number that a 32-bit float holds exactly");
    }
  }
  for (const auto& [layer, grid] : strategy.quantize.weights) {
    if (!std::all_of(grid.scales.begin(), grid.scales.end(), IsPositiveFloat)) {
      throw UserError(what + ": quantize.weights." + layer +
                      ".scales must be positive numbers that 32-bit floats hold exactly");
    }
  }
}

}  // namespace

std::string_view Name(Precision precision) {
  return kPrecisions.at(static_cast<std::size_t>(precision));
}

Precision ParsePrecision(std::string_view name) {
  for (std::size_t i = 0; i < kPrecisions.size(); ++i) {
    if (kPrecisions.at(i) == name) return static_cast<Precision>(i);
  }
  throw UserError("unknown precision '" + std::string(name) + "'; known: f32, bf16, int8");
}

void RunAllOn(const std::string& target, Strategy& strategy) {
  strategy.partition.clear();
  if (target != strategy.target) strategy.schedules.clear();
  strategy.target = target;
}

std::string ToJson(const Strategy& strategy, int indent) {
  // Omit empty parts, so that strategies written before these parts existed keep their text and
  // hash.
  nlohmann::json json = ParseJson(ToJsonText(strategy), "strategy");
  if (strategy.model_hash.empty()) json.erase("model_hash");
  if (strategy.inputs.of_input.empty()) json.erase("inputs");
  if (strategy.partition.empty()) json.erase("partition");
  if (strategy.schedules.empty()) json.erase("schedules");
  if (strategy.fit.train.epochs == 0) json.at("fit").erase("train");
  if (strategy.fit == FitPlan{}) json.erase("fit");
  for (auto& [layer, grid] : json.at("quantize").at("weights").items()) {
    if (grid.at("group") == 0) grid.erase("group");
    if (grid.at("zero_points").empty()) grid.erase("zero_points");
  }
  for (auto& [tensor, scale] : json.at("quantize").at("activations").items()) {
    if (scale.at("bits") == 8) scale.erase("bits");
  }
  if (strategy.quantize.weights.empty()) json.at("quantize").erase("weights");
  if (strategy.quantize.ranges.empty()) json.at("quantize").erase("ranges");
  if (strategy.quantize.rounding.empty()) json.at("quantize").erase("rounding");
  return json.dump(indent);
}

Strategy StrategyFromJson(std::string_view text, const std::string& what) {
  const nlohmann::json json = ParseJson(text, what);
  Strategy strategy;
  ReadJson(json, "", strategy);
  // A missing key means a strategy written by hand, for any model with these names. An empty one
  // means that the hash was lost, so that no model can match it.
  if (json.contains("model_hash") && strategy.model_hash.empty()) {
    throw UserError(what +
                    ": 'model_hash' is empty: give the hash of the model that the strategy was "
                    "made for, as mscgym writes it, or leave the key out");
  }
  CheckMeaning(strategy, what);
  return strategy;
}

std::string StrategyHash(const Strategy& strategy) {
  if (strategy.inputs.of_input.empty()) return Sha256Hex(ToJson(strategy));
  Strategy bare = strategy;
  bare.inputs = {};
  return Sha256Hex(ToJson(bare));
}

}  // namespace msc
