// Functions of a model, and the branches of If.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/import/onnx/import.h"
#include "compiler/ops/op.h"
#include "tests/compiler/import/onnx_text.h"

namespace msc {
namespace {

std::string OpsOf(const Graph& graph) {
  std::string ops;
  for (const NodeId id : graph.order()) ops += (ops.empty() ? "" : " ") + graph.node(id).op;
  return ops;
}

onnx::ModelProto Parsed(const std::string& text) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model;
}

std::string ErrorOf(const onnx::ModelProto& model, const ImportOptions& options = {}) {
  try {
    static_cast<void>(ImportOnnxBytes(BytesOf(model), options));
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

Tensor Floats(std::vector<float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Tensor::From<float>(DType::kF32, {count}, values);
}

std::vector<float> RunOn(const Graph& graph, std::vector<Tensor> inputs) {
  const std::vector<Tensor> outputs = Interpret(graph, inputs);
  const auto values = outputs.at(0).Values<float>();
  return {values.begin(), values.end()};
}

constexpr const char* kHead = "<ir_version: 8, opset_import: [\"\" : 15, \"own\" : 1]>\n";
constexpr const char* kOwn = "<opset_import: [\"\" : 15], domain: \"own\">\n";

TEST(OnnxFunctions, AreInlinedWhereverTheyAreCalled) {
  const onnx::ModelProto model = Parsed(std::string(kHead) + R"(
    main (float[2] x) => (float[2] y) { a, b = own.both(x) c, d = own.both(a) y = Add(c, d) })" +
                                        "\n" + kOwn + R"(
    both (v) => (p, q) { t = own.twice(v) p = Neg(t) q = Abs(t) })" +
                                        "\n" + kOwn + R"(
    twice (v) => (w) { w = Add(v, v) })");
  const Graph graph = ImportOnnxBytes(BytesOf(model));
  EXPECT_EQ(OpsOf(graph), "Add Neg Abs Add Neg Abs Add");
  // a = -2x; c = 4x, d = |4x|.
  EXPECT_EQ(RunOn(graph, {Floats({1, -1})}), (std::vector<float>{8, 0}));
}

TEST(OnnxFunctions, GetTheAttributesOfTheCall) {
  const std::string text = std::string(kHead) + R"(
    main (float[2] x) => (float[2] y) { a = own.leaky<slope = 0.5>(x) y = own.leaky(a) })" +
                           "\n" + kOwn + R"(
    leaky <slope> (v) => (w) { w = LeakyRelu<alpha : float = @slope>(v) })";
  const Graph graph = ImportOnnxBytes(BytesOf(Parsed(text)));
  // The second call has no slope: LeakyRelu's own default is 0.01.
  const std::vector<float> y = RunOn(graph, {Floats({2, -2})});
  EXPECT_EQ(y[0], 2.0F);
  EXPECT_NEAR(y[1], -0.01F, 1e-7F);
}

TEST(OnnxFunctions, ThatCallThemselvesAreRefused) {
  const onnx::ModelProto model = Parsed(std::string(kHead) + R"(
    main (float[2] x) => (float[2] y) { y = own.f(x) })" +
                                        "\n" + kOwn + R"(
    f (v) => (w) { w = own.f(v) })");
  EXPECT_EQ(ErrorOf(model), "model: has functions that call each other more than 64 deep: 'f'");
}

TEST(OnnxFunctions, ThatGrowWithoutEndAreRefused) {
  // 40 functions, each of which calls the next one twice.
  std::string text = std::string(kHead) + "main (float[2] x) => (float[2] y) { y = own.f0(x) }";
  for (int i = 0; i < 40; ++i) {
    const std::string name = std::to_string(i);
    const std::string next = i == 39 ? "Relu" : "own.f" + std::to_string(i + 1);
    text += "\n" + std::string(kOwn) + "f" + name + " (v) => (w) { u = " + next +
            "(v) w = " + next + "(u) }";
  }
  ImportOptions options;
  options.limits.nodes = 10'000;
  EXPECT_EQ(ErrorOf(Parsed(text), options),
            "model: has more than 10000 nodes and calls once its functions are inlined");
}

TEST(OnnxFunctions, OfAnotherOperatorSetAreRefused) {
  const onnx::ModelProto model = Parsed(std::string(kHead) + R"(
    main (float[2] x) => (float[2] y) { y = own.f(x) })" +
                                        "\n<opset_import: [\"\" : 11], domain: \"own\">\n" + R"(
    f (v) => (w) { w = Relu(v) })");
  EXPECT_EQ(ErrorOf(model),
            "model: has function 'f' of operator set 11, another one than the model's");
}

/// x or |x|, as a squeeze of the first axis decides: [1,2] gives [2], and [3,2] stays.
constexpr const char* kSqueeze = R"((float[N,2] x) => (y) {
  s = Shape(x)
  i = Constant<value = int64 {0}>()
  o = Constant<value = int64 {1}>()
  n = Gather(s, i)
  c = Equal(n, o)
  y = If (c) <
    then_branch = yes () => (float[2] t) { axes = Constant<value = int64[1] {0}>() t = Squeeze(x, axes) },
    else_branch = no () => (float[N,2] t) { t = Abs(x) }
  > })";

TEST(OnnxIf, IsTheBranchThatKnownSizesDecide) {
  ImportOptions options;
  const auto with_rows = [&](std::int64_t rows) {
    options.set_inputs = [rows](Graph& graph) {
      graph.SetType(graph.inputs()[0], {.dtype = DType::kF32, .shape = Shape{Dim(rows), Dim(2)}});
    };
    return ImportOnnxBytes(ModelBytes(kSqueeze, 13), options);
  };
  const Graph squeezed = with_rows(1);
  EXPECT_EQ(OpsOf(squeezed), "Shape Gather Equal Squeeze Identity");
  EXPECT_EQ(ToString(squeezed.type(squeezed.outputs()[0])), "f32[2]");
  EXPECT_EQ(OpsOf(with_rows(3)), "Shape Gather Equal Abs Identity");
}

TEST(OnnxIf, AsksForTheSizesThatDecide) {
  EXPECT_EQ(
      ErrorOf(ModelFromText(kSqueeze, 13)),
      "model: node 5 'If_5' ('If', operator set 13): which branch runs is not known, and they "
      "give f32[2] and f32[N,2]; if it follows from sizes that are open, give them by --shape");
}

constexpr const char* kValue = R"((float[2] x, bool c) => (float[2] y) {
  z = Neg(x)
  y = If (c) <
    then_branch = yes () => (float[2] t) { u = Add(x, z) t = Exp(u) },
    else_branch = no () => (float[2] t) {
      u = Neg(z)
      t = If (c) <
        then_branch = never () => (float[2] v) { v = Abs(u) },
        else_branch = inner () => (float[2] v) { v = Add(u, x) }
      > }
  > })";

TEST(OnnxIf, RunsBothBranchesWhereAValueDecides) {
  const Graph graph = ImportOnnxBytes(ModelBytes(kValue, 13));
  const auto condition = [](bool value) {
    const std::vector<std::uint8_t> one = {static_cast<std::uint8_t>(value)};
    return Tensor::From<std::uint8_t>(DType::kBool, {}, one);
  };
  EXPECT_EQ(RunOn(graph, {Floats({1, -2}), condition(true)}), (std::vector<float>{1, 1}));
  EXPECT_EQ(RunOn(graph, {Floats({1, -2}), condition(false)}), (std::vector<float>{2, -4}));
}

TEST(OnnxIf, OfAConstantHasItsBranchAlone) {
  const Graph graph = ImportOnnxBytes(ModelBytes(R"((float[2] x) => (float[2] y) {
    c = Constant<value = bool {0}>()
    y = If (c) <
      then_branch = yes () => (float[2] t) { t = Unknown(x) },
      else_branch = no () => (float[2] t) { t = Neg(x) }
    > })",
                                                 13));
  EXPECT_EQ(OpsOf(graph), "Neg Identity");
}

TEST(OnnxIf, RefusesWhatIsNoIf) {
  auto model = ModelFromText(kValue, 13);
  model.mutable_graph()->mutable_node(1)->mutable_attribute()->RemoveLast();
  EXPECT_EQ(ErrorOf(model),
            "model: node 1 'If_1' ('If', operator set 13): needs a condition and two branches");
}

}  // namespace
}  // namespace msc
