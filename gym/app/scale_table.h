#pragma once

#include <string>

#include "compiler/strategy/strategy.h"

namespace msc::gym {

/// UserError where the plan has no scales to write.
void CheckScaleTable(const QuantizePlan& plan);

/// Ranges of activations for frameworks that take them beside the f32 model, by name of the value:
/// the largest |x| that the strategy's integers hold.
///   .json   {"value": range, ...}
///   others  TensorRT's calibration cache: a line "TRT-8501-EntropyCalibration2", then a line a
///           value, "NAME: " and range / 127 as the hexadecimal digits of a 32-bit float
/// Errors as CheckScaleTable; SystemError as WriteFileAtomic.
void WriteScaleTable(const QuantizePlan& plan, const std::string& path);

}  // namespace msc::gym
