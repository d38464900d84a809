#include "compiler/targets/onnxruntime/onnxruntime.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/codegen/onnx/export.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

class OnnxRuntime : public testing::Test {
 protected:
  void SetUp() override {
    registry_.Add(OnnxRuntimeKind());
    try {
      (void)registry_.Get("onnxruntime");
    } catch (const UserError& absent) {
      GTEST_SKIP() << absent.what();
    }
  }

  Executable Build(const Graph& graph, const std::string& spec = "onnxruntime") {
    ExecutableBuilder builder(graph);
    const Region region{.graph = &graph, .nodes = graph.order()};
    EXPECT_FALSE(registry_.Get(spec).GraphToRuntime(region, {.threads = 1}, builder).has_value());
    return std::move(builder).Build();
  }

  TargetRegistry registry_;
};

Graph Parsed(const std::string& text) {
  Graph graph = ParseGraph(text);
  InferTypes(graph);
  return graph;
}

/// What the library leaves there would be sent to its maker. Other tests of this process may have
/// started it before: alone, as ctest runs it, the test says something.
TEST_F(OnnxRuntime, KeepsNoRecordOfWhatItRuns) {
  const std::string cache = testing::TempDir() + "onnxruntime_cache";
  std::filesystem::remove_all(cache);
  std::filesystem::create_directories(cache);
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", cache.c_str(), 1), 0);
  Executable executable =
      Build(Parsed("graph g { input %x : f32[4]\n %y = Relu(%x)\n output %y }"));
  (void)executable.Run(std::vector<Tensor>{Tensor(DType::kF32, {4})});
  EXPECT_TRUE(std::filesystem::is_empty(cache));
}

constexpr const char* kNet = R"(graph g {
  input %x : f32[1,3,8,8]
  const %w : f32[4,3,3,3] = random 1
  const %s : f32[] = [0.05]
  const %z : u8[] = [128]
  %q = QuantizeLinear(%x, %s, %z)
  %d = DequantizeLinear(%q, %s, %z)
  %c = Conv(%d, %w) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %r = Relu(%c)
  %y = GlobalAveragePool(%r)
  output %y
  output %r
})";

std::vector<Tensor> Inputs(std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Tensor> inputs = {Tensor(DType::kF32, {1, 3, 8, 8})};
  for (float& x : inputs[0].MutableValues<float>()) x = static_cast<float>(rng.Normal());
  return inputs;
}

void ExpectSameAsInterpreted(const Graph& graph, Executable& executable, std::uint64_t seed) {
  const std::vector<Tensor> inputs = Inputs(seed);
  const std::vector<Tensor> expected = Interpret(graph, inputs);
  const std::vector<Tensor> outputs = executable.Run(inputs);
  ASSERT_EQ(outputs.size(), expected.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    ASSERT_EQ(outputs[i].dims(), expected[i].dims());
    const auto got = outputs[i].Values<float>();
    const auto want = expected[i].Values<float>();
    for (std::size_t j = 0; j < got.size(); ++j) ASSERT_NEAR(got[j], want[j], 1e-4);
  }
}

TEST_F(OnnxRuntime, RunsARegionAsOneStepWithoutMemoryOfOurs) {
  const Graph graph = Parsed(kNet);
  Executable executable = Build(graph);
  ASSERT_EQ(executable.steps().size(), 1U);
  EXPECT_EQ(executable.steps()[0].nodes.size(), 5U);
  EXPECT_EQ(executable.steps()[0].precision, "f32") << "its weights are no integers";
  EXPECT_EQ(executable.memory().arena_bytes, 0U);
  // Other inputs and outputs are at other addresses: they are bound anew.
  for (const std::uint64_t seed : {1, 2, 3}) ExpectSameAsInterpreted(graph, executable, seed);
}

TEST_F(OnnxRuntime, GivesTheSameUnderEveryLevelOfOptimization) {
  const Graph graph = Parsed(kNet);
  for (const std::string level : {"none", "basic", "extended"}) {
    SCOPED_TRACE(level);
    Executable executable = Build(graph, "onnxruntime:optimize=" + level);
    ExpectSameAsInterpreted(graph, executable, 1);
  }
}

constexpr const char* kQuantized = R"(graph g {
  input %x : f32[1,4,8,8]
  const %s : f32[] = [0.05]
  const %z : u8[] = [128]
  const %w : i8[4,4,3,3] = random 1
  const %ws : f32[4] = [0.01, 0.02, 0.01, 0.03]
  const %wz : i8[4] = [0, 0, 0, 0]
  const %v : f32[4,4,1,1] = random 2
  const %u : i8[2,4] = random 3
  const %us : f32[2] = [0.01, 0.02]
  const %uz : i8[2] = [0, 0]
  %xq = QuantizeLinear(%x, %s, %z)
  %xd = DequantizeLinear(%xq, %s, %z)
  %wd = DequantizeLinear(%w, %ws, %wz) {axis = 0}
  %c = Conv(%xd, %wd) @first {pads = [1, 1, 1, 1]}
  %cq = QuantizeLinear(%c, %s, %z)
  %cd = DequantizeLinear(%cq, %s, %z)
  %d = Conv(%cd, %v) @second
  %p = GlobalAveragePool(%d)
  %f = Flatten(%p)
  %ud = DequantizeLinear(%u, %us, %uz) {axis = 0}
  %y = Gemm(%f, %ud) @third {transB = 1}
  output %y
})";

TEST_F(OnnxRuntime, ReadsBackWhichKernelsTheLibraryTook) {
  const Graph graph = Parsed(kQuantized);
  using Precisions = std::map<std::string, std::string>;
  const Executable all = Build(graph);
  ASSERT_EQ(all.steps().size(), 1U);
  EXPECT_EQ(all.steps()[0].precisions,
            (Precisions{{"first", "int8"}, {"second", "f32"}, {"third", "f32"}}));
  EXPECT_EQ(all.steps()[0].precision, "mixed");
  // Without fusions the same graph runs on widened numbers.
  const Executable none = Build(graph, "onnxruntime:optimize=none");
  EXPECT_EQ(none.steps()[0].precisions,
            (Precisions{{"first", "f32"}, {"second", "f32"}, {"third", "f32"}}));
  EXPECT_EQ(none.steps()[0].precision, "f32");
}

TEST_F(OnnxRuntime, RunsAnLstm) {
  const Graph graph = Parsed(R"(graph g {
  input %x : f32[1,3,8,8]
  const %s : i64[3] = [3, 8, 8]
  const %w : f32[2,20,8] = random 1
  const %r : f32[2,20,5] = random 2
  const %b : f32[2,40] = random 3
  const %l : i32[8] = [1, 3, 2, 3, 3, 1, 2, 3]
  %v = Reshape(%x, %s)
  %y, _, %c = LSTM(%v, %w, %r, %b, %l) {direction = "bidirectional"}
  output %y
  output %c
})");
  for (const NodeId id : graph.order())
    EXPECT_TRUE(registry_.Get("onnxruntime").Supports(graph, id));
  Executable executable = Build(graph);
  ExpectSameAsInterpreted(graph, executable, 1);
}

TEST_F(OnnxRuntime, SupportsWhatTheLibraryHasAKernelFor) {
  const Target& target = registry_.Get("onnxruntime");
  for (const std::string type : {"f32", "bf16"}) {
    const Graph graph =
        Parsed("graph g {\n  input %x : " + type + "[1,2,4,4]\n  const %w : " + type +
               "[2,2,1,1] = random 1\n  %y = Conv(%x, %w)\n  output %y\n}");
    EXPECT_EQ(target.Supports(graph, graph.order()[0]), type == "f32") << type;
  }
}

TEST_F(OnnxRuntime, RefusesFusedOperatorsAndEmptyTensors) {
  const Target& target = registry_.Get("onnxruntime");
  const Graph fused = Parsed(R"(graph g {
  input %x : f32[1,2]
  %y = msc.Binary(%x, %x) {op = "Add", y_type = 1}
  output %y
})");
  EXPECT_FALSE(target.Supports(fused, fused.order()[0]));
  const Graph empty = Parsed("graph g {\n  input %x : f32[0,2]\n  %y = Relu(%x)\n  output %y\n}");
  EXPECT_FALSE(target.Supports(empty, empty.order()[0]));
}

TEST_F(OnnxRuntime, RunsAWholeModelForOneSize) {
  const Graph open = ParseGraph(R"(graph g {
  input %x : f32[batch,3,side,8]
  const %w : f32[4,3,3,3] = random 1
  %y = Conv(%x, %w) {pads = [1, 1, 1, 1]} : f32[batch,4,side,8]
  output %y
})");
  Graph bound = open;
  InferTypes(bound, {{"batch", 1}, {"side", 8}});
  Result<Executable> built = BuildFromOnnx(ExportOnnxBytes(open), bound, {.threads = 1});
  ASSERT_TRUE(built.ok()) << built.failure().detail;
  ExpectSameAsInterpreted(bound, built.value(), 1);
  const Result<Executable> refused = BuildFromOnnx("no model", bound, {.threads = 1});
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(refused.failure().detail.starts_with("ONNX Runtime: ")) << refused.failure().detail;
}

}  // namespace
}  // namespace msc
