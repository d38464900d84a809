#include "tests/contract/op_cases.h"

#include <cstdint>
#include <ostream>
#include <utility>

#include "compiler/ops/fused.h"
#include "tests/contract/case_tensors.h"

namespace msc {
namespace {

using Inputs = std::vector<std::optional<Tensor>>;

AttrMap Fused(AttrMap attrs, const FusedAttrs& shared) {
  WriteFusedAttrs(shared, attrs);
  return attrs;
}

void AddRecurrent(std::vector<OpCase>& cases) {
  const Inputs all = {F32({3, 2, 4}),  F32({1, 15, 4}, 2), F32({1, 15, 5}, 3),
                      F32({1, 30}, 4), std::nullopt,       F32({1, 2, 5}, 5)};
  cases.push_back({.label = "Gru",
                   .op = "GRU",
                   .inputs = all,
                   .attrs = {{"hidden_size", std::int64_t{5}}},
                   .outputs = 2});
  cases.push_back(
      {.label = "GruResetLater",
       .op = "GRU",
       .inputs = all,
       .attrs = {{"linear_before_reset", std::int64_t{1}}, {"direction", std::string("reverse")}}});
  cases.push_back({.label = "GruOfTwoDirections",
                   .op = "GRU",
                   .inputs = {BF16({3, 2, 4}), BF16({2, 15, 4}), BF16({2, 15, 5})},
                   .attrs = {{"direction", std::string("bidirectional")}}});
  cases.push_back(
      {.label = "Rnn",
       .op = "RNN",
       .inputs = {F32({3, 2, 4}), F32({1, 5, 4}, 2), F32({1, 5, 5}, 3), F32({1, 10}, 4)},
       .attrs = {{"activations", std::vector<std::string>{"Relu"}}}});
}

void AddFloatFunctions(std::vector<OpCase>& cases) {
  for (const char* op : {"Abs",
                         "Ceil",
                         "Elu",
                         "Erf",
                         "Exp",
                         "Floor",
                         "HardSigmoid",
                         "HardSwish",
                         "LeakyRelu",
                         "Neg",
                         "Relu",
                         "Round",
                         "Sigmoid",
                         "Softplus",
                         "Softsign",
                         "Tanh",
                         "Softmax",
                         "LogSoftmax",
                         "Identity",
                         "Hardmax",
                         "Celu",
                         "Selu",
                         "ThresholdedRelu",
                         "Sign",
                         "Acos",
                         "Asin",
                         "Asinh",
                         "Atan",
                         "Atanh",
                         "Cos",
                         "Cosh",
                         "Sin",
                         "Sinh",
                         "Tan",
                         "Acosh",
                         "IsNaN",
                         "IsInf"}) {
    cases.push_back({.label = std::string(op) + "F32", .op = op, .inputs = {F32({2, 3})}});
    cases.push_back({.label = std::string(op) + "Bf16", .op = op, .inputs = {BF16({2, 3})}});
  }
  for (const char* op : {"Log", "Sqrt", "Reciprocal"}) {
    cases.push_back({.label = op, .op = op, .inputs = {Positive({2, 3})}});
  }
  cases.push_back({.label = "ReluIntegers", .op = "Relu", .inputs = {I64({-3, 0, 4})}});
  cases.push_back(
      {.label = "ClipBoth", .op = "Clip", .inputs = {F32({4}), Scalar(-1.0F), Scalar(1.0F)}});
  cases.push_back(
      {.label = "ClipAbove", .op = "Clip", .inputs = {F32({4}), std::nullopt, Scalar(1.0F)}});
  cases.push_back({.label = "PRelu", .op = "PRelu", .inputs = {F32({2, 3, 4}), F32({3, 1})}});
}

void AddBinaries(std::vector<OpCase>& cases) {
  for (const char* op : {"Add", "Sub", "Mul", "Max", "Min", "Sum", "Equal", "Less", "LessOrEqual",
                         "Greater", "GreaterOrEqual"}) {
    cases.push_back({.label = std::string(op) + "Broadcast",
                     .op = op,
                     .inputs = {F32({2, 3, 1}), F32({4}, 2)}});
    cases.push_back({.label = std::string(op) + "Integers",
                     .op = op,
                     .inputs = {I64({1, -2, 3}), Scalar(std::int64_t{2})}});
  }
  cases.push_back({.label = "Mean", .op = "Mean", .inputs = {F32({2, 3, 1}), F32({4}), F32({1})}});
  cases.push_back({.label = "Mod", .op = "Mod", .inputs = {I64({7, -7, 7}), I64({3, 3, -3})}});
  cases.push_back({.label = "ModFloat",
                   .op = "Mod",
                   .inputs = {F32({2, 3}), Positive({3})},
                   .attrs = {{"fmod", std::int64_t{1}}}});
  cases.push_back({.label = "BitShift",
                   .op = "BitShift",
                   .inputs = {U8({2, 3}), U8({3})},
                   .attrs = {{"direction", std::string("LEFT")}}});
  cases.push_back({.label = "BitShiftOfSigned",
                   .op = "BitShift",
                   .inputs = {I64({-9, 5, -1}), I64({2, 64, -1})},
                   .attrs = {{"direction", std::string("RIGHT")}}});
  cases.push_back({.label = "Div", .op = "Div", .inputs = {F32({2, 3}), Positive({3})}});
  cases.push_back({.label = "DivIntegers", .op = "Div", .inputs = {I64({7, -7}), I64({2, 2})}});
  cases.push_back({.label = "Pow", .op = "Pow", .inputs = {Positive({2, 3}), F32({3})}});
  for (const char* op : {"And", "Or", "Xor"}) {
    cases.push_back({.label = op, .op = op, .inputs = {Bool({2, 3}), Bool({3})}});
  }
  cases.push_back({.label = "Not", .op = "Not", .inputs = {Bool({2, 3})}});
  cases.push_back(
      {.label = "Where", .op = "Where", .inputs = {Bool({2, 1}), F32({3}), F32({2, 3}, 2)}});
}

void AddLayers(std::vector<OpCase>& cases) {
  const AttrMap padded{{"pads", Ints{1, 0, 1, 2}}, {"strides", Ints{2, 1}}};
  cases.push_back(
      {.label = "Conv2d",
       .op = "Conv",
       .inputs = {F32({2, 4, 5, 6}), F32({6, 2, 3, 3}), F32({6})},
       .attrs = {{"pads", Ints{1, 0, 1, 2}}, {"strides", Ints{2, 1}}, {"group", std::int64_t{2}}}});
  cases.push_back({.label = "Conv1dSame",
                   .op = "Conv",
                   .inputs = {F32({1, 2, 7}), F32({3, 2, 4})},
                   .attrs = {{"auto_pad", std::string("SAME_LOWER")}}});
  cases.push_back({.label = "Conv3dBf16",
                   .op = "Conv",
                   .inputs = {BF16({1, 2, 3, 4, 5}), BF16({2, 2, 2, 2, 2})}});
  cases.push_back({.label = "ConvTranspose",
                   .op = "ConvTranspose",
                   .inputs = {F32({2, 4, 3, 4}), F32({4, 3, 3, 2}), F32({6})},
                   .attrs = {{"strides", Ints{2, 1}},
                             {"pads", Ints{1, 0, 0, 1}},
                             {"dilations", Ints{1, 2}},
                             {"output_padding", Ints{1, 0}},
                             {"group", std::int64_t{2}}}});
  cases.push_back({.label = "ConvTransposeSame",
                   .op = "ConvTranspose",
                   .inputs = {F32({1, 2, 5}), F32({2, 3, 4})},
                   .attrs = {{"strides", Ints{2}}, {"auto_pad", std::string("SAME_UPPER")}}});
  const AttrMap pool{{"kernel_shape", Ints{3, 2}},
                     {"strides", Ints{2, 2}},
                     {"ceil_mode", std::int64_t{1}},
                     {"pads", Ints{1, 0, 1, 1}}};
  cases.push_back(
      {.label = "MaxPool", .op = "MaxPool", .inputs = {F32({2, 3, 6, 7})}, .attrs = pool});
  cases.push_back({.label = "MaxPoolIndices",
                   .op = "MaxPool",
                   .inputs = {U8({1, 2, 6, 7})},
                   .attrs = pool,
                   .outputs = 2});
  cases.push_back(
      {.label = "AveragePool", .op = "AveragePool", .inputs = {F32({2, 3, 6, 7})}, .attrs = pool});
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool"}) {
    cases.push_back({.label = op, .op = op, .inputs = {F32({2, 3, 4, 5})}});
  }
  cases.push_back({.label = "BatchNormalization",
                   .op = "BatchNormalization",
                   .inputs = {F32({2, 3, 4, 4}), F32({3}), F32({3}), F32({3}), Positive({3})}});
  cases.push_back({.label = "InstanceNormalization",
                   .op = "InstanceNormalization",
                   .inputs = {F32({2, 3, 4, 4}), F32({3}), F32({3})}});
  cases.push_back({.label = "LayerNormalization",
                   .op = "LayerNormalization",
                   .inputs = {F32({2, 3, 4}), F32({3, 4}), F32({4})},
                   .attrs = {{"axis", std::int64_t{1}}},
                   .outputs = 3});
  cases.push_back({.label = "LayerNormalizationBf16",
                   .op = "LayerNormalization",
                   .inputs = {BF16({2, 3, 4}), BF16({4})},
                   .outputs = 2});
  cases.push_back({.label = "LpNormalization",
                   .op = "LpNormalization",
                   .inputs = {F32({2, 3, 4})},
                   .attrs = {{"axis", std::int64_t{1}}}});
  cases.push_back({.label = "Lrn",
                   .op = "LRN",
                   .inputs = {F32({2, 5, 3})},
                   .attrs = {{"size", std::int64_t{3}}}});
  cases.push_back(
      {.label = "MatMulBatches", .op = "MatMul", .inputs = {F32({2, 1, 3, 4}), F32({5, 4, 2})}});
  cases.push_back({.label = "MatMulLists", .op = "MatMul", .inputs = {F32({4}), F32({4}, 2)}});
  cases.push_back({.label = "Gemm",
                   .op = "Gemm",
                   .inputs = {F32({4, 2}), F32({3, 4}), F32({3})},
                   .attrs = {{"transA", std::int64_t{1}},
                             {"transB", std::int64_t{1}},
                             {"alpha", 0.5F},
                             {"beta", 2.0F}}});
  for (const char* op : {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                         "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"}) {
    cases.push_back({.label = std::string(op) + "Axes",
                     .op = op,
                     .inputs = {F32({2, 3, 4})},
                     .attrs = {{"axes", Ints{-1, 0}}, {"keepdims", std::int64_t{0}}}});
    cases.push_back({.label = std::string(op) + "All", .op = op, .inputs = {F32({2, 3})}});
  }
  cases.push_back({.label = "ReduceMeanOfSeveralAxes",
                   .op = "ReduceMean",
                   .inputs = {F32({2, 5, 6, 3, 4})},
                   .attrs = {{"axes", Ints{1, -1, 2}}}});
  cases.push_back({.label = "ReduceMaxOfSeveralAxes",
                   .op = "ReduceMax",
                   .inputs = {F32({3, 4, 20, 2})},
                   .attrs = {{"axes", Ints{0, 2}}, {"keepdims", std::int64_t{0}}}});
  cases.push_back({.label = "ReduceSum", .op = "ReduceSum", .inputs = {F32({2, 3, 4}), I64({1})}});
  cases.push_back(
      {.label = "ReduceMeanByInput", .op = "ReduceMean", .inputs = {F32({2, 3, 4}), I64({1})}});
  cases.push_back(
      {.label = "ReduceMinOfBytes", .op = "ReduceMin", .inputs = {U8({2, 3, 4}), I64({-1})}});
}

void AddLstm(std::vector<OpCase>& cases) {
  cases.push_back({.label = "Lstm",
                   .op = "LSTM",
                   .inputs = {F32({4, 2, 5}), F32({1, 12, 5}, 2), F32({1, 12, 3}, 3)}});
  cases.push_back({.label = "LstmBf16",
                   .op = "LSTM",
                   .inputs = {BF16({4, 2, 5}), BF16({1, 12, 5}), BF16({1, 12, 3}), BF16({1, 24})},
                   .attrs = {{"direction", std::string("reverse")}},
                   .outputs = 2});
  const Tensor lengths =
      Tensor::From<std::int32_t>(DType::kI32, {2}, std::vector<std::int32_t>{4, 1});
  cases.push_back(
      {.label = "LstmBidirectional",
       .op = "LSTM",
       .inputs = {F32({4, 2, 5}), F32({2, 12, 5}, 2), F32({2, 12, 3}, 3), F32({2, 24}, 4), lengths,
                  F32({2, 2, 3}, 5), F32({2, 2, 3}, 6), F32({2, 9}, 7)},
       .attrs = {{"direction", std::string("bidirectional")}, {"hidden_size", std::int64_t{3}}},
       .outputs = 3});
}

void AddShapeOps(std::vector<OpCase>& cases) {
  cases.push_back(
      {.label = "Reshape", .op = "Reshape", .inputs = {F32({2, 3, 4}), I64({0, -1, 2})}});
  cases.push_back({.label = "Flatten", .op = "Flatten", .inputs = {F32({2, 3, 4})}});
  cases.push_back({.label = "Squeeze", .op = "Squeeze", .inputs = {F32({2, 1, 4}), I64({-2})}});
  cases.push_back({.label = "SqueezeAll", .op = "Squeeze", .inputs = {F32({2, 1, 1})}});
  cases.push_back({.label = "Unsqueeze", .op = "Unsqueeze", .inputs = {F32({2, 3}), I64({0, -1})}});
  cases.push_back({.label = "Dropout", .op = "Dropout", .inputs = {F32({2, 3})}, .outputs = 2});
  cases.push_back({.label = "Transpose",
                   .op = "Transpose",
                   .inputs = {I8({2, 3, 4})},
                   .attrs = {{"perm", Ints{2, 0, 1}}}});
  cases.push_back(
      {.label = "Slice",
       .op = "Slice",
       .inputs = {F32({4, 5}), I64({-1, 1}), I64({-100, 4}), I64({1, 0}), I64({-2, 1})}});
  cases.push_back({.label = "Split",
                   .op = "Split",
                   .inputs = {F32({2, 6}), I64({1, 2, 3})},
                   .attrs = {{"axis", std::int64_t{1}}},
                   .outputs = 3});
  cases.push_back({.label = "Expand", .op = "Expand", .inputs = {F32({2, 1}), I64({3, 1, 4})}});
  cases.push_back({.label = "Tile", .op = "Tile", .inputs = {F32({2, 3}), I64({2, 1})}});
  cases.push_back({.label = "Concat",
                   .op = "Concat",
                   .inputs = {F32({2, 3}), F32({2, 1})},
                   .attrs = {{"axis", std::int64_t{-1}}}});
  cases.push_back({.label = "Gather",
                   .op = "Gather",
                   .inputs = {F32({2, 3}), I64({2, -1})},
                   .attrs = {{"axis", std::int64_t{1}}}});
  cases.push_back(
      {.label = "Pad", .op = "Pad", .inputs = {F32({2, 3}), I64({0, 1, 1, -1}), Scalar(9.0F)}});
  cases.push_back({.label = "PadReflect",
                   .op = "Pad",
                   .inputs = {F32({2, 3}), I64({1, 2, 0, 1})},
                   .attrs = {{"mode", std::string("reflect")}}});
  cases.push_back(
      {.label = "ResizeScales",
       .op = "Resize",
       .inputs = {F32({1, 2, 4, 5}), std::nullopt,
                  Tensor::From<float>(DType::kF32, {4}, std::vector<float>{1, 1, 2, 0.7F})},
       .attrs = {{"mode", std::string("linear")}}});
  cases.push_back({.label = "ResizeSizes",
                   .op = "Resize",
                   .inputs = {U8({1, 2, 4, 5}), std::nullopt, std::nullopt, I64({1, 2, 7, 3})}});
  cases.push_back({.label = "Shape",
                   .op = "Shape",
                   .inputs = {F32({2, 3, 4})},
                   .attrs = {{"start", std::int64_t{-2}}}});
  cases.push_back({.label = "Size", .op = "Size", .inputs = {F32({2, 3, 4})}});
  cases.push_back({.label = "ConstantOfShape",
                   .op = "ConstantOfShape",
                   .inputs = {I64({2, 3})},
                   .attrs = {{"value", std::make_shared<const Tensor>(I64({7}))}}});
  cases.push_back(
      {.label = "Range",
       .op = "Range",
       .inputs = {Scalar(std::int64_t{10}), Scalar(std::int64_t{1}), Scalar(std::int64_t{-4})}});
  for (const DType to : {DType::kF16, DType::kBF16, DType::kI8, DType::kBool, DType::kI64}) {
    cases.push_back({.label = "CastTo" + std::string(Name(to)),
                     .op = "Cast",
                     .inputs = {F32({2, 3})},
                     .attrs = {{"to", static_cast<std::int64_t>(to)}}});
  }
}

void AddChoosing(std::vector<OpCase>& cases) {
  const AttrMap axis{{"axis", std::int64_t{1}}};
  for (const char* op : {"ArgMax", "ArgMin"}) {
    cases.push_back({.label = op, .op = op, .inputs = {F32({2, 3, 4})}, .attrs = axis});
  }
  cases.push_back(
      {.label = "CumSum", .op = "CumSum", .inputs = {F32({2, 3}), Scalar(std::int64_t{1})}});
  cases.push_back({.label = "CumProd",
                   .op = "CumProd",
                   .inputs = {F32({2, 3}), Scalar(std::int64_t{-1})},
                   .attrs = {{"exclusive", std::int64_t{1}}, {"reverse", std::int64_t{1}}}});
  cases.push_back({.label = "TopK",
                   .op = "TopK",
                   .inputs = {F32({2, 5, 3}), I64({2})},
                   .attrs = axis,
                   .outputs = 2});
  cases.push_back({.label = "GatherElements",
                   .op = "GatherElements",
                   .inputs = {F32({2, 3}), I64({2, -1, 0, 1}).Reshaped({2, 2})},
                   .attrs = axis});
  cases.push_back({.label = "GatherND",
                   .op = "GatherND",
                   .inputs = {F32({2, 3, 4}), I64({1, 2, 0, -1}).Reshaped({2, 2})}});
  cases.push_back({.label = "ScatterElements",
                   .op = "ScatterElements",
                   .inputs = {F32({2, 3}), I64({2, 0}).Reshaped({2, 1}), F32({2, 1}, 2)},
                   .attrs = {{"axis", std::int64_t{1}}, {"reduction", std::string("add")}}});
  cases.push_back({.label = "ScatterND",
                   .op = "ScatterND",
                   .inputs = {F32({2, 3}), I64({1}).Reshaped({1, 1}), F32({1, 3}, 2)}});
  cases.push_back({.label = "OneHot",
                   .op = "OneHot",
                   .inputs = {I64({0, 2, 5}), Scalar(std::int64_t{3}), F32({2})}});
  cases.push_back(
      {.label = "Trilu", .op = "Trilu", .inputs = {F32({2, 3, 4}), Scalar(std::int64_t{1})}});
  cases.push_back({.label = "EyeLike",
                   .op = "EyeLike",
                   .inputs = {F32({3, 4})},
                   .attrs = {{"k", std::int64_t{1}}}});
  const AttrMap block{{"blocksize", std::int64_t{2}}};
  cases.push_back({.label = "DepthToSpace",
                   .op = "DepthToSpace",
                   .inputs = {F32({1, 8, 2, 3})},
                   .attrs = block});
  cases.push_back({.label = "SpaceToDepth",
                   .op = "SpaceToDepth",
                   .inputs = {F32({1, 2, 4, 6})},
                   .attrs = block});
  cases.push_back({.label = "NegativeLogLikelihoodLoss",
                   .op = "NegativeLogLikelihoodLoss",
                   .inputs = {F32({2, 3, 2}), I64({0, 2, 1, 1}).Reshaped({2, 2}), Positive({3})}});
  cases.push_back({.label = "SoftmaxCrossEntropyLoss",
                   .op = "SoftmaxCrossEntropyLoss",
                   .inputs = {F32({2, 3}), I64({2, 1})},
                   .attrs = {{"reduction", std::string("none")}},
                   .outputs = 2});
}

void AddSignal(std::vector<OpCase>& cases) {
  for (const char* op : {"HannWindow", "HammingWindow", "BlackmanWindow"}) {
    cases.push_back({.label = op, .op = op, .inputs = {Scalar(std::int64_t{10})}});
  }
  cases.push_back({.label = "HannWindowSymmetric",
                   .op = "HannWindow",
                   .inputs = {Scalar(std::int64_t{7})},
                   .attrs = {{"periodic", std::int64_t{0}},
                             {"output_datatype", static_cast<std::int64_t>(DType::kF64)}}});
  cases.push_back({.label = "MelWeightMatrix",
                   .op = "MelWeightMatrix",
                   .inputs = {Scalar(std::int64_t{8}), Scalar(std::int64_t{16}),
                              Scalar(std::int64_t{8192}), Scalar(0.0F), Scalar(4096.0F)}});
  cases.push_back({.label = "Dft", .op = "DFT", .inputs = {F32({2, 12, 2})}});
  cases.push_back({.label = "DftInverse",
                   .op = "DFT",
                   .inputs = {F32({2, 3, 8, 2}), Scalar(std::int64_t{7})},
                   .attrs = {{"axis", std::int64_t{-2}}, {"inverse", std::int64_t{1}}}});
  cases.push_back({.label = "DftOnesided",
                   .op = "DFT",
                   .inputs = {F32({2, 8, 3, 1}), Scalar(std::int64_t{10})},
                   .attrs = {{"onesided", std::int64_t{1}}}});
  cases.push_back({.label = "DftOfAnAxis",
                   .op = "DFT",
                   .inputs = {F32({2, 5, 1}), std::nullopt, Scalar(std::int64_t{0})}});
  cases.push_back({.label = "Stft",
                   .op = "STFT",
                   .inputs = {F32({2, 20, 1}), Scalar(std::int64_t{4}), Positive({8})}});
  cases.push_back(
      {.label = "StftComplex",
       .op = "STFT",
       .inputs = {F32({1, 16, 2}), Scalar(std::int64_t{5}), std::nullopt, Scalar(std::int64_t{6})},
       .attrs = {{"onesided", std::int64_t{0}}}});
}

void AddBits(std::vector<OpCase>& cases) {
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) {
    cases.push_back({.label = op, .op = op, .inputs = {U8({2, 3, 1}), U8({4})}});
    cases.push_back({.label = std::string(op) + "Signed",
                     .op = op,
                     .inputs = {I64({5, -7, 12}), Scalar(std::int64_t{-2})}});
  }
  cases.push_back({.label = "BitwiseNot", .op = "BitwiseNot", .inputs = {I8({2, 3})}});
  cases.push_back({.label = "BitCast",
                   .op = "BitCast",
                   .inputs = {F32({2, 3})},
                   .attrs = {{"to", static_cast<std::int64_t>(DType::kI32)}}});
}

void AddLinearAlgebra(std::vector<OpCase>& cases) {
  cases.push_back({.label = "Det", .op = "Det", .inputs = {F32({2, 3, 4, 4})}});
  cases.push_back({.label = "DetBf16", .op = "Det", .inputs = {BF16({3, 3})}});
}

void AddSequenceOrder(std::vector<OpCase>& cases) {
  cases.push_back({.label = "ReverseSequence",
                   .op = "ReverseSequence",
                   .inputs = {F32({4, 3, 2}), I64({0, 2, 4})}});
  cases.push_back({.label = "ReverseSequenceBatchFirst",
                   .op = "ReverseSequence",
                   .inputs = {I8({2, 4}), I64({1, 3})},
                   .attrs = {{"batch_axis", std::int64_t{0}}, {"time_axis", std::int64_t{1}}}});
  const auto attention = [](const char* rule) {
    return AttrMap{{"q_num_heads", std::int64_t{4}},
                   {"kv_num_heads", std::int64_t{2}},
                   {"update_rule", std::string(rule)}};
  };
  cases.push_back({.label = "LinearAttention",
                   .op = "LinearAttention",
                   .inputs = {F32({2, 3, 12}), F32({2, 3, 6}, 2), F32({2, 3, 4}, 3)},
                   .attrs = attention("linear"),
                   .outputs = 2});
  cases.push_back({.label = "LinearAttentionGatedDelta",
                   .op = "LinearAttention",
                   .inputs = {BF16({2, 3, 12}), BF16({2, 3, 6}), BF16({2, 3, 4}), F32({2, 2, 3, 2}),
                              BF16({2, 3, 2}), BF16({2, 3, 1})},
                   .attrs = attention("gated_delta"),
                   .outputs = 2});
  cases.push_back({.label = "TensorScatter",
                   .op = "TensorScatter",
                   .inputs = {F32({2, 3, 4, 5}), F32({2, 3, 2, 5}, 2), I64({1, 2})}});
  cases.push_back({.label = "TensorScatterCircular",
                   .op = "TensorScatter",
                   .inputs = {F32({2, 4}), F32({2, 3}, 2), I64({3, 9})},
                   .attrs = {{"axis", std::int64_t{1}}, {"mode", std::string("circular")}}});
}

void AddImage(std::vector<OpCase>& cases) {
  cases.push_back({.label = "CenterCropPad",
                   .op = "CenterCropPad",
                   .inputs = {F32({5, 2, 7}), I64({2, 10})},
                   .attrs = {{"axes", Ints{0, -1}}}});
  cases.push_back(
      {.label = "Col2Im",
       .op = "Col2Im",
       .inputs = {F32({2, 12, 6}), I64({5, 7}), I64({2, 3})},
       .attrs = {{"dilations", Ints{2, 1}}, {"pads", Ints{0, 1, 0, 0}}, {"strides", Ints{2, 2}}}});
}

void AddDataDependent(std::vector<OpCase>& cases) {
  cases.push_back({.label = "NonZero", .op = "NonZero", .inputs = {Bool({2, 3, 4})}});
  cases.push_back({.label = "Compress",
                   .op = "Compress",
                   .inputs = {F32({3, 4}), Bool({3})},
                   .attrs = {{"axis", std::int64_t{-1}}}});
  cases.push_back({.label = "CompressList", .op = "Compress", .inputs = {I8({3, 4}), Bool({9})}});
  cases.push_back(
      {.label = "Unique", .op = "Unique", .inputs = {I64({3, 1, 3, 2, 1})}, .outputs = 4});
  cases.push_back({.label = "UniqueRows",
                   .op = "Unique",
                   .inputs = {I64({3, 1, 0, 0, 3, 1}).Reshaped({3, 2})},
                   .attrs = {{"axis", std::int64_t{0}}, {"sorted", std::int64_t{0}}},
                   .outputs = 4});
  cases.push_back({.label = "NonMaxSuppression",
                   .op = "NonMaxSuppression",
                   .inputs = {F32({2, 6, 4}), F32({2, 3, 6}, 2), Scalar(std::int64_t{2}),
                              Scalar(0.4F), Scalar(-1.0F)}});
}

void AddIntegers(std::vector<OpCase>& cases) {
  cases.push_back({.label = "ConvInteger",
                   .op = "ConvInteger",
                   .inputs = {U8({1, 2, 4, 4}), I8({3, 2, 3, 3}), U8({1})}});
  cases.push_back({.label = "MatMulInteger",
                   .op = "MatMulInteger",
                   .inputs = {U8({2, 3}), I8({3, 4}), U8({1}), I8({4})}});
  cases.push_back({.label = "QLinearConv",
                   .op = "QLinearConv",
                   .inputs = {U8({1, 2, 4, 4}), Scalar(0.02F), U8({}), I8({3, 2, 3, 3}),
                              Positive({3}), I8({3}), Scalar(0.7F), I8({})}});
  cases.push_back({.label = "QLinearMatMul",
                   .op = "QLinearMatMul",
                   .inputs = {U8({2, 3}), Scalar(0.02F), U8({}), I8({3, 4}), Scalar(0.5F), I8({}),
                              Scalar(0.7F), U8({})}});
  cases.push_back({.label = "DynamicQuantizeLinear",
                   .op = "DynamicQuantizeLinear",
                   .inputs = {F32({2, 3})},
                   .outputs = 3});
  cases.push_back({.label = "CastLike", .op = "CastLike", .inputs = {F32({2, 3}), I8({1})}});
}

void AddQuantized(std::vector<OpCase>& cases) {
  cases.push_back(
      {.label = "QuantizeLinear", .op = "QuantizeLinear", .inputs = {F32({2, 3}), Scalar(0.05F)}});
  cases.push_back({.label = "QuantizeLinearAxis",
                   .op = "QuantizeLinear",
                   .inputs = {F32({2, 3}), Positive({3}), I8({3})}});
  cases.push_back({.label = "DequantizeLinear",
                   .op = "DequantizeLinear",
                   .inputs = {U8({2, 3}), Positive({2}), U8({2})},
                   .attrs = {{"axis", std::int64_t{0}}}});
  const AttrMap window{{"kernel_shape", Ints{3, 3}},
                       {"strides", Ints{1, 1}},
                       {"pads", Ints{1, 1, 1, 1}},
                       {"dilations", Ints{1, 1}},
                       {"group", std::int64_t{1}}};
  const FusedAttrs quantized{.x = {.scale = 0.02F, .zero_point = 7},
                             .r = {.scale = 0.5F, .zero_point = -3},
                             .y = {.scale = 0.75F, .zero_point = 4},
                             .activation = {.op = "Relu"},
                             .y_type = DType::kU8};
  FusedAttrs floats;
  floats.activation.op = "PRelu";
  cases.push_back(
      {.label = "FusedConvInt8",
       .op = "Conv",
       .inputs = {U8({1, 2, 4, 4}), I8({3, 2, 3, 3}), F32({3}), I8({1, 3, 4, 4}), Positive({3})},
       .attrs = Fused(window, quantized),
       .domain = "msc"});
  cases.push_back({.label = "FusedConvF32",
                   .op = "Conv",
                   .inputs = {F32({1, 2, 4, 4}), F32({3, 2, 3, 3}), std::nullopt, std::nullopt,
                              std::nullopt, F32({3})},
                   .attrs = Fused(window, floats),
                   .domain = "msc"});
  cases.push_back({.label = "FusedGemm",
                   .op = "Gemm",
                   .inputs = {U8({2, 5}), I8({3, 5}), F32({3}), std::nullopt, Positive({1})},
                   .attrs = Fused({}, quantized),
                   .domain = "msc"});
  floats.activation.op = "Gelu";
  cases.push_back({.label = "FusedGemmRows",
                   .op = "Gemm",
                   .inputs = {F32({2, 3, 5}), F32({4, 5}), F32({4}), F32({2, 3, 4}, 2)},
                   .attrs = Fused({}, floats),
                   .domain = "msc"});
  cases.push_back({.label = "Gelu",
                   .op = "Gelu",
                   .inputs = {F32({2, 3})},
                   .attrs = {{"op", std::string("GeluTanh")}},
                   .domain = "msc"});
  cases.push_back({.label = "Attention",
                   .op = "Attention",
                   .inputs = {F32({3, 4, 5}), F32({6, 4, 5}, 2), F32({6, 4, 2}, 3), F32({3, 6})},
                   .attrs = {{"scale", 0.5F},
                             {"q_perm", Ints{1, 0, 2}},
                             {"k_perm", Ints{1, 0, 2}},
                             {"v_perm", Ints{1, 0, 2}},
                             {"y_perm", Ints{1, 0, 2}}},
                   .domain = "msc"});
  cases.push_back({.label = "AttentionZeroNan",
                   .op = "Attention",
                   .inputs = {F32({3, 5}), F32({4, 5}, 2), F32({4, 2}, 3), F32({3, 1})},
                   .attrs = {{"zero_nan", std::int64_t{1}}},
                   .domain = "msc"});
  cases.push_back({.label = "AttentionBf16",
                   .op = "Attention",
                   .inputs = {BF16({3, 5}), BF16({4, 5}), BF16({4, 2})},
                   .domain = "msc"});
  for (const char* to : {"float8e5m2", "int4"}) {
    cases.push_back({.label = std::string("CastNarrow") + to,
                     .op = "CastNarrow",
                     .inputs = {F32({2, 3})},
                     .attrs = {{"to", std::string(to)}},
                     .domain = "msc"});
  }
  cases.push_back({.label = "FusedBinary",
                   .op = "Binary",
                   .inputs = {U8({2, 3}), I8({3})},
                   .attrs = Fused({{"op", std::string("Mul")}}, quantized),
                   .domain = "msc"});
  cases.push_back({.label = "FusedPool",
                   .op = "Pool",
                   .inputs = {U8({1, 2, 4, 4})},
                   .attrs = Fused({{"op", std::string("GlobalAveragePool")}}, quantized),
                   .domain = "msc"});
}

void AddGridSample(std::vector<OpCase>& cases) {
  for (const char* mode : {"bilinear", "nearest", "bicubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      cases.push_back({.label = std::string("GridSample") + mode + padding,
                       .op = "GridSample",
                       .inputs = {F32({2, 3, 4, 5}), F32({2, 3, 6, 2}, 2)},
                       .attrs = {{"mode", std::string(mode)},
                                 {"padding_mode", std::string(padding)},
                                 {"align_corners", std::int64_t{*mode == 'n' ? 0 : 1}}}});
    }
  }
  cases.push_back({.label = "GridSampleVolumeBf16",
                   .op = "GridSample",
                   .inputs = {BF16({1, 2, 3, 4, 5}), BF16({1, 2, 3, 2, 3})}});
  cases.push_back({.label = "GridSampleIntegers",
                   .op = "GridSample",
                   .inputs = {U8({1, 2, 4, 5}), F32({1, 3, 3, 2})},
                   .attrs = {{"mode", std::string("nearest")}}});
  cases.push_back(
      {.label = "AffineGrid", .op = "AffineGrid", .inputs = {F32({2, 2, 3}), I64({2, 3, 4, 5})}});
  cases.push_back({.label = "AffineGridOfVolumes",
                   .op = "AffineGrid",
                   .inputs = {F32({1, 3, 4}), I64({1, 2, 2, 1, 3})},
                   .attrs = {{"align_corners", std::int64_t{1}}}});
}

void AddRoi(std::vector<OpCase>& cases) {
  const Tensor regions = Tensor::From<float>(
      DType::kF32, {3, 4}, std::vector<float>{0, 0, 6, 5, 1.5F, 2, 3.25F, 4, -2, 3, 9, 7.5F});
  const AttrMap size{{"output_height", std::int64_t{2}}, {"output_width", std::int64_t{3}}};
  AttrMap greatest = size;
  greatest["mode"] = std::string("max");
  greatest["coordinate_transformation_mode"] = std::string("output_half_pixel");
  greatest["sampling_ratio"] = std::int64_t{2};
  greatest["spatial_scale"] = 0.5F;
  cases.push_back({.label = "RoiAlign",
                   .op = "RoiAlign",
                   .inputs = {F32({2, 3, 6, 7}), regions, I64({1, 0, 1})},
                   .attrs = size});
  cases.push_back({.label = "RoiAlignMax",
                   .op = "RoiAlign",
                   .inputs = {F32({2, 3, 6, 7}), regions, I64({1, 0, 1})},
                   .attrs = greatest});
  cases.push_back(
      {.label = "MaxRoiPool",
       .op = "MaxRoiPool",
       .inputs = {F32({2, 3, 6, 7}),
                  Tensor::From<float>(DType::kF32, {2, 5},
                                      std::vector<float>{1, 0, 0, 6, 5, 0, 2, 1, 9, 3})},
       .attrs = {{"pooled_shape", Ints{2, 3}}}});
}

void AddUnpool(std::vector<OpCase>& cases) {
  const Tensor places = I64({0, 3, 9, 11, 17, 19, 26, 31}).Reshaped({1, 2, 2, 2});
  const AttrMap window{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  cases.push_back({.label = "MaxUnpool",
                   .op = "MaxUnpool",
                   .inputs = {F32({1, 2, 2, 2}), places},
                   .attrs = window});
  cases.push_back({.label = "MaxPoolColumnMajor",
                   .op = "MaxPool",
                   .inputs = {F32({2, 3, 5, 6})},
                   .attrs = {{"kernel_shape", Ints{2, 3}}, {"storage_order", std::int64_t{1}}},
                   .outputs = 2});
  cases.push_back({.label = "AveragePoolDilated",
                   .op = "AveragePool",
                   .inputs = {F32({1, 2, 8, 9})},
                   .attrs = {{"kernel_shape", Ints{2, 3}},
                             {"dilations", Ints{3, 2}},
                             {"strides", Ints{2, 1}},
                             {"pads", Ints{1, 2, 0, 1}}}});
  cases.push_back({.label = "AveragePoolDilatedInside",
                   .op = "AveragePool",
                   .inputs = {F32({1, 2, 8, 9})},
                   .attrs = {{"kernel_shape", Ints{2, 3}},
                             {"dilations", Ints{3, 2}},
                             {"count_include_pad", std::int64_t{1}}}});
}

void AddDeformConv(std::vector<OpCase>& cases) {
  cases.push_back({.label = "DeformConv",
                   .op = "DeformConv",
                   .inputs = {F32({1, 4, 5, 6}), F32({6, 2, 2, 3}, 2), F32({1, 24, 3, 5}, 3),
                              F32({6}), F32({1, 12, 3, 5}, 4)},
                   .attrs = {{"group", std::int64_t{2}},
                             {"offset_group", std::int64_t{2}},
                             {"pads", Ints{1, 1, 0, 0}},
                             {"strides", Ints{2, 1}}}});
  cases.push_back({.label = "DeformConvBf16",
                   .op = "DeformConv",
                   .inputs = {BF16({2, 3, 4, 4}), BF16({2, 3, 2, 2}), BF16({2, 8, 2, 2})},
                   .attrs = {{"dilations", Ints{2, 2}}}});
}

void AddNewerResize(std::vector<OpCase>& cases) {
  const Tensor smaller =
      Tensor::From<float>(DType::kF32, {4}, std::vector<float>{1, 1, 0.4F, 0.7F});
  for (const char* mode : {"linear", "cubic"}) {
    cases.push_back({.label = std::string("ResizeAntialias") + mode,
                     .op = "Resize",
                     .inputs = {F32({1, 2, 8, 9}), std::nullopt, smaller},
                     .attrs = {{"mode", std::string(mode)}, {"antialias", std::int64_t{1}}}});
  }
  cases.push_back({.label = "ResizeAxes",
                   .op = "Resize",
                   .inputs = {F32({1, 2, 4, 5}), std::nullopt, std::nullopt, I64({8, 6})},
                   .attrs = {{"axes", Ints{3, 2}}, {"mode", std::string("linear")}}});
  for (const char* policy : {"not_larger", "not_smaller"}) {
    cases.push_back({.label = std::string("Resize") + policy,
                     .op = "Resize",
                     .inputs = {F32({1, 2, 4, 5}), std::nullopt, std::nullopt, I64({9, 7})},
                     .attrs = {{"axes", Ints{-2, -1}},
                               {"keep_aspect_ratio_policy", std::string(policy)},
                               {"mode", std::string("linear")}}});
  }
  cases.push_back(
      {.label = "ResizeSymmetric",
       .op = "Resize",
       .inputs = {F32({1, 2, 8, 9}), std::nullopt, smaller},
       .attrs = {{"mode", std::string("linear")},
                 {"coordinate_transformation_mode", std::string("half_pixel_symmetric")}}});
  cases.push_back({.label = "PadWrap",
                   .op = "Pad",
                   .inputs = {F32({2, 3}), I64({1, 4, 0, 7})},
                   .attrs = {{"mode", std::string("wrap")}}});
}

}  // namespace

void PrintTo(const OpCase& op_case, std::ostream* out) {
  *out << op_case.label;
}

void AddStrings(std::vector<OpCase>& cases) {
  const Tensor words = Strings({4}, {"Monday", "und", "Zorn", "und"});
  cases.push_back({.label = "StringNormalizer",
                   .op = "StringNormalizer",
                   .inputs = {words},
                   .attrs = {{"case_change_action", std::string("UPPER")},
                             {"locale", std::string("C")},
                             {"stopwords", std::vector<std::string>{"UND"}}}});
  cases.push_back({.label = "StringRegexFullMatch",
                   .op = "RegexFullMatch",
                   .inputs = {words},
                   .attrs = {{"pattern", std::string("[A-Z]\\w+|u.d")}}});
  cases.push_back({.label = "StringConcat",
                   .op = "StringConcat",
                   .inputs = {words, Strings({2, 1}, {"!", ""})}});
  cases.push_back({.label = "StringSplit",
                   .op = "StringSplit",
                   .inputs = {Strings({2}, {"a  b c", " d"})},
                   .outputs = 2});
  cases.push_back({.label = "StringSplitAtMostOnce",
                   .op = "StringSplit",
                   .inputs = {Strings({2}, {"a,b,c", ""})},
                   .attrs = {{"delimiter", std::string(",")}, {"maxsplit", std::int64_t{1}}},
                   .outputs = 2});
  cases.push_back({.label = "CastOfStrings",
                   .op = "Cast",
                   .inputs = {Strings({3}, {"+1.5", "-3", " 2e3"})},
                   .attrs = {{"to", static_cast<std::int64_t>(DType::kF32)}}});
  cases.push_back({.label = "CastToStrings",
                   .op = "Cast",
                   .inputs = {F32({3})},
                   .attrs = {{"to", static_cast<std::int64_t>(DType::kString)}}});
  cases.push_back(
      {.label = "TfIdf",
       .op = "TfIdfVectorizer",
       .inputs = {Tensor::From<std::int64_t>(DType::kI64, {2, 4}, Ints{2, 3, 2, 3, 5, 2, 3, 7})},
       .attrs = {{"mode", std::string("TFIDF")},
                 {"min_gram_length", std::int64_t{1}},
                 {"max_gram_length", std::int64_t{2}},
                 {"max_skip_count", std::int64_t{1}},
                 {"ngram_counts", Ints{0, 2}},
                 {"ngram_indexes", Ints{0, 2, 1}},
                 {"pool_int64s", Ints{2, 5, 2, 3}},
                 {"weights", std::vector<float>{1, 0.5F, 2}}}});
}

void AddOptimizers(std::vector<OpCase>& cases) {
  const Tensor rate = Positive({});
  const Tensor steps = Tensor::From<std::int64_t>(DType::kI64, {}, Ints{3});
  const auto add = [&](const char* op, std::vector<std::optional<Tensor>> inputs, AttrMap attrs,
                       std::size_t outputs) {
    inputs.insert(inputs.begin(), {rate, steps});
    cases.push_back({.label = op,
                     .op = op,
                     .inputs = std::move(inputs),
                     .attrs = std::move(attrs),
                     .outputs = outputs,
                     .domain = "ai.onnx.preview.training"});
  };
  add("Adagrad", {F32({2, 3}), F32({2, 3}, 2), Positive({2, 3})}, {}, 2);
  add("Adam", {F32({2, 3}), F32({2, 3}, 2), F32({2, 3}, 3), Positive({2, 3})}, {{"epsilon", 0.01F}},
      3);
  add("Momentum", {F32({2, 3}), F32({2, 3}, 2), F32({2, 3}, 3)},
      {{"alpha", 0.9F},
       {"beta", 0.5F},
       {"mode", std::string("nesterov")},
       {"norm_coefficient", 0.1F}},
      2);
}

std::vector<OpCase> OpCases() {
  std::vector<OpCase> cases;
  AddFloatFunctions(cases);
  AddRecurrent(cases);
  AddBinaries(cases);
  AddLayers(cases);
  AddLstm(cases);
  AddShapeOps(cases);
  AddChoosing(cases);
  AddSignal(cases);
  AddBits(cases);
  AddLinearAlgebra(cases);
  AddSequenceOrder(cases);
  AddImage(cases);
  AddDataDependent(cases);
  AddIntegers(cases);
  AddQuantized(cases);
  AddGridSample(cases);
  AddRoi(cases);
  AddUnpool(cases);
  AddDeformConv(cases);
  AddNewerResize(cases);
  AddStrings(cases);
  AddOptimizers(cases);
  return cases;
}

ValueType TypeOfTensor(const Tensor& tensor) {
  return {.dtype = tensor.dtype(), .shape = ToShape(tensor.dims())};
}

Graph GraphOfCase(
    const OpCase& op_case,
    const std::function<std::optional<ValueType>(std::size_t, const Tensor&)>& type_of) {
  Graph graph;
  Node node;
  node.name = "node";
  node.op = op_case.op;
  node.domain = op_case.domain;
  node.attrs = op_case.attrs;
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    const auto& input = op_case.inputs[i];
    if (!input) {
      node.inputs.push_back(kNoValue);
      continue;
    }
    const std::string name = "in" + std::to_string(i);
    const std::optional<ValueType> type = type_of ? type_of(i, *input) : std::nullopt;
    node.inputs.push_back(type ? graph.AddInput(name, *type) : graph.AddConstant(name, *input));
  }
  for (std::size_t i = 0; i < op_case.outputs; ++i) {
    node.outputs.push_back(graph.AddValue("out" + std::to_string(i), {}));
  }
  const std::vector<ValueId> outputs = node.outputs;
  graph.AddNode(std::move(node));
  for (const ValueId output : outputs) graph.AddOutput(output);
  return graph;
}

}  // namespace msc
