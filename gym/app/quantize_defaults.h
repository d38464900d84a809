#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/ir/sample_source.h"
#include "compiler/pipeline/observe.h"
#include "compiler/pipeline/quantize.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"
#include "gym/app/choose_ranges.h"
#include "gym/app/choose_rounding.h"
#include "gym/app/keep_float.h"
#include "gym/app/samples.h"
#include "gym/app/test_judge.h"

namespace msc::gym {

/// What is quantized, and with what. All references outlive the calls below.
struct QuantizeInput {
  const Graph& graph;  ///< canonical
  const Strategy& base;
  const SampleSource& samples;
  const TargetRegistry& targets;
  const CalibrationRun& run;
  const JudgeOptions& judged;
};

/// Which layers may stay in f32.
enum class KeepFloatMode : std::uint8_t {
  kNone,
  kHalf,    ///< as many as the guard needs, with at most half of the work
  kEnough,  ///< as many as the guard needs
};

/// Which decisions the user left open.
struct LeftOpen {
  bool ranges = false;    ///< the method that chooses ranges of activations
  bool rounding = false;  ///< how weights are rounded
  KeepFloatMode keep_float = KeepFloatMode::kNone;
};

/// What was decided because nobody asked for it.
struct Decided {
  std::optional<ChosenRanges> ranges = {};
  std::optional<ChosenRounding> rounding = {};
  std::optional<KeptFloat> kept = {};
};

/// Returns the options with weights rounded to the nearest, without what fits them to samples.
[[nodiscard]] QuantizeOptions WithNearestRounding(QuantizeOptions options);

/// Returns the quantized model. What is open is decided by what the model loses on calibration
/// samples, and entered in `options`: first ranges, then the rounding of weights, then the layers
/// that stay in f32. If there are such layers, ranges are chosen again, since what needed the
/// widest may be in f32, and weights are fitted again. Shows its progress. UserError as Quantizer
/// and TestJudge.
[[nodiscard]] QuantizedModel QuantizeByDefault(const QuantizeInput& input, const LeftOpen& open,
                                               QuantizeOptions& options, Decided& decided);

}  // namespace msc::gym
