#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/passes/pass.h"

namespace msc {

// The passes, each in its own .cc of the same name. A header of one line for each would say no more
// (docs/decisions/0003-one-pass-header.md).

/// Evaluates nodes whose inputs are all constants with the reference kernels. Leaves results over
/// 64 MiB, and DequantizeLinear of weights (folding those would lose the quantization) unless rows
/// with a scale each are reshaped, which no kernel takes. Shape of a value with a static type
/// counts as constant.
bool FoldConstants(Graph& graph);

/// Conv, or Gemm or MatMul of a matrix, followed by BatchNormalization (inference) or by Mul or Add
/// of a constant per channel: scales weights and bias, removes the follower. A MatMul becomes a
/// Gemm of the same name. Computed in double, rounded once. Only where nothing else reads the
/// layer. ONNX operator page BatchNormalization-15.
bool FoldBatchNorm(Graph& graph);

/// Mul or Add of a constant per channel in front of a Conv that alone reads the result: scales its
/// weights, or, where it has no padding, adds to its bias. Of x * s + b in front of a Conv with
/// padding x + b / s remains. Computed in double, rounded once.
bool FoldIntoNextLayer(Graph& graph);

/// Removes nodes and constants that no graph output depends on. Keeps graph inputs.
bool RemoveDeadCode(Graph& graph);

/// Removes Identity, Dropout in inference, Cast to the same type, Concat of one value, Pad by
/// nothing, Mul and Div by 1, Add and Sub of 0, and Transpose, Reshape, Flatten, Squeeze and
/// Unsqueeze that change nothing; merges Transpose of Transpose and Reshape of Reshape. A Transpose
/// that only moves axes of one entry becomes a Reshape; an LSTM loses initial states of zeros.
bool RemoveIdentities(Graph& graph);

/// Makes the operators of ops/fused.h. A layer chain (see chain.h: Conv, or Gemm or MatMul of a
/// matrix, with constant weights; bias, residual Add, activation) becomes one msc.Conv or msc.Gemm.
/// It takes the DequantizeLinear of its input, weights and residual and the QuantizeLinear of its
/// output with it where input and weights are both 8-bit integers; the Casts where both are bf16.
/// AveragePool, GlobalAveragePool, Add and Mul between Q/DQ or Casts become msc.Pool and
/// msc.Binary; MaxPool and operators that only move values run on the narrow type. Values that are
/// read or returned in f32 as well stay f32. A bias behind DequantizeLinear becomes f32.
/// MatMul of values of more than two dimensions by a constant matrix is a layer like any other: all
/// leading axes are rows. GELU and attention become an activation, msc.Gelu and msc.Attention.
bool FuseOps(Graph& graph);

/// Whether whoever will run the graph takes a node of it: Target::Supports. Types are static.
using Takes = std::function<bool(const Graph&, NodeId)>;
/// As FuseOps, but makes an msc.Conv, msc.Gemm, msc.Gelu or msc.Attention only where `takes` says
/// yes to it; what is refused stays as it is written, for other kernels.
bool FuseOpsFor(Graph& graph, const Takes& takes);

/// DequantizeLinear directly followed by QuantizeLinear with the same parameters, and Cast
/// bf16->f32 followed by Cast f32->bf16: removes the pair. Exact.
bool CancelRequantization(Graph& graph);

/// QLinearConv and QLinearMatMul (ONNX operator pages, opset 10) with constant scales and zero
/// points: DequantizeLinear of the operands, Conv or MatMul of the same name, QuantizeLinear, which
/// is what fusion and targets know. A bias of int32 gets the step of the sums, x_scale * w_scale;
/// constant weights of u8 become i8, 128 lower with their zero points. Sums are then rounded in f32
/// instead of exactly, so that a value on an edge may be a step apart. A Conv of computed weights
/// stays, and so do scales of rows.
bool LiftIntegerLayers(Graph& graph);

/// Writes out functions as the one ONNX operator that they are: Clip(x + a, 0, b) / b as
/// HardSigmoid, x * HardSigmoid(x, 1/6, 1/2), and the same written out, as HardSwish (ONNX pages
/// HardSigmoid-6, HardSwish-14).
bool RecognizeActivations(Graph& graph);

/// ReduceMean and ReduceMax over all axes but the first two, of rank 4 and more:
/// GlobalAveragePool and GlobalMaxPool, with Flatten where the axes are dropped.
bool RecognizeGlobalPools(Graph& graph);

/// (x - mean) / sqrt(variance + epsilon) over the last axes, with the constant scale and bias
/// behind it: LayerNormalization (ONNX operator page LayerNormalization-17).
bool RecognizeLayerNorm(Graph& graph);

/// What Canonicalize runs, in this order.
[[nodiscard]] std::vector<Pass> CanonicalPasses();

/// Canonical form: what strategies refer to and tools work on. Fixpoint of the passes above that
/// keep ONNX operators (all but FuseOps). `log`, where given, hears "pass: changed|unchanged, ms".
void Canonicalize(Graph& graph, const std::function<void(const std::string&)>& log = {});

}  // namespace msc
