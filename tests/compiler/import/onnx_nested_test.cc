// Functions of a model, nested graphs, sequences, and inputs of fixed values.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>
#include <onnx/onnx-data_pb.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/sanitizer.h"
#include "compiler/base/temporary_folder.h"
#include "compiler/import/onnx/import.h"
#include "compiler/ops/op.h"
#include "tests/compiler/import/imported.h"
#include "tests/compiler/import/onnx_text.h"

namespace msc {
namespace {

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

/// Functions, each of which calls the next one twice.
std::string Doubling(int functions) {
  std::string text = std::string(kHead) + "main (float[2] x) => (float[2] y) { y = own.f0(x) }";
  for (int i = 0; i < functions; ++i) {
    const std::string next = i + 1 == functions ? "Relu" : "own.f" + std::to_string(i + 1);
    text += "\n" + std::string(kOwn) + "f" + std::to_string(i) + " (v) => (w) { u = " + next +
            "(v) w = " + next + "(u) }";
  }
  return text;
}

/// Their values all want the same names. Looking for a free one from the start took minutes.
TEST(OnnxFunctions, MayBeCalledThousandsOfTimes) {
  constexpr int kFunctions = kSanitized ? 10 : 14;
  const Graph graph = ImportOnnxBytes(BytesOf(Parsed(Doubling(kFunctions))));
  EXPECT_EQ(graph.order().size(), std::size_t{1} << kFunctions);
}

TEST(OnnxFunctions, ThatGrowWithoutEndAreRefused) {
  ImportOptions options;
  options.limits.nodes = 10'000;
  EXPECT_EQ(ErrorOf(Parsed(Doubling(40)), options),
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

TEST(OnnxIf, StaysWhereSizesAreOpen) {
  const Graph graph = ImportOnnxBytes(ModelBytes(kSqueeze, 13));
  EXPECT_EQ(OpsOf(graph), "Shape Gather Equal If");
  const Tensor one = Tensor::From<float>(DType::kF32, {1, 2}, std::vector<float>{1, -2});
  const Tensor two = Tensor::From<float>(DType::kF32, {2, 2}, std::vector<float>{1, -2, 3, -4});
  EXPECT_EQ(RunOn(graph, {one}), (std::vector<float>{1, -2}));
  EXPECT_EQ(RunOn(graph, {two}), (std::vector<float>{1, 2, 3, 4}));
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

TEST(OnnxIf, KeepsBranchesWhoseSizesOnlyARunDecides) {
  auto model = ModelFromText(R"((float[2] x, bool c) => (y) {
    z = Floor(x)
    y = If (c) <
      then_branch = yes () => (int64[1,k] t) { t = NonZero(x) },
      else_branch = no () => (int64[1,k] t) { t = NonZero(z) }
    > })",
                             13);
  // Nothing is known of the second size.
  for (auto& attribute : *model.mutable_graph()->mutable_node(1)->mutable_attribute()) {
    auto& type = *attribute.mutable_g()->mutable_output(0)->mutable_type();
    type.mutable_tensor_type()->mutable_shape()->mutable_dim(1)->Clear();
  }
  const Graph graph = ImportOnnxBytes(BytesOf(model));
  EXPECT_EQ(OpsOf(graph), "Floor If");
  const auto run = [&](bool yes) {
    Tensor condition(DType::kBool, {});
    condition.MutableValues<std::uint8_t>()[0] = yes ? 1 : 0;
    return Interpret(graph, std::vector<Tensor>{Floats({0.5, 2}), condition}).front().dims();
  };
  EXPECT_EQ(run(true), (Dims{1, 2}));
  EXPECT_EQ(run(false), (Dims{1, 1}));
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

constexpr const char* kLoop = R"((float[2] x, int64 n) => (float[2] y, float[k,2] all) {
  c = Constant<value = bool {1}>()
  two = Constant<value = float {2.0}>()
  y, all = Loop (n, c, x) <
    body = b (int64 i, bool go, float[2] v) => (bool on, float[2] w, float[2] copy) {
      on = Identity(go)
      w = Mul(v, two)
      s = Cast<to = 1>(i)
      copy = Add(x, s)
    }
  > })";

TEST(OnnxLoop, ReadsValuesAroundItAndCollectsOthers) {
  const Graph graph = ImportOnnxBytes(ModelBytes(kLoop, 16));
  EXPECT_EQ(OpsOf(graph), "Loop");
  const Node& loop = graph.node(graph.order()[0]);
  EXPECT_EQ(loop.captures, std::vector<ValueId>{graph.FindValue("x")});
  const auto run = [&](std::int64_t n) {
    const Tensor count = Tensor::From<std::int64_t>(DType::kI64, {}, std::span(&n, 1));
    return Interpret(graph, std::vector<Tensor>{Floats({1, -1}), count});
  };
  EXPECT_EQ(run(3)[0], Floats({8, -8}));
  EXPECT_EQ(run(3)[1].dims(), (Dims{3, 2}));
  EXPECT_EQ(run(3)[1].Values<float>()[5], 1);
  EXPECT_EQ(run(0)[0], Floats({1, -1}));
  EXPECT_EQ(run(0)[1].dims(), (Dims{0, 2}));
}

TEST(OnnxLoop, EndsWhenItsConditionDoes) {
  auto model = ModelFromText(R"((float[1] x) => (float[1] y) {
    c = Constant<value = bool {1}>()
    four = Constant<value = float[1] {4.0}>()
    y = Loop (four, c, x) <
      body = b (int64 i, bool go, float[1] v) => (bool on, float[1] w) {
        w = Add(v, v)
        less = Less(w, four)
        axes = Constant<value = int64[1] {0}>()
        on = Squeeze(less, axes)
      }
    > })",
                             16);
  model.mutable_graph()->mutable_node(2)->set_input(0, "");  // as often as it takes
  const Graph graph = ImportOnnxBytes(BytesOf(model));
  EXPECT_EQ(RunOn(graph, {Floats({1})}), std::vector<float>{4});
  EXPECT_EQ(RunOn(graph, {Floats({5})}), std::vector<float>{10});
}

// PyTorch's tracer declares the sizes in front of the loop, here none, for what each iteration
// takes.
TEST(OnnxLoop, MayChangeTheSizesThatItCarries) {
  const Graph graph = ImportOnnxBytes(ModelBytes(R"((float[2] x, int64 n) => (float[k] y) {
    c = Constant<value = bool {1}>()
    none = Constant<value = float[0] {}>()
    y = Loop (n, c, none) <
      body = b (int64 i, bool go, float[0] v) => (bool on, float[m] w) {
        on = Identity(go)
        w = Concat<axis = 0>(v, x)
      }
    > })",
                                                 16));
  const Graph& body = *std::get<GraphPtr>(graph.node(graph.order()[0]).attrs.at("body"));
  EXPECT_EQ(ToString(body.type(body.inputs()[2])), "f32[?]");
  const std::int64_t n = 3;
  const Tensor count = Tensor::From<std::int64_t>(DType::kI64, {}, std::span(&n, 1));
  EXPECT_EQ(Interpret(graph, std::vector<Tensor>{Floats({1, -1}), count})[0],
            Floats({1, -1, 1, -1, 1, -1}));
}

// Symbols that a tracer declares for two carried values may be equal in front of the loop alone.
TEST(OnnxLoop, TakesNoSymbolsOfWhatItCarriesForSizes) {
  const Graph graph =
      ImportOnnxBytes(ModelBytes(R"((float[2] x, int64 n) => (float[k] y, float[l] z) {
    c = Constant<value = bool {1}>()
    none = Constant<value = float[0] {}>()
    y, z = Loop (n, c, none, none) <
      body = b (int64 i, bool go, float[s] v, float[s] w) => (bool on, float[s] p, float[s] q) {
        on = Identity(go)
        p = Concat<axis = 0>(v, x)
        q = Identity(w)
      }
    > })",
                                 16));
  const std::int64_t n = 2;
  const Tensor count = Tensor::From<std::int64_t>(DType::kI64, {}, std::span(&n, 1));
  const auto outputs = Interpret(graph, std::vector<Tensor>{Floats({1, -1}), count});
  EXPECT_EQ(outputs[0], Floats({1, -1, 1, -1}));
  EXPECT_EQ(outputs[1].dims(), Dims{0});
}

TEST(OnnxLoop, KeepsTheSizesThatItsBodyKeeps) {
  const Graph graph = ImportOnnxBytes(ModelBytes(kLoop, 16));
  const Graph& body = *std::get<GraphPtr>(graph.node(graph.order()[0]).attrs.at("body"));
  EXPECT_EQ(ToString(body.type(body.inputs()[2])), "f32[2]");
}

TEST(OnnxScan, OfABatchOfOneIsReadFromSet8) {
  auto model = ModelFromText(R"((float[1,2] s, float[1,3,2] x) => (float[1,2] y, float[1,3,2] all) {
    y, all = Scan<num_scan_inputs = 1, body = b (float[2] a, float[2] v) => (float[2] sum, float[2] out) {
        sum = Add(a, v)
        out = Identity(sum)
      }
    > (s, s, x) })",
                             8);
  model.mutable_graph()->mutable_node(0)->set_input(0, "");  // no lengths of sequences
  const Graph graph = ImportOnnxBytes(BytesOf(model));
  const Tensor s = Tensor::From<float>(DType::kF32, {1, 2}, std::vector<float>{0, 1});
  const Tensor x =
      Tensor::From<float>(DType::kF32, {1, 3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6});
  const std::vector<Tensor> made = Interpret(graph, std::vector<Tensor>{s, x});
  EXPECT_EQ(made[0], Tensor::From<float>(DType::kF32, {1, 2}, std::vector<float>{9, 13}));
  EXPECT_EQ(made[1].dims(), (Dims{1, 3, 2}));
}

TEST(OnnxNested, TellsWhatABodyLacks) {
  const auto error = [](const std::string& body) {
    return ErrorOf(ModelFromText(
        "(float[2] x, int64 n, bool c) => (float[2] y) { y = Loop (n, c, x) < body = " + body +
            " > }",
        16));
  };
  EXPECT_EQ(
      error("b (int64 i, bool go, float[2] v) => (bool go, float[2] w) { w = Add(v, nothing) }"),
      "model: node 0 'Add_0' ('Add', operator set 16): reads 'nothing', which nothing produces");
  EXPECT_EQ(error("b (int64 i, bool go) => (bool go) { }"),
            "model: node 'Loop_0' (Loop): its graph takes 2 inputs, not 3");
  EXPECT_EQ(error("b (int64 i, bool go, float[2] v) => (bool go) { }"),
            "model: node 'Loop_0' (Loop): its graph gives 1 outputs and not 2");
}

TEST(OnnxNested, CountsNodesOfAllGraphs) {
  // Each If holds two others: read as often as they nest, they would be very many.
  const auto text = [](const auto& self, int depth, const std::string& name) -> std::string {
    if (depth == 0) return name + " = Neg(x)";
    const auto branch = [&](const std::string& end) {
      return " () => (float[2] " + name + end + ") { " + self(self, depth - 1, name + end) + " }";
    };
    return name + " = If (c) < then_branch = t" + branch("t") + ", else_branch = e" + branch("e") +
           " >";
  };
  ImportOptions options;
  options.limits.nodes = 2'000;
  const std::string model =
      "(float[2] x, bool c) => (float[2] y) { " + text(text, 6, "v") + " y = Abs(v) }";
  EXPECT_EQ(ErrorOf(ModelFromText(model, 16), options),
            "model: has 2001 nodes; at most 2000 are read");
}

TEST(OnnxSequences, AreReadAndRun) {
  auto model = ModelFromText(R"((float[2] s, float[2] x) => (y, int64 n) {
    y = SequenceInsert(s, x)
    n = SequenceLength(y)
  })",
                             16);
  auto& type = *model.mutable_graph()->mutable_input(0)->mutable_type();
  const onnx::TypeProto tensor = type;
  *type.mutable_sequence_type()->mutable_elem_type() = tensor;
  const Graph graph = ImportOnnxBytes(BytesOf(model));
  EXPECT_EQ(ToString(graph.type(graph.outputs()[0])), "seq(f32[*])");
  const auto shared = [](Tensor value) { return std::make_shared<const Tensor>(std::move(value)); };
  const std::vector<RunValue> inputs = {SequenceOf(DType::kF32, {shared(Floats({1, 2}))}),
                                        RunValueOf(Floats({3, 4}))};
  const std::vector<RunValue> made = InterpretValues(graph, inputs);
  ASSERT_EQ(made[0].tensors.size(), 2U);
  EXPECT_EQ(*made[0].tensors[1], Floats({3, 4}));
  EXPECT_EQ(TensorIn(made[1])->Values<std::int64_t>()[0], 2);
  EXPECT_THROW((void)InterpretValues(graph, std::vector<RunValue>{inputs[1], inputs[1]}),
               UserError);
}

TEST(OnnxValues, AreReadAsTheTypeThatIsAsked) {
  const TemporaryFolder folder(testing::TempDir(), "msc_value_");
  const std::string path = folder.path() + "/value.pb";
  onnx::OptionalProto optional;
  optional.set_elem_type(onnx::OptionalProto::SEQUENCE);
  auto& tensor = *optional.mutable_sequence_value()->add_tensor_values();
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(1);
  tensor.set_raw_data(std::string(4, '\0'));
  WriteFileAtomic(path, optional.SerializeAsString());
  const ValueType list{.dtype = DType::kF32, .container = Container::kOptionalSequence};
  const RunValue read = ImportOnnxValue(path, list);
  ASSERT_TRUE(read.present && read.tensors.size() == 1);
  EXPECT_EQ(*read.tensors[0], Floats({0}));
  // The same file has no tensor.
  const ValueType one{.dtype = DType::kF32, .container = Container::kOptional};
  EXPECT_FALSE(ImportOnnxValue(path, one).present);
  WriteFileAtomic(path, "\xFF");
  EXPECT_THROW((void)ImportOnnxValue(path, one), UserError);
}

TEST(OnnxInputs, BecomeTheConstantsThatAreGiven) {
  ImportOptions options;
  options.fix_input = [](const std::string& name, const ValueType& type) -> TensorPtr {
    EXPECT_TRUE(name == "c" || name == "x");
    if (name != "c") return nullptr;
    EXPECT_EQ(ToString(type), "bool[]");
    return std::make_shared<const Tensor>(DType::kBool, Dims{});
  };
  const Graph graph = ImportOnnxBytes(ModelBytes(kValue, 13), options);
  EXPECT_EQ(graph.inputs().size(), 1U);
  EXPECT_EQ(RunOn(graph, {Floats({1, -2})}), (std::vector<float>{2, -4}));
}

}  // namespace
}  // namespace msc
