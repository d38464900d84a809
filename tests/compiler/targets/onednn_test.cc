// What is particular to the onednn target: layouts, reorders, memory, what it refuses.

#include "compiler/targets/onednn/onednn.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "compiler/codegen/cpp/isa.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/targets/reference/reference.h"

namespace msc {
namespace {

Executable Build(const Graph& graph) {
  const auto target = MakeOneDnnTarget();
  ExecutableBuilder builder(graph);
  const Region region{.graph = &graph, .nodes = graph.order()};
  for (const NodeId id : region.nodes) {
    EXPECT_TRUE(target->Supports(graph, id)) << graph.node(id).name;
  }
  const auto failure = target->GraphToRuntime(region, {.threads = 1}, builder);
  EXPECT_FALSE(failure.has_value()) << failure->detail;
  return std::move(builder).Build();
}

std::vector<Tensor> RandomInputs(const Graph& graph) {
  std::vector<Tensor> inputs;
  Rng rng(1);
  for (const ValueId input : graph.inputs()) {
    Tensor& tensor = inputs.emplace_back(DType::kF32, *StaticDims(*graph.type(input).shape));
    for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng.Normal());
  }
  return inputs;
}

void ExpectNear(const Tensor& actual, const Tensor& expected, float tolerance) {
  ASSERT_EQ(actual.dims(), expected.dims());
  for (std::size_t i = 0; i < static_cast<std::size_t>(expected.size()); ++i) {
    ASSERT_NEAR(actual.Values<float>()[i], expected.Values<float>()[i], tolerance) << "at " << i;
  }
}

void ExpectSameAsInterpreted(const Graph& graph, Executable& executable, float tolerance) {
  const std::vector<Tensor> inputs = RandomInputs(graph);
  const std::vector<Tensor> expected = Interpret(graph, inputs);
  const std::vector<Tensor> actual = executable.Run(inputs);
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) ExpectNear(actual[i], expected[i], tolerance);
}

Graph Parsed(std::string_view text) {
  Graph graph = ParseGraph(text);
  InferTypes(graph);
  return graph;
}

std::size_t CountSteps(const Executable& executable, std::string_view prefix) {
  const auto& steps = executable.steps();
  return static_cast<std::size_t>(std::count_if(steps.begin(), steps.end(), [&](const Step& step) {
    return std::string_view(step.name).starts_with(prefix);
  }));
}

std::size_t CountMoves(const Executable& executable) {
  const auto& steps = executable.steps();
  return static_cast<std::size_t>(std::count_if(
      steps.begin(), steps.end(), [](const Step& step) { return step.precision.empty(); }));
}

constexpr std::string_view kWindow =
    "kernel_shape = [3, 3], strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = 1";

// x (f32) -> convert -> `length` convolutions of one type -> convert -> y (f32).
std::string ChainText(const std::string& type, int length) {
  const bool integer = type == "u8";
  const std::string number = integer ? "2" : type == "bf16" ? "16" : "1";
  std::string text = "graph chain {\n  input %x : f32[1,16,14,14]\n";
  text += "  const %scale : f32[] = [0.03]\n  const %zero : u8[] = [0]\n";
  text += "  const %ws : f32[16] = splat 0.002\n";
  std::string last = "x";
  if (integer) text += "  %q = QuantizeLinear(%x, %scale, %zero)\n";
  if (type == "bf16") text += "  %q = Cast(%x) {to = 16}\n";
  if (type != "f32") last = "q";
  for (int i = 0; i < length; ++i) {
    const std::string n = std::to_string(i);
    text += "  const %w" + n + " : " + (integer ? "i8" : type) + "[16,16,3,3] = random " + n + "\n";
    text += "  %v" + n + " = msc.Conv(%" + last + ", %w" + n + ", _, _, " +
            (integer ? "%ws" : "_") + ", _) {" + std::string(kWindow) +
            ", activation = \"Relu\", x_scale = 0.03, y_scale = 0.03, y_type = " + number + "}\n";
    last = "v" + n;
  }
  if (integer) text += "  %y = DequantizeLinear(%" + last + ", %scale, %zero)\n  output %y\n}";
  if (type == "bf16") text += "  %y = Cast(%" + last + ") {to = 1}\n  output %y\n}";
  if (type == "f32") text += "  output %" + last + "\n}";
  return text;
}

/// Returns why this CPU does not run layers of a type with oneDNN; empty if it does.
std::string CpuLacks(const std::string& type) {
  const Isa isa = DetectIsa();
  if (type == "u8" && !isa.vnni) return "without VNNI, oneDNN's 8-bit products are not exact";
  if (type == "bf16" && !isa.avx512) return "without AVX-512, oneDNN has no bf16 layers";
  return "";
}

class Chain : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (const std::string lacks = CpuLacks(GetParam()); !lacks.empty()) GTEST_SKIP() << lacks;
  }
};

TEST_P(Chain, KeepsLayoutsBetweenConvolutions) {
  const Graph graph = Parsed(ChainText(GetParam(), 5));
  const Executable executable = Build(graph);
  // In and out; everything between stays as the convolutions like it.
  EXPECT_LE(CountMoves(executable), 2U);
  EXPECT_EQ(executable.steps().size(), 5 + CountMoves(executable));
}

TEST_P(Chain, NamesThePrecisionThatRuns) {
  const Graph graph = Parsed(ChainText(GetParam(), 2));
  const Executable executable = Build(graph);
  const std::string expected = GetParam() == "u8" ? "int8" : GetParam();
  std::size_t convolutions = 0;
  for (const Step& step : executable.steps()) {
    if (step.precision.empty()) continue;
    EXPECT_EQ(step.precision, expected);
    EXPECT_EQ(step.target, "onednn");
    EXPECT_EQ(step.nodes.size(), 1U);
    ++convolutions;
  }
  EXPECT_EQ(convolutions, 2U);
}

TEST_P(Chain, PlansLessMemoryThanAllBuffersTake) {
  const Graph graph = Parsed(ChainText(GetParam(), 6));
  const Executable executable = Build(graph);
  EXPECT_LT(2 * executable.memory().arena_bytes, executable.memory().unplanned_bytes);
}

INSTANTIATE_TEST_SUITE_P(Types, Chain, testing::Values("f32", "bf16", "u8"),
                         [](const auto& test) { return test.param; });

std::string Conv(const std::string& y, const std::string& inputs) {
  return "  %" + y + " = msc.Conv(" + inputs + ", _, _) {" + std::string(kWindow) +
         ", activation = \"Relu\", y_type = 1}\n";
}

std::string WithWeights(const std::string& body) {
  return "graph g {\n  input %x : f32[1,16,8,8]\n  const %w : f32[16,16,3,3] = random 3\n  const "
         "%b : f32[16] = random 4\n" +
         body + "}";
}

TEST(OneDnnTarget, AddsAResidualThatDiesInPlace) {
  const Graph graph = Parsed(WithWeights(Conv("a", "%x, %w, %b, _") + Conv("c", "%a, %w, %b, _") +
                                         Conv("d", "%c, %w, %b, %a") + Conv("y", "%d, %w, %b, _") +
                                         "  output %y\n"));
  Executable executable = Build(graph);
  EXPECT_EQ(CountSteps(executable, "copy"), 0U);
  ExpectSameAsInterpreted(graph, executable, 0.5F);
}

TEST(OneDnnTarget, CopiesAResidualThatIsReadLater) {
  const Graph graph = Parsed(WithWeights(Conv("a", "%x, %w, %b, _") + Conv("c", "%a, %w, %b, _") +
                                         Conv("d", "%c, %w, %b, %a") + Conv("y", "%d, %w, %b, %a") +
                                         "  output %y\n  output %d\n"));
  Executable executable = Build(graph);
  EXPECT_GE(CountSteps(executable, "copy"), 1U);
  ExpectSameAsInterpreted(graph, executable, 0.5F);
}

TEST(OneDnnTarget, AddsTheInputOfAConvolutionToItsOutput) {
  const Graph graph = Parsed(
      WithWeights(Conv("a", "%x, %w, %b, _") + Conv("c", "%a, %w, %b, %a") + "  output %c\n"));
  Executable executable = Build(graph);
  ExpectSameAsInterpreted(graph, executable, 0.05F);
}

TEST(OneDnnTarget, NeverOverwritesAnInputOrAReshapedValue) {
  const Graph graph =
      Parsed(WithWeights(Conv("a", "%x, %w, %b, _") + Conv("c", "%a, %w, %b, %x") +
                         "  %f = Flatten(%c)\n" + Conv("y", "%a, %w, %b, %c") +
                         "  %r = Relu(%f)\n" + "  output %y\n  output %r\n  output %f\n"));
  Executable executable = Build(graph);
  const std::vector<Tensor> inputs = RandomInputs(graph);
  const std::vector<Tensor> before = inputs;
  (void)executable.Run(inputs);
  EXPECT_EQ(inputs, before);
  ExpectSameAsInterpreted(graph, executable, 0.05F);
}

TEST(OneDnnTarget, PacksWeightsOnceAndCountsThemOnce) {
  const Graph graph = Parsed(WithWeights(Conv("y", "%x, %w, %b, _") + "  output %y\n"));
  const Executable executable = Build(graph);
  const std::size_t weights = 16 * 16 * 9 * 4;
  EXPECT_GE(executable.memory().constant_bytes, weights);
  EXPECT_LE(executable.memory().constant_bytes, weights + 1024);
}

TEST(OneDnnTarget, GivesFlattenForFree) {
  const Graph graph = Parsed(R"(graph g {
  input %x : f32[2,16,4,4]
  const %w : f32[10,16] = random 3
  const %b : f32[10] = random 4
  %p = msc.Pool(%x) {op = "GlobalAveragePool", y_type = 1}
  %f = Flatten(%p)
  %y = msc.Gemm(%f, %w, %b, _, _, _) {y_type = 1}
  output %y
})");
  Executable executable = Build(graph);
  EXPECT_EQ(CountSteps(executable, "Flatten"), 0U);
  ExpectSameAsInterpreted(graph, executable, 1e-4F);
}

TEST(OneDnnTarget, HandsValuesToOtherTargetsDense) {
  const Graph graph = Parsed(WithWeights(Conv("a", "%x, %w, %b, _") + "  %r = Relu(%a)\n" +
                                         Conv("y", "%r, %w, %b, %a") + "  output %y\n"));
  const auto onednn = MakeOneDnnTarget();
  const auto reference = MakeReferenceTarget();
  ExecutableBuilder builder(graph);
  for (std::size_t i = 0; i < 3; ++i) {
    const Region region{.graph = &graph, .nodes = {graph.order()[i]}};
    const Target& target = i == 1 ? *reference : *onednn;
    EXPECT_FALSE(target.GraphToRuntime(region, {.threads = 1}, builder).has_value());
  }
  Executable executable = std::move(builder).Build();
  ExpectSameAsInterpreted(graph, executable, 0.05F);
}

TEST(OneDnnTarget, TakesTheSoftmaxOfEveryRow) {
  const Graph graph = ParseGraph(R"(graph g {
  input %x : f32[2,3]
  %y = Softmax(%x) {axis = -1} : f32[2,3]
  output %y
})");
  Executable executable = Build(graph);
  const std::vector<float> x = {0.0F, 0.0F, 0.0F, 1.0F, 2.0F, 3.0F};
  const std::vector<float> y = {1.0F / 3,    1.0F / 3,    1.0F / 3,
                                0.09003057F, 0.24472847F, 0.66524096F};
  const std::vector<Tensor> inputs = {Tensor::From<float>(DType::kF32, {2, 3}, x)};
  ExpectNear(executable.Run(inputs)[0], Tensor::From<float>(DType::kF32, {2, 3}, y), 1e-6F);
}

TEST(OneDnnTarget, MovesAxes) {
  const Graph graph = ParseGraph(R"(graph g {
  input %x : f32[2,3,1]
  %y = Transpose(%x) {perm = [1, 2, 0]} : f32[3,1,2]
  output %y
})");
  Executable executable = Build(graph);
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  const std::vector<float> y = {1, 4, 2, 5, 3, 6};
  const std::vector<Tensor> inputs = {Tensor::From<float>(DType::kF32, {2, 3, 1}, x)};
  EXPECT_EQ(executable.Run(inputs)[0], Tensor::From<float>(DType::kF32, {3, 1, 2}, y));
}

TEST(OneDnnTarget, JoinsValuesAlongAnAxis) {
  const Graph graph = ParseGraph(R"(graph g {
  input %a : f32[2,1,1,1]
  input %b : f32[2,2,1,1]
  %y = Concat(%a, %b) {axis = 1} : f32[2,3,1,1]
  output %y
})");
  Executable executable = Build(graph);
  const std::vector<float> a = {1, 2};
  const std::vector<float> b = {3, 4, 5, 6};
  const std::vector<float> y = {1, 3, 4, 2, 5, 6};
  const std::vector<Tensor> inputs = {Tensor::From<float>(DType::kF32, {2, 1, 1, 1}, a),
                                      Tensor::From<float>(DType::kF32, {2, 2, 1, 1}, b)};
  EXPECT_EQ(executable.Run(inputs)[0], Tensor::From<float>(DType::kF32, {2, 3, 1, 1}, y));
}

TEST(OneDnnTarget, WritesThePartsOfAConcatWhereTheyBelong) {
  const Graph graph = Parsed(WithWeights(Conv("a", "%x, %w, %b, _") + Conv("c", "%a, %w, %b, _") +
                                         "  %d = Concat(%a, %c) {axis = 0}\n" +
                                         Conv("y", "%d, %w, %b, _") + "  output %y\n"));
  Executable executable = Build(graph);
  const auto& steps = executable.steps();
  EXPECT_TRUE(std::none_of(steps.begin(), steps.end(), [&](const Step& step) {
    return step.name == graph.node(graph.order()[2]).name;
  }));
  ExpectSameAsInterpreted(graph, executable, 0.5F);
}

TEST(OneDnnTarget, SeesAPartInOnePieceWhereItLies) {
  const Graph graph = Parsed(R"(graph g {
  input %x : f32[4,3,5]
  const %i : i64[] = [2]
  %r = Relu(%x)
  %a, %b = Split(%r) {axis = 0}
  %c = Gather(%r, %i)
  %d = Neg(%b)
  %e = Neg(%c)
  output %a
  output %d
  output %e
})");
  Executable executable = Build(graph);
  EXPECT_EQ(executable.steps().size(), 3U);
  ExpectSameAsInterpreted(graph, executable, 0.0F);
}

TEST(OneDnnTarget, NeverOverwritesATensorThroughAPartOfIt) {
  const Graph graph = Parsed(R"(graph g {
  input %x : f32[4,3,5]
  %r = Relu(%x)
  %a, %b = Split(%r) {axis = 0}
  %c = Neg(%a)
  %d = Neg(%b)
  %e = Concat(%c, %d, %r) {axis = 0}
  %f = Neg(%c)
  output %e
  output %f
})");
  Executable executable = Build(graph);
  ExpectSameAsInterpreted(graph, executable, 0.0F);
}

std::string Followed(const std::string& followers, const std::string& y) {
  return WithWeights("  const %s : f32[] = [0.5]\n  const %t : f32[] = [-0.25]\n" +
                     Conv("a", "%x, %w, %b, _") + followers + "  output %" + y + "\n");
}

TEST(OneDnnTarget, DoesElementwiseNodesOnTheWayOut) {
  for (const std::string follower :
       {"  %c = Mul(%a, %s)\n  %d = Add(%c, %t)\n  %e = Sigmoid(%d)\n",
        "  %c = Sub(%t, %a)\n  %d = HardSwish(%c)\n  %e = Div(%d, %s)\n",
        "  %c = Relu(%a)\n  %d = Add(%c, %c)\n  %e = Tanh(%d)\n"}) {
    const Graph graph = Parsed(Followed(follower, "e"));
    Executable executable = Build(graph);
    ExpectSameAsInterpreted(graph, executable, 1e-3F);
  }
  const Graph graph = Parsed(Followed("  %c = Mul(%s, %a)\n  %e = Add(%c, %t)\n", "e"));
  Executable executable = Build(graph);
  EXPECT_EQ(CountSteps(executable, graph.node(graph.order()[1]).name), 0U);
  const auto& steps = executable.steps();
  EXPECT_TRUE(std::any_of(steps.begin(), steps.end(),
                          [](const Step& step) { return step.nodes.size() == 3; }));
  ExpectSameAsInterpreted(graph, executable, 1e-3F);
}

TEST(OneDnnTarget, LeavesWhatSomeoneElseReads) {
  const Graph graph =
      Parsed(Followed("  %c = Mul(%a, %s)\n  %d = Add(%c, %t)\n  output %c\n", "d"));
  Executable executable = Build(graph);
  ExpectSameAsInterpreted(graph, executable, 1e-3F);
}

TEST(OneDnnTarget, NormalisesAndCutsOffInOneStep) {
  const Graph graph = Parsed(R"(graph g {
  input %x : f32[2,5,4,4]
  const %s : f32[5] = random 3
  const %b : f32[5] = random 4
  const %m : f32[5] = random 5
  const %v : f32[5] = [0.5, 1, 2, 3, 4]
  %n = BatchNormalization(%x, %s, %b, %m, %v)
  %y = Relu(%n)
  output %y
})");
  Executable executable = Build(graph);
  EXPECT_EQ(executable.steps().size(), 1U);
  ExpectSameAsInterpreted(graph, executable, 1e-4F);
}

// Two directions side by side, as a reader of both wants them: nothing is copied.
TEST(OneDnnTarget, RunsAnLstmWhereTheGraphReadsIt) {
  const Graph graph = Parsed(R"(graph g {
    input %x : f32[6,2,8]
    const %w : f32[2,64,8] = random 3
    const %r : f32[2,64,16] = random 4
    const %b : f32[2,128] = random 5
    const %v : f32[32,10] = random 6
    const %s : i64[3] = [0, 0, -1]
    %a, %h = LSTM(%x, %w, %r, %b) {direction = "bidirectional"}
    %t = Transpose(%a) {perm = [0, 2, 1, 3]}
    %f = Reshape(%t, %s)
    %y = MatMul(%f, %v)
    output %y
    output %h
  })");
  Executable executable = Build(graph);
  ExpectSameAsInterpreted(graph, executable, 1e-4F);
  EXPECT_EQ(CountMoves(executable), 0U);
}

TEST(OneDnnTarget, SubtractsZeroPointsInFrontOfAProduct) {
  const Graph graph = Parsed(R"(graph g {
  input %x : f32[2,16,3,3]
  input %z : f32[2,16,1,1]
  const %s : f32[] = [0.03]
  const %p : u8[] = [100]
  %a = QuantizeLinear(%x, %s, %p)
  %b = QuantizeLinear(%z, %s, %p)
  %m = msc.Binary(%a, %b) {op = "Mul", x_scale = 0.03, r_scale = 0.03, x_zero_point = 100, r_zero_point = 100, y_type = 1}
  output %m
})");
  Executable executable = Build(graph);
  ExpectSameAsInterpreted(graph, executable, 1e-4F);
}

// The library's inner product takes no zero point: without the change it runs on the reference.
TEST(OneDnnTarget, MovesTheZeroPointOfAMatrixIntoTheBias) {
  if (!DetectIsa().vnni) GTEST_SKIP() << "without VNNI, oneDNN's 8-bit products are not exact";
  const Graph graph = Parsed(R"(graph g {
  input %x : f32[4,32]
  const %s : f32[] = [0.03]
  const %p : u8[] = [100]
  const %w : i8[8,32] = random 1
  const %ws : f32[8] = splat 0.002
  const %bias : f32[8] = random 2
  %q = QuantizeLinear(%x, %s, %p)
  %y = msc.Gemm(%q, %w, %bias, _, %ws, _) {x_scale = 0.03, x_zero_point = 100, y_type = 1}
  output %y
})");
  Executable executable = Build(graph);
  ExpectSameAsInterpreted(graph, executable, 1e-4F);
}

struct Refused {
  std::string label;
  std::string text;
};

void PrintTo(const Refused& refused, std::ostream* out) {
  *out << refused.label;
}

class Refusal : public testing::TestWithParam<Refused> {};

TEST_P(Refusal, IsSaidBeforehand) {
  const Graph graph = ParseGraph(GetParam().text);
  EXPECT_FALSE(MakeOneDnnTarget()->Supports(graph, graph.order().back()));
}

INSTANTIATE_TEST_SUITE_P(Nodes, Refusal,
                         testing::Values(Refused{"unknown_operator", R"(graph g {
  input %x : f32[2]
  %y = Erf(%x) : f32[2]
  output %y
})"},
                                         Refused{"sequences_of_several_lengths", R"(graph g {
  input %x : f32[3,2,4]
  const %w : f32[1,8,4] = random 1
  const %r : f32[1,8,2] = random 2
  const %l : i32[2] = [1, 3]
  %y = LSTM(%x, %w, %r, _, %l) : f32[3,1,2,2]
  output %y
})"},
                                         Refused{"computed_recurrent_weights", R"(graph g {
  input %x : f32[3,2,4]
  const %w : f32[1,8,4] = random 1
  input %r : f32[1,8,2]
  %y = LSTM(%x, %w, %r) : f32[3,1,2,2]
  output %y
})"},
                                         Refused{"unknown_domain", R"(graph g {
  input %x : f32[2]
  %y = other.Relu(%x) : f32[2]
  output %y
})"},
                                         Refused{"missing_weights", R"(graph g {
  input %x : f32[1,2,3,3]
  %y = Conv(%x) : f32[1,2,3,3]
  output %y
})"},
                                         Refused{"f64", R"(graph g {
  input %x : f64[2]
  %y = Relu(%x) : f64[2]
  output %y
})"},
                                         Refused{"no_elements", R"(graph g {
  input %x : f32[2,0]
  %y = Relu(%x) : f32[2,0]
  output %y
})"},
                                         Refused{"scale_per_channel", R"(graph g {
  input %x : u8[2,3]
  const %s : f32[3] = [1, 2, 3]
  %y = DequantizeLinear(%x, %s) {axis = 1} : f32[2,3]
  output %y
})"},
                                         Refused{"weight_scales_that_are_no_constant", R"(graph g {
  input %x : u8[1,4]
  input %s : f32[3]
  const %w : i8[3,4] = random 1
  %y = msc.Gemm(%x, %w, _, _, %s, _) {y_type = 1} : f32[1,3]
  output %y
})"},
                                         Refused{"scaled_gemm", R"(graph g {
  input %x : f32[2,3]
  const %w : f32[3,4] = random 1
  %y = Gemm(%x, %w) {alpha = 0.5} : f32[2,4]
  output %y
})"}),
                         [](const auto& test) { return test.param.label; });

TEST(OneDnnTarget, BuildsAndRunsOnSeveralThreadsAtOnce) {
  const Graph graph = Parsed(ChainText(CpuLacks("u8").empty() ? "u8" : "f32", 3));
  const std::vector<Tensor> inputs = RandomInputs(graph);
  const std::vector<Tensor> expected = Build(graph).Run(inputs);
  const auto target = MakeOneDnnTarget();
  std::vector<std::vector<Tensor>> outputs(4);
  {
    std::vector<std::jthread> threads;
    for (std::vector<Tensor>& output : outputs) {
      threads.emplace_back([&] {
        ExecutableBuilder builder(graph);
        const Region region{.graph = &graph, .nodes = graph.order()};
        (void)target->GraphToRuntime(region, {.threads = 1}, builder);
        Executable executable = std::move(builder).Build();
        for (int i = 0; i < 10; ++i) output = executable.Run(inputs);
      });
    }
  }
  for (const std::vector<Tensor>& output : outputs) EXPECT_EQ(output, expected);
}

TEST(OneDnnTarget, LeavesValuesThatItCannotCount) {
  const auto target = MakeOneDnnTarget();
  for (const bool fits : {true, false}) {
    const std::string width = fits ? "40" : "2147483647";
    Graph graph =
        ParseGraph("graph g {\n input %x : f32[1,4,8," + width +
                   "]\n const %w : f32[4,4,3,3] = random 1\n %y = Conv(%x, %w) {pads = [1, "
                   "1, 1, 1]}\n output %y\n}");
    InferTypes(graph);
    EXPECT_EQ(target->Supports(graph, graph.order().front()), fits);
  }
}

TEST(OneDnnTarget, SaysItsVersionAndInstructionSet) {
  const std::string version = MakeOneDnnTarget()->facts().version;
  EXPECT_TRUE(version.starts_with("2.") || version.starts_with("3.")) << version;
  EXPECT_NE(version.find(' '), std::string::npos) << version;
}

}  // namespace
}  // namespace msc
