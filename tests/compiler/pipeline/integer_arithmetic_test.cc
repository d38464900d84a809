// QLinearConv and QLinearMatMul in native code against ONNX Runtime: every code equal, with scales
// that are no powers of two and a bias, where a product in another order may round to another code.

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/compile.h"
#include "tests/support/pipeline.h"
#include "tests/support/seeds.h"

namespace msc {
namespace {

constexpr int kZero = 121;  ///< of u8; that of i8 is 128 lower

/// So many whole numbers.
std::string Whole(int count, std::uint64_t below, Rng& rng) {
  std::string list;
  for (int i = 0; i < count; ++i) {
    const std::int64_t value =
        static_cast<std::int64_t>(rng.Below(2 * below)) - static_cast<std::int64_t>(below);
    list += (i > 0 ? ", " : "") + std::to_string(value);
  }
  return list;
}

struct Layer {
  const char* name;
  const char* x;  ///< dims
  const char* w;  ///< dims
  int channels;   ///< of the result
  const char* op;
  const char* attrs;
  friend void PrintTo(const Layer& layer, std::ostream* out) { *out << layer.name; }
};

/// Of each channel one to three sixty-fourths of a sum: real numbers are at a tie often, and f32
/// makes something else of the scales, which are no numbers of it.
std::string Text(const Layer& layer, const std::string& dtype, std::uint64_t seed) {
  Rng rng(seed);
  const bool conv = std::string(layer.op) == "QLinearConv";
  const std::string n = std::to_string(layer.channels);
  const auto constant = [&](const std::string& name, const std::string& type,
                            const std::string& values) {
    return "  const %" + name + " : " + type + " = [" + values + "]\n";
  };
  const std::string zero = std::to_string(kZero + (dtype == "i8" ? -128 : 0));
  const auto units = static_cast<double>(rng.Below(90) + 10);
  std::string zeros;
  std::string scales;
  for (int i = 0; i < layer.channels; ++i) {
    zeros += i > 0 ? ", 0" : "0";
    scales += (i > 0 ? ", " : "") + std::to_string(0.0007 * static_cast<double>(i % 3 + 1));
  }
  return "graph g {\n  input %x : " + dtype + "[" + layer.x + "]\n" +
         constant("xs", "f32[]", std::to_string(0.001 * units)) +
         constant("xz", dtype + "[]", zero) + "  const %w : i8[" + layer.w + "] = random " +
         std::to_string(seed) + "\n" + constant("ws", "f32[" + n + "]", scales) +
         constant("wz", "i8[" + n + "]", zeros) +
         constant("ys", "f32[]", std::to_string(0.0448 * units) + "e-3") +
         constant("yz", dtype + "[]", zero) +
         (conv ? constant("b", "i32[" + n + "]", Whole(layer.channels, 1000, rng)) : "") +
         "  %y = " + layer.op + "(%x, %xs, %xz, %w, %ws, %wz, %ys, %yz" + (conv ? ", %b" : "") +
         ") {" + layer.attrs + "}\n  output %y\n}";
}

constexpr Layer kLayers[] = {
    // NOLINT(modernize-avoid-c-arrays)
    {"dense", "1,19,13,11", "37,19,3,3", 37, "QLinearConv",
     "kernel_shape = [3, 3], pads = [1, 1, 1, 1]"},
    {"strided", "2,8,17,16", "24,8,5,5", 24, "QLinearConv",
     "kernel_shape = [5, 5], strides = [2, 2], pads = [2, 2, 2, 2]"},
    {"grouped", "1,12,14,14", "20,3,3,3", 20, "QLinearConv",
     "kernel_shape = [3, 3], group = 4, pads = [1, 0, 1, 2]"},
    {"depthwise", "1,40,14,14", "40,1,3,3", 40, "QLinearConv",
     "kernel_shape = [3, 3], group = 40, pads = [1, 1, 1, 1]"},
    {"pointwise", "1,64,14,14", "33,64,1,1", 33, "QLinearConv", "kernel_shape = [1, 1]"},
    {"product", "57,70", "70,35", 35, "QLinearMatMul", ""},
};

class IntegerArithmetic : public testing::TestWithParam<Layer> {};

TEST_P(IntegerArithmetic, IsThatOfOnnxRuntime) {
  const TargetRegistry targets = Targets();
  if (targets.Find("onnxruntime") == nullptr) GTEST_SKIP() << "built without ONNX Runtime";
  try {
    (void)targets.Get("onnxruntime");
  } catch (const UserError& absent) {
    GTEST_SKIP() << absent.what();
  }
  for (const std::string dtype : {"u8", "i8"}) {
    for (std::uint64_t seed = 1; seed <= Seeds(4); ++seed) {
      const std::string text = Text(GetParam(), dtype, seed);
      SCOPED_TRACE(text);
      Graph graph = ParseGraph(text);
      InferTypes(graph);
      ExecutableBuilder builder(graph);
      const auto failure =
          targets.Get("onnxruntime")
              .GraphToRuntime({.graph = &graph, .nodes = graph.order()}, {.threads = 1}, builder);
      ASSERT_FALSE(failure.has_value()) << failure->detail;
      Executable theirs = std::move(builder).Build();

      Canonicalize(graph);
      Strategy strategy;
      strategy.target = "native";
      Executable ours = Compile(graph, strategy, targets, {}).value();

      Rng rng(seed + 100);
      const std::uint64_t zero = kZero + (dtype == "u8" ? 0 : 128);
      const ValueType& x = graph.type(graph.inputs()[0]);
      std::vector<Tensor> inputs = {Tensor(x.dtype, *StaticDims(*x.shape))};
      for (std::byte& code : inputs[0].MutableRaw())
        code = static_cast<std::byte>(zero - 3 + rng.Below(7));
      const std::vector<Tensor> want = theirs.Run(inputs);
      const std::vector<Tensor> got = ours.Run(inputs);
      ASSERT_EQ(want.size(), got.size());
      EXPECT_TRUE(got[0] == want[0]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, IntegerArithmetic, testing::ValuesIn(kLayers),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace msc
