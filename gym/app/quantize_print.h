#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/pipeline/quantize.h"
#include "gym/app/choose_ranges.h"
#include "gym/app/choose_rounding.h"
#include "gym/app/keep_float.h"
#include "gym/app/summary.h"
#include "gym/app/test_judge.h"

namespace msc::gym {

/// Loss by one layer. If it could not be measured, its `failure` says why.
struct SensitivityRow {
  std::string layer;
  std::int64_t bits = 0;  ///< of its weights; 16 = bf16
  Judged alone = {};      ///< only this layer is quantized
  Judged without = {};    ///< all layers but this one are quantized
};

/// Loss by each layer, and the work to measure it.
struct Sensitivity {
  std::vector<SensitivityRow> rows = {};
  std::int64_t passes = 0;   ///< over the test samples, with the whole model
  std::int64_t samples = 0;  ///< test samples
  /// Calibration samples of a separate quantization; 0 = none was needed.
  std::int64_t calibration = 0;
};

/// Returns the losses that the rows have, in the order of cost::kLosses; then those of metrics.
[[nodiscard]] std::vector<std::string> LossesOf(const std::vector<SensitivityRow>& rows);
/// Returns the loss that layers are compared by: distill_loss, or the first if there is none.
[[nodiscard]] std::string MainLossOf(const std::vector<SensitivityRow>& rows);
/// Returns the rank correlation of each loss of layers quantized alone with their first loss
/// against labels, by name; empty without labels or for fewer than two layers. Ignores layers that
/// failed.
[[nodiscard]] std::map<std::string, double> RankSensitivity(const Sensitivity& sensitivity);
/// Returns the same as one line; empty if there are none.
[[nodiscard]] std::string RankText(const Sensitivity& sensitivity);
/// Returns one line: layers, passes and samples, and the kind of weights measured.
[[nodiscard]] std::string SensitivityText(const Sensitivity& sensitivity);

/// Results of `mscgym quantize`.
struct QuantizeReport {
  std::string model;
  std::string target;
  std::vector<QuantizedLayer> layers;
  std::vector<SmoothedValue> smoothed;
  std::map<std::string, std::string> achieved;  ///< by layer: precision that it runs in there
  std::map<std::string, std::int64_t> weights;  ///< by layer: how many it has
  std::optional<ChosenRanges> ranges = {};      ///< if the method was left open
  std::optional<ChosenRounding> rounding = {};  ///< if the rounding of weights was left open
  std::optional<KeptFloat> kept = {};           ///< if layers may stay in f32
  bool has_vnni = true;                         ///< of this machine
  std::optional<Judged> quality = {};           ///< if test samples were given
  std::string not_finite = {};                  ///< an output that is not finite, and its origin
  std::optional<Sensitivity> sensitivity = {};  ///< if requested
  Summary summary = {};
};

/// Returns a text on losses by saturating pair sums; nothing if there are none.
[[nodiscard]] std::optional<std::string> PairsText(const QuantizeReport& report);

/// Writes one row per layer, with changes of accuracy in percentage points if samples have labels.
/// A failed measurement has no numbers; the last columns hold the reason.
void WriteSensitivityCsv(const std::vector<SensitivityRow>& rows, const std::string& file);

void PrintQuantizeTable(const QuantizeReport& report);
void PrintQuantizeJson(const QuantizeReport& report);

}  // namespace msc::gym
