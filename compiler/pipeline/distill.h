#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/compress/distill/trainer.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"
#include "compiler/pipeline/observe.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"

namespace msc {

/// What is trained: a graph, and what was decided about it.
struct Student {
  Strategy strategy;     ///< what makes it of its graph; training starts from it
  Graph plain;           ///< with its channels removed and its fitted weights, in f32
  TrainProgram program;  ///< with the quantization of the strategy
};

/// The student that `strategy` makes of a canonical graph. `weight_bits` of 2 to 8 puts every layer
/// that can be quantized into int8 arithmetic with weights of so many bits: scales of activations
/// come from `samples`, those of weights from BestScale (below 8 bits), which is quantization
/// without training. 0 leaves the precisions as the strategy has them. UserError as ApplyStrategy,
/// ObserveValues and MakeTrainProgram.
[[nodiscard]] Student MakeStudent(const Graph& canonical, const Strategy& strategy,
                                  std::int64_t weight_bits, const SampleSource& samples,
                                  const CalibrationRun& run, const TargetRegistry& registry);

/// A value that the student is to compute as the teacher does.
struct DistillFeature {
  std::string teacher;  ///< names of values
  std::string student;
  bool attention = false;
  double power = 2.0;
  double weight = 1.0;
  bool replace = false;
};

/// Layer-wise distillation: what leaves every layer of the student, each fed by the teacher.
[[nodiscard]] std::vector<DistillFeature> LayerwiseFeatures(const Student& student);

/// Block-wise distillation: what leaves every block of at least two layers, each block fed by the
/// teacher. A block ends where one value is all that the rest of the graph depends on, as behind
/// the Add of a residual block: errors of layers inside may make up for each other. With rounding
/// in the loop this is block reconstruction (Li et al. 2021, BRECQ, arXiv 2102.05426, section 3.2)
/// with trained steps (LSQ) in place of trained rounding. The last block has the losses of the
/// outputs.
[[nodiscard]] std::vector<DistillFeature> BlockwiseFeatures(const Student& student);

/// Terms for the trainer. Where the student has fewer channels because its strategy removed some of
/// `canonical`, the teacher's are picked accordingly. UserError naming a value that is not there.
[[nodiscard]] std::vector<FeatureTerm> MatchFeatures(std::span<const DistillFeature> features,
                                                     const Graph& canonical, const Student& student,
                                                     const TrainProgram& teacher);

/// 64 hex digits that stand for a training: what is trained, by what, on what and how.
[[nodiscard]] std::string DistillHash(const Graph& teacher, const Student& student,
                                      const TrainSettings& settings,
                                      std::span<const DistillFeature> features,
                                      const TrainSamples& samples);

/// The student's strategy with what training gave: all constants that differ from those of
/// `canonical` as fitted weights, bit for bit, and the trained steps. `hash` becomes fit.samples.
[[nodiscard]] Strategy TrainedStrategy(const Graph& canonical, const Student& student,
                                       const TrainResult& result, const std::string& hash);

/// Writes a state, atomically; SystemError.
void SaveTrainState(const std::string& path, const TrainState& state, const std::string& hash);
/// Reads it back, bit for bit. UserError if the file is damaged or belongs to another training.
[[nodiscard]] TrainState LoadTrainState(const std::string& path, const std::string& hash);

}  // namespace msc
