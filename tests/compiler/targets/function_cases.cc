// Functions of single elements, of one operand and of several that broadcast.

#include <string>
#include <utility>
#include <vector>

#include "tests/compiler/targets/contract_cases.h"

namespace msc {
namespace {

// What is done to the normal numbers of %x so that the function is well-conditioned there.
constexpr const char* kAsTheyAre = "  %p = Identity(%x)\n";
constexpr const char* kPositive = "  %p = Exp(%x)\n";
constexpr const char* kBelowOne =
    "  const %eighth : T[] = [0.125]\n"
    "  %p = Mul(%x, %eighth)\n";
constexpr const char* kAboveOne =
    "  %e = Exp(%x)\n"
    "  const %one : T[] = [1]\n"
    "  %p = Add(%e, %one)\n";

std::string Typed(std::string text, const std::string& type) {
  for (std::size_t at = text.find(": T"); at != std::string::npos; at = text.find(": T")) {
    text.replace(at, 3, ": " + type);
  }
  return text;
}

void AddFunctions(const std::vector<std::string>& ops, const std::string& before,
                  std::vector<GraphCase>& cases) {
  for (const std::string& op : ops) {
    for (const std::string type : {"f32", "bf16"}) {
      for (const std::string dims : {"[3,17]", "[2,5,3,7]", "[]", "[2,0,3]"}) {
        std::string text = "graph g {\n  input %x : T" + dims + "\n" + before;
        text += "  %y = " + op + "(%p)\n  output %y\n}";
        cases.push_back({op + "_" + type + dims, Typed(std::move(text), type)});
      }
    }
  }
}

std::vector<GraphCase> UnaryCases() {
  std::vector<GraphCase> cases;
  AddFunctions({"Abs",       "Atan",     "Asinh",    "Celu",    "Ceil",           "Cos",
                "Cosh",      "Elu",      "Erf",      "Exp",     "Floor",          "HardSigmoid",
                "HardSwish", "Identity", "IsInf",    "IsNaN",   "LeakyRelu",      "Neg",
                "Relu",      "Round",    "Selu",     "Sigmoid", "Sign",           "Sin",
                "Sinh",      "Softplus", "Softsign", "Tanh",    "ThresholdedRelu"},
               kAsTheyAre, cases);
  AddFunctions({"Log", "Reciprocal", "Sqrt"}, kPositive, cases);
  AddFunctions({"Acos", "Asin", "Atanh", "Tan"}, kBelowOne, cases);
  AddFunctions({"Acosh"}, kAboveOne, cases);
  cases.push_back({"exponents", R"(graph g {
  input %x : f32[2,5,7]
  input %b : f32[5,1]
  %a = Exp(%x)
  %y = Pow(%a, %b)
  output %y
})"});
  return cases;
}

/// A graph of one operator over operands of these types.
GraphCase Over(const std::string& op, const std::vector<std::string>& types,
               const std::string& attrs = "") {
  std::string text = "graph g {\n";
  std::string operands;
  for (const std::string& type : types) {
    const std::string name = "%x" + N(static_cast<int>(operands.size()));
    text += "  input " + name + " : " + type + "\n";
    operands += (operands.empty() ? "" : ", ") + name;
  }
  text += "  %y = " + op + "(" + operands + ")" + attrs + "\n  output %y\n}";
  return {op, std::move(text)};
}

std::vector<GraphCase> SeveralCases() {
  std::vector<GraphCase> cases;
  for (const std::string op : {"Add", "Max", "Mean", "Min", "Sum"}) {
    for (const std::string t : {"f32", "bf16"}) {
      cases.push_back(Over(op, {t + "[2,17,5,3]", t + "[17,1,1]"}));
      cases.push_back(Over(op, {t + "[2,0,5]", t + "[2,1,5]"}));
      if (op == "Add") continue;
      cases.push_back(Over(op, {t + "[3,19]"}));
      cases.push_back(Over(op, {t + "[5,1]", t + "[2,1,7]", t + "[]"}));
      cases.push_back(Over(op, {t + "[2,16,4,4]", t + "[2,16,4,4]", t + "[2,16,4,4]"}));
    }
  }
  for (const std::string op : {"And", "Or", "Xor"}) {
    cases.push_back(Over(op, {"bool[3,1,5]", "bool[4,1]"}));
  }
  cases.push_back(Over("Not", {"bool[3,17]"}));
  for (const std::string from : {"bool", "i32", "i64", "u8", "f32"}) {
    for (const std::string to : {"1", "9", "7"}) {
      cases.push_back(Over("Cast", {from + "[3,17]"}, " {to = " + to + "}"));
    }
  }
  // As exporters mask scores: of i64 in front, of f32 behind.
  cases.push_back({"masked_scores", R"(graph g {
  input %x : f32[2,4,9,9]
  input %m : i64[2,9]
  const %a : i64[2] = [1, 2]
  const %zero : i64[] = [0]
  const %low : f32[] = [-10000]
  %u = Unsqueeze(%m, %a)
  %e = Equal(%u, %zero)
  %w = Where(%e, %low, %x)
  %y = Softmax(%w)
  output %y
})"});
  cases.push_back({"causal_scores", R"(graph g {
  input %x : f32[2,4,9,9]
  input %m : bool[2,1,1,9]
  const %one : f32[] = [1]
  const %low : f32[] = [-10000]
  %n = Not(%m)
  %f = Cast(%n) {to = 1}
  %g = Mul(%f, %low)
  %w = Add(%x, %g)
  %y = Softmax(%w)
  output %y
})"});
  for (const std::string t : {"f32", "i64", "u8", "bf16"}) {
    cases.push_back(Over("Where", {"bool[5,1]", t + "[2,5,7]", t + "[7]"}));
  }
  for (const std::string op : {"Add", "Mul", "Sub"}) {
    cases.push_back(Over(op, {"i64[3,1]", "i64[5]"}));
    cases.push_back(Over(op, {"i32[3,5]", "i32[3,5]"}));
  }
  cases.push_back(Over("BitShift", {"u8[3,17]", "u8[17]"}, " {direction = \"RIGHT\"}"));
  cases.push_back({"Mod", R"(graph g {
  input %x : i64[3,4]
  const %m : i64[4] = [3, -3, 2, 5]
  %y = Mod(%x, %m)
  output %y
})"});
  return cases;
}

std::vector<GraphCase> ComparisonCases() {
  std::vector<GraphCase> cases;
  for (const std::string op : {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}) {
    for (const std::string dims : {"[2,5,7]", "[5,1]", "[]", "[2,0,7]"}) {
      // Whole numbers, of which some are equal.
      std::string text = "graph g {\n  input %a : f32[2,5,7]\n  input %b : f32" + dims;
      if (dims == "[2,0,7]") text = "graph g {\n  input %a : f32[2,1,7]\n  input %b : f32" + dims;
      text += "\n  %c = Round(%a)\n  %d = Round(%b)\n  %y = " + op + "(%c, %d)\n  output %y\n}";
      cases.push_back({op + dims, std::move(text)});
    }
    cases.push_back(Over(op, {"i64[3,5]", "i64[5]"}));
  }
  return cases;
}

/// Casts between f32 and f16: alone, in front of and behind other operators.
std::vector<GraphCase> HalfCases() {
  std::vector<GraphCase> cases;
  for (const std::string dims : {"[3,17]", "[2,5,3,7]", "[]", "[2,0,3]", "[64]"}) {
    cases.push_back({"narrow" + dims, "graph g {\n  input %x : f32" + dims +
                                          "\n  %y = Cast(%x) {to = 10}\n  output %y\n}"});
    cases.push_back({"widen" + dims, "graph g {\n  input %x : f16" + dims +
                                         "\n  %y = Cast(%x) {to = 1}\n  output %y\n}"});
  }
  cases.push_back({"borders", R"(graph g {
  input %x : f16[1,8,9,7]
  const %w : f32[16,8,3,3] = random 3
  %a = Cast(%x) {to = 1}
  %b = Conv(%a, %w) {pads = [1, 1, 1, 1]}
  %c = Relu(%b)
  %y = Cast(%c) {to = 10}
  output %y
})"});
  cases.push_back({"pointwise", R"(graph g {
  input %x : f16[1,24,9,8]
  const %w : f32[16,24,1,1] = random 3
  %a = Cast(%x) {to = 1}
  %y = Conv(%a, %w)
  output %y
})"});
  for (const std::string type : {"f16", "i64", "i32", "bool"}) {
    cases.push_back({"parts_" + type, "graph g {\n  input %x : " + type + "[5,6]\n  input %z : " +
                                          type + "[5,3]\n" + R"(  const %a : i64[1] = [1]
  const %s : i64[1] = [2]
  const %e : i64[1] = [8]
  %c = Concat(%x, %z) {axis = 1}
  %d = Slice(%c, %s, %e, %a)
  %t = Transpose(%d) {perm = [1, 0]}
  %y = Unsqueeze(%t, %a)
  output %y
})"});
  }
  cases.push_back({"moved", R"(graph g {
  input %x : f16[5,6,7]
  %a = Transpose(%x) {perm = [2, 0, 1]}
  %b = Cast(%a) {to = 1}
  %c = Exp(%b)
  %d = Cast(%c) {to = 10}
  %y = Transpose(%d) {perm = [0, 2, 1]}
  output %y
})"});
  return cases;
}

}  // namespace

std::vector<CaseFamily> FunctionFamilies() {
  return {{"functions", UnaryCases},
          {"several_operands", SeveralCases},
          {"comparisons", ComparisonCases},
          {"halves", HalfCases}};
}

}  // namespace msc
