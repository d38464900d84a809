#pragma once

// Data that is passed to the shared object of the trainer. Private to compiler/compress/distill.
// That object links nothing of MSCGym, so only data and inline functions may be used there.

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/compress/distill/trainer.h"

namespace msc::detail {

struct TrainArray {
  const float* data = nullptr;
  std::vector<std::int64_t> dims;
};

struct TrainCall {
  const TrainJob* job = nullptr;
  TrainArray inputs;
  TrainArray validation;  ///< data is nullptr if there are none
  const std::int32_t* labels = nullptr;
  const std::int32_t* validation_labels = nullptr;
  /// Return the rate of a step and the order of an epoch.
  std::function<double(std::int64_t step, std::int64_t total, std::int64_t per_epoch)> rate;
  std::function<std::vector<std::int64_t>(std::int64_t epoch)> order;
  const TrainHooks* hooks = nullptr;
  TrainState* state = nullptr;
  TrainResult* result = nullptr;
  std::string error;  ///< what was wrong with the arguments, or the library's message
  bool users_fault = false;
};

struct RunCall {
  const TrainProgram* program = nullptr;
  std::vector<TrainArray> inputs;
  std::vector<std::vector<float>> outputs;
  std::vector<std::vector<std::int64_t>> dims;
  std::string error;
};

struct GradientCall {
  const GradientJob* job = nullptr;
  TrainArray inputs;
  std::vector<std::vector<float>> gradients;
  std::string error;
  bool users_fault = false;
};

/// Must change whenever a struct above changes.
inline constexpr int kTrainerVersion = 3;

// The functions of the object. They throw only what hooks throw.
extern "C" {
using TrainerVersionFunction = int();
using TrainFunction = void(TrainCall*);
using RunFunction = void(RunCall*);
using GradientFunction = void(GradientCall*);
}

}  // namespace msc::detail
