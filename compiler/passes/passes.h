#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/passes/pass.h"

namespace msc {

// The passes; each is in the .cc of the same name. Why they share one header:
// docs/decisions/0003-one-pass-header.md.

/// Evaluates nodes whose inputs are all constant with the reference kernels. Keeps nodes whose
/// results exceed 64 MiB, and DequantizeLinear of weights, which would lose their quantization,
/// unless the result is reshaped and has several scales: no kernel supports such weights. Shape of
/// a value with static dims counts as constant.
bool FoldConstants(Graph& graph);

/// Replaces nodes with nested graphs by the nodes that run: the branch of an If with a constant
/// condition, the iterations of a Loop whose number is constant and whose condition is known, of a
/// Scan over a known size, of a SequenceMap of a sequence that SequenceConstruct makes. Leaves
/// loops without an iteration, and those that would make a graph of more than 20,000 nodes. Source:
/// ONNX operator pages If-16, Loop-16, Scan-16, SequenceMap-17.
bool UnrollLoops(Graph& graph);

/// What becomes of a branch that does not fit the sizes around it, so that a run that chose it
/// would fail.
enum class Misfits : std::uint8_t {
  kKeep,    ///< its If stays as it is, and can be exported
  kRefuse,  ///< msc.Refuse stands for it, which throws UserError where it is chosen
};

/// Replaces each If whose condition only a run knows, and whose branches give tensors of the same
/// known sizes, by the nodes of both branches, in canonical form, and a Where: targets and tools
/// take these, and a run computes one of them (ops/branches.h). Leaves those alone that read values
/// of unknown sizes. Source: ONNX operator page If-16.
bool FlattenBranches(Graph& graph, Misfits misfits = Misfits::kKeep);

/// Replaces operators on sequences whose tensors are known by operators on these: exporters write
/// lists of the source program so. Leaves positions that are not constant.
bool ResolveSequences(Graph& graph);

/// Computes in f32 what a graph computes in f16: widens constants, casts inputs and what a Cast
/// rounds to f16, and rounds graph outputs to f16. So every tool and target takes such graphs.
/// Between, values are more exact than in f16, and none overflows. Types are known.
bool WidenF16(Graph& graph);

/// Evaluates DequantizeLinear and Cast of bf16 weights, but not where the result exceeds 64 MiB:
/// for weights that no kernel takes as they are stored, after FuseOps.
bool WidenWeights(Graph& graph);

/// Folds BatchNormalization (inference), or Mul or Add of a constant per channel, into the
/// preceding Conv, or Gemm or MatMul of a matrix: scales weights and bias and removes the node. A
/// MatMul becomes a Gemm of the same name. Between Conv and node there may be a Squeeze of axes
/// behind the channels. Computes in double and rounds once. Applies only if the layer has no other
/// reader. Source: ONNX operator page BatchNormalization-15.
bool FoldBatchNorm(Graph& graph);

/// Folds Mul or Add of a constant per channel into the following Conv, if that is the only reader:
/// scales its weights, or adds to its bias if it has no padding. If the Conv has padding, x * s + b
/// becomes x + b / s. Computes in double and rounds once.
bool FoldIntoNextLayer(Graph& graph);

/// Folds Pad with zeros of the axes behind the channels into the pads of every Conv that reads it
/// (ONNX operator pages Pad-13, Conv-11, MaxPool-12), and those of a MaxPool if nothing in front of
/// them is negative. Leaves operators with auto_pad alone, and those that would have windows of
/// padding only.
bool FoldPadding(Graph& graph);

/// Makes the targets of Reshape constant that are sizes and dimensions put together, as of
/// x.view(x.size(0), -1): a dimension that stays where it is becomes 0, and one other that is not
/// known becomes -1 (ONNX operator page Reshape-14). Reads Shape, Gather, Slice, Squeeze,
/// Unsqueeze, Concat, Identity and Cast. Leaves targets with other arithmetic, or with two
/// dimensions that change their place, alone.
bool FixReshapeTargets(Graph& graph);

/// Removes nodes and constants on which no graph output depends. Keeps graph inputs.
bool RemoveDeadCode(Graph& graph);

/// Removes nodes without an effect: Identity, Dropout in inference, Cast to the same type, Concat
/// of one value, Pad by nothing, Mul and Div by 1, Add and Sub of 0, and Transpose, Reshape,
/// Flatten, Squeeze, Unsqueeze, Expand and Slice that change nothing, and Where of a constant
/// condition that is the same everywhere. Merges Transpose of Transpose and Reshape of Reshape.
/// Removes Reshapes around a Softmax along the last axis that undo each other and keep this axis.
/// Replaces a Transpose that moves only axes of size 1 by a Reshape. Removes zero initial states of
/// an LSTM.
bool RemoveIdentities(Graph& graph);

/// Lets nodes behind Transposes work on the values in front of them, where fewer elements are
/// transposed then: models from frameworks whose channels are the last axis have a Transpose in
/// front of and behind each Conv. Nodes that compute element by element, Concat, Pad,
/// QuantizeLinear, DequantizeLinear, reductions, Slice and Softmax move (move_axes.h), with their
/// constants; what other nodes read is transposed behind them.
bool MoveTransposes(Graph& graph);

/// Makes the operators of ops/fused.h. A layer chain (see chain.h: Conv, or Gemm or MatMul of a
/// matrix, with constant weights; bias, residual Add, activation) becomes one msc.Conv or msc.Gemm.
/// If input and weights are both 8-bit integers, it includes the DequantizeLinear of input, weights
/// and residual and the QuantizeLinear of the output; if both are bf16, the Casts. AveragePool,
/// GlobalAveragePool, Add and Mul between Q/DQ or Casts become msc.Pool and msc.Binary. MaxPool and
/// operators that only move values run on the narrow type. Values that are also read or returned in
/// f32 stay f32. A bias behind DequantizeLinear becomes f32. MatMul of values with more than two
/// dimensions by a constant matrix is a layer too: all leading axes are rows. GELU and attention
/// become an activation, msc.Gelu and msc.Attention.
bool FuseOps(Graph& graph);

/// Function that returns whether the target that will run the graph supports a node
/// (Target::Supports). Types are static.
using Takes = std::function<bool(const Graph&, NodeId)>;
/// Does the same as FuseOps, but makes msc.Conv, msc.Gemm, msc.Gelu and msc.Attention only if
/// `takes` accepts them; otherwise keeps the original nodes.
bool FuseOpsFor(Graph& graph, const Takes& takes);

/// Removes DequantizeLinear directly followed by QuantizeLinear with the same parameters, and Cast
/// bf16->f32 followed by Cast f32->bf16. Exact.
bool CancelRequantization(Graph& graph);

/// Expands QLinearConv and QLinearMatMul (ONNX operator pages, opset 10) with constant scales and
/// zero points to DequantizeLinear of the operands, Conv or MatMul of the same name, and
/// QuantizeLinear, which fusion and targets support. An int32 bias gets the scale x_scale *
/// w_scale. Constant u8 weights become i8: weights and zero points are lowered by 128. Sums are
/// then rounded in f32 instead of exactly, so a value close to a tie may differ by one step. A Conv
/// with computed weights, and per-row scales, stay unchanged.
bool LiftIntegerLayers(Graph& graph);

/// Makes matrices of lists of numbers that MatMul multiplies by constant weights: weights [K]
/// become [K, 1], and an operand [K] becomes [1, K]. A Squeeze behind bias and activation gives the
/// result its shape. The product becomes a layer like any other.
bool LiftVectorProducts(Graph& graph);

/// Converts MatMul of one-hot rows by a constant matrix to Gather from that matrix: rows of OneHot
/// with 0 and 1 along the last axis, or of integers [..., 1] == [0, 1, ...]. Numbers that select no
/// row give zeros, as in the product (ONNX operator pages OneHot-11, Gather-13).
bool RecognizeLookups(Graph& graph);

/// Removes the columns of constant weights of a MatMul that a GatherElements along the last axis,
/// its only reader, with constant indices, selects nowhere (ONNX operator page GatherElements-13).
/// Attention with relative positions multiplies by weights of all distances and reads those of a
/// sequence. Leaves a GatherElements alone that has an index outside.
bool DropUnreadColumns(Graph& graph);

/// Recognizes activations that are written out: Clip(x + a, 0, b) / b becomes HardSigmoid; the
/// product of x and HardSigmoid(x, 1/6, 1/2), also with this gate written out, becomes HardSwish
/// (ONNX operator pages HardSigmoid-6, HardSwish-14).
bool RecognizeActivations(Graph& graph);

/// Converts ReduceMean and ReduceMax over all axes but the first two, of rank 4 and more, to
/// GlobalAveragePool and GlobalMaxPool, with Flatten if the axes are dropped.
bool RecognizeGlobalPools(Graph& graph);

/// Converts (x - mean) / sqrt(variance + epsilon) over the last axes, with the constant scale and
/// bias behind it, to LayerNormalization (ONNX operator page LayerNormalization-17).
bool RecognizeLayerNorm(Graph& graph);

/// Makes convolutions (also transposed) and pools over one axis, [N, C, L], ones of images of one
/// row, [N, C, 1, L], with Reshape in front and behind. Bias, residual and activation of a Conv
/// change with it, so that they stay together. For targets without kernels over one axis. All sizes
/// must be known; those where one is 0 or unknown stay.
bool LayListsInRows(Graph& graph);

/// Does the same to those of images of one column, [N, C, L, 1], if their windows are one wide:
/// kernels are made for long rows.
bool LayColumnsInRows(Graph& graph);

/// Returns the passes of Canonicalize, in order.
[[nodiscard]] std::vector<Pass> CanonicalPasses();

/// Brings a graph to the canonical form that strategies refer to and tools work on: repeats the
/// passes above that keep ONNX operators (all but FuseOps) until nothing changes, at most 16 times,
/// and does so again if FlattenBranches changes the result.
/// `log`, if not empty, receives "pass: changed|unchanged, ms".
void Canonicalize(Graph& graph, const std::function<void(const std::string&)>& log = {});

}  // namespace msc
