#include "gym/app/scale_table.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/base/formatted.h"

namespace msc::gym {
namespace {

/// Returns the larger side of the range; with a zero point the two sides differ.
double RangeOf(const TensorScale& scale) {
  const double least = scale.dtype == "u8" ? 0 : -127;
  const double most = scale.dtype == "u8" ? 255 : 127;
  const auto zero = static_cast<double>(scale.zero_point);
  return scale.scale * std::max(most - zero, zero - least);
}

}  // namespace

void CheckScaleTable(const QuantizePlan& plan) {
  if (plan.activations.empty()) {
    throw UserError("there are no scales of activations to write: no layer is int8");
  }
  for (const auto& [value, scale] : plan.activations) {
    if (scale.bits == 8) continue;
    throw UserError("scale tables are for activations of 8 bits; '" + value + "' has " +
                    std::to_string(scale.bits));
  }
}

void WriteScaleTable(const QuantizePlan& plan, const std::string& path) {
  CheckScaleTable(plan);
  std::string text = "TRT-8501-EntropyCalibration2\n";
  std::map<std::string, double> ranges;
  for (const auto& [value, scale] : plan.activations) {
    const double range = RangeOf(scale);
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(range / 127));
    text += value + Formatted(": %08x\n", bits);
    ranges[value] = range;
  }
  WriteFileAtomic(path, path.ends_with(".json") ? ToJsonText(ranges, 1) + "\n" : text);
}

}  // namespace msc::gym
