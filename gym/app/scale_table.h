#pragma once

#include <string>

#include "compiler/strategy/strategy.h"

namespace msc::gym {

/// Throws UserError if the plan has no scales to write.
void CheckScaleTable(const QuantizePlan& plan);

/// Writes the ranges of activations, by value name, for frameworks that read them beside an f32
/// model. A range is the largest |x| that the strategy's integers represent.
///   .json   {"value": range, ...}
///   others  TensorRT's calibration cache: a line "TRT-8501-EntropyCalibration2", then a line per
///           value, "NAME: " and range / 127 as the hexadecimal digits of a 32-bit float
/// Errors as CheckScaleTable; SystemError as WriteFileAtomic.
void WriteScaleTable(const QuantizePlan& plan, const std::string& path);

}  // namespace msc::gym
