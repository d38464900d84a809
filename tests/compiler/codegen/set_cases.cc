#include "tests/compiler/codegen/set_cases.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "tests/contract/op_cases.h"

namespace msc {
namespace {

Graph Parsed(const std::string& text) {
  Graph graph = ParseGraph(text);
  InferTypes(graph);
  return graph;
}

/// Says where ONNX Runtime 1.31 does not compute what ONNX's reference does.
std::string OddInOrt(const std::string& label) {
  if (label == "GridSamplebicubicborder") {
    return "does not clamp a position to the border before it takes the cubic window there";
  }
  if (label == "AffineGridOfVolumes") {
    return "puts the only position along an axis in the middle, where ONNX has its corner";
  }
  if (label == "CastNarrowint4") return "rounds to the nearest integer, where ONNX truncates";
  return label == "Lrn" ? "has a kernel for images alone, and says so in its first run" : "";
}

SetCase FromText(const std::string& label, const std::string& text) {
  SetCase one{.label = label, .graph = Parsed(text), .inputs = {}};
  Rng rng(11);
  for (const ValueId id : one.graph.inputs()) {
    Tensor input(one.graph.type(id).dtype, *StaticDims(*one.graph.type(id).shape));
    if (input.dtype() == DType::kF32) {
      for (float& x : input.MutableValues<float>()) x = static_cast<float>(rng.Normal());
    }
    one.inputs.push_back(std::move(input));
  }
  return one;
}

/// Returns a case for each label and graph.
std::vector<SetCase> FromTexts(const std::vector<std::pair<std::string, std::string>>& texts) {
  std::vector<SetCase> cases;
  cases.reserve(texts.size());
  for (const auto& [label, text] : texts) cases.push_back(FromText(label, text));
  return cases;
}

SetCase FromOpCase(const OpCase& op_case) {
  SetCase one{.label = op_case.label, .graph = Graph("g"), .inputs = {}};
  Node node;
  node.name = "node";
  node.op = op_case.op;
  node.domain = op_case.domain;
  node.attrs = op_case.attrs;
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    const std::optional<Tensor>& tensor = op_case.inputs[i];
    const std::string name = "in" + std::to_string(i);
    if (!tensor) {
      node.inputs.push_back(kNoValue);
    } else if (one.inputs.empty()) {
      node.inputs.push_back(
          one.graph.AddInput(name, {.dtype = tensor->dtype(), .shape = ToShape(tensor->dims())}));
      one.inputs.push_back(*tensor);
    } else {
      node.inputs.push_back(one.graph.AddConstant(name, *tensor));
    }
  }
  std::vector<ValueId> outputs;
  for (std::size_t i = 0; i < op_case.outputs; ++i) {
    outputs.push_back(one.graph.AddValue("out" + std::to_string(i), {}));
  }
  node.outputs = outputs;
  one.graph.AddNode(std::move(node));
  one.graph.SetOutputs(outputs);
  InferTypes(one.graph);
  return one;
}

/// Operators whose older forms want what set 17 does not, one a graph.
std::vector<SetCase> OlderForms() {
  const std::string two = "graph g {\n input %x : f32[2,1,3]\n input %z : f32[4,1]\n %y = ";
  const std::string image = "graph g {\n input %x : f32[1,2,4,4]\n";
  const std::string matrix = "graph g {\n input %x : f32[2,3]\n const %w : f32[3,4] = random 1\n";
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"ResizeByScales", image + " const %s : f32[4] = [1, 1, 2, 2]\n %y = Resize(%x, _, %s)\n "
                                 "output %y\n}"},
      {"ResizeToSizes", image + " const %s : i64[4] = [1, 2, 8, 6]\n %y = Resize(%x, _, _, %s) "
                                "{mode = \"linear\"}\n output %y\n}"},
      {"GemmWithoutC", matrix + " %y = Gemm(%x, %w)\n output %y\n}"},
      {"OneHotOnTheLastAxis",
       "graph g {\n input %x : i64[2,3]\n const %d : i64[] = [4]\n const %v : f32[2] = [0, 1]\n %y "
       "= OneHot(%x, %d, %v) {axis = -1}\n output %y\n}"},
      {"SliceFromTheLastAxis",
       "graph g {\n input %x : f32[3,4]\n const %b : i64[1] = [1]\n const %e : i64[1] = [3]\n "
       "const "
       "%a : i64[1] = [-1]\n %y = Slice(%x, %b, %e, %a)\n output %y\n}"},
      {"ScalesOfTheSecondAxis",
       "graph g {\n input %x : f32[3,4]\n const %q : i8[3,4] = random 1\n const %s : f32[4] = "
       "[0.1, "
       "0.2, 0.3, 0.4]\n const %z : i8[4] = [0, 0, 0, 0]\n %w = DequantizeLinear(%q, %s, %z) {axis "
       "= 1}\n %y = Add(%x, %w)\n output %y\n}"},
      {"OneScaleInAList",
       "graph g {\n input %x : f32[2,3]\n const %s : f32[1] = [0.1]\n const %z : i8[1] = [0]\n %q "
       "= "
       "QuantizeLinear(%x, %s, %z) {axis = 1}\n %y = DequantizeLinear(%q, %s, %z) {axis = 1}\n "
       "output %y\n}"},
      {"PowersOfAnotherType",
       "graph g {\n input %x : f32[2,3]\n const %p : i64[] = [2]\n %y = Pow(%x, %p)\n output "
       "%y\n}"},
  };
  std::vector<SetCase> cases = FromTexts(texts);
  for (const std::string op : {"Sum", "Mean", "Max", "Min"}) {
    cases.push_back(FromText(op + "OfSeveralShapes", two + op + "(%x, %z, %x)\n output %y\n}"));
    cases.push_back(FromText(op + "OfOneShape", two + op + "(%x, %x)\n output %y\n}"));
    cases.push_back(FromText(op + "OfOne", two + op + "(%x)\n output %y\n}"));
  }
  return cases;
}

/// Operators whose newer forms want what set 17 does not.
std::vector<SetCase> NewerForms() {
  const std::string matrix = "graph g {\n input %x : f32[2,6]\n ";
  const std::string narrow = "%y = msc.CastNarrow(%x) ";
  const std::string positive = "%a = Abs(%x)\n %y = msc.CastNarrow(%a) ";
  const std::string whole = "%a = Abs(%x)\n %r = Round(%a)\n %y = msc.CastNarrow(%r) ";
  const std::string scatter =
      "graph g {\n input %x : f32[2,3]\n const %i : i64[1,2] = [1, 0]\n const %u : f32[1,2] = "
      "[0.5, -0.5]\n %y = ";
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"AxesOfARun",
       "graph g {\n input %x : f32[2,3]\n input %a : i64[1]\n %y = ReduceMean(%x, %a) {keepdims = "
       "1}\n output %y\n}"},
      {"EqualParts", matrix + "%a, %b, %c = Split(%x) {axis = 1}\n output %a\n output %c\n output "
                              "%b\n}"},
      {"DropoutInInference", matrix + "%y = Dropout(%x)\n output %y\n}"},
      {"ScatterGreatest", scatter + "ScatterElements(%x, %i, %u) {axis = 1, reduction = \"max\"}\n "
                                    "output %y\n}"},
      {"ScatterRowsLeast",
       "graph g {\n input %x : f32[2,3]\n const %i : i64[1,1] = [1]\n const %u : f32[1,3] = [0.5, "
       "-0.5, 0.1]\n %y = ScatterND(%x, %i, %u) {reduction = \"min\"}\n output %y\n}"},
      {"SamplesOfAVolume",
       "graph g {\n input %x : f32[1,2,3,4,5]\n const %g : f32[1,2,2,3,3] = random 4\n %y = "
       "GridSample(%x, %g)\n output %y\n}"},
      {"TransformOfAnAxisOfARun",
       "graph g {\n input %x : f32[4,5,1]\n input %a : i64[]\n %y = DFT(%x, _, %a)\n output "
       "%y\n}"},
      {"NarrowFloat", matrix + narrow + "{to = \"float8e4m3fn\"}\n output %y\n}"},
      {"NarrowInteger", matrix + whole + "{to = \"int4\"}\n output %y\n}"},
      {"NarrowerFloat", matrix + narrow + "{to = \"float4e2m1\"}\n output %y\n}"},
      {"NarrowPower",
       matrix + positive + "{to = \"float8e8m0\", round_mode = \"down\"}\n output %y\n}"},
      {"NarrowerInteger", matrix + whole + "{to = \"uint2\"}\n output %y\n}"},
      {"NarrowAndCast",
       matrix + whole + "{to = \"uint4\"}\n %z = Cast(%y) {to = 7}\n output %z\n}"},
      {"QuantizedConv",
       "graph g {\n input %x : f32[1,2,5,5]\n const %s : f32[] = [0.05]\n const %z : u8[] = "
       "[128]\n const %w : i8[3,2,3,3] = random 1\n const %v : f32[3] = [0.01, 0.02, 0.03]\n "
       "const %o : i8[3] = [0, 0, 0]\n %q = QuantizeLinear(%x, %s, %z)\n %d = "
       "DequantizeLinear(%q, %s, %z)\n %e = DequantizeLinear(%w, %v, %o) {axis = 0}\n %y = "
       "Conv(%d, %e)\n output %y\n}"},
      {"ConvOfHalves",
       "graph g {\n input %x : f32[1,2,5,5]\n const %w : f32[3,2,3,3] = random 1\n %a = Cast(%x) "
       "{to = 10}\n %b = Cast(%w) {to = 10}\n %c = Conv(%a, %b)\n %y = Cast(%c) {to = 1}\n output "
       "%y\n}"},
      {"ProductOfHalves",
       "graph g {\n input %x : f32[3,4]\n const %w : f32[4,5] = random 1\n %a = Cast(%x) {to = "
       "10}\n %b = Cast(%w) {to = 10}\n %c = MatMul(%a, %b)\n %y = Cast(%c) {to = 1}\n output "
       "%y\n}"},
  };
  return FromTexts(texts);
}

/// Operators with nested graphs, whose names are those of graphs around them.
std::vector<SetCase> NestedForms() {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"BranchesOfOneSize",
       "graph g {\n input %p : bool[]\n input %x : f32[2]\n const %w : f32[2] = [2, 3]\n %a = "
       "Mul(%x, %w) @a\n %y = If(%p) @if {\n then_branch = graph yes { captured %a %b = Relu(%a) "
       "@a : f32[2] output %b },\n else_branch = graph no { captured %w const %x : f32[2] = [1, 5] "
       "%y = "
       "Add(%x, %w) : f32[2] output %y }\n }\n output %y\n}"},
      {"LoopWithRows",
       "graph g {\n input %x : f32[2]\n const %n : i64[] = [3]\n const %c : bool[] = [true]\n %y, "
       "%rows = Loop(%n, %c, %x) @loop {\n body = graph step { captured %x input %i : i64[] input "
       "%c : bool[] input %s : f32[2] %d = Identity(%c) : bool[] %t = Add(%s, %x) : f32[2] %r = "
       "Mul(%t, %t) : f32[2] output "
       "%d, %t, %r }\n }\n output %y\n output %rows\n}"},
      {"ScanWithABranchInside",
       "graph g {\n input %s : f32[2]\n input %x : f32[3,2]\n %y, %rows = Scan(%s, %x) {\n "
       "num_scan_inputs = 1,\n body = graph step { input %s : f32[2] input %x : f32[2] %t = "
       "Add(%s, %x) : f32[2] const %z : f32[] = [0] %m = ReduceSum(%t) {keepdims = 0} %p = "
       "Greater(%m, %z) "
       "%r = If(%p) { then_branch = graph a { captured %t %s = Relu(%t) : f32[2] output %s }, "
       "else_branch = "
       "graph b { captured %x %r = Neg(%x) : f32[2] output %r } } : f32[2] output %t, %r }\n }\n "
       "output "
       "%y\n "
       "output %rows\n}"},
  };
  return FromTexts(texts);
}

}  // namespace

std::vector<SetCase> OtherForms() {
  std::vector<SetCase> cases = OlderForms();
  for (SetCase& one : NewerForms()) cases.push_back(std::move(one));
  for (SetCase& one : NestedForms()) cases.push_back(std::move(one));
  return cases;
}

std::vector<SetCase> AllSetCases() {
  std::vector<SetCase> cases = OtherForms();
  for (const OpCase& op_case : OpCases()) {
    const bool written = op_case.domain.empty() || op_case.op == "CastNarrow";
    const bool taken =
        written && op_case.op != "Dropout" && op_case.label.find("String") == std::string::npos;
    if (taken) cases.push_back(FromOpCase(op_case));
  }
  for (SetCase& one : cases) {
    if (one.label.find("Halves") != std::string::npos) one.tolerance = 1e-2;
    one.odd_in_ort = OddInOrt(one.label);
  }
  return cases;
}

}  // namespace msc
