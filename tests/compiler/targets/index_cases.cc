// Operators that arrange, choose and count elements, those for integers, and rarer layers.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/compiler/targets/contract_cases.h"

namespace msc {
namespace {

/// `%y = node` of an input %x of type `x`, with the constants that it reads.
GraphCase Of(const std::string& x, const std::string& node, const std::string& constants = "") {
  return {node, "graph g {\n  input %x : " + x + "\n" + constants + "  %y = " + node +
                    "\n  output %y\n}"};
}

/// A constant list of 64-bit integers.
std::string Integers(const std::string& name, const std::string& list) {
  const auto count = 1 + std::count(list.begin(), list.end(), ',');
  return "  const %" + name + " : i64[" + std::to_string(count) + "] = [" + list + "]\n";
}

std::vector<GraphCase> ViewCases() {
  std::vector<GraphCase> cases;
  for (const std::string type : {"f32", "bf16", "u8", "i64"}) {
    cases.push_back(Of(type + "[2,1,5,1]", "Squeeze(%x, %a)", Integers("a", "1, -1")));
    cases.push_back(Of(type + "[1,3,1,7]", "Squeeze(%x)"));
    cases.push_back(Of(type + "[1,1]", "Squeeze(%x)"));
    cases.push_back(Of(type + "[0,1,7]", "Squeeze(%x, %a)", Integers("a", "1")));
    cases.push_back(Of(type + "[3,17]", "Unsqueeze(%x, %a)", Integers("a", "0, -1")));
    cases.push_back(Of(type + "[]", "Unsqueeze(%x, %a)", Integers("a", "0")));
    cases.push_back(Of(type + "[3,0]", "Unsqueeze(%x, %a)", Integers("a", "1")));
    cases.push_back(Of(type + "[2,6,5]", "Reshape(%x, %s)", Integers("s", "0, -1, 3")));
    cases.push_back(Of(type + "[2,0,5]", "Reshape(%x, %s)", Integers("s", "5, 0")));
    cases.push_back(Of(type + "[2,3,5]", "Flatten(%x) {axis = 2}"));
    cases.push_back(Of(type + "[2,3,5]", "Dropout(%x)"));
    cases.push_back(Of(type + "[2,3,5]", "Transpose(%x) {perm = [2, 0, 1]}"));
    cases.push_back(Of(type + "[2,0,5]", "Transpose(%x)"));
    cases.push_back(Of(type + "[5,1]", "Expand(%x, %s)", Integers("s", "2, 1, 7")));
    cases.push_back(Of(type + "[3,5]", "Tile(%x, %s)", Integers("s", "2, 3")));
  }
  for (const std::string mode : {"constant", "reflect", "edge"}) {
    cases.push_back(Of("f32[2,3,5,7]", "Pad(%x, %p) {mode = \"" + mode + "\"}",
                       Integers("p", "0, 0, 1, 2, 0, 0, 3, 0")));
  }
  cases.push_back(Of("f32[3,5]", "Pad(%x, %p, %v)",
                     Integers("p", "1, 0, 0, 2") + "  const %v : f32[] = [-7]\n"));
  const std::string cut = Integers("p", "-1, 2, 1, 1, 0, -2");
  for (const std::string type : {"f32", "bf16", "f16", "i8", "u8", "i64"}) {
    const std::string value = "  const %v : " + type + "[] = [3]\n";
    cases.push_back(Of(type + "[3,4,19]", "Pad(%x, %p, %v)", cut + value));
  }
  cases.push_back(Of("bool[3,4,5]", "Pad(%x, %p, %v)", cut + "  const %v : bool[] = [true]\n"));
  cases.push_back(Of("f32[3,5]", "Pad(%x, %p)", Integers("p", "-1, 0, -2, -5")));
  cases.push_back(Of("f32[3,5]", "Pad(%x, %p)", Integers("p", "0, 0, 0, 0")));
  cases.push_back({"pad_between_convolutions", R"(graph g {
  input %x : f32[1,3,6,6]
  const %w : f32[5,3,3,3] = random 3
  const %v : f32[4,5,3,3] = random 4
  const %p : i64[8] = [0, 0, 1, 0, 0, 0, 2, 1]
  const %one : f32[] = [1]
  %c = Conv(%x, %w)
  %d = Pad(%c, %p, %one)
  %y = Conv(%d, %v) {pads = [1, 1, 1, 1]}
  output %y
})"});
  for (const std::string mode : {"DCR", "CRD"}) {
    cases.push_back(
        Of("f32[2,12,3,5]", "DepthToSpace(%x) {blocksize = 2, mode = \"" + mode + "\"}"));
  }
  cases.push_back(Of("f32[2,3,4,6]", "SpaceToDepth(%x) {blocksize = 2}"));
  cases.push_back(Of("f32[2,5,7]", "Trilu(%x)"));
  cases.push_back(Of("f32[2,5,7]", "Trilu(%x, %k) {upper = 0}", "  const %k : i64[] = [-1]\n"));
  cases.push_back(Of("i64[7,5]", "Trilu(%x, %k)", "  const %k : i64[] = [2]\n"));
  cases.push_back(Of("bf16[2,3,7,5]", "Trilu(%x, %k) {upper = 0}", "  const %k : i64[] = [9]\n"));
  cases.push_back(Of("f32[19,19]", "Trilu(%x, %k)", "  const %k : i64[] = [-90]\n"));
  return cases;
}

std::vector<GraphCase> ChoiceCases() {
  std::vector<GraphCase> cases;
  for (const std::string op : {"ArgMax", "ArgMin"}) {
    cases.push_back(Of("f32[3,17,5]", op + "(%x) {axis = 1}"));
    cases.push_back(Of("f32[3,17]", op + "(%x) {axis = -1, keepdims = 0}"));
  }
  cases.push_back(Of("f32[3,17]", "CumSum(%x, %a)", "  const %a : i64[] = [1]\n"));
  cases.push_back(
      Of("f32[3,17]", "CumSum(%x, %a) {exclusive = 1, reverse = 1}", "  const %a : i64[] = [0]\n"));
  for (const std::string axis : {"0", "1", "-1"}) {
    for (const std::string attrs : {"", " {exclusive = 1}", " {reverse = 1}"}) {
      cases.push_back(
          Of("f32[3,5,19]", "CumSum(%x, %a)" + attrs, "  const %a : i32[1] = [" + axis + "]\n"));
    }
  }
  cases.push_back({"sums_of_an_image", R"(graph g {
  input %x : f32[2,3,6,6]
  const %w : f32[5,3,3,3] = random 3
  const %a : i64[] = [1]
  %c = Conv(%x, %w)
  %s = CumSum(%c, %a)
  %m = Concat(%c, %s) {axis = 3}
  output %m
})"});
  cases.push_back({"TopK", R"(graph g {
  input %x : f32[3,17,5]
  const %k : i64[1] = [4]
  %v, %i = TopK(%x, %k) {axis = 1}
  output %v
  output %i
})"});
  cases.push_back(Of("f32[3,5]", "GatherElements(%x, %i) {axis = 1}",
                     "  const %i : i64[3,2] = [0, -1, 2, 3, 4, 1]\n"));
  cases.push_back(Of("f32[3,5,7]", "GatherND(%x, %i)", "  const %i : i64[2,2] = [0, 4, 2, -3]\n"));
  const std::string update = "  const %u : f32[2,2] = random 3\n";
  cases.push_back(Of("f32[3,5]", "ScatterElements(%x, %i, %u) {axis = 1}",
                     "  const %i : i64[2,2] = [0, 3, 1, 4]\n" + update));
  cases.push_back(
      Of("f32[4,2]", "ScatterND(%x, %i, %u)", "  const %i : i64[2,1] = [3, 0]\n" + update));
  cases.push_back(Of("i64[3,5]", "OneHot(%x, %d, %v)",
                     "  const %d : i64[] = [4]\n  const %v : f32[2] = [0.5, 2]\n"));
  cases.push_back(Of("f32[3,17]", "Hardmax(%x)"));
  cases.push_back(Of("f32[3,17,5]", "LogSoftmax(%x) {axis = 1}"));
  cases.push_back(Of("f32[3,5,7]", "Shape(%x) {start = 1}"));
  cases.push_back(Of("f32[3,5,7]", "Size(%x)"));
  cases.push_back(Of("f32[3,5]", "EyeLike(%x) {k = 1}"));
  cases.push_back({"Range", R"(graph g {
  const %a : i64[] = [5]
  const %b : i64[] = [12]
  const %c : i64[] = [2]
  %y = Range(%a, %b, %c)
  output %y
})"});
  cases.push_back(Of("i64[2]", "ConstantOfShape(%s)", Integers("s", "3, 5")));
  for (const std::string to : {"1", "2", "3", "6", "7", "9", "16"}) {
    // What is less than 0 is no u8: ONNX leaves open what becomes of it.
    cases.push_back(Of("f32[3,17]", "Cast(%p) {to = " + to + "}", "  %p = Abs(%x)\n"));
    cases.push_back(Of("i64[3,17]", "Cast(%x) {to = " + to + "}"));
  }
  cases.push_back(Of("f32[3,17]", "CastLike(%x, %t)", "  const %t : i32[1] = [0]\n"));
  return cases;
}

/// Of indices that are computed, between -3 and 3, and of constant ones.
std::vector<GraphCase> GatherCases() {
  std::vector<GraphCase> cases;
  const auto add = [&](const std::string& x, const std::string& indices, const std::string& node) {
    cases.push_back(Of(x, node, "  input %i : " + indices + "\n"));
  };
  for (const std::string type : {"f32", "bf16", "u8", "i64"}) {
    add(type + "[7,19]", "i64[2,5]", "Gather(%x, %i)");
    add(type + "[3,5,4]", "i32[6]", "Gather(%x, %i) {axis = 1}");
    add(type + "[3,4,5]", "i64[3,4,2]", "GatherElements(%x, %i) {axis = -1}");
  }
  add("f32[7,19]", "i64[]", "Gather(%x, %i)");
  add("f32[9]", "i64[]", "Gather(%x, %i)");
  add("f32[9]", "i64[3,2]", "Gather(%x, %i)");
  add("f32[2,3,5]", "i64[4,1]", "Gather(%x, %i) {axis = -1}");
  add("f32[2,4,5,4]", "i64[2]", "Gather(%x, %i) {axis = 1}");
  add("f32[2,3,5,4]", "i64[2,2]", "Gather(%x, %i) {axis = 2}");
  add("f32[5,0]", "i64[2]", "Gather(%x, %i)");
  add("f32[5,3]", "i64[0]", "Gather(%x, %i)");
  add("f32[4,5]", "i32[2,5]", "GatherElements(%x, %i)");
  add("f32[4,3,5,4]", "i64[6,2,5,3]", "GatherElements(%x, %i)");
  add("f32[4,4,5,4]", "i64[4,7,5,4]", "GatherElements(%x, %i) {axis = 1}");
  add("f32[5,3]", "i64[5,0]", "GatherElements(%x, %i)");
  cases.push_back(Of("f32[5,19]", "Gather(%x, %i)", "  const %i : i64[4] = [4, -5, 0, 4]\n"));
  cases.push_back(
      Of("f32[2,19]", "Gather(%x, %i) {axis = 1}", "  const %i : i32[2,1] = [18, -1]\n"));
  // Where the data or the indices lie in another order.
  cases.push_back({"gather_of_an_image", R"(graph g {
  input %x : f32[2,3,6,6]
  input %i : i64[5]
  const %w : f32[5,3,3,3] = random 3
  %c = Conv(%x, %w)
  %g = Gather(%c, %i) {axis = 2}
  %y = Relu(%g)
  output %y
})"});
  cases.push_back({"gather_of_turned_values", R"(graph g {
  input %x : f32[4,5,6]
  input %i : i64[2,3]
  input %k : i64[6,4,2]
  %t = Transpose(%x) {perm = [2, 0, 1]}
  %r = Relu(%t)
  %j = Transpose(%i)
  %g = Gather(%r, %j) {axis = 1}
  %e = GatherElements(%r, %k) {axis = 2}
  output %g
  output %e
})"});
  cases.push_back({"gather_into_a_sum", R"(graph g {
  input %i : i64[2,7]
  input %j : i64[2,7]
  const %t : f32[9,16] = random 3
  const %p : f32[8,16] = random 4
  %a = Gather(%t, %i)
  %b = Gather(%p, %j)
  %s = Add(%a, %b)
  %m = Concat(%s, %a) {axis = 1}
  output %m
})"});
  return cases;
}

std::vector<GraphCase> RareLayerCases() {
  std::vector<GraphCase> cases;
  cases.push_back(Of("f32[2,5,3,7]", "InstanceNormalization(%x, %s, %b)",
                     "  const %s : f32[5] = random 3\n  const %b : f32[5] = random 4\n"));
  cases.push_back(Of("f32[2,17,5]", "LpNormalization(%x) {axis = 1, p = 2}"));
  cases.push_back(Of("f32[2,17,3,5]", "LRN(%x) {size = 5, alpha = 0.1}"));
  for (const std::string op : {"ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"}) {
    cases.push_back(Of("f32[3,17,5]", op + "(%x) {axes = [1]}"));
    cases.push_back(Of("f32[3,17,5]", op + "(%x) {axes = [0, -1], keepdims = 0}"));
  }
  cases.push_back(Of("f32[3,17,5]", "ReduceLogSum(%p) {axes = [1]}", "  %p = Exp(%x)\n"));
  const std::string targets = "  const %t : i64[3] = [4, 0, 2]\n";
  cases.push_back(Of("f32[3,5]", "NegativeLogLikelihoodLoss(%x, %t)", targets));
  cases.push_back(
      Of("f32[3,5]", "SoftmaxCrossEntropyLoss(%x, %t) {reduction = \"none\"}", targets));
  cases.push_back({"DynamicQuantizeLinear", R"(graph g {
  input %x : f32[3,17]
  %y, %s, %z = DynamicQuantizeLinear(%x)
  output %y
  output %s
  output %z
})"});
  cases.push_back(Of("u8[2,3,7,5]", "ConvInteger(%x, %w, %z) {pads = [1, 1, 1, 1]}",
                     "  const %w : i8[4,3,3,3] = random 3\n  const %z : u8[] = [7]\n"));
  cases.push_back(Of("u8[3,17]", "MatMulInteger(%x, %w, %z)",
                     "  const %w : i8[17,5] = random 3\n  const %z : u8[] = [7]\n"));
  const std::string scales =
      "  const %xs : f32[] = [0.02]\n  const %xz : u8[] = [7]\n  const %wz : i8[] = [0]\n"
      "  const %ys : f32[] = [0.05]\n  const %yz : u8[] = [100]\n";
  cases.push_back(Of("u8[2,3,7,5]",
                     "QLinearConv(%x, %xs, %xz, %w, %ws, %wz, %ys, %yz, %b) {pads = [1, 1, 1, 1]}",
                     scales + "  const %w : i8[4,3,3,3] = random 3\n"
                              "  const %ws : f32[4] = [0.003, 0.004, 0.001, 0.002]\n"
                              "  const %b : i32[4] = random 5\n"));
  cases.push_back(Of("u8[3,17]", "QLinearMatMul(%x, %xs, %xz, %w, %ws, %wz, %ys, %yz)",
                     scales + "  const %w : i8[17,5] = random 3\n  const %ws : f32[] = [0.003]\n"));
  return cases;
}

}  // namespace

std::vector<CaseFamily> IndexFamilies() {
  return {{"views", ViewCases},
          {"choices", ChoiceCases},
          {"gathers", GatherCases},
          {"rare_layers", RareLayerCases}};
}

}  // namespace msc
