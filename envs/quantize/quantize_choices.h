#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/compress/quantize/quantize.h"
#include "compiler/strategy/strategy.h"
#include "envs/common/model_context.h"
#include "envs/quantize/quantize_config.h"
#include "gym/core/problem.h"

namespace msc::envs {

/// The model of a problem with decisions about precisions.
struct QuantizeContext : ModelContext {
  QuantizeConfig quantize = {};
  /// Scales of every tensor that an int8 layer may read or write.
  std::map<std::string, TensorScale> scales = {};
  /// `scales` for each method in quantize.ranges.
  std::map<std::string, std::map<std::string, TensorScale>> scales_by_range = {};
  UnsupportedPrecisions unsupported = {};  ///< of `target`; these are not among the choices
};

/// A precision of a layer, with the bits of its weights if that is int8.
struct LayerChoice {
  Precision precision = Precision::kF32;
  std::int64_t bits = 0;  ///< 2 to 8 for int8, else 0
  bool operator==(const LayerChoice&) const = default;
};
/// Returns "f32", "bf16", "int8" or a name such as "w4a8".
[[nodiscard]] std::string ChoiceName(const LayerChoice& choice);
/// Returns the bits of a weight: 32, 16, or 8 or fewer.
[[nodiscard]] double BitsOf(const LayerChoice& choice);

/// Returns for each layer the index of the first layer with which it shares its precision: its own
/// if it is tied to no earlier one. Tied are layers that read one constant as their weights, and
/// those that the context's QuantizeConfig ties. Throws UserError if a list there names no
/// quantizable layer, or fewer than two.
[[nodiscard]] std::vector<std::size_t> TiedLayers(const QuantizeContext& context,
                                                  const std::vector<QuantizableLayer>& layers);

/// The decisions about precisions and related settings, shared by all envs that have them. They
/// are, in this order: for each layer in graph order its precision, named like the layer (kBits),
/// and "LAYER range" if ranges are decided by layer; "range" if they are decided for all layers
/// together; "rounding" if there are several kinds. If the config limits the number of layers, only
/// the first ones are decided. Tied layers (TiedLayers) have the precision of the first of them.
class QuantizeChoices {
 public:
  /// Derives the decisions. `context` has a model. Throws UserError if a list of its config has a
  /// value twice or is empty though it needs one, or as TiedLayers.
  explicit QuantizeChoices(const QuantizeContext& context);

  [[nodiscard]] const std::vector<QuantizableLayer>& layers() const { return layers_; }
  [[nodiscard]] const std::vector<gym::Decision>& decisions() const { return decisions_; }
  /// Returns the layer that a decision is about, of tied layers the first; nothing if it is about
  /// all layers.
  [[nodiscard]] std::optional<std::size_t> LayerOf(std::size_t decision) const;
  /// Returns the precision that a choice gives to the decision's layer; nothing if the decision is
  /// about something else.
  [[nodiscard]] std::optional<LayerChoice> ChoiceOf(std::size_t decision,
                                                    std::int32_t choice) const;
  /// Returns the assignment that gives `choice` to every layer that allows it, and the first choice
  /// to all other decisions.
  [[nodiscard]] gym::Assignment Uniform(const LayerChoice& choice) const;
  /// Returns the choices for uniform baselines that some layer allows: f32, then int8 by decreasing
  /// bits, then bf16.
  [[nodiscard]] std::vector<LayerChoice> Anchors() const;
  /// Returns the strategy for one choice per decision. `context` is the one that this was made
  /// from. Throws UserError if weights are rounded by samples and there are none.
  [[nodiscard]] Strategy StrategyOf(const QuantizeContext& context,
                                    std::span<const std::int32_t> choices,
                                    const std::string& model_hash) const;
  /// Returns a plan with every layer in its narrowest precision, without scales or weight grids.
  [[nodiscard]] QuantizePlan LeastPlan() const;
  /// Returns a row of features for each decision; see MakeQuantizeProblem.
  [[nodiscard]] std::vector<std::vector<double>> Features(const Graph& canonical) const;
  /// Returns for each decision the share of the model's multiply-adds whose precision it decides.
  [[nodiscard]] std::vector<double> Work(const Graph& canonical) const;
  /// Returns text for the hash: what the meaning of choices depends on besides the model and
  /// themselves.
  [[nodiscard]] std::string Meaning(const QuantizeContext& context) const;

 private:
  enum class Kind : unsigned char { kPrecision, kRange, kRounding };
  struct Part {
    Kind kind = Kind::kPrecision;
    std::optional<std::size_t> layer;
  };

  void AddPrecision(std::size_t layer);
  void Add(const Part& part, gym::Decision decision);
  /// Return the range methods by layer, and the rounding, that `choices` stand for.
  [[nodiscard]] std::map<std::string, std::string> RangesOf(
      std::span<const std::int32_t> choices) const;
  [[nodiscard]] std::string RoundingOf(std::span<const std::int32_t> choices) const;

  /// Returns the choices that all layers tied to `layer`, the first of them, allow.
  [[nodiscard]] std::vector<LayerChoice> ChoicesOf(std::size_t layer) const;

  QuantizeConfig config_;
  std::vector<QuantizableLayer> layers_;
  std::vector<std::size_t> first_;  ///< by layer; see TiedLayers
  std::vector<std::vector<LayerChoice>> of_layer_;
  std::vector<Part> parts_;
  std::vector<gym::Decision> decisions_;
};

}  // namespace msc::envs
