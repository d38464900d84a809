// What transformers are made of: layer normalization, GELU, attention.

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/compiler/targets/contract_cases.h"

namespace msc {
namespace {

struct Norm {
  std::string dims;
  std::string scale;  // dims of the scale
  std::string bias;   // dims of the bias; empty for none
  std::string axis;
  std::string outputs = "%y";
};

std::vector<GraphCase> LayerNormCases() {
  std::vector<GraphCase> cases;
  for (const Norm& norm :
       {Norm{"[3,17]", "[17]", "[17]", "-1"}, Norm{"[2,7,64]", "[64]", "[64]", "2"},
        Norm{"[2,7,33]", "[33]", "", "-1"}, Norm{"[2,3,5,19]", "[19]", "[19]", "3"},
        Norm{"[2,3,17]", "[3,17]", "[3,17]", "1"}, Norm{"[2,3,17]", "[3,17]", "[17]", "1"},
        Norm{"[2,3,17]", "[17]", "[1]", "-1"}, Norm{"[4,1]", "[1]", "[1]", "-1"},
        Norm{"[17]", "[17]", "[17]", "0"}, Norm{"[2,0,8]", "[8]", "[8]", "-1"},
        Norm{"[2,5,8]", "[8]", "[8]", "-1", "%y, %m, %s"}}) {
    for (const std::string type : {"f32", "bf16"}) {
      std::string text = "graph g {\n  input %x : " + type + norm.dims + "\n  const %w : " + type +
                         norm.scale + " = random 3\n";
      if (!norm.bias.empty()) text += "  const %b : " + type + norm.bias + " = random 4\n";
      text += "  " + norm.outputs + " = LayerNormalization(%x, %w" +
              (norm.bias.empty() ? "" : ", %b") + ") {axis = " + norm.axis +
              ", epsilon = 0.01}\n  output %y\n";
      if (norm.outputs != "%y") text += "  output %m\n  output %s\n";
      cases.push_back({"layer_norm_" + type + norm.dims + norm.scale, text + "}"});
    }
  }
  // Scale and bias that come from outside, and a transposed operand.
  cases.push_back({"layer_norm_of_values", R"(graph g {
  input %x : f32[2,24,7]
  input %w : f32[24]
  input %b : f32[24]
  %t = Transpose(%x) {perm = [0, 2, 1]}
  %y = LayerNormalization(%t, %w, %b)
  %z = Relu(%y)
  output %z
})"});
  return cases;
}

std::vector<GraphCase> GeluCases() {
  std::vector<GraphCase> cases;
  for (const std::string op : {"Gelu", "GeluTanh"}) {
    for (const std::string type : {"f32", "bf16"}) {
      for (const std::string dims : {"[3,17]", "[2,5,3,7]", "[]", "[2,0,3]"}) {
        cases.push_back({op + type + dims, "graph g {\n  input %x : " + type + dims +
                                               "\n  %y = msc.Gelu(%x) {op = \"" + op +
                                               "\"}\n  output %y\n}"});
      }
    }
    // In layers, with rows of several axes.
    for (const auto& [x, w, y] : {std::tuple{"f32", "f32", "1"},
                                  {"bf16", "bf16", "16"},
                                  {"u8", "i8", "1"},
                                  {"u8", "i8", "2"}}) {
      const bool integer = std::string(w) == "i8";
      cases.push_back(
          {op + "_rows_" + x + y,
           std::string("graph g {\n  input %x : ") + x + "[2,3,17]\n  const %w : " + w +
               "[21,17] = random 3\n  const %b : f32[21] = random 4\n" +
               (integer ? "  const %s : f32[21] = splat 0.004\n" : "") +
               "  %y = msc.Gemm(%x, %w, %b, _, " + (integer ? "%s" : "_") + ", _) {y_type = " + y +
               (integer ? ", x_scale = 0.02, x_zero_point = 120, y_scale = 0.05, y_zero_point = 9"
                        : "") +
               ", activation = \"" + op + "\"}\n  output %y\n}"});
      cases.push_back(
          {op + "_image_" + x + y,
           std::string("graph g {\n  input %x : ") + x + "[1,16,5,7]\n  const %w : " + w +
               "[24,16,3,3] = random 3\n" +
               (integer ? "  const %s : f32[24] = splat 0.003\n" : "") +
               "  %y = msc.Conv(%x, %w, _, _, " + (integer ? "%s" : "_") +
               ", _) {kernel_shape = [3, 3], strides = [1, 1], pads = [1, 1, 1, 1], dilations = "
               "[1, 1], group = 1, y_type = " +
               y + (integer ? ", x_scale = 0.02, y_scale = 0.05" : "") + ", activation = \"" + op +
               "\"}\n  output %y\n}"});
    }
  }
  return cases;
}

/// One attention: dims of its operands, mask last and empty for nh.
struct Heads {
  std::string q, k, v;
  std::string mask = "";
  std::string attrs = "scale = 0.3";
  bool excludes = false;  ///< the mask is -infinity in places, here and there along a whole row
};

std::vector<GraphCase> AttentionCases() {
  std::vector<GraphCase> cases;
  const std::string turned =
      "scale = 0.25, q_perm = [0, 2, 1, 3], k_perm = [0, 2, 1, 3], v_perm = [0, 2, 1, 3], y_perm = "
      "[0, 2, 1, 3]";
  // Every operand another way round.
  const std::string in_depth = "q_perm = [0, 2, 1], v_perm = [1, 0, 2], k_perm = [1, 2, 0]";
  for (const Heads& h :
       {Heads{"[7,5]", "[9,5]", "[9,3]"}, Heads{"[1,8]", "[1,8]", "[1,8]"},
        Heads{"[3,17,16]", "[3,17,16]", "[3,17,16]"}, Heads{"[2,3,9,7]", "[2,3,5,7]", "[2,3,5,11]"},
        Heads{"[2,9,3,7]", "[2,5,3,7]", "[2,5,3,11]", "", turned},
        Heads{"[2,9,3,7]", "[2,5,3,7]", "[2,5,3,11]", "[2,1,1,5]", turned},
        Heads{"[2,33,4,8]", "[2,33,4,8]", "[2,33,4,8]", "[33,33]", turned},
        Heads{"[2,5,7]", "[5,2,9]", "[9,2,3]", "", in_depth},
        Heads{"[3,7,5]", "[3,9,5]", "[3,9,4]", "[9]"},
        Heads{"[3,7,5]", "[3,9,5]", "[3,9,4]", "[7,1]"},
        Heads{"[3,7,5]", "[3,9,5]", "[3,9,4]", "[3,7,9]"},
        Heads{"[3,7,5]", "[3,9,5]", "[3,9,4]", "[1]"},
        Heads{"[3,7,5]", "[3,9,5]", "[3,9,4]", "[3,7,9]", "scale = 0.3, zero_nan = 1", true},
        Heads{"[3,7,5]", "[3,9,5]", "[3,9,4]", "[7,1]", "scale = 0.3, zero_nan = 1", true},
        Heads{"[3,7,5]", "[3,19,5]", "[3,19,4]", "[7,1]", "scale = 0.3", true},
        Heads{"[3,7,5]", "[3,9,5]", "[3,9,4]", "", "scale = 0.3, zero_nan = 1"},
        Heads{"[3,0,5]", "[3,9,5]", "[3,9,4]"}, Heads{"[0,7,5]", "[0,9,5]", "[0,9,4]"}}) {
    for (const std::string type : {"f32", "bf16"}) {
      std::string text = "graph g {\n  input %q : " + type + h.q + "\n  input %k : " + type + h.k +
                         "\n  input %v : " + type + h.v + "\n";
      if (!h.mask.empty()) {
        text +=
            std::string("  input %") + (h.excludes ? "given" : "m") + " : " + type + h.mask + "\n";
      }
      if (h.excludes) {
        text += "  %wide = Cast(%given) {to = 1}\n  %some = Relu(%wide)\n  %log = Log(%some)\n" +
                std::string("  %m = Cast(%log) {to = ") + (type == "f32" ? "1" : "16") + "}\n";
      }
      text += "  %y = msc.Attention(%q, %k, %v" + std::string(h.mask.empty() ? "" : ", %m") +
              ") {" + h.attrs + "}\n  output %y\n}";
      cases.push_back({"attention_" + type + h.q + h.mask + h.attrs, std::move(text)});
    }
  }
  return cases;
}

}  // namespace

std::vector<CaseFamily> TransformerFamilies() {
  return {{"layer_norm", LayerNormCases}, {"gelu", GeluCases}, {"attention", AttentionCases}};
}

}  // namespace msc
