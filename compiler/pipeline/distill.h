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

/// What is trained: a graph, and the decisions about it.
struct Student {
  Strategy strategy;     ///< strategy that makes this student of the teacher's graph
  Graph plain;           ///< graph without pruned channels and with fitted weights, in f32
  TrainProgram program;  ///< the same with the quantization of the strategy
};

/// Returns the student that `strategy` makes of a canonical graph. `weight_bits` of 2 to 8 puts
/// every layer that can be quantized into int8 arithmetic with weights of so many bits: scales of
/// activations come from `samples`, those of weights from BestScale (below 8 bits); this is
/// quantization without training. 0 keeps the precisions of the strategy. UserError as
/// ApplyStrategy, ObserveValues and MakeTrainProgram.
[[nodiscard]] Student MakeStudent(const Graph& canonical, const Strategy& strategy,
                                  std::int64_t weight_bits, const SampleSource& samples,
                                  const CalibrationRun& run, const TargetRegistry& registry);

/// A value that the student is trained to compute as the teacher does; fields as in FeatureTerm.
struct DistillFeature {
  std::string teacher;  ///< names of values
  std::string student;
  bool attention = false;
  double power = 2.0;
  double weight = 1.0;
  bool replace = false;
};

/// Returns the features of layer-wise distillation: the output of every layer of the student, with
/// inputs from the teacher.
[[nodiscard]] std::vector<DistillFeature> LayerwiseFeatures(const Student& student);

/// Returns the features of block-wise distillation: the output of every block of at least two
/// layers, with inputs from the teacher. A block ends where the rest of the graph depends on a
/// single value, as behind the Add of a residual block. Errors of layers in a block can compensate
/// for each other. With rounding in the loop this is block reconstruction (Li et al. 2021, BRECQ,
/// arXiv 2102.05426, section 3.2) with trained steps (LSQ) instead of trained rounding. The last
/// block has the losses of the outputs.
[[nodiscard]] std::vector<DistillFeature> BlockwiseFeatures(const Student& student);

/// Returns the terms for the trainer. If the student's strategy removed channels of `canonical`,
/// the corresponding channels of the teacher are selected. UserError if a value does not exist; it
/// names the value.
[[nodiscard]] std::vector<FeatureTerm> MatchFeatures(std::span<const DistillFeature> features,
                                                     const Graph& canonical, const Student& student,
                                                     const TrainProgram& teacher);

/// Returns 64 hex digits that identify a training: model, student, settings, features, forms of the
/// outputs, and samples.
[[nodiscard]] std::string DistillHash(const Graph& teacher, const Student& student,
                                      const TrainSettings& settings,
                                      std::span<const DistillFeature> features,
                                      const OutputForms& forms, const TrainSamples& samples);

/// Returns the student's strategy with the results of training: all constants that differ from
/// those of `canonical` as fitted weights, bit for bit, and the trained steps. `hash` becomes
/// fit.samples.
[[nodiscard]] Strategy TrainedStrategy(const Graph& canonical, const Student& student,
                                       const TrainResult& result, const std::string& hash);

}  // namespace msc
