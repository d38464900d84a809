#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/base/within.h"

namespace msc::envs {

/// Which layers may be lowered, and what is decided about int8 layers besides that they are int8. A
/// list of one is no decision: all candidates have that.
struct QuantizeOffer {
  std::vector<std::int64_t> bits = {8};  ///< of weights, a choice of every layer; 2 to 8
  /// CalibrationOptions::method; none: all as calibration is asked for.
  std::vector<std::string> ranges = {};
  std::string range_of = "model";  ///< or "layer": whose ranges are decided together
  /// "nearest", or a word of QuantizePlan::rounding; decided for the whole model.
  std::vector<std::string> rounding = {"nearest"};
  std::int64_t first_layers = 0;  ///< layers that are decided; the others stay f32; 0 = all
  /// Layers, by name or by "beginning*", that have one precision together; beside those that read
  /// one constant as their weights.
  std::vector<std::vector<std::string>> tie = {};
  bool operator==(const QuantizeOffer&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("bits", self.bits, "bits that a layer's weights may have in int8 layers: \"w4a8\" for 4",
          Within{2, 8});
    visit("ranges", self.ranges,
          "ways to choose ranges of activations that a search decides between; none = "
          "calibration.options.method alone",
          Within::OneOf({"minmax", "percentile", "entropy", "mse"}));
    visit("range_of", self.range_of, "what they are chosen for: the model, or every layer",
          Within::OneOf({"model", "layer"}));
    visit("rounding", self.rounding,
          "how int8 weights may be rounded; all but nearest fit every candidate to the calibration "
          "samples",
          Within::OneOf({"nearest", "gptq", "descent", "reconstruct"}));
    visit("first_layers", self.first_layers,
          "so many layers are decided, the first in the order of the network; those behind stay "
          "f32; 0 = all",
          Within{0, 1e6});
    visit("tie", self.tie,
          "lists of layers that have one precision, decided with the first of them: names, or "
          "\"stage1*\" for all that begin so; layers that read one constant as weights are tied "
          "by themselves");
  }
};

/// Whether candidates may have weights that are fitted to samples.
[[nodiscard]] bool FitsWeights(const QuantizeOffer& offer);
/// A layer in int8 with so many bits a weight, as a choice: "int8" for 8, "w4a8" for 4.
[[nodiscard]] std::string Int8Word(std::int64_t bits);

}  // namespace msc::envs
