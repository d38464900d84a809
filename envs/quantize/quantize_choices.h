#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/compress/quantize/quantize.h"
#include "compiler/strategy/strategy.h"
#include "envs/register.h"
#include "gym/core/problem.h"

namespace msc::envs {

/// What a layer can be: a precision, and the bits of its weights where that is int8.
struct LayerChoice {
  Precision precision = Precision::kF32;
  std::int64_t bits = 0;  ///< 8 or less of int8, else 0
  bool operator==(const LayerChoice&) const = default;
};
/// "f32", "bf16", "int8", "w4a8".
[[nodiscard]] std::string Word(const LayerChoice& choice);
/// Of a weight: 32, 16, 8 or less.
[[nodiscard]] double BitsOf(const LayerChoice& choice);

/// By layer, the number of the first that it has its precision with: its own where it is tied to
/// none before. Tied are layers that read one constant as their weights, and those that the
/// context's offer ties. UserError where that names no layer, or only one.
[[nodiscard]] std::vector<std::size_t> TiedLayers(const EnvContext& context,
                                                  const std::vector<QuantizableLayer>& layers);

/// The decisions about precisions and what goes with them, for all who take them. In this order:
///   of every layer, in graph order, its precision, by the layer's name (kBits); then "LAYER range"
///   where ranges are decided by layer; of the first layers alone where the offer says how many;
///   layers that are tied (TiedLayers) have the precision of the first of them
///   "range" where one is decided for all
///   "rounding" where there are several
class QuantizeChoices {
 public:
  /// `context` has a model. UserError where its offer lists a thing twice or nothing of a kind, or
  /// as TiedLayers.
  explicit QuantizeChoices(const EnvContext& context);

  [[nodiscard]] const std::vector<QuantizableLayer>& layers() const { return layers_; }
  [[nodiscard]] const std::vector<gym::Decision>& decisions() const { return decisions_; }
  /// The layer that a decision is about, of several that are tied the first; nothing where it is
  /// about all of them.
  [[nodiscard]] std::optional<std::size_t> LayerOf(std::size_t decision) const;
  /// What one of a decision's choices makes of its layer; nothing where it is about something else.
  [[nodiscard]] std::optional<LayerChoice> ChoiceOf(std::size_t decision,
                                                    std::int32_t choice) const;
  /// All layers alike, as far as each can be; other decisions at their first choice.
  [[nodiscard]] gym::Assignment Uniform(const LayerChoice& choice) const;
  /// Those that some layer can be, fewest bits last but for f32.
  [[nodiscard]] std::vector<LayerChoice> Anchors() const;
  /// The strategy that one choice for each decision stands for. `context` is the one that this was
  /// made of. UserError where weights are rounded by samples and it has none.
  [[nodiscard]] Strategy StrategyOf(const EnvContext& context,
                                    std::span<const std::int32_t> choices,
                                    const std::string& model_hash) const;
  /// Every layer in the narrowest that it can be; no scales, no grids.
  [[nodiscard]] QuantizePlan LeastPlan() const;
  /// A row a decision; see Quantize-v0.
  [[nodiscard]] std::vector<std::vector<double>> Features(const Graph& canonical) const;
  /// By decision, the share of the model's multiply-adds whose precision it decides.
  [[nodiscard]] std::vector<double> Work(const Graph& canonical) const;
  /// What the choices mean besides the model and themselves.
  [[nodiscard]] std::string Meaning(const EnvContext& context) const;

 private:
  enum class Kind : unsigned char { kPrecision, kRange, kRounding };
  struct Part {
    Kind kind = Kind::kPrecision;
    std::optional<std::size_t> layer;
  };

  void AddPrecision(std::size_t layer);
  void Add(const Part& part, gym::Decision decision);
  /// What int8 layers' ranges and rounding are chosen to be.
  [[nodiscard]] std::map<std::string, std::string> RangesOf(
      std::span<const std::int32_t> choices) const;
  [[nodiscard]] std::string RoundingOf(std::span<const std::int32_t> choices) const;

  /// What all that are tied to a layer, which is the first of them, can be.
  [[nodiscard]] std::vector<LayerChoice> ChoicesOf(std::size_t layer) const;

  QuantizeOffer offer_;
  std::vector<QuantizableLayer> layers_;
  std::vector<std::size_t> first_;  ///< by layer, see TiedLayers
  std::vector<std::vector<LayerChoice>> of_layer_;
  std::vector<Part> parts_;
  std::vector<gym::Decision> decisions_;
};

}  // namespace msc::envs
