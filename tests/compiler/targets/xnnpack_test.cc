#include "compiler/targets/xnnpack/xnnpack.h"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

Graph Parsed(const std::string& text) {
  Graph graph = ParseGraph(text);
  InferTypes(graph);
  return graph;
}

class Xnnpack : public testing::Test {
 protected:
  void SetUp() override {
    try {
      target_ = MakeXnnpackTarget();
    } catch (const UserError& absent) {
      GTEST_SKIP() << absent.what();
    }
  }

  Executable Build(const Graph& graph, int threads = 1) {
    ExecutableBuilder builder(graph);
    const Region region{.graph = &graph, .nodes = graph.order()};
    EXPECT_FALSE(target_->GraphToRuntime(region, {.threads = threads}, builder).has_value());
    return std::move(builder).Build();
  }

  std::unique_ptr<Target> target_;
};

std::vector<Tensor> InputsOf(const Graph& graph) {
  Rng rng(1);
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs()) {
    Tensor& tensor =
        inputs.emplace_back(DType::kF32, StaticDims(graph.type(id).shape.value()).value());
    for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng.Normal());
  }
  return inputs;
}

void ExpectSameAsInterpreted(const Graph& graph, Executable& executable) {
  const std::vector<Tensor> inputs = InputsOf(graph);
  const std::vector<Tensor> expected = Interpret(graph, inputs);
  const std::vector<Tensor> outputs = executable.Run(inputs);
  ASSERT_EQ(outputs.size(), expected.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto got = outputs[i].Values<float>();
    const auto want = expected[i].Values<float>();
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t j = 0; j < got.size(); ++j) ASSERT_NEAR(got[j], want[j], 2e-3) << j;
  }
}

std::size_t CountMoves(const Executable& executable) {
  return static_cast<std::size_t>(
      std::count_if(executable.steps().begin(), executable.steps().end(),
                    [](const Step& step) { return step.nodes.empty(); }));
}

// Convolutions of every kind, a residual, closings in and behind the operator, pool, classifier.
constexpr const char* kNet = R"(graph g {
  input %x : f32[2,3,9,7]
  const %w1 : f32[8,3,3,3] = random 1
  const %b1 : f32[8] = random 2
  const %w2 : f32[8,1,3,3] = random 3
  const %w3 : f32[8,8,1,1] = random 4
  const %p : f32[8] = random 5
  const %w4 : f32[5,8] = random 6
  %a = msc.Conv(%x, %w1, %b1, _, _, _) {kernel_shape = [3, 3], strides = [2, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = 1, activation = "Relu", y_type = 1}
  %d = msc.Conv(%a, %w2, _, _, _, _) {kernel_shape = [3, 3], strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = 8, activation = "HardSwish", y_type = 1}
  %c = msc.Conv(%d, %w3, _, %a, _, %p) {kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, activation = "PRelu", y_type = 1}
  %s = msc.Binary(%c, %a) {op = "Mul", activation = "Swish", y_type = 1}
  %g = GlobalAveragePool(%s)
  %f = Flatten(%g)
  %y = msc.Gemm(%f, %w4, _, _, _, _) {y_type = 1}
  output %y
})";

TEST_F(Xnnpack, TurnsImagesAtTheEdgesOnly) {
  const Graph graph = Parsed(kNet);
  for (const NodeId id : graph.order()) {
    EXPECT_TRUE(target_->Supports(graph, id)) << graph.node(id).name;
  }
  Executable executable = Build(graph);
  EXPECT_EQ(CountMoves(executable), 1U);
  ExpectSameAsInterpreted(graph, executable);
  ExpectSameAsInterpreted(graph, executable);
}

TEST_F(Xnnpack, HandsImagesOverDense) {
  const Graph graph = Parsed(R"(graph g {
  input %x : f32[2,4,5,3]
  const %w : f32[6,4,1,1] = random 1
  %a = Conv(%x, %w)
  %y = Relu(%a)
  output %y
  output %a
})");
  Executable executable = Build(graph);
  EXPECT_EQ(CountMoves(executable), 3U);
  ExpectSameAsInterpreted(graph, executable);
}

TEST_F(Xnnpack, RunsOnTwoThreadsFromSeveralAtOnce) {
  const Graph graph = Parsed(kNet);
  const std::vector<Tensor> inputs = InputsOf(graph);
  const std::vector<Tensor> expected = Build(graph).Run(inputs);
  std::vector<std::vector<Tensor>> outputs(3);
  {
    std::vector<std::jthread> threads;
    for (std::vector<Tensor>& output : outputs) {
      threads.emplace_back([&] {
        Executable executable = Build(graph, 2);
        for (int i = 0; i < 5; ++i) output = executable.Run(inputs);
      });
    }
  }
  for (const std::vector<Tensor>& output : outputs) EXPECT_EQ(output, expected);
}

struct Refused {
  std::string label;
  std::string text;
};

TEST_F(Xnnpack, SaysBeforehandWhatItCannotDo) {
  const std::vector<Refused> all = {
      {"weights that are no constant", R"(graph g {
  input %x : f32[1,2,4,4]
  input %w : f32[2,2,1,1]
  %y = Conv(%x, %w)
  output %y
})"},
      {"padding that counts", R"(graph g {
  input %x : f32[1,2,4,4]
  %y = AveragePool(%x) {kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1}
  output %y
})"},
      {"softmax of channels", R"(graph g {
  input %x : f32[1,2,4]
  %y = Softmax(%x) {axis = 1}
  output %y
})"},
      {"bf16", "graph g {\n  input %x : bf16[4]\n  %y = Relu(%x)\n  output %y\n}"},
      {"tanh", "graph g {\n  input %x : f32[4]\n  %y = Tanh(%x)\n  output %y\n}"},
  };
  for (const Refused& refused : all) {
    const Graph graph = Parsed(refused.text);
    EXPECT_FALSE(target_->Supports(graph, graph.order().back())) << refused.label;
  }
}

}  // namespace
}  // namespace msc
