#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/import/onnx/lift_composed.h"
#include "compiler/import/onnx/lift_microsoft.h"
#include "compiler/import/onnx/steps.h"

// ONNX Runtime's normalizations of a sum. Source: schemas and kernels of ONNX Runtime 1.31, domain
// com.microsoft.

namespace msc::detail {
namespace {

constexpr float kEpsilon = 1e-12F;
constexpr std::int64_t kOnnxI32 = 6;  // TensorProto.INT32
constexpr std::size_t kSumOutput = 3;

/// Adds the sum of the input, the skip connection and, if it is there, the bias, and returns its
/// name. It may be an output of the node itself.
std::string SumOf(Lift& lift, Steps& steps, std::size_t bias) {
  const bool biased = lift.HasInput(bias);
  std::vector<std::string> terms = {lift.Input(0), lift.Input(1)};
  if (biased) terms = {steps.Add("Add", terms, "skipped"), lift.Input(bias)};
  if (!lift.IsRead(kSumOutput)) return steps.Add("Add", terms, "sum");
  std::string name = lift.node.outputs[kSumOutput];
  steps.EndOutput(name, "Add", terms, "sum");
  return name;
}

/// Rejects reads of the outputs of mean and deviation, which ONNX Runtime does not compute either.
void RejectStatistics(const Lift& lift) {
  for (std::size_t i = 1; i < kSumOutput; ++i) {
    if (lift.IsRead(i)) lift.Reject("output " + std::to_string(i) + " is not supported");
  }
}

/// Expands SkipLayerNormalization: LayerNormalization of input + skip + bias.
void LiftSkipLayerNormalization(Lift& lift) {
  const float epsilon = lift.Take("epsilon", kEpsilon);
  RejectRest(lift, 5, kSumOutput + 1);
  RejectStatistics(lift);
  Steps steps(lift);
  std::vector<std::string> inputs = {SumOf(lift, steps, 4), lift.Input(2)};
  if (lift.HasInput(3)) inputs.push_back(lift.Input(3));
  steps.End("LayerNormalization", inputs, {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
}

/// Expands SkipSimplifiedLayerNormalization: RMSNormalization of input + skip + bias.
void LiftSkipSimplifiedLayerNormalization(Lift& lift) {
  const float epsilon = lift.Take("epsilon", kEpsilon);
  RejectRest(lift, 4, kSumOutput + 1);
  RejectStatistics(lift);
  Steps steps(lift);
  const std::string sum = SumOf(lift, steps, 3);
  EndRmsNormalization(lift, {.x = sum,
                             .type = lift.InputType(0),
                             .scale = lift.Input(2),
                             .axis = -1,
                             .epsilon = epsilon});
}

// Inputs of EmbedLayerNormalization.
enum Input : std::size_t {
  kWordIds,
  kSegmentIds,
  kWords,
  kPositions,
  kSegments,
  kGamma,
  kBeta,
  kMask,
  kPositionIds,
  kInputs
};

/// Returns the position embedding of each token: by the ids, or of the first positions.
std::string PositionsOf(Lift& lift, Steps& steps, const AttrMap& rows) {
  const std::string& table = lift.Input(kPositions);
  if (lift.HasInput(kPositionIds)) {
    return steps.Add("Gather", {table, lift.Input(kPositionIds)}, "position", rows);
  }
  const std::string shape = steps.Add("Shape", {lift.Input(kWordIds)}, "shape");
  const std::string tokens = steps.Add("Gather", {shape, steps.List({1}, "one")}, "tokens", rows);
  const std::string axis = steps.List({0}, "axis");
  return steps.Add("Slice", {table, axis, tokens, axis}, "position");
}

/// Makes the output of mask indices: the number of ones in each row of the mask, 0 without a mask.
void EndMaskIndex(Lift& lift, Steps& steps) {
  const std::string& name = lift.node.outputs[1];
  const bool masked = lift.HasInput(kMask);
  const std::string& of = lift.Input(masked ? kMask : kWordIds);
  std::string counted;
  if (masked) {
    const std::array<std::int32_t, 1> one = {1};
    const std::string number =
        steps.Constant(Tensor::From<std::int32_t>(DType::kI32, {}, one), "number_one");
    counted =
        steps.Add("Cast", {steps.Add("Equal", {of, number}, "is_one")}, "ones", {{"to", kOnnxI32}});
  } else {
    counted = steps.Add("Sub", {of, of}, "zeros");
  }
  steps.EndOutput(name, "ReduceSum", {counted, steps.List({1}, "of_tokens")}, "mask_index",
                  {{"keepdims", std::int64_t{0}}});
}

/// Expands EmbedLayerNormalization: LayerNormalization of the embeddings of words, positions and
/// segments.
void LiftEmbedLayerNormalization(Lift& lift) {
  const float epsilon = lift.Take("epsilon", kEpsilon);
  (void)lift.Take("mask_index_type", std::int64_t{0});  // for shapes alone
  RejectRest(lift, kInputs, 3);
  if (lift.HasInput(kSegmentIds) != lift.HasInput(kSegments)) {
    lift.Reject("needs segment ids and their embedding, or neither");
  }
  const AttrMap rows = {{"axis", std::int64_t{0}}};
  Steps steps(lift);
  std::vector<std::string> terms = {
      steps.Add("Gather", {lift.Input(kWords), lift.Input(kWordIds)}, "word", rows),
      PositionsOf(lift, steps, rows)};
  if (lift.HasInput(kSegments)) {
    terms = {
        steps.Add("Add", terms, "placed"),
        steps.Add("Gather", {lift.Input(kSegments), lift.Input(kSegmentIds)}, "segment", rows)};
  }
  std::string sum;
  if (lift.IsRead(2)) {
    sum = lift.node.outputs[2];
    steps.EndOutput(sum, "Add", terms, "sum");
  } else {
    sum = steps.Add("Add", terms, "sum");
  }
  if (lift.IsRead(1)) EndMaskIndex(lift, steps);
  steps.End("LayerNormalization", {sum, lift.Input(kGamma), lift.Input(kBeta)},
            {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
}

constexpr std::array<LiftRule, 3> kRules = {{
    {"EmbedLayerNormalization", kNoEnd, LiftEmbedLayerNormalization, 1, kMicrosoftDomain},
    {"SkipLayerNormalization", kNoEnd, LiftSkipLayerNormalization, 1, kMicrosoftDomain},
    {"SkipSimplifiedLayerNormalization", kNoEnd, LiftSkipSimplifiedLayerNormalization, 1,
     kMicrosoftDomain},
}};

}  // namespace

std::span<const LiftRule> MicrosoftNormLifts() {
  return kRules;
}

}  // namespace msc::detail
