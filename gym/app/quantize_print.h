#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/pipeline/quantize.h"
#include "cost/model/outcome.h"

namespace msc::gym {

/// Outputs of a model beside those of the f32 model.
struct Judged {
  cost::Quality quality;
  double cosine = 1;  ///< of the first outputs, mean over samples
};
struct SensitivityRow {
  std::string layer;
  std::int64_t bits = 0;
  Judged alone = {};    ///< this layer alone is quantized
  Judged without = {};  ///< all but this one are
};

/// All that `mscgym quantize` has to say.
struct QuantizeReport {
  std::string model;
  std::string target;
  std::vector<QuantizedLayer> layers;
  std::vector<SmoothedValue> smoothed;
  std::map<std::string, std::string> achieved;  ///< by layer: what it runs in there
  bool has_vnni = true;                         ///< of this machine
  std::optional<Judged> quality;                ///< where samples to test on were given
  std::vector<SensitivityRow> sensitivity;      ///< where it was asked for
};

/// A row a layer; changes of accuracy in points where samples have labels.
void WriteSensitivityCsv(const std::vector<SensitivityRow>& rows, const std::string& file);

void PrintQuantizeTable(const QuantizeReport& report);
void PrintQuantizeJson(const QuantizeReport& report);

}  // namespace msc::gym
