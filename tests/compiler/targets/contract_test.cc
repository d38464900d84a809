// Every registered target against the reference kernels, operator by operator: what a target says
// it supports must build, run, and give the reference's result within the tolerance of its type.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/targets/register.h"
#include "compiler/targets/target.h"
#include "tests/compiler/targets/example_target.h"
#include "tests/compiler/targets/generated_cases.h"
#include "tests/support/seeds.h"

namespace msc {
namespace {

// Every target of the product, and the one that docs/add_a_target.md explains.
TargetRegistry AllTargets() {
  TargetRegistry registry;
  RegisterAllTargets(registry);
  registry.Add(ExampleKind());
  return registry;
}

struct Case {
  std::string label;
  std::string text;  // the graph, types of node outputs left out
};

// Cases that are one test: a process each would take longer than the cases do.
struct Family {
  std::string label;
  std::vector<Case> cases;
};

void PrintTo(const Family& family, std::ostream* out) {
  *out << family.label;
}

Tensor RandomTensor(DType dtype, const Dims& dims, std::uint64_t seed) {
  Rng rng(seed);
  Tensor tensor(dtype, dims);
  switch (dtype) {
    case DType::kF32:
      for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng.Normal());
      break;
    case DType::kBF16:
      for (std::uint16_t& x : tensor.MutableValues<std::uint16_t>()) {
        x = ToBF16(static_cast<float>(rng.Normal()));
      }
      break;
    case DType::kI8:
      for (std::int8_t& x : tensor.MutableValues<std::int8_t>()) {
        x = static_cast<std::int8_t>(static_cast<std::int64_t>(rng.Below(256)) - 128);
      }
      break;
    case DType::kU8:
      for (std::uint8_t& x : tensor.MutableValues<std::uint8_t>()) {
        x = static_cast<std::uint8_t>(rng.Below(256));
      }
      break;
    default:
      ADD_FAILURE() << "no random values of this type";
  }
  return tensor;
}

double ElementOf(const Tensor& tensor, std::size_t i) {
  switch (tensor.dtype()) {
    case DType::kF32:
      return tensor.Values<float>()[i];
    case DType::kBF16:
      return FromBF16(tensor.Values<std::uint16_t>()[i]);
    case DType::kI8:
      return tensor.Values<std::int8_t>()[i];
    case DType::kU8:
      return tensor.Values<std::uint8_t>()[i];
    default:
      ADD_FAILURE() << "no elements of this type";
      return 0;
  }
}

// One quantum for integers; relative to the range for floats.
double Tolerance(const Tensor& expected, bool has_bf16) {
  if (expected.dtype() == DType::kI8 || expected.dtype() == DType::kU8) return 1.0;
  double range = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(expected.size()); ++i) {
    range = std::max(range, std::abs(ElementOf(expected, i)));
  }
  return (has_bf16 ? 2e-2 : 1e-4) * std::max(range, 1e-6);
}

void ExpectClose(const Tensor& actual, const Tensor& expected, bool has_bf16) {
  ASSERT_EQ(actual.dtype(), expected.dtype());
  ASSERT_EQ(actual.dims(), expected.dims());
  const double tolerance = Tolerance(expected, has_bf16);
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(expected.size()); ++i) {
    const double error = std::abs(ElementOf(actual, i) - ElementOf(expected, i));
    if (!(error <= worst)) {  // NaN counts as worst
      worst = error;
      at = i;
    }
  }
  EXPECT_LE(worst, tolerance) << "at " << at << ": " << ElementOf(actual, at) << " instead of "
                              << ElementOf(expected, at);
}

// A graph cut into regions: nodes the target supports go to it, the others to the reference.
Executable Build(const Graph& graph, const Target& target, const Target& reference, int threads) {
  ExecutableBuilder builder(graph);
  const TargetOptions options{.threads = threads};
  Region region{.graph = &graph, .nodes = {}};
  const auto flush = [&] {
    if (region.nodes.empty()) return;
    const auto failure = target.GraphToRuntime(region, options, builder);
    EXPECT_FALSE(failure.has_value()) << failure->detail;
    region.nodes.clear();
  };
  for (const NodeId id : graph.order()) {
    if (target.Supports(graph, id)) {
      region.nodes.push_back(id);
      continue;
    }
    flush();
    const Region rest{.graph = &graph, .nodes = {id}};
    EXPECT_FALSE(reference.GraphToRuntime(rest, options, builder).has_value());
  }
  flush();
  return std::move(builder).Build();
}

class TargetContract : public testing::TestWithParam<std::tuple<std::string, Family>> {
 protected:
  TargetContract() : registry_(AllTargets()) {}

  void Compare(const Target& target, const Case& c, int threads) {
    Graph graph = ParseGraph(c.text);
    InferTypes(graph);
    std::vector<Tensor> inputs;
    for (const ValueId input : graph.inputs()) {
      inputs.push_back(RandomTensor(graph.type(input).dtype, *StaticDims(*graph.type(input).shape),
                                    inputs.size() + 1));
    }
    const std::vector<Tensor> expected = Interpret(graph, inputs);
    const bool has_bf16 = c.text.find("bf16") != std::string::npos;
    Executable executable = Build(graph, target, registry_.Get("reference"), threads);
    const std::vector<Tensor> outputs = executable.Run(inputs);
    ASSERT_EQ(outputs.size(), expected.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      ExpectClose(outputs[i], expected[i], has_bf16);
    }
    // Nothing is left over from one run that the next one sees.
    EXPECT_EQ(executable.Run(inputs), outputs);
  }

  TargetRegistry registry_;
};

TEST_P(TargetContract, AgreesWithTheReferenceKernels) {
  const auto& [name, family] = GetParam();
  try {
    (void)registry_.Get(name);
  } catch (const UserError& absent) {
    GTEST_SKIP() << absent.what();
  }
  for (std::size_t i = 0; i < family.cases.size(); ++i) {
    SCOPED_TRACE(family.cases[i].label + "\n" + family.cases[i].text);
    Compare(registry_.Get(name), family.cases[i], 1);
    // Two threads wait for each other on busy machines: a part of the cases will do.
    if (i % 4 == 0) Compare(registry_.Get(name), family.cases[i], 2);
  }
}

std::string Replaced(std::string text, const std::vector<std::pair<std::string, std::string>>& by) {
  for (const auto& [key, value] : by) {
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at)) {
      text.replace(at, key.size(), value);
      at += value.size();
    }
  }
  return text;
}

// What an ONNX type number is called here.
std::string YType(const std::string& dtype) {
  if (dtype == "f32") return "1";
  if (dtype == "u8") return "2";
  if (dtype == "i8") return "3";
  return "16";
}

struct ConvShape {
  std::string label;
  int n = 1;
  int c = 8;
  int m = 8;
  int size = 9;
  int kernel = 3;
  int stride = 1;
  int pad = 1;
  int dilation = 1;
  int group = 1;
};

std::vector<ConvShape> ConvShapes() {
  return {
      {.label = "plain", .c = 16, .m = 32},
      {.label = "large", .c = 32, .m = 48, .size = 14},
      {.label = "one_channel", .c = 1, .m = 3},
      {.label = "three_channels", .c = 3, .m = 16, .size = 12, .kernel = 5, .stride = 2, .pad = 2},
      {.label = "odd_channels", .c = 17, .m = 5},
      {.label = "batch_3", .n = 3, .c = 5, .m = 17, .stride = 2},
      {.label = "pointwise", .c = 32, .m = 17, .kernel = 1, .pad = 0},
      {.label = "pointwise_stride_2", .c = 16, .m = 32, .kernel = 1, .stride = 2, .pad = 0},
      {.label = "dilated", .c = 8, .m = 16, .pad = 2, .dilation = 2},
      {.label = "depthwise", .c = 16, .m = 16, .group = 16},
      {.label = "depthwise_odd_stride_2", .c = 17, .m = 17, .stride = 2, .group = 17},
      {.label = "grouped", .c = 16, .m = 32, .group = 4},
      {.label = "grouped_odd", .c = 6, .m = 9, .group = 3},
  };
}

std::string N(int value) {
  return std::to_string(value);
}

struct Mix {
  std::string label;
  std::string x;
  std::string y;
  std::string r;           // type of the residual; empty for none
  std::string activation;  // attributes; empty for none
  std::string extra;       // further attributes
};

std::string ConvText(const ConvShape& s, const Mix& mix) {
  const bool integer = mix.x == "i8" || mix.x == "u8";
  const bool prelu = mix.activation.find("PRelu") != std::string::npos;
  const int reach = (s.kernel - 1) * s.dilation + 1;
  const int out = (s.size + 2 * s.pad - reach) / s.stride + 1;
  std::string text = R"(graph conv {
  input %x : XT[N,C,S,S]
RESIDUAL  const %w : WT[M,CG,K,K] = random 7
  const %b : f32[M] = random 8
SCALESLOPE  %y = msc.Conv(%x, %w, %b, RIN, WIN, PIN) {kernel_shape = [K, K], strides = [T, T], pads = [P, P, P, P], dilations = [D, D], group = G, y_type = YT ATTRS}
  output %y
})";
  std::string attrs;
  if (integer) attrs += ", x_scale = 0.02";
  if (mix.r == "i8" || mix.r == "u8") attrs += ", r_scale = 0.05";
  if (mix.y == "i8" || mix.y == "u8") attrs += ", y_scale = 0.06";
  if (!mix.activation.empty()) attrs += ", activation = " + mix.activation;
  attrs += mix.extra;
  const std::string r = mix.r.empty() ? "" : "  input %r : " + mix.r + "[N,M,O,O]\n";
  std::string scales = "  const %s : f32[M] = [";
  for (int i = 0; i < s.m; ++i) scales += (i > 0 ? ", " : "") + N(i % 7 + 1) + "e-3";
  const std::string slope = "  const %p : f32[M] = random 9\n";
  // Two steps, so that keys in what is put in are replaced too.
  text = Replaced(text, {{"RESIDUAL", r},
                         {"SCALE", integer ? scales + "]\n" : ""},
                         {"SLOPE", prelu ? slope : ""},
                         {"RIN", mix.r.empty() ? "_" : "%r"},
                         {"WIN", integer ? "%s" : "_"},
                         {"PIN", prelu ? "%p" : "_"},
                         {"ATTRS", attrs}});
  return Replaced(
      text,
      {{"XT", mix.x},
       {"WT", integer ? "i8" : mix.x},
       {"YT", YType(mix.y)},
       {"[N,C,S,S]", "[" + N(s.n) + "," + N(s.c) + "," + N(s.size) + "," + N(s.size) + "]"},
       {"[N,M,O,O]", "[" + N(s.n) + "," + N(s.m) + "," + N(out) + "," + N(out) + "]"},
       {"[M,CG,K,K]",
        "[" + N(s.m) + "," + N(s.c / s.group) + "," + N(s.kernel) + "," + N(s.kernel) + "]"},
       {"f32[M]", "f32[" + N(s.m) + "]"},
       {"[K, K]", "[" + N(s.kernel) + ", " + N(s.kernel) + "]"},
       {"[T, T]", "[" + N(s.stride) + ", " + N(s.stride) + "]"},
       {"[P, P, P, P]", "[" + N(s.pad) + ", " + N(s.pad) + ", " + N(s.pad) + ", " + N(s.pad) + "]"},
       {"[D, D]", "[" + N(s.dilation) + ", " + N(s.dilation) + "]"},
       {"group = G", "group = " + N(s.group)}});
}

std::vector<Family> ConvFamilies() {
  std::vector<Family> families;
  const std::vector<Mix> everywhere = {
      {"f32", "f32", "f32", "", "\"Relu\"", ""},
      {"f32_add", "f32", "f32", "f32", "\"Relu\"", ""},
      {"bf16", "bf16", "bf16", "", "\"Relu\"", ""},
      {"bf16_add", "bf16", "bf16", "bf16", "\"Relu\"", ""},
      {"u8_u8", "u8", "u8", "", "\"Relu\"", ""},
      {"i8_i8_add_i8", "i8", "i8", "i8", "", ""},
      {"u8_u8_add_i8", "u8", "u8", "i8", "\"Relu\"", ""},
      {"i8_f32", "i8", "f32", "", "\"Clip\", alpha = 0.0, beta = 6.0", ""},
  };
  for (const ConvShape& shape : ConvShapes()) {
    std::vector<Case>& cases = families.emplace_back(Family{"conv_" + shape.label, {}}).cases;
    for (const Mix& mix : everywhere) {
      cases.push_back({shape.label + "_" + mix.label, ConvText(shape, mix)});
    }
  }
  const std::string zero = ", y_zero_point = 7";
  const std::vector<Mix> once = {
      {"f32_u8", "f32", "u8", "", "\"Relu\"", ""},
      {"f32_i8_add_f32", "f32", "i8", "f32", "", ""},
      {"f32_f32_add_i8", "f32", "f32", "i8", "", ""},
      {"f32_f32_add_u8_zero", "f32", "f32", "u8", "", ", r_zero_point = 9"},
      {"bf16_f32", "bf16", "f32", "", "", ""},
      {"bf16_i8", "bf16", "i8", "", "", ""},
      {"bf16_add_f32", "bf16", "bf16", "f32", "", ""},
      {"bf16_add_u8", "bf16", "bf16", "u8", "", ""},
      {"u8_bf16", "u8", "bf16", "", "", ""},
      {"u8_f32_add_f32", "u8", "f32", "f32", "\"Relu\"", ""},
      {"u8_f32_add_u8", "u8", "f32", "u8", "\"Relu\"", ""},
      {"u8_u8_add_f32", "u8", "u8", "f32", "\"Relu\"", ""},
      {"u8_u8_add_f32_swish", "u8", "u8", "f32", "\"Swish\"", ""},
      {"u8_bf16_add_bf16", "u8", "bf16", "bf16", "", ""},
      {"u8_i8_add_u8", "u8", "i8", "u8", "", ""},
      {"u8_zero_u8", "u8", "u8", "", "", ", x_zero_point = 3" + zero},
      {"i8_zero_i8_add_zero", "i8", "i8", "i8", "",
       ", x_zero_point = -5, y_zero_point = -7, r_zero_point = 4"},
      {"u8_u8_zero_relu", "u8", "u8", "", "\"Relu\"", zero},
      {"u8_u8_add_swish", "u8", "u8", "u8", "\"Swish\"", zero},
      {"u8_i8_swish", "u8", "i8", "", "\"Swish\"", ""},
      {"u8_u8_hardswish", "u8", "u8", "", "\"HardSwish\"", zero},
      {"u8_u8_sigmoid", "u8", "u8", "", "\"Sigmoid\"", ", y_scale = 0.004"},
      {"u8_i8_tanh", "u8", "i8", "", "\"Tanh\"", ", y_scale = 0.008"},
      {"u8_u8_add_u8_hardsigmoid", "u8", "u8", "u8", "\"HardSigmoid\", alpha = 0.2, beta = 0.5",
       ", y_scale = 0.004"},
      {"u8_u8_add_f32_hardsigmoid", "u8", "u8", "f32", "\"HardSigmoid\", alpha = 0.2, beta = 0.5",
       ", y_scale = 0.004"},
      {"u8_u8_hardsigmoid", "u8", "u8", "", "\"HardSigmoid\", alpha = 0.2, beta = 0.5",
       ", y_scale = 0.004"},
      {"u8_u8_clip", "u8", "u8", "", "\"Clip\", alpha = -1.0, beta = 6.0", zero},
      {"u8_i8_leaky", "u8", "i8", "", "\"LeakyRelu\", alpha = 0.1", ""},
      {"u8_i8_prelu", "u8", "i8", "", "\"PRelu\"", ""},
      {"f32_swish", "f32", "f32", "", "\"Swish\"", ""},
      {"f32_hardswish", "f32", "f32", "", "\"HardSwish\"", ""},
      {"f32_sigmoid", "f32", "f32", "", "\"Sigmoid\"", ""},
      {"f32_tanh", "f32", "f32", "", "\"Tanh\"", ""},
      {"f32_hardsigmoid", "f32", "f32", "", "\"HardSigmoid\", alpha = 0.2, beta = 0.5", ""},
      {"f32_clip", "f32", "f32", "", "\"Clip\", alpha = -1.0, beta = 2.0", ""},
      {"f32_leaky", "f32", "f32", "", "\"LeakyRelu\", alpha = 0.1", ""},
      {"f32_prelu", "f32", "f32", "", "\"PRelu\"", ""},
      {"f32_prelu_add", "f32", "f32", "f32", "\"PRelu\"", ""},
      {"bf16_prelu_add", "bf16", "bf16", "bf16", "\"PRelu\"", ""},
      {"bf16_swish", "bf16", "bf16", "", "\"Swish\"", ""},
  };
  std::vector<Case>& dense = families.emplace_back(Family{"conv_mixes", {}}).cases;
  for (const Mix& mix : once) {
    std::string text = ConvText({.label = "x", .c = 16, .m = 24}, mix);
    // A scale given twice: the later one counts.
    const std::size_t first = text.find(", y_scale = 0.06");
    if (mix.extra.find("y_scale") != std::string::npos) text.erase(first, 16);
    dense.push_back({"mix_" + mix.label, text});
  }
  std::vector<Case>& depthwise = families.emplace_back(Family{"depthwise_mixes", {}}).cases;
  for (const Mix& mix : once) {
    if (mix.extra.find("y_scale") != std::string::npos) continue;
    depthwise.push_back({"depthwise_mix_" + mix.label,
                         ConvText({.label = "x", .c = 16, .m = 16, .group = 16}, mix)});
  }
  return families;
}

std::vector<Case> GemmCases() {
  std::vector<Case> cases;
  const std::vector<Mix> mixes = {
      {"f32", "f32", "f32", "", "\"Relu\"", ""},
      {"f32_add_prelu", "f32", "f32", "f32", "\"PRelu\"", ""},
      {"bf16", "bf16", "bf16", "", "", ""},
      {"bf16_f32_add", "bf16", "f32", "bf16", "", ""},
      {"u8_u8", "u8", "u8", "", "\"Relu\"", ""},
      {"i8_i8_add", "i8", "i8", "i8", "", ", y_zero_point = 3"},
      {"u8_f32", "u8", "f32", "", "", ""},
      {"u8_f32_add", "u8", "f32", "f32", "\"Swish\"", ""},
      {"u8_zero_f32", "u8", "f32", "", "", ", x_zero_point = 128"},
  };
  for (const Mix& mix : mixes) {
    for (const auto& [n, k, m] : {std::tuple{1, 64, 10}, {3, 17, 5}, {1, 1, 1}}) {
      const bool integer = mix.x == "i8" || mix.x == "u8";
      const bool prelu = mix.activation.find("PRelu") != std::string::npos;
      std::string attrs;
      if (integer) attrs += ", x_scale = 0.02";
      if (mix.r == "i8" || mix.r == "u8") attrs += ", r_scale = 0.05";
      if (mix.y == "i8" || mix.y == "u8") attrs += ", y_scale = 0.06";
      if (!mix.activation.empty()) attrs += ", activation = " + mix.activation;
      attrs += mix.extra;
      const std::string row = "[" + N(m) + "]";
      std::string text = "graph gemm {\n  input %x : " + mix.x + "[" + N(n) + "," + N(k) + "]\n";
      if (!mix.r.empty()) text += "  input %r : " + mix.r + "[" + N(n) + "," + N(m) + "]\n";
      text +=
          "  const %w : " + (integer ? "i8" : mix.x) + "[" + N(m) + "," + N(k) + "] = random 3\n";
      text += "  const %b : f32" + row + " = random 4\n";
      if (integer) text += "  const %s : f32" + row + " = splat 0.004\n";
      if (prelu) text += "  const %p : f32[1] = [0.3]\n";
      text += "  %y = msc.Gemm(%x, %w, %b, ";
      text += mix.r.empty() ? "_, " : "%r, ";
      text += integer ? "%s, " : "_, ";
      text += prelu ? "%p)" : "_)";
      text += " {y_type = " + YType(mix.y) + attrs + "}\n  output %y\n}";
      cases.push_back({"gemm_" + mix.label + "_" + N(n) + "x" + N(k) + "x" + N(m), text});
    }
  }
  return cases;
}

std::vector<Case> PoolCases() {
  std::vector<Case> cases;
  const std::vector<std::pair<std::string, std::string>> windows = {
      {"max", "op = \"MaxPool\", kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]"},
      {"max_dilated", "op = \"MaxPool\", kernel_shape = [2, 2], dilations = [2, 2]"},
      {"max_ceil", "op = \"MaxPool\", kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1"},
      {"average", "op = \"AveragePool\", kernel_shape = [2, 2], strides = [2, 2]"},
      {"average_pads", "op = \"AveragePool\", kernel_shape = [3, 3], pads = [1, 1, 1, 1]"},
      {"average_counts",
       "op = \"AveragePool\", kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1"},
      {"global", "op = \"GlobalAveragePool\""},
  };
  for (const auto& [label, attrs] : windows) {
    for (const std::string type : {"f32", "bf16", "u8", "i8"}) {
      for (const std::string dims : {"[1,16,8,8]", "[3,5,8,8]", "[2,1,8,8]"}) {
        std::string text = "graph pool {\n  input %x : " + type + dims + "\n  %y = msc.Pool(%x) {" +
                           attrs + ", y_type = " + YType(type) + "}\n  output %y\n}";
        cases.push_back({"pool_" + label + "_" + type + "_" + dims.substr(1, 1), text});
      }
    }
  }
  cases.push_back({"pool_rescaled", R"(graph g {
  input %x : u8[1,8,6,6]
  %y = msc.Pool(%x) {op = "GlobalAveragePool", x_scale = 0.1, y_scale = 0.05, y_type = 2}
  output %y
})"});
  for (const std::string types : {"u8 i8 3", "i8 u8 2", "u8 f32 1", "f32 i8 3", "bf16 u8 2"}) {
    const std::string from = types.substr(0, types.find(' '));
    cases.push_back({"pool_" + types, "graph g {\n  input %x : " + from + R"([2,8,6,6]
  %y = msc.Pool(%x) {op = "AveragePool", kernel_shape = [2, 2], x_scale = 0.1, y_scale = 0.05, x_zero_point = 7, y_zero_point = -3, y_type = )" +
                                          types.substr(types.size() - 1) + "}\n  output %y\n}"});
  }
  cases.push_back({"pool_rescaled_zero_points", R"(graph g {
  input %x : u8[3,17,6,6]
  %y = msc.Pool(%x) {op = "MaxPool", kernel_shape = [3, 3], pads = [1, 1, 1, 1], x_scale = 0.1, y_scale = 0.2, x_zero_point = 100, y_zero_point = 90, y_type = 2}
  output %y
})"});
  cases.push_back({"pool_zero_points", R"(graph g {
  input %x : u8[1,8,6,6]
  %y = msc.Pool(%x) {op = "AveragePool", kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1, x_scale = 0.1, y_scale = 0.1, x_zero_point = 100, y_zero_point = 100, y_type = 2}
  output %y
})"});
  return cases;
}

std::vector<Case> BinaryCases() {
  std::vector<Case> cases;
  const std::vector<std::pair<std::string, std::string>> shapes = {
      {"[2,16,5,5]", "[2,16,5,5]"}, {"[2,16,5,5]", "[2,16,1,1]"},
      {"[2,16,5,5]", "[1,16,1,1]"}, {"[2,17,5,5]", "[1]"},
      {"[2,5,3,3]", "[5,1,1]"},     {"[2,16,1,1]", "[2,16,5,5]"},
      {"[1,16,1,1]", "[2,1,5,5]"},  {"[4,10]", "[10]"}};
  const std::vector<std::vector<std::string>> types = {
      {"f32", "f32", "f32", ""},
      {"bf16", "bf16", "bf16", ""},
      {"u8", "u8", "u8", "x_scale = 0.02, r_scale = 0.03, y_scale = 0.07, "},
      {"i8", "u8", "i8", "x_scale = 0.02, r_scale = 0.03, y_scale = 0.05, activation = \"Relu\", "},
      {"u8", "u8", "u8",
       "x_scale = 0.02, r_scale = 0.03, y_scale = 0.07, x_zero_point = 3, y_zero_point = 9, "},
      {"u8", "u8", "u8",
       "x_scale = 0.02, r_scale = 0.03, y_scale = 0.07, x_zero_point = 3, y_zero_point = 9, "
       "activation = \"Relu\", "},
      {"u8", "u8", "i8",
       "x_scale = 0.02, r_scale = 0.03, y_scale = 0.07, y_zero_point = -9, activation = "
       "\"HardSwish\", "},
      {"u8", "f32", "f32", "x_scale = 0.02, "},
      {"i8", "i8", "f32", "x_scale = 0.02, r_scale = 0.5, activation = \"Sigmoid\", "}};
  for (const std::string op : {"Add", "Mul"}) {
    for (const auto& [a, b] : shapes) {
      int index = 0;
      for (const auto& t : types) {
        const std::string text = "graph binary {\n  input %a : " + t[0] + a +
                                 "\n  input %b : " + t[1] + b +
                                 "\n  %y = msc.Binary(%a, %b) {op = \"" + op + "\", " + t[3] +
                                 "y_type = " + YType(t[2]) + "}\n  output %y\n}";
        cases.push_back(
            {"binary_" + op + "_" + N(static_cast<int>(cases.size())) + "_types_" + N(index++),
             text});
      }
    }
  }
  for (const std::string op : {"Add", "Sub", "Mul", "Div", "Max", "Min"}) {
    cases.push_back({"plain_" + op,
                     "graph g {\n  input %a : f32[2,6,4,4]\n  const %b : f32[6,1,1] "
                     "= random 3\n  %y = " +
                         op + "(%a, %b)\n  output %y\n}"});
  }
  return cases;
}

std::vector<Case> ElementwiseCases() {
  std::vector<Case> cases;
  for (const std::string op : {"Relu", "Sigmoid", "Tanh", "HardSwish", "HardSigmoid", "LeakyRelu",
                               "Exp", "Abs", "Flatten", "Identity", "Neg", "Elu", "Softplus"}) {
    for (const std::string dims : {"[3,17]", "[2,5,4,4]"}) {
      cases.push_back(
          {"plain_" + op + "_" + dims.substr(1, 1),
           "graph g {\n  input %x : f32" + dims + "\n  %y = " + op + "(%x)\n  output %y\n}"});
    }
  }
  return cases;
}

std::vector<Case> OtherCases() {
  return {
      {"clip", R"(graph g {
  input %x : f32[2,5,4,4]
  const %low : f32[] = [-0.5]
  const %high : f32[] = [0.25]
  %y = Clip(%x, %low, %high)
  %z = Clip(%y, _, %high)
  output %z
})"},
      {"prelu", R"(graph g {
  input %x : f32[2,5,4,4]
  const %s : f32[5,1,1] = random 3
  %y = PRelu(%x, %s)
  output %y
})"},
      {"batch_norm", R"(graph g {
  input %x : f32[2,5,4,4]
  const %s : f32[5] = random 3
  const %b : f32[5] = random 4
  const %m : f32[5] = random 5
  const %v : f32[5] = [0.5, 1, 2, 3, 4]
  %y = BatchNormalization(%x, %s, %b, %m, %v) {epsilon = 0.001}
  output %y
})"},
      {"plain_conv", R"(graph g {
  input %x : f32[2,5,8,8]
  const %w : f32[7,5,3,3] = random 3
  const %b : f32[7] = random 4
  %y = Conv(%x, %w, %b) {auto_pad = "SAME_UPPER", strides = [2, 2]}
  output %y
})"},
      {"conv_1d", R"(graph g {
  input %x : f32[2,5,20]
  const %w : f32[7,5,3] = random 3
  %y = Conv(%x, %w) {pads = [1, 1]}
  output %y
})"},
      {"conv_of_a_value", R"(graph g {
  input %x : f32[2,6,8,8]
  input %w : f32[8,3,3,3]
  %y = Conv(%x, %w) {group = 2}
  output %y
})"},
      {"plain_gemm", R"(graph g {
  input %x : f32[3,20]
  const %w : f32[20,7] = random 3
  const %b : f32[1,7] = random 4
  %y = Gemm(%x, %w, %b)
  output %y
})"},
      {"plain_gemm_scaled", R"(graph g {
  input %x : f32[20,3]
  const %w : f32[7,20] = random 3
  const %b : f32[3,1] = random 4
  %y = Gemm(%x, %w, %b) {alpha = 0.5, beta = 2.0, transA = 1, transB = 1}
  output %y
})"},
      {"matmul", R"(graph g {
  input %x : f32[2,3,20]
  const %w : f32[20,7] = random 3
  %y = MatMul(%x, %w)
  output %y
})"},
      {"pow", R"(graph g {
  input %x : f32[2,5,4,4]
  const %two : f32[] = [2]
  const %three : f32[1] = [3]
  const %half : f32[] = [0.5]
  %a = Pow(%x, %two)
  %b = Pow(%x, %three)
  %c = Pow(%a, %half)
  output %b
  output %c
})"},
      {"matmul_of_values", R"(graph g {
  input %x : f32[2,3,4,5]
  input %w : f32[2,1,5,6]
  %y = MatMul(%x, %w)
  output %y
})"},
      {"quantize", R"(graph g {
  input %x : f32[2,5,4,4]
  const %s : f32[] = [0.02]
  const %z : u8[] = [128]
  %q = QuantizeLinear(%x, %s, %z)
  %y = DequantizeLinear(%q, %s, %z)
  output %q
  output %y
})"},
      {"quantize_symmetric", R"(graph g {
  input %x : f32[2,5,4,4]
  const %s : f32[] = [0.02]
  const %z : i8[] = [0]
  %q = QuantizeLinear(%x, %s, %z)
  output %q
})"},
      {"cast", R"(graph g {
  input %x : f32[2,5,4,4]
  %y = Cast(%x) {to = 16}
  %z = Cast(%y) {to = 1}
  output %y
  output %z
})"},
      {"input_given_back_reshaped", R"(graph g {
  input %x : f32[2,3,4,4]
  %y = Flatten(%x)
  output %y
  output %x
})"},
  };
}

std::string OneNode(const std::string& dims, const std::string& constants,
                    const std::string& node) {
  return "graph g {\n  input %x : f32" + dims + "\n" + constants + "  %y = " + node +
         "\n  output %y\n}";
}

std::vector<Case> ReduceCases() {
  std::vector<Case> cases;
  const std::vector<std::pair<std::string, std::string>> axes = {
      {"[2,17,5,6]", "2, 3"}, {"[2,32,5,6]", "1"}, {"[2,16,5,6]", "-1"},       {"[3,19]", "1"},
      {"[3,19]", "0"},        {"[2,4,6]", "0, 2"}, {"[2,16,3,4,5]", "2, 3, 4"}};
  for (const std::string op : {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"}) {
    for (const auto& [dims, list] : axes) {
      for (const std::string keep : {"0", "1"}) {
        cases.push_back(
            {op + dims + list + keep,
             OneNode(dims, "", op + "(%x) {axes = [" + list + "], keepdims = " + keep + "}")});
      }
    }
  }
  cases.push_back({"sum_over_an_input",
                   OneNode("[2,3,4]", "  const %a : i64[1] = [1]\n", "ReduceSum(%x, %a)")});
  cases.push_back({"mean_of_all", OneNode("[2,3,4]", "", "ReduceMean(%x) {keepdims = 0}")});
  cases.push_back({"mean_of_nothing", OneNode("[2,1,4]", "", "ReduceMean(%x) {axes = [1]}")});
  return cases;
}

// Parts of tensors and tensors of parts, alone and between convolutions, which like other layouts.
std::vector<Case> PartCases() {
  std::vector<Case> cases;
  const std::vector<std::pair<std::string, std::string>> alone = {
      {"split_channels", "Split(%x) {axis = 1}"},
      {"split_rows", "Split(%x) {axis = -2}"},
      {"split_batch", "Split(%x) {axis = 0}"},
  };
  for (const auto& [label, node] : alone) {
    for (const std::string dims : {"[2,32,8,6]", "[2,6,4,4]", "[2,4,6]"}) {
      cases.push_back({label + dims, "graph g {\n  input %x : f32" + dims + "\n  %a, %b = " + node +
                                         "\n  %y = Relu(%a)\n  output %y\n  output %b\n}"});
    }
  }
  const std::string cut =
      "  const %s : i64[2] = [2, -4]\n  const %e : i64[2] = [9, 1000]\n"
      "  const %a : i64[2] = [1, 3]\n  const %t : i64[2] = [1, 2]\n";
  cases.push_back({"slice", OneNode("[2,17,5,6]", cut, "Slice(%x, %s, %e, %a)")});
  cases.push_back({"slice_by_steps", OneNode("[2,17,5,6]", cut, "Slice(%x, %s, %e, %a, %t)")});
  cases.push_back({"gather_one",
                   OneNode("[2,5,3]", "  const %i : i64[] = [-2]\n", "Gather(%x, %i) {axis = 1}")});
  cases.push_back({"gather_first",
                   OneNode("[3,5,4]", "  const %i : i64[] = [1]\n", "Gather(%x, %i) {axis = 0}")});
  cases.push_back({"gather_several", OneNode("[2,5,3]", "  const %i : i64[2] = [3, 0]\n",
                                             "Gather(%x, %i) {axis = 1}")});
  cases.push_back(
      {"concat_with_a_constant",
       OneNode("[2,5,3]", "  const %c : f32[2,2,3] = random 3\n", "Concat(%x, %c) {axis = 1}")});
  cases.push_back({"concat_twice_the_same",
                   OneNode("[1,16,4,4]", "  %r = Relu(%x)\n", "Concat(%r, %r) {axis = 1}")});
  for (const int size : {7, 14}) {
    for (const int c : {16, 24, 48}) {
      const std::string n = N(c);
      const std::string s = N(size);
      const std::string conv =
          "{kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [1, 1], dilations = [1, 1], "
          "group = "
          "1, activation = \"Relu\", y_type = 1}\n";
      cases.push_back(
          {"between_convolutions_" + s + "_" + n,
           "graph g {\n  input %x : f32[1," + n + "," + s + "," + s + "]\n  const %w : f32[" + n +
               "," + n + ",3,3] = random 3\n  const %v : f32[" + n + "," + N(2 * c) +
               ",3,3] = random 4\n  %a = msc.Conv(%x, %w) " + conv + "  %b = msc.Conv(%a, %w) " +
               conv + "  %c = Concat(%a, %b) {axis = 1}\n" + "  %d = msc.Conv(%c, %v) " + conv +
               "  %e, %f = Split(%d) {axis = 1}\n" +
               "  %g = Concat(%f, %e) {axis = 1}\n  %h = Concat(%g, %c) {axis = 1}\n" +
               "  %i = Relu(%c)\n  output %h\n  output %i\n}"});
    }
  }
  return cases;
}

// Images made larger and smaller, with an activation behind.
std::vector<Case> ResamplingCases() {
  std::vector<Case> cases;
  const std::vector<std::pair<std::string, std::string>> transposed = {
      {"[6,9,2,2]", "strides = [2, 2]"},
      {"[6,17,3,3]", "strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]"},
      {"[6,1,4,4]", "strides = [2, 2], pads = [1, 1, 1, 1]"},
      {"[6,5,3,2]", "pads = [1, 0, 0, 1]"},
      {"[6,4,5,3]", "strides = [3, 2], group = 3"},
      {"[6,4,1,3]", "strides = [2, 1]"},
      {"[6,4,3,3]", "strides = [2, 2], auto_pad = \"SAME_UPPER\""}};
  for (const auto& [w, attrs] : transposed) {
    cases.push_back(
        {"transposed_" + w, OneNode("[2,6,5,7]", "  const %w : f32" + w + " = random 3\n",
                                    "ConvTranspose(%x, %w) {" + attrs + "}")});
  }
  cases.push_back({"transposed_bias", R"(graph g {
  input %x : f32[1,6,5,7]
  const %w : f32[6,4,2,2] = random 3
  const %b : f32[4] = random 4
  %c = ConvTranspose(%x, %w, %b) {strides = [2, 2]}
  %y = Sigmoid(%c)
  output %y
})"});
  for (const std::string mode :
       {"\"nearest\", coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\"",
        "\"nearest\"", "\"linear\"",
        "\"linear\", coordinate_transformation_mode = \"align_corners\"",
        "\"linear\", coordinate_transformation_mode = \"pytorch_half_pixel\"", "\"cubic\""}) {
    for (const std::string scales : {"1, 1, 2, 2", "1, 1, 0.5, 1.5", "1, 1, 0.2, 1"}) {
      cases.push_back({"resize_" + mode + scales,
                       OneNode("[2,17,5,6]", "  const %s : f32[4] = [" + scales + "]\n",
                               "Resize(%x, _, %s) {mode = " + mode + "}")});
    }
  }
  cases.push_back({"resize_to_sizes", OneNode("[2,5,5,6]", "  const %s : i64[4] = [2, 5, 7, 3]\n",
                                              "Resize(%x, _, _, %s) {mode = \"linear\"}")});
  cases.push_back({"resize_channels", OneNode("[2,4,5,6]", "  const %s : f32[4] = [1, 2, 1, 1]\n",
                                              "Resize(%x, _, %s)")});
  cases.push_back({"global_maximum", OneNode("[2,17,5,6]", "", "GlobalMaxPool(%x)")});
  return cases;
}

std::vector<Case> SoftmaxCases() {
  std::vector<Case> cases;
  for (const std::string dims : {"[2,16,5,6]", "[3,17,4]", "[5,33]"}) {
    for (const std::string axis : {"-1", "0", "1"}) {
      cases.push_back(
          {"softmax" + dims + axis, OneNode(dims, "", "Softmax(%x) {axis = " + axis + "}")});
    }
  }
  return cases;
}

// A squeeze-and-excitation block: gates a channel, in the layouts that convolutions like.
std::string GateText(int channels, int squeezed) {
  const std::string c = N(channels);
  const std::string q = N(squeezed);
  const std::string one =
      "{kernel_shape = [1, 1], pads = [0, 0, 0, 0], strides = [1, 1], dilations = [1, 1], group = "
      "1, ";
  return "graph g {\n  input %x : f32[1," + c + ",9,9]\n  const %w : f32[" + c + "," + c +
         ",3,3] = random 3\n  const %d : f32[" + q + "," + c +
         ",1,1] = random 4\n  const %u : f32[" + c + "," + q +
         ",1,1] = random 5\n  %a = Conv(%x, %w) {pads = [1, 1, 1, 1]}\n"
         "  %p = GlobalAveragePool(%a)\n  %s = msc.Conv(%p, %d) " +
         one + "activation = \"Swish\", y_type = 1}\n  %t = msc.Conv(%s, %u) " + one +
         "activation = \"Sigmoid\", y_type = 1}\n  %g = Mul(%t, %a)\n"
         "  %y = Conv(%g, %w) {pads = [1, 1, 1, 1]}\n  output %y\n}";
}

/// One LSTM and the constants it reads: `inputs` behind X, W and R, `outputs` as written.
struct LstmShape {
  std::string label;
  std::string direction = "forward";
  int steps = 5, batch = 2, inputs = 7, hidden = 4;
  std::string more = "";
  std::string outputs = "%y, %h, %c";
};

std::string LstmText(const LstmShape& s) {
  const std::string d = s.direction == "bidirectional" ? "2" : "1";
  const std::string state = d + "," + N(s.batch) + "," + N(s.hidden);
  std::string text = "graph g {\n  input %x : f32[" + N(s.steps) + "," + N(s.batch) + "," +
                     N(s.inputs) + "]\n  input %h0 : f32[" + state + "]\n  const %c0 : f32[" +
                     state + "] = random 6\n  const %w : f32[" + d + "," + N(4 * s.hidden) + "," +
                     N(s.inputs) + "] = random 3\n  const %r : f32[" + d + "," + N(4 * s.hidden) +
                     "," + N(s.hidden) + "] = random 4\n  const %b : f32[" + d + "," +
                     N(8 * s.hidden) + "] = random 5\n  const %p : f32[" + d + "," +
                     N(3 * s.hidden) + "] = random 7\n  const %l : i32[" + N(s.batch) + "] = [";
  for (int i = 0; i < s.batch; ++i) text += (i > 0 ? ", " : "") + N(1 + (s.steps + i) % s.steps);
  text += "]\n  " + s.outputs + " = LSTM(%x, %w, %r" + s.more + ") {direction = \"" + s.direction +
          "\", hidden_size = " + N(s.hidden) + "}\n";
  for (const std::string name : {"%y", "%h", "%c"}) {
    if (s.outputs.find(name) != std::string::npos) text += "  output " + name + "\n";
  }
  return text + "}";
}

// Two layers of a text recogniser: what lies between them and behind them moves the directions.
std::string StackedLstmText(int steps, int hidden) {
  const std::string h = N(hidden);
  const std::string both = N(2 * hidden);
  const std::string rows = N(4 * hidden);
  return "graph g {\n  input %x : f32[2," + N(steps) + ",6]\n  const %w1 : f32[2," + rows +
         ",6] = random 3\n  const %r1 : f32[2," + rows + "," + h +
         "] = random 4\n  const %b1 : f32[2," + N(8 * hidden) +
         "] = random 5\n  const %w2 : f32[2," + rows + "," + both +
         "] = random 6\n  const %r2 : f32[2," + rows + "," + h + "] = random 7\n  const %f : f32[" +
         both +
         ",9] = random 8\n  const %s : i64[3] = [0, 0, -1]\n"
         "  %t = Transpose(%x) {perm = [1, 0, 2]}\n"
         "  %a, %ah, %ac = LSTM(%t, %w1, %r1, %b1) {direction = \"bidirectional\"}\n"
         "  %m = Transpose(%a) {perm = [0, 2, 1, 3]}\n  %n = Reshape(%m, %s)\n"
         "  %e = LSTM(%n, %w2, %r2, _, _, %ah, %ac) {direction = \"bidirectional\"}\n"
         "  %g = Transpose(%e) {perm = [2, 0, 1, 3]}\n  %o = Reshape(%g, %s)\n"
         "  %p = MatMul(%o, %f)\n  %y = Softmax(%p)\n  output %y\n  output %ac\n}";
}

std::vector<Case> RecurrentCases() {
  std::vector<Case> cases;
  for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
    for (const LstmShape& shape :
         {LstmShape{.label = "plain"}, LstmShape{.label = "biased", .hidden = 17, .more = ", %b"},
          LstmShape{.label = "states", .batch = 3, .more = ", %b, _, %h0, %c0"},
          LstmShape{.label = "one_state", .steps = 1, .more = ", _, _, _, %c0"},
          LstmShape{.label = "sequence_alone", .steps = 12, .batch = 1, .outputs = "%y"},
          LstmShape{.label = "last_alone", .inputs = 1, .more = ", %b", .outputs = "_, %h"},
          LstmShape{.label = "cell_alone", .hidden = 1, .outputs = "_, _, %c"},
          LstmShape{.label = "lengths", .batch = 4, .more = ", %b, %l, %h0, %c0"},
          LstmShape{.label = "peepholes", .more = ", %b, _, %h0, %c0, %p"},
          LstmShape{.label = "wide", .batch = 5, .inputs = 40, .hidden = 64, .more = ", %b"}}) {
      LstmShape turned = shape;
      turned.direction = direction;
      cases.push_back({direction + "_" + shape.label, LstmText(turned)});
    }
  }
  cases.push_back({"stacked", StackedLstmText(9, 20)});
  return cases;
}

std::vector<Family> AllFamilies() {
  std::vector<Family> families = ConvFamilies();
  families.push_back({"gemm", GemmCases()});
  families.push_back({"pool", PoolCases()});
  families.push_back({"binary", BinaryCases()});
  families.push_back({"elementwise", ElementwiseCases()});
  families.push_back({"others", OtherCases()});
  for (const std::string& kind : GeneratedKinds()) {
    std::vector<Case>& cases = families.emplace_back(Family{"generated_" + kind, {}}).cases;
    for (GeneratedCase& made : GenerateCases(kind, 1, 24)) {
      cases.push_back({std::move(made.label), std::move(made.text)});
    }
  }
  families.push_back({"reductions", ReduceCases()});
  families.push_back({"parts", PartCases()});
  families.push_back({"resampling", ResamplingCases()});
  families.push_back({"softmax", SoftmaxCases()});
  families.push_back({"recurrent", RecurrentCases()});
  families.push_back(
      {"gates",
       {{"wide", GateText(48, 8)}, {"odd", GateText(20, 3)}, {"narrow", GateText(16, 16)}}});
  // Under a sanitizer some of each: what takes the time there is building and interpreting.
  for (Family& family : families) {
    std::vector<Case> some;
    for (std::size_t i = 0; i < family.cases.size(); i += kStride) {
      some.push_back(std::move(family.cases[i]));
    }
    family.cases = std::move(some);
  }
  return families;
}

std::vector<std::string> TargetNames() {
  const TargetRegistry registry = AllTargets();
  std::vector<std::string> names;
  for (const auto& [name, kind] : registry.kinds()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, TargetContract,
                         testing::Combine(testing::ValuesIn(TargetNames()),
                                          testing::ValuesIn(AllFamilies())),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_" + std::get<1>(test.param).label;
                         });

}  // namespace
}  // namespace msc
