// Operators that passes make of several ("msc.Conv" and the like), in every mix of types.

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/compiler/targets/contract_cases.h"

namespace msc {
namespace {

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

std::vector<GraphCase> ConvCases(const ConvShape& shape) {
  const std::vector<Mix> mixes = {
      {"f32", "f32", "f32", "", "\"Relu\"", ""},
      {"f32_add", "f32", "f32", "f32", "\"Relu\"", ""},
      {"bf16", "bf16", "bf16", "", "\"Relu\"", ""},
      {"bf16_add", "bf16", "bf16", "bf16", "\"Relu\"", ""},
      {"u8_u8", "u8", "u8", "", "\"Relu\"", ""},
      {"i8_i8_add_i8", "i8", "i8", "i8", "", ""},
      {"u8_u8_add_i8", "u8", "u8", "i8", "\"Relu\"", ""},
      {"i8_f32", "i8", "f32", "", "\"Clip\", alpha = 0.0, beta = 6.0", ""},
  };
  std::vector<GraphCase> cases;
  for (const Mix& mix : mixes) {
    cases.push_back({shape.label + "_" + mix.label, ConvText(shape, mix)});
  }
  return cases;
}

/// For one shape alone: rarer mixes and every activation.
std::vector<Mix> RareMixes() {
  const std::string zero = ", y_zero_point = 7";
  return {
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
}

std::vector<GraphCase> DenseMixes() {
  std::vector<GraphCase> cases;
  for (const Mix& mix : RareMixes()) {
    std::string text = ConvText({.label = "x", .c = 16, .m = 24}, mix);
    // A scale given twice: the later one counts.
    const std::size_t first = text.find(", y_scale = 0.06");
    if (mix.extra.find("y_scale") != std::string::npos) text.erase(first, 16);
    cases.push_back({"mix_" + mix.label, text});
  }
  return cases;
}

std::vector<GraphCase> DepthwiseMixes() {
  std::vector<GraphCase> cases;
  for (const Mix& mix : RareMixes()) {
    if (mix.extra.find("y_scale") != std::string::npos) continue;
    cases.push_back({"depthwise_mix_" + mix.label,
                     ConvText({.label = "x", .c = 16, .m = 16, .group = 16}, mix)});
  }
  return cases;
}

std::vector<GraphCase> GemmCases() {
  std::vector<GraphCase> cases;
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

/// Weights of a channel that are all but zero have the least scale that a float can be.
std::vector<GraphCase> DeadChannels() {
  const std::vector<Mix> mixes = {
      {"u8_u8", "u8", "u8", "", "\"Relu\"", ""},
      {"i8_f32", "i8", "f32", "", "\"Clip\", alpha = 0.0, beta = 6.0", ""},
      {"i8_f32_hardswish", "i8", "f32", "", "\"HardSwish\"", ""},
      {"u8_f32_add_f32", "u8", "f32", "f32", "\"Relu\"", ""},
      {"i8_i8_add_i8", "i8", "i8", "i8", "", ", y_zero_point = 3"},
  };
  const std::vector<ConvShape> shapes = {
      {.label = "plain", .c = 16, .m = 32},
      {.label = "pointwise", .c = 32, .m = 17, .kernel = 1, .pad = 0},
      {.label = "depthwise", .c = 16, .m = 16, .group = 16},
  };
  const std::string dead = "1.17549435e-38";
  std::vector<GraphCase> cases;
  for (const Mix& mix : mixes) {
    for (const ConvShape& shape : shapes) {
      const std::string text = Replaced(ConvText(shape, mix), {{"[1e-3, 2e-3", "[1e-3, " + dead}});
      cases.push_back({"dead_" + shape.label + "_" + mix.label, text});
    }
  }
  for (const std::string& scales :
       {"f32[3] = [4e-3, " + dead + ", 5e-3]", "f32[1] = [" + dead + "]"}) {
    cases.push_back({"dead_gemm", R"(graph g {
  input %x : u8[5,40]
  const %w : i8[3,40] = random 3
  const %b : f32[3] = [2.5, -1.5, 0.0]
  const %s : )" + scales + R"(
  %y = msc.Gemm(%x, %w, %b, _, %s, _) {y_type = 1, x_scale = 0.02, x_zero_point = 128}
  output %y
})"});
  }
  return cases;
}

std::vector<GraphCase> PoolCases() {
  std::vector<GraphCase> cases;
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

std::vector<GraphCase> BinaryCases() {
  std::vector<GraphCase> cases;
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

}  // namespace

std::vector<CaseFamily> FusedFamilies() {
  std::vector<CaseFamily> families = {
      {"conv_mixes", DenseMixes}, {"depthwise_mixes", DepthwiseMixes},
      {"gemm", GemmCases},        {"dead_channels", DeadChannels},
      {"pool", PoolCases},        {"binary", BinaryCases}};
  for (const ConvShape& shape : ConvShapes()) {
    families.push_back({"conv_" + shape.label, [shape] { return ConvCases(shape); }});
  }
  return families;
}

}  // namespace msc
