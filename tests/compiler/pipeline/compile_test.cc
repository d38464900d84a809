#include "compiler/pipeline/compile.h"

#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/codegen/cpp/isa.h"
#include "compiler/import/onnx/import.h"
#include "compiler/ir/text.h"
#include "compiler/ops/declared.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/calibrate.h"
#include "compiler/pipeline/samples.h"
#include "compiler/pipeline/schedule.h"
#include "tests/support/exact_int8.h"
#include "tests/support/pipeline.h"
#include "tests/support/random_model.h"

namespace msc {
namespace {

constexpr const char* kNet = R"(graph net {
  input %x : f32[batch,3,6,6]
  const %w1 : f32[4,3,3,3] = random 1
  const %b1 : f32[4] = [0.1, -0.2, 0.3, 0]
  const %w2 : f32[4,4,3,3] = random 2
  const %w3 : f32[5,4] = random 3
  %c1 = Conv(%x, %w1, %b1) @conv1 {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %r1 = Relu(%c1) @relu1
  %c2 = Conv(%r1, %w2) @conv2 {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %s = Add(%c2, %r1) @add
  %r2 = Relu(%s) @relu2
  %p = GlobalAveragePool(%r2) @pool
  %f = Flatten(%p) @flatten
  %y = Gemm(%f, %w3) @fc {transB = 1}
  output %y
})";

Graph Net() {
  Graph graph = ParseGraph(kNet);
  InferTypes(graph);
  return graph;
}

Strategy PlanFor(const Graph& graph, const std::string& precision, const std::string& target) {
  const TargetRegistry targets = Targets();
  const std::vector<Tensor> samples = {RandomTensor({64, 3, 6, 6}, 5)};
  const Calibrator calibrator = ObserveActivations(graph, TensorSamples(samples),
                                                   {.target = "reference", .batch = 16}, targets);
  Strategy strategy;
  strategy.target = target;
  strategy.quantize.activations = calibrator.Scales({.method = "minmax"});
  for (const QuantizableLayer& layer : FindQuantizableLayers(graph)) {
    strategy.quantize.layers[layer.name] = ParsePrecision(precision);
  }
  return strategy;
}

struct Case {
  std::string precision;
  double tolerance;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.precision; }
};

class Precisions : public testing::TestWithParam<Case> {};

TEST_P(Precisions, StayCloseToTheInterpreterOnEveryTarget) {
  const Graph graph = Net();
  const TargetRegistry targets = Targets();
  const std::vector<Tensor> inputs = {RandomTensor({2, 3, 6, 6}, 9)};
  Graph bound = graph;
  InferTypes(bound, {{"batch", 2}});
  const std::vector<Tensor> wanted = Interpret(bound, inputs);
  for (const auto& [name, kind] : targets.kinds()) {
    SCOPED_TRACE(name);
    try {
      (void)targets.Get(name);
    } catch (const UserError&) {
      continue;  // this machine lacks it; the contract tests say why
    }
    if (GetParam().precision == "int8" && !IsExactInInt8(name)) continue;
    const Strategy strategy = PlanFor(graph, GetParam().precision, name);
    Result<Executable> built =
        Compile(graph, strategy, targets, {.threads = 1, .bindings = {{"batch", 2}}});
    ASSERT_TRUE(built.ok()) << built.failure().detail;
    const std::vector<Tensor> got = built.value().Run(inputs);
    ASSERT_EQ(got.size(), 1U);
    EXPECT_LT(Error(got[0], wanted[0]), GetParam().tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(, Precisions,
                         testing::Values(Case{"f32", 1e-4}, Case{"bf16", 0.03}, Case{"int8", 0.08}),
                         [](const auto& param_info) { return param_info.param.precision; });

TEST(Compile, LeavesNoDoubtThatInt8RunsAsIntegers) {
  const Graph graph = Net();
  const TargetRegistry targets = Targets();
  if (targets.absent().contains("onednn")) GTEST_SKIP() << "this build has no onednn target";
  if (!DetectIsa().vnni) GTEST_SKIP() << "without VNNI, onednn takes no 8-bit layers";
  const Strategy strategy = PlanFor(graph, "int8", "onednn");
  Result<Executable> built = Compile(graph, strategy, targets, {.threads = 1, .bindings = {}});
  ASSERT_TRUE(built.ok()) << built.failure().detail;
  int int8_steps = 0;
  for (const Step& step : built.value().steps()) int8_steps += step.precision == "int8" ? 1 : 0;
  EXPECT_GE(int8_steps, 3) << "two convolutions and a matrix product";
}

// As ONNX Runtime's tools write a quantized model in operators of integers.
TEST(Compile, RunsLayersOfIntegersWholeOnFastTargets) {
  Graph graph = ParseGraph(R"(graph integers {
    input %x : f32[1,3,8,8]
    const %xs : f32[] = [0.03]
    const %xz : u8[] = [120]
    const %w1 : i8[8,3,3,3] = random 1
    const %s1 : f32[8] = [0.003, 0.002, 0.004, 0.003, 0.001, 0.005, 0.002, 0.003]
    const %z : i8[] = [0]
    const %b1 : i32[8] = random 2
    const %cs : f32[] = [0.1]
    const %cz : u8[] = [0]
    const %w2 : u8[8,8,3,3] = random 3
    const %s2 : f32[] = [0.002]
    const %z2 : u8[] = [128]
    const %w3 : i8[8,5] = random 4
    const %ys : f32[] = [0.2]
    const %yz : u8[] = [128]
    %q = QuantizeLinear(%x, %xs, %xz)
    %c = QLinearConv(%q, %xs, %xz, %w1, %s1, %z, %cs, %cz, %b1) @conv1 {pads = [1, 1, 1, 1]}
    %d = QLinearConv(%c, %cs, %cz, %w2, %s2, %z2, %cs, %cz) @conv2 {strides = [2, 2]}
    %e = DequantizeLinear(%d, %cs, %cz)
    %p = GlobalAveragePool(%e)
    %f = Flatten(%p)
    %g = QuantizeLinear(%f, %cs, %cz)
    %m = QLinearMatMul(%g, %cs, %cz, %w3, %s2, %z, %ys, %yz) @fc
    %y = DequantizeLinear(%m, %ys, %yz)
    output %y
  })");
  InferTypes(graph);
  const std::vector<Tensor> inputs = {RandomTensor({1, 3, 8, 8}, 9)};
  const std::vector<Tensor> wanted = Interpret(graph, inputs);
  Canonicalize(graph);
  const TargetRegistry targets = Targets();
  for (const std::string target : {"native", "onednn"}) {
    SCOPED_TRACE(target);
    if (targets.absent().contains(target)) continue;
    if (target == "onednn" && !DetectIsa().vnni) continue;  // would not be exact
    Strategy strategy;
    strategy.target = target;
    Result<Executable> built = Compile(graph, strategy, targets, {});
    ASSERT_TRUE(built.ok()) << built.failure().detail;
    int int8_steps = 0;
    for (const Step& step : built.value().steps()) {
      EXPECT_EQ(step.target, target) << step.name;
      int8_steps += step.precision == "int8" ? 1 : 0;
    }
    EXPECT_GE(int8_steps, 3) << "two convolutions and a matrix product";
    const std::vector<Tensor> got = built.value().Run(inputs);
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_NEAR(got[0].Values<float>()[i], wanted[0].Values<float>()[i], 0.2F + 1e-5F);
    }
  }
}

TEST(Compile, BindsAnUnnamedSymbolToOne) {
  const Graph graph = Net();
  const TargetRegistry targets = Targets();
  Strategy strategy;
  strategy.target = "reference";
  Result<Executable> built = Compile(graph, strategy, targets, {});
  ASSERT_TRUE(built.ok());
  EXPECT_EQ(ToString(built.value().input_types()[0]), "f32[1,3,6,6]");
}

TEST(Compile, RefusesASymbolThatNoInputHas) {
  const Graph graph = Net();
  const TargetRegistry targets = Targets();
  Strategy strategy;
  strategy.target = "reference";
  EXPECT_EQ(Refusal([&] {
              [[maybe_unused]] const auto built =
                  Compile(graph, strategy, targets, {.threads = 1, .bindings = {{"length", 4}}});
            }),
            "no input has a dimension named 'length'");
}

/// Outputs of `text` compiled for `target`, or why there are none.
std::string RunOf(const std::string& text, const std::string& target,
                  const std::vector<Tensor>& inputs) {
  const TargetRegistry targets = Targets();
  Graph graph = ParseGraph(text);
  Strategy strategy;
  strategy.target = target;
  std::string made;
  const std::string refusal = Refusal([&] {
    InferTypes(graph);
    const Result<Executable> built = Compile(graph, strategy, targets, {});
    if (!built.ok()) throw UserError(built.failure().detail);
    for (const Tensor& output : built.value().Run(inputs)) made += ToString(output.dims());
  });
  return made.empty() ? refusal : made;
}

Tensor Integers(const std::vector<std::int64_t>& values) {
  return Tensor::From<std::int64_t>(DType::kI64, {std::ssize(values)}, values);
}

// The model declares what it makes; a target that believed it would read past what there is.
TEST(Compile, BelievesNoShapeThatInputsDecide) {
  struct Declared {
    std::string node;
    std::vector<std::int64_t> fitting;  ///< values of its second input that make what is declared
    std::string makes;
    std::vector<std::int64_t> other;
    std::string refusal;
  };
  const std::vector<Declared> cases = {
      {"%y = Reshape(%x, %p) @n : f32[4,4]",
       {4, 4},
       "[4,4]",
       {8, 2},
       "node 'n' (Reshape): makes output 0 of shape [8,2] of these inputs, but the model was "
       "compiled for [4,4]"},
      {"%y = Reshape(%x, %p) @n : f32[64,64]",
       {},
       "",
       {2, 8},
       "node 'n' (Reshape): makes output 0 of shape [2,8] of these inputs, but the model was "
       "compiled for [64,64]"},
      {"%y = Unsqueeze(%x, %p) @n : f32[64,8,8]",
       {},
       "",
       {1, 3},
       "node 'n' (Unsqueeze): makes output 0 of shape [2,1,8,1] of these inputs, but the model was "
       "compiled for [64,8,8]"},
      {"%y, %z = Split(%x, %p) @n {axis = 1} : f32[2,2], f32[2,6]",
       {2, 6},
       "[2,2][2,6]",
       {6, 2},
       "node 'n' (Split): makes output 0 of shape [2,6] of these inputs, but the model was "
       "compiled for [2,2]"},
      {"%y, %z = Split(%x, %p) @n {axis = 1} : f32[2,200], f32[2,600]",
       {},
       "",
       {6, 2},
       "node 'n' (Split): makes output 0 of shape [2,6] of these inputs, but the model was "
       "compiled for [2,200]"},
  };
  const TargetRegistry targets = Targets();
  for (const auto& [name, kind] : targets.kinds()) {
    if (Refusal([&, &name = name] { (void)targets.Get(name); }) != "accepted") continue;
    if (name == "onnxruntime") continue;  // it says so in words of its own
    for (const Declared& c : cases) {
      SCOPED_TRACE(name + ": " + c.node);
      const bool two = c.node.find("%z") != std::string::npos;
      const std::string text = "graph g {\n  input %x : f32[2,8]\n  input %p : i64[2]\n  " +
                               c.node + "\n  output %y\n" + (two ? "  output %z\n}" : "}");
      if (!c.fitting.empty()) {
        EXPECT_EQ(RunOf(text, name, {RandomTensor({2, 8}, 1), Integers(c.fitting)}), c.makes);
      }
      EXPECT_EQ(RunOf(text, name, {RandomTensor({2, 8}, 1), Integers(c.other)}), c.refusal);
    }
  }
}

/// Nodes of the lowered graph whose types do not follow, which targets then do not get.
std::vector<std::string> Declared(const Graph& graph, const Target& target) {
  Graph canonical = graph;
  Canonicalize(canonical);
  const Graph lowered = Lower(canonical, target, {});
  std::vector<std::string> declared;
  for (const NodeId id : lowered.order()) {
    if (!TypesFollow(lowered, id)) declared.push_back(lowered.node(id).op);
  }
  return declared;
}

// Inference knows all types of what targets are to run, those of fused operators too.
TEST(Compile, LeavesTargetsWhatTheyTakeOfOrdinaryModels) {
  const TargetRegistry targets = Targets();
  std::vector<Graph> graphs = {ImportOnnx("experiments/models/fashion_resnet.onnx")};
  for (std::uint64_t seed = 0; seed < 60; ++seed) graphs.push_back(RandomModel(seed));
  for (const auto& [name, kind] : targets.kinds()) {
    if (Refusal([&, &name = name] { (void)targets.Get(name); }) != "accepted") continue;
    for (const Graph& graph : graphs) {
      EXPECT_EQ(Declared(graph, targets.Get(name)), std::vector<std::string>()) << name;
    }
  }
}

// A target that takes such a value divides by the size of its elements, which is 0.
TEST(Compile, RefusesInputsThatAreNoTensorsOfNumbers) {
  const TargetRegistry targets = Targets();
  for (const auto& [name, kind] : targets.kinds()) {
    if (Refusal([&, &name = name] { (void)targets.Get(name); }) != "accepted") continue;
    SCOPED_TRACE(name);
    const auto refusal = [&, &name = name](const std::string& type, const std::string& made) {
      return RunOf("graph g {\n  input %x : " + type +
                       "\n  %y = Concat(%x, %x) @join {axis = 0} : " + made + "\n  output %y\n}",
                   name, {});
    };
    EXPECT_EQ(refusal("undef[2,3]", "f32[4,3]"),
              "input 'x' has no element type; give it one in the model");
    EXPECT_EQ(refusal("seq(f32[2,3])", "f32[4,3]"),
              "input 'x' is a seq(f32[2,3]); only tensors can be compiled");
    EXPECT_EQ(refusal("str[2,3]", "str[4,3]"), "no target runs node 'join' (Concat)");
  }
}

TEST(Compile, RefusesAStrategyOfAnotherModel) {
  Strategy strategy;
  strategy.model_hash = std::string(64, '0');
  const std::string refusal =
      Refusal([&] { [[maybe_unused]] const Graph g = ApplyStrategy(Net(), strategy); });
  EXPECT_TRUE(refusal.starts_with(
      "the strategy was made for another model (graph 000000000000..., this one is "))
      << refusal;
}

TEST(Compile, SaysAtWhichSizesAStrategyWasMade) {
  Strategy strategy;
  strategy.model_hash = std::string(64, '0');
  const Graph graph = Net();
  const ValueId input = graph.inputs().at(0);
  const std::string& name = graph.value(input).name;
  const std::string here = ToString(*graph.type(input).shape);
  strategy.inputs.of_input[name] = here;
  const auto refusal = [&] {
    return Refusal([&] { [[maybe_unused]] const Graph g = ApplyStrategy(Net(), strategy); });
  };
  EXPECT_TRUE(refusal().starts_with("the strategy was made for another model (graph 0"));
  strategy.inputs.of_input[name] = "[1,3,99,99]";
  EXPECT_TRUE(refusal().starts_with("the strategy was made at other sizes: input '" + name +
                                    "' [1,3,99,99], here " + here +
                                    "; give the --shape of that "
                                    "time, or make the strategy anew at these sizes (graph 0"))
      << refusal();
}

TEST(Compile, ShapesOfInputsChangeNoHashOfAStrategy) {
  Strategy strategy;
  const std::string hash = StrategyHash(strategy);
  strategy.inputs.of_input["x"] = "[1,3,99,99]";
  EXPECT_EQ(StrategyHash(strategy), hash);
  EXPECT_EQ(StrategyFromJson(ToJson(strategy), "'a.json'").inputs.of_input.at("x"), "[1,3,99,99]");
}

TEST(Compile, RefusesAStrategyWhoseModelWasLost) {
  EXPECT_EQ(
      Refusal([] { (void)StrategyFromJson(R"({"model_hash": ""})", "'a.json'"); }),
      "'a.json': 'model_hash' is empty: give the hash of the model that the strategy was made "
      "for, as mscgym writes it, or leave the key out");
  // By hand, for whatever model has these names.
  EXPECT_EQ(StrategyFromJson("{}", "it"), Strategy{});
  EXPECT_EQ(ToJson(Strategy{}).find("model_hash"), std::string::npos);
}

TEST(Compile, RefusesAStrategyWithAnUnknownPrecision) {
  EXPECT_EQ(
      Refusal([] { (void)StrategyFromJson(R"({"quantize":{"layers":{"a":"int4"}}})", "it"); }),
      "'quantize.layers.a': unknown precision 'int4'; known: f32, bf16, int8");
}

TEST(Compile, RefusesATargetThatIsNotThere) {
  Strategy strategy;
  strategy.target = "abacus";
  const TargetRegistry targets = Targets();
  const std::string refusal =
      Refusal([&] { [[maybe_unused]] const auto built = Compile(Net(), strategy, targets, {}); });
  EXPECT_NE(refusal.find("abacus"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("reference"), std::string::npos) << refusal;
}

/// A product that broadcasts both sides, which oneDNN lacks.
constexpr const char* kOuter = R"(graph outer {
  input %x : f32[1,1,6]
  const %c : f32[1,4,1] = random 1
  %m = Mul(%x, %c) @outer
  %y = Relu(%m) @relu
  output %y
})";

/// Returns the targets of the steps of kOuter, compiled for onednn.
std::vector<std::string> RunnersOfOuter() {
  Graph graph = ParseGraph(kOuter);
  InferTypes(graph);
  Strategy strategy;
  strategy.target = "onednn";
  const TargetRegistry targets = Targets();
  const Executable executable = Compile(graph, strategy, targets, {}).value();
  const std::vector<Tensor> inputs = {RandomTensor({1, 1, 6}, 3)};
  EXPECT_LT(Error(executable.Run(inputs).at(0), Interpret(graph, inputs).at(0)), 1e-6);
  std::vector<std::string> runners;
  for (const Step& step : executable.steps()) runners.push_back(step.target);
  return runners;
}

TEST(Compile, RunsOnNativeWhatATargetLacks) {
  if (Targets().absent().contains("onednn")) GTEST_SKIP() << "this build has no onednn target";
  EXPECT_EQ(RunnersOfOuter().front(), "native");
}

TEST(Compile, RunsOnReferenceWhatATargetLacksWhereThereIsNoCompiler) {
  if (Targets().absent().contains("onednn")) GTEST_SKIP() << "this build has no onednn target";
  const char* const set = std::getenv("MSCGYM_CXX");
  const std::string before = set == nullptr ? "" : set;
  ::setenv("MSCGYM_CXX", "/nowhere/c++", 1);
  const std::vector<std::string> runners = RunnersOfOuter();
  set == nullptr ? ::unsetenv("MSCGYM_CXX") : ::setenv("MSCGYM_CXX", before.c_str(), 1);
  EXPECT_EQ(runners.front(), "reference");
}

TEST(Compile, WidensWeightsThatNoKernelTakesNarrow) {
  Graph graph = ParseGraph(R"(graph wide {
    input %x : f32[1,3,6,6]
    const %w : i8[4,3,3,3] = random 1
    const %scale : f32[4] = [0.01, 0.02, 0.03, 0.04]
    %v = DequantizeLinear(%w, %scale) @widen {axis = 0}
    %y = Conv(%x, %v) @conv
    output %y
  })");
  InferTypes(graph);
  Strategy strategy;
  strategy.target = "native";
  const TargetRegistry targets = Targets();
  const Executable executable = Compile(graph, strategy, targets, {}).value();
  const std::vector<Tensor> inputs = {RandomTensor({1, 3, 6, 6}, 3)};
  EXPECT_LT(Error(executable.Run(inputs).at(0), Interpret(graph, inputs).at(0)), 1e-5);
  for (const Step& step : executable.steps()) EXPECT_EQ(step.target, "native") << step.name;
}

/// The strategy of `target` alone, with `schedule` for `layer`.
Strategy Scheduled(const std::string& target, const std::string& layer,
                   const KernelSchedule& schedule) {
  Strategy strategy;
  strategy.target = target;
  strategy.schedules[layer] = schedule;
  return strategy;
}

/// What there is to choose where `target` runs it all, or what regions leave of it.
std::vector<ScheduledKernel> KernelsOf(const Graph& graph, const std::string& target,
                                       const CompileOptions& options = {},
                                       const std::vector<PartitionRegion>& regions = {}) {
  const TargetRegistry targets = Targets();
  Strategy strategy;
  strategy.target = target;
  strategy.partition = regions;
  return FindKernels(LowerFor(graph, strategy, targets, options), targets);
}

TEST(Schedules, AreSharedByLayersWithEqualKernels) {
  const Graph graph = Net();
  const std::vector<ScheduledKernel> kernels = KernelsOf(graph, "native");
  ASSERT_EQ(kernels.size(), 3U);
  EXPECT_EQ(kernels[0].kernel, "conv 3x3 3 > 4 to 6x6 padded f32");
  EXPECT_EQ(kernels[0].layers, (std::vector<std::string>{"conv1"}));
  EXPECT_EQ(kernels[2].kernel, "product 4 > 5 of 1 rows f32");
  EXPECT_GT(kernels[1].flops, 0);
  EXPECT_TRUE(KernelsOf(graph, "reference").empty());
  Graph twice = ParseGraph(R"(graph twice {
    input %x : f32[1,4,6,6]
    const %w : f32[4,4,3,3] = random 1
    %a = Conv(%x, %w) @first {pads = [1, 1, 1, 1]}
    %b = Conv(%a, %w) @second {pads = [1, 1, 1, 1]}
    output %b
  })");
  InferTypes(twice);
  const std::vector<ScheduledKernel> shared = KernelsOf(twice, "native");
  ASSERT_EQ(shared.size(), 1U);
  EXPECT_EQ(shared[0].layers, (std::vector<std::string>{"first", "second"}));
}

TEST(Schedules, AreForWhoRunsTheKernel) {
  const Graph graph = Net();
  const std::vector<ScheduledKernel> whole = KernelsOf(graph, "native");
  const std::vector<ScheduledKernel> rest =
      KernelsOf(graph, "native", {}, {{.nodes = {"conv1"}, .target = "reference"}});
  ASSERT_EQ(rest.size(), whole.size() - 1);
  EXPECT_EQ(rest[0].kernel, whole[1].kernel);
  const std::vector<ScheduledKernel> part =
      KernelsOf(graph, "reference", {}, {{.nodes = {"conv1"}, .target = "native"}});
  ASSERT_EQ(part.size(), 1U);
  EXPECT_TRUE(part[0].kernel.ends_with(" on native")) << part[0].kernel;
  EXPECT_EQ(part[0].layers, (std::vector<std::string>{"conv1"}));
}

/// As above: most kernels are compiled already.
const CompileOptions kTwo{.threads = 1, .bindings = {{"batch", 2}}};

TEST(Schedules, OfAStrategyAreReplayed) {
  const Graph graph = Net();
  const TargetRegistry targets = Targets();
  const KernelSchedule other = KernelsOf(graph, "native", kTwo)[0].choices.back();
  const Strategy strategy =
      StrategyFromJson(ToJson(Scheduled("native", "conv1", other)), "a strategy");
  EXPECT_EQ(strategy.schedules.at("conv1"), other);
  const Lowered lowered = LowerFor(graph, strategy, targets, kTwo);
  const Node& node = lowered.graph.node(lowered.graph.FindNode("conv1"));
  EXPECT_EQ(AttrOr(node, kScheduleAttr, std::string()), ToText(other));
  Result<Executable> built = BuildExecutable(lowered, targets, kTwo);
  ASSERT_TRUE(built.ok()) << built.failure().detail;
  const std::vector<Tensor> inputs = {RandomTensor({2, 3, 6, 6}, 9)};
  Graph bound = graph;
  InferTypes(bound, {{"batch", 2}});
  EXPECT_LT(Error(built.value().Run(inputs)[0], Interpret(bound, inputs)[0]), 1e-4);
}

TEST(Schedules, AreRefusedWhereTheyDoNotFit) {
  const Graph graph = Net();
  const TargetRegistry targets = Targets();
  const auto refusal = [&](const Strategy& strategy) {
    return Refusal([&] { (void)LowerFor(graph, strategy, targets, {}); });
  };
  EXPECT_EQ(refusal(Scheduled("native", "conv9", {})),
            "the strategy has a schedule for 'conv9', and there is no such node in what runs");
  EXPECT_EQ(refusal(Scheduled("reference", "conv1", {})),
            "reference cannot write the kernel of 'conv1' as 'direct 1x1 rows': it has no choice "
            "there");
  const std::string wide = refusal(Scheduled("native", "conv1", {.columns = 64}));
  EXPECT_TRUE(
      wide.starts_with("native cannot write the kernel of 'conv1' as 'direct 64x1 rows': "
                       "that does not fit 'conv 3x3 3 > 4 to 6x6 padded f32' on this "))
      << wide;
  EXPECT_EQ(Refusal([] {
              (void)StrategyFromJson(R"({"schedules": {"a": {"algorithm": "fft"}}})", "it");
            }),
            "'schedules.a.algorithm' must be one of direct, depthwise, grouped, winograd2, "
            "winograd4, not \"fft\"");
}

TEST(Schedules, GoWhereAllRunsOnAnotherTarget) {
  Strategy strategy = Scheduled("native", "conv1", {});
  RunAllOn("native", strategy);
  EXPECT_EQ(strategy.schedules.size(), 1U);
  RunAllOn("onednn", strategy);
  EXPECT_EQ(strategy.target, "onednn");
  EXPECT_TRUE(strategy.schedules.empty());
}

/// Net() with other weights, of the same types and shapes.
Graph NetOfOtherWeights() {
  std::string text = kNet;
  for (const char* seed : {"random 1", "random 2", "random 3"}) {
    text.replace(text.find(seed), 8, "random " + std::to_string(seed[7] - '0' + 4));
  }
  Graph graph = ParseGraph(text);
  InferTypes(graph);
  return graph;
}

TEST(UpdateConstants, GivesBitForBitWhatCompilingAgainDoes) {
  const TargetRegistry targets = Targets();
  const std::vector<Tensor> inputs = {RandomTensor({2, 3, 6, 6}, 9)};
  for (const std::string precision : {"f32", "int8"}) {
    SCOPED_TRACE(precision);
    const Strategy strategy = PlanFor(Net(), precision, "native");
    const auto lower = [&](const Graph& graph) {
      return LowerFor(ApplyStrategy(graph, strategy), strategy, targets, kTwo);
    };
    Result<Executable> updated = BuildExecutable(lower(Net()), targets, kTwo);
    Result<Executable> again = BuildExecutable(lower(NetOfOtherWeights()), targets, kTwo);
    ASSERT_TRUE(updated.ok() && again.ok());
    const std::vector<Tensor> before = updated.value().Run(inputs);
    EXPECT_FALSE(UpdateConstants(lower(NetOfOtherWeights()), targets, kTwo, updated.value()));
    const std::vector<Tensor> after = updated.value().Run(inputs);
    EXPECT_NE(after, before);
    EXPECT_EQ(after, again.value().Run(inputs));
    EXPECT_FALSE(UpdateConstants(lower(Net()), targets, kTwo, updated.value())) << "and back";
    EXPECT_EQ(updated.value().Run(inputs), before);
  }
}

TEST(UpdateConstants, ChangesNothingWhereItCannot) {
  const TargetRegistry targets = Targets();
  const std::vector<Tensor> inputs = {RandomTensor({2, 3, 6, 6}, 9)};
  Strategy strategy;
  strategy.target = "native";
  Result<Executable> built = Compile(Net(), strategy, targets, kTwo);
  ASSERT_TRUE(built.ok());
  const std::vector<Tensor> before = built.value().Run(inputs);
  Strategy narrow = PlanFor(Net(), "int8", "native");
  const auto other_code = UpdateConstants(
      LowerFor(ApplyStrategy(Net(), narrow), narrow, targets, kTwo), targets, kTwo, built.value());
  ASSERT_TRUE(other_code.has_value());
  EXPECT_EQ(other_code->kind, FailureKind::kUnsupported);
  EXPECT_EQ(other_code->detail, "other code is needed for these weights; compile the model again");
  strategy.target = "reference";
  const auto no_kernels =
      UpdateConstants(LowerFor(Net(), strategy, targets, kTwo), targets, kTwo, built.value());
  ASSERT_TRUE(no_kernels.has_value());
  EXPECT_EQ(no_kernels->detail, "reference makes no kernels");
  EXPECT_EQ(built.value().Run(inputs), before);
}

TEST(Calibration, RefusesSamplesThatAreTooFewForAFixedBatch) {
  Graph graph = ParseGraph(R"(graph g {
    input %x : f32[8,3]
    const %w : f32[2,3] = random 1
    %y = Gemm(%x, %w) {transB = 1}
    output %y
  })");
  InferTypes(graph);
  const std::vector<Tensor> samples = {RandomTensor({3, 3}, 1)};
  const TargetRegistry targets = Targets();
  EXPECT_EQ(Refusal([&] {
              [[maybe_unused]] const auto c =
                  ObserveActivations(graph, TensorSamples(samples), {}, targets);
            }),
            "the model takes 8 samples at a time; only 3 are given for calibration");
}

TEST(Batch, RowsAreCopiedAndBoundsKept) {
  const std::vector<float> values = {0, 1, 2, 3, 4, 5};
  const Tensor tensor = Tensor::From<float>(DType::kF32, {3, 2}, values);
  const std::vector<float> wanted = {2, 3, 4, 5};
  EXPECT_EQ(Rows(tensor, 1, 2), Tensor::From<float>(DType::kF32, {2, 2}, wanted));
  EXPECT_EQ(Refusal([&] { [[maybe_unused]] const Tensor t = Rows(tensor, 2, 2); }),
            "samples 2 to 4 are not all in a tensor of shape [3,2]");
}

}  // namespace
}  // namespace msc
