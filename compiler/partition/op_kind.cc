#include "compiler/partition/op_kind.h"

#include <map>
#include <string>
#include <string_view>

namespace msc {
namespace {

// Kinds follow the operators' ONNX pages. Operators that are missing from the table are opaque.
const std::map<std::string_view, OpKind, std::less<>>& Kinds() {
  static const auto* const kinds = [] {
    auto* table = new std::map<std::string_view, OpKind, std::less<>>;
    const auto add = [table](OpKind kind, std::initializer_list<std::string_view> names) {
      for (const std::string_view name : names) table->emplace(name, kind);
    };
    add(OpKind::kElementwise, {"Abs",         "Acos",
                               "Asin",        "Atan",
                               "BitwiseNot",  "Cast",
                               "Ceil",        "Celu",
                               "Clip",        "Cos",
                               "Elu",         "Erf",
                               "Exp",         "Floor",
                               "Gelu",        "HardSwish",
                               "HardSigmoid", "Identity",
                               "LeakyRelu",   "Log",
                               "Neg",         "Not",
                               "Reciprocal",  "Relu",
                               "Round",       "Selu",
                               "Sigmoid",     "Sign",
                               "Sin",         "Softplus",
                               "Softsign",    "Sqrt",
                               "Tan",         "Tanh",
                               "msc.Gelu",    "IsNaN",
                               "IsInf",       "ThresholdedRelu"});
    add(OpKind::kBroadcast, {"Add",
                             "And",
                             "BatchNormalization",
                             "DequantizeLinear",
                             "Div",
                             "Equal",
                             "Expand",
                             "Greater",
                             "GreaterOrEqual",
                             "Less",
                             "LessOrEqual",
                             "Max",
                             "Mean",
                             "Min",
                             "Mod",
                             "Mul",
                             "Or",
                             "PRelu",
                             "Pow",
                             "QuantizeLinear",
                             "Sub",
                             "Sum",
                             "Where",
                             "Xor",
                             "msc.Binary"});
    add(OpKind::kInjective,
        {"Concat", "DepthToSpace", "Flatten", "Gather", "Pad", "Reshape", "Resize", "Slice",
         "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze", "Upsample"});
    add(OpKind::kReduce, {"ArgMax", "ArgMin", "ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean",
                          "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"});
    add(OpKind::kAnchor,
        {"AveragePool", "Conv", "ConvInteger", "ConvTranspose", "Gemm", "GlobalAveragePool",
         "GlobalMaxPool", "MatMul", "MatMulInteger", "MaxPool", "QLinearConv", "QLinearMatMul",
         "msc.Conv", "msc.Gemm", "msc.Pool"});
    return table;
  }();
  return *kinds;
}

}  // namespace

std::string_view Name(OpKind kind) {
  constexpr std::string_view kNames = "EBIRATO";
  return kNames.substr(static_cast<std::size_t>(kind), 1);
}

OpKind KindOf(const Node& node) {
  const std::string name = node.domain.empty() ? node.op : node.domain + "." + node.op;
  const auto it = Kinds().find(name);
  return it == Kinds().end() ? OpKind::kOpaque : it->second;
}

}  // namespace msc
