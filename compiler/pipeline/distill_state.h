#pragma once

#include <string>

#include "compiler/compress/distill/trainer.h"

namespace msc {

/// Writes a state atomically. SystemError if that fails.
void SaveTrainState(const std::string& path, const TrainState& state, const std::string& hash);

/// Reads a state, bit for bit. UserError if the file is damaged or belongs to another training.
[[nodiscard]] TrainState LoadTrainState(const std::string& path, const std::string& hash);

}  // namespace msc
