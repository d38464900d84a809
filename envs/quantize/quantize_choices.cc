#include "envs/quantize/quantize_choices.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "compiler/base/error.h"
#include "envs/common/quantity.h"
#include "envs/common/work.h"
#include "envs/quantize/quantize_env.h"

namespace msc::envs {
namespace {

constexpr std::int64_t kWholeBits = 8;

template <class T>
void CheckList(const std::vector<T>& list, bool may_be_empty, const std::string& what) {
  if (list.empty() && !may_be_empty) throw UserError("'quantize." + what + "' is empty");
  if (std::set<T>(list.begin(), list.end()).size() != list.size()) {
    throw UserError("'quantize." + what + "' lists a value twice");
  }
}

/// Returns whether `pattern`, a name or "prefix*", matches a layer.
bool IsMeant(const std::string& pattern, const std::string& layer) {
  if (!pattern.ends_with('*')) return pattern == layer;
  return layer.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
}

/// Replaces the plan's activation scales by those of its range methods.
void TakeScales(const QuantizeContext& context, QuantizePlan& plan) {
  if (plan.ranges.empty()) return;
  for (const auto& [value, method] : RangeMethods(*context.graph, plan.ranges)) {
    const auto scale = plan.activations.find(value);
    if (scale != plan.activations.end()) {
      scale->second = context.scales_by_range.at(method).at(value);
    }
  }
}

}  // namespace

std::vector<std::int64_t> WeightBits(const QuantizeConfig& config) {
  return config.bits.empty() ? std::vector{kWholeBits} : config.bits;
}

bool FitsWeights(const QuantizeConfig& config) {
  return std::any_of(config.rounding.begin(), config.rounding.end(),
                     [](const std::string& word) { return word != "nearest"; });
}

std::string Int8Word(std::int64_t bits) {
  return bits == kWholeBits ? std::string(Name(Precision::kInt8))
                            : "w" + std::to_string(bits) + "a8";
}

std::string ChoiceName(const LayerChoice& choice) {
  return choice.precision == Precision::kInt8 ? Int8Word(choice.bits)
                                              : std::string(Name(choice.precision));
}

double BitsOf(const LayerChoice& choice) {
  switch (choice.precision) {
    case Precision::kInt8:
      return static_cast<double>(choice.bits);
    case Precision::kBF16:
      return 16;
    case Precision::kF32:
      break;
  }
  return 32;
}

std::vector<std::size_t> TiedLayers(const QuantizeContext& context,
                                    const std::vector<QuantizableLayer>& layers) {
  std::vector<std::size_t> first(layers.size());
  std::iota(first.begin(), first.end(), std::size_t{0});
  const auto tie = [&](std::size_t a, std::size_t b) {
    const auto [least, most] = std::minmax(first[a], first[b]);
    std::replace(first.begin(), first.end(), std::size_t{most}, std::size_t{least});
  };
  std::map<ValueId, std::size_t> of_weights;
  const Graph& graph = *context.graph;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const ValueId weights = graph.node(graph.FindNode(layers[i].name)).inputs.at(1);
    tie(of_weights.emplace(weights, i).first->second, i);
  }
  for (const std::vector<std::string>& names : context.quantize.tie) {
    std::set<std::size_t> together;
    for (const std::string& name : names) {
      bool any = false;
      for (std::size_t i = 0; i < layers.size(); ++i) {
        if (!IsMeant(name, layers[i].name)) continue;
        together.insert(i);
        any = true;
      }
      if (!any) {
        throw UserError("'quantize.tie' names '" + name +
                        "', which is not a layer that can be quantized");
      }
    }
    if (together.size() < 2) throw UserError("a list of 'quantize.tie' needs two layers or more");
    for (const std::size_t layer : together) tie(*together.begin(), layer);
  }
  return first;
}

std::vector<LayerChoice> QuantizeChoices::ChoicesOf(std::size_t layer) const {
  std::vector<LayerChoice> choices;
  for (const Precision precision : layers_[layer].allowed) {
    bool all = true;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const std::vector<Precision>& allowed = layers_[i].allowed;
      all = all && (first_[i] != layer ||
                    std::find(allowed.begin(), allowed.end(), precision) != allowed.end());
    }
    if (!all) continue;
    if (precision != Precision::kInt8) {
      choices.push_back({.precision = precision});
      continue;
    }
    for (const std::int64_t bits : config_.bits) choices.push_back({precision, bits});
  }
  return choices;
}

QuantizeChoices::QuantizeChoices(const QuantizeContext& context)
    : config_(context.quantize),
      layers_(OfferedLayers(context)),
      first_(TiedLayers(context, layers_)) {
  config_.bits = WeightBits(config_);
  CheckList(config_.bits, false, "bits");
  CheckList(config_.ranges, true, "ranges");
  CheckList(config_.rounding, false, "rounding");
  // Descending, so that the last choice is the narrowest.
  std::sort(config_.bits.rbegin(), config_.bits.rend());
  const bool ranges = config_.ranges.size() > 1;
  const std::size_t decided =
      config_.first_layers == 0
          ? layers_.size()
          : std::min(layers_.size(), static_cast<std::size_t>(config_.first_layers));
  of_layer_.resize(layers_.size(), {LayerChoice{}});
  for (std::size_t i = 0; i < decided; ++i) {
    if (first_[i] == i) AddPrecision(i);
    if (ranges && config_.range_of == "layer") {
      Add({Kind::kRange, i}, {layers_[i].name + " range", config_.ranges});
    }
  }
  if (ranges && config_.range_of == "model") Add({Kind::kRange, {}}, {"range", config_.ranges});
  if (config_.rounding.size() > 1) Add({Kind::kRounding, {}}, {"rounding", config_.rounding});
}

void QuantizeChoices::AddPrecision(std::size_t layer) {
  const std::vector<LayerChoice> choices = ChoicesOf(layer);
  gym::Decision decision{.name = layers_[layer].name, .quantity = std::string(kBits)};
  for (const LayerChoice& choice : choices) {
    decision.choices.push_back(ChoiceName(choice));
    decision.values.push_back(BitsOf(choice));
  }
  for (std::size_t i = layer; i < layers_.size(); ++i) {
    if (first_[i] == layer) of_layer_[i] = choices;
  }
  Add({Kind::kPrecision, layer}, std::move(decision));
}

void QuantizeChoices::Add(const Part& part, gym::Decision decision) {
  parts_.push_back(part);
  decisions_.push_back(std::move(decision));
}

std::optional<std::size_t> QuantizeChoices::LayerOf(std::size_t decision) const {
  return parts_.at(decision).layer;
}

std::optional<LayerChoice> QuantizeChoices::ChoiceOf(std::size_t decision,
                                                     std::int32_t choice) const {
  const Part& part = parts_.at(decision);
  if (part.kind != Kind::kPrecision) return std::nullopt;
  return of_layer_[*part.layer].at(static_cast<std::size_t>(choice));
}

gym::Assignment QuantizeChoices::Uniform(const LayerChoice& choice) const {
  gym::Assignment assignment;
  for (const Part& part : parts_) {
    std::int32_t taken = 0;
    if (part.kind == Kind::kPrecision) {
      const std::vector<LayerChoice>& choices = of_layer_[*part.layer];
      const auto it = std::find(choices.begin(), choices.end(), choice);
      // A layer that does not allow `choice` keeps its first choice, f32.
      if (it != choices.end()) taken = static_cast<std::int32_t>(it - choices.begin());
    }
    assignment.push_back(taken);
  }
  return assignment;
}

std::vector<LayerChoice> QuantizeChoices::Anchors() const {
  // The lossless baseline comes first: a search then has a feasible answer from its first trial.
  std::vector<LayerChoice> wanted = {{.precision = Precision::kF32}};
  for (const std::int64_t bits : config_.bits) wanted.push_back({Precision::kInt8, bits});
  wanted.push_back({.precision = Precision::kBF16});
  std::erase_if(wanted, [&](const LayerChoice& choice) {
    return std::none_of(of_layer_.begin(), of_layer_.end(), [&](const auto& choices) {
      return std::find(choices.begin(), choices.end(), choice) != choices.end();
    });
  });
  return wanted;
}

std::map<std::string, std::string> QuantizeChoices::RangesOf(
    std::span<const std::int32_t> choices) const {
  std::map<std::string, std::string> ranges;
  if (config_.ranges.empty()) return ranges;
  for (const QuantizableLayer& layer : layers_) ranges[layer.name] = config_.ranges.front();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].kind != Kind::kRange) continue;
    const std::string& method = config_.ranges.at(static_cast<std::size_t>(choices[i]));
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      if (parts_[i].layer.value_or(l) == l) ranges[layers_[l].name] = method;
    }
  }
  return ranges;
}

std::string QuantizeChoices::RoundingOf(std::span<const std::int32_t> choices) const {
  std::string word = config_.rounding.front();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].kind != Kind::kRounding) continue;
    word = config_.rounding.at(static_cast<std::size_t>(choices[i]));
  }
  return word == "nearest" ? "" : word;
}

Strategy QuantizeChoices::StrategyOf(const QuantizeContext& context,
                                     std::span<const std::int32_t> choices,
                                     const std::string& model_hash) const {
  Check(choices.size() == parts_.size(), "one choice a decision");
  std::vector<LayerChoice> layers(layers_.size());
  std::vector<Precision> precisions(layers_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].kind != Kind::kPrecision) continue;
    for (std::size_t at = *parts_[i].layer; at < layers_.size(); ++at) {
      if (first_[at] != *parts_[i].layer) continue;
      layers[at] = of_layer_[at].at(static_cast<std::size_t>(choices[i]));
      precisions[at] = layers[at].precision;
    }
  }
  Strategy strategy = MakeQuantizeStrategy(context, layers_, precisions, model_hash);
  QuantizePlan& plan = strategy.quantize;
  const std::map<std::string, std::string> ranges = RangesOf(choices);
  bool any = false;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (precisions[i] != Precision::kInt8) continue;
    any = true;
    const std::string& name = layers_[i].name;
    if (layers[i].bits != kWholeBits) plan.weights[name] = {.bits = layers[i].bits};
    // Only int8 layers have ranges: equal strategies must have equal hashes.
    if (!ranges.empty()) plan.ranges[name] = ranges.at(name);
  }
  TakeScales(context, plan);
  if (any) plan.rounding = RoundingOf(choices);
  if (plan.rounding.empty()) return strategy;
  if (context.fit_hash.empty()) {
    throw UserError("weights rounded by '" + plan.rounding + "' need calibration samples");
  }
  strategy.fit.samples = context.fit_hash;
  return strategy;
}

QuantizePlan QuantizeChoices::LeastPlan() const {
  QuantizePlan plan;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    plan.layers[layers_[i].name] = of_layer_[i].back().precision;
  }
  return plan;
}

std::vector<std::vector<double>> QuantizeChoices::Features(const Graph& canonical) const {
  const std::vector<std::vector<double>> of_layers = LayerFeatures(canonical, layers_);
  std::vector<std::vector<double>> rows;
  for (const Part& part : parts_) {
    std::vector<double> all(of_layers.front().size(), 0.0);
    all[0] = 1;  // position after the last layer
    std::vector<double>& row = rows.emplace_back(part.layer ? of_layers[*part.layer] : all);
    if (part.kind != Kind::kPrecision) continue;
    // Tied layers are one decision, so their work and weights count together.
    for (std::size_t i = *part.layer + 1; i < layers_.size(); ++i) {
      if (first_[i] != *part.layer) continue;
      for (const std::size_t share : {1U, 2U}) {
        // Rounding could make a sum of shares exceed 1.
        row[share] = std::min(row[share] + of_layers[i][share], 1.0);
      }
    }
  }
  return rows;
}

std::vector<double> QuantizeChoices::Work(const Graph& canonical) const {
  std::vector<double> work = WorkOf(Features(canonical));
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].kind != Kind::kPrecision) work[i] = 0;
  }
  return work;
}

std::string QuantizeChoices::Meaning(const QuantizeContext& context) const {
  // The meaning of int8 includes the scales.
  Strategy all;
  all.quantize.activations = context.scales;
  std::string text = ToJson(all);
  for (const auto& [method, scales] : context.scales_by_range) {
    all.quantize.activations = scales;
    text += "\n" + method + " " + ToJson(all);
  }
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (first_[i] != i) text += "\n" + layers_[i].name + " as " + layers_[first_[i]].name;
  }
  if (FitsWeights(config_)) text += "\n" + config_.rounding.front() + " " + context.fit_hash;
  return text;
}

}  // namespace msc::envs
