// Operators as models have them, and blocks of a few.

#include <string>
#include <utility>
#include <vector>

#include "tests/compiler/targets/contract_cases.h"

namespace msc {
namespace {

std::vector<GraphCase> ElementwiseCases() {
  std::vector<GraphCase> cases;
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

std::vector<GraphCase> OtherCases() {
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

std::vector<GraphCase> ReduceCases() {
  std::vector<GraphCase> cases;
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
std::vector<GraphCase> PartCases() {
  std::vector<GraphCase> cases;
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
std::vector<GraphCase> ResamplingCases() {
  std::vector<GraphCase> cases;
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

std::vector<GraphCase> SoftmaxCases() {
  std::vector<GraphCase> cases;
  for (const std::string dims : {"[2,16,5,6]", "[3,17,4]", "[5,33]"}) {
    for (const std::string axis : {"-1", "0", "1"}) {
      cases.push_back(
          {"softmax" + dims + axis, OneNode(dims, "", "Softmax(%x) {axis = " + axis + "}")});
    }
  }
  return cases;
}

/// Kernels over rows with their values in bf16.
std::vector<GraphCase> NarrowRowsCases() {
  return {
      {"softmax", R"(graph g {
  input %x : bf16[2,5,33]
  %y = Softmax(%x) {axis = -1}
  output %y
})"},
      {"layer_norm", R"(graph g {
  input %x : bf16[2,5,33]
  const %g : bf16[33] = splat 1.5
  const %b : bf16[33] = splat 0.25
  %y = LayerNormalization(%x, %g, %b)
  output %y
})"},
      {"attention", R"(graph g {
  input %q : bf16[1,5,2,24]
  input %k : bf16[1,37,2,24]
  input %v : bf16[1,37,2,19]
  input %m : bf16[1,1,5,37]
  %y = msc.Attention(%q, %k, %v, %m) {scale = 0.25, q_perm = [0, 2, 1, 3], k_perm = [0, 2, 1, 3], v_perm = [0, 2, 1, 3], y_perm = [0, 2, 1, 3]}
  output %y
})"},
  };
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

std::vector<GraphCase> GateCases() {
  return {{"wide", GateText(48, 8)}, {"odd", GateText(20, 3)}, {"narrow", GateText(16, 16)}};
}

}  // namespace

std::vector<CaseFamily> OperatorFamilies() {
  return {{"elementwise", ElementwiseCases}, {"others", OtherCases},
          {"reductions", ReduceCases},       {"parts", PartCases},
          {"resampling", ResamplingCases},   {"softmax", SoftmaxCases},
          {"narrow_rows", NarrowRowsCases},  {"gates", GateCases}};
}

}  // namespace msc
