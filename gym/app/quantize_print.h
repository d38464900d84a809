#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/pipeline/quantize.h"
#include "gym/app/samples.h"

namespace msc::gym {

/// What one layer costs; where that could not be found out, `failure` of it says why.
struct SensitivityRow {
  std::string layer;
  std::int64_t bits = 0;  ///< of its weights; 16: bf16
  Judged alone = {};      ///< this layer alone is quantized
  Judged without = {};    ///< all but this one are
};

/// What each layer costs, and what it took to know.
struct Sensitivity {
  std::vector<SensitivityRow> rows = {};
  std::int64_t passes = 0;       ///< over the test samples, of the whole model
  std::int64_t samples = 0;      ///< of these
  std::int64_t calibration = 0;  ///< samples of a quantization of its own; 0 where none was needed
};

/// How well label-free measures rank the layers by the accuracy that each costs alone.
struct SensitivityRanks {
  double kl = 0;
  double mse = 0;
  double cosine = 0;
};
/// Nothing without labels, or for fewer than two layers. Layers that failed do not count.
[[nodiscard]] std::optional<SensitivityRanks> RankSensitivity(const Sensitivity& sensitivity);
/// One line: layers, passes and samples, and of which weights it is.
[[nodiscard]] std::string SensitivityText(const Sensitivity& sensitivity);

/// All that `mscgym quantize` has to say.
struct QuantizeReport {
  std::string model;
  std::string target;
  std::vector<QuantizedLayer> layers;
  std::vector<SmoothedValue> smoothed;
  std::map<std::string, std::string> achieved;  ///< by layer: what it runs in there
  bool has_vnni = true;                         ///< of this machine
  std::optional<Judged> quality;                ///< where samples to test on were given
  std::string not_finite = {};                  ///< output that is, and where it begins
  std::optional<Sensitivity> sensitivity;       ///< where it was asked for
};

/// Points of accuracy lost; nothing without labels.
[[nodiscard]] std::optional<double> AccuracyDrop(const Judged& judged);

/// What sums of pairs lose; nothing where they lose nothing.
[[nodiscard]] std::optional<std::string> PairsText(const QuantizeReport& report);

/// A row a layer; changes of accuracy in points where samples have labels. What failed has no
/// numbers, and why in the last columns.
void WriteSensitivityCsv(const std::vector<SensitivityRow>& rows, const std::string& file);

void PrintQuantizeTable(const QuantizeReport& report);
void PrintQuantizeJson(const QuantizeReport& report);

}  // namespace msc::gym
