#include "compiler/pipeline/observe.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ir/sample_axes.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/cached_activations.h"
#include "compiler/pipeline/calibrate.h"
#include "compiler/pipeline/fitting_batch.h"
#include "compiler/pipeline/quantize.h"
#include "compiler/pipeline/samples.h"
#include "tests/support/counting_samples.h"
#include "tests/support/pipeline.h"

namespace msc {
namespace {

Graph Net(const std::string& batch) {
  Graph graph = ParseGraph("graph net {\n  input %x : f32[" + batch + R"(,3]
  const %w1 : f32[3,4] = random 1
  const %w2 : f32[4,2] = random 2
  %m1 = MatMul(%x, %w1) @first
  %r1 = Relu(%m1) @relu
  %y = MatMul(%r1, %w2) @second
  output %y
})");
  InferTypes(graph);
  return graph;
}

/// First sample and size of every batch in which the input and what is computed of it was shown.
std::vector<std::vector<std::int64_t>> BatchesSeen(const Graph& graph, const SampleSource& samples,
                                                   std::int64_t batch) {
  std::vector<std::vector<std::int64_t>> seen;
  double done = 0;
  ObserveValues(
      graph, std::vector<std::string>{"x", "r1"}, samples, {.target = "reference", .batch = batch},
      Targets(),
      [&](std::int64_t first, std::span<const Tensor> values) {
        const std::int64_t size = values[0].dims().at(0);
        EXPECT_TRUE(std::ranges::equal(values[0].Raw(), samples.Read(first, size)[0].Raw()));
        EXPECT_EQ(values[1].dims(), (Dims{size, 4}));
        seen.push_back({first, size});
      },
      [&](double share) { done = share; });
  EXPECT_EQ(done, 1.0);
  return seen;
}

using Seen = std::vector<std::vector<std::int64_t>>;

TEST(Observe, ShowsEverySample) {
  const CountingSamples samples(50, {3});
  EXPECT_EQ(BatchesSeen(Net("n"), samples, 32), (Seen{{0, 25}, {25, 25}}));
  EXPECT_EQ(samples.most(), 25);
  EXPECT_EQ(BatchesSeen(Net("n"), CountingSamples(13, {3}), 6), (Seen{{0, 6}, {6, 6}, {12, 1}}));
  EXPECT_EQ(BatchesSeen(Net("n"), CountingSamples(5, {3}), 6), (Seen{{0, 5}}));
  EXPECT_EQ(BatchesSeen(Net("6"), CountingSamples(12, {3}), 32), (Seen{{0, 6}, {6, 6}}));
}

TEST(Observe, TakesScalesAndFitsFromTheLastSampleToo) {
  const Graph graph = Net("n");
  Tensor values(DType::kF32, {13, 3});
  for (float& x : values.MutableValues<float>()) x = 1;
  values.MutableValues<float>()[38] = 100;
  const std::vector<Tensor> samples = {values};
  const CalibrationRun run{.target = "reference", .batch = 6};
  const auto scales = ObserveActivations(graph, TensorSamples(samples), run, Targets())
                          .Scales({.method = "minmax"});
  EXPECT_FLOAT_EQ(static_cast<float>(scales.at("x").scale), 100.0F / 255);

  QuantizeOptions options;
  options.bits = 4;
  options.rounding = "gptq";
  options.reconstruct = true;
  const QuantizedModel model =
      QuantizeModel(graph, {}, TensorSamples(samples), options, run, Targets());
  for (const QuantizedLayer& layer : model.layers) {
    ASSERT_TRUE(layer.error_after) << layer.name;
    EXPECT_LE(*layer.error_after, *layer.error_before) << layer.name;
  }
}

TEST(Observe, CutsSamplesEvenlyWhereThatCostsLittle) {
  EXPECT_EQ(EvenBatch(512, 32), 32);
  EXPECT_EQ(EvenBatch(50, 32), 25);
  EXPECT_EQ(EvenBatch(34, 32), 17);
  EXPECT_EQ(EvenBatch(37, 32), 32);  // a prime
  EXPECT_EQ(EvenBatch(7, 32), 7);
  EXPECT_EQ(EvenBatch(3, 1), 1);
}

TEST(Observe, GivesTheModelItsOwnAxesOfSamples) {
  const auto shapes = [](const std::string& input, const SampleAxis& axis) {
    Graph graph = ParseGraph("graph net {\n  input %x : f32" + input +
                             "\n  %y = Relu(%x) @relu\n  output %y\n}");
    InferTypes(graph);
    SetSampleAxis(graph, graph.inputs()[0], axis);
    std::vector<Dims> seen;
    ObserveValues(graph, std::vector<std::string>{"y"}, CountingSamples(5, {3}),
                  {.target = "reference", .batch = 3}, Targets(),
                  [&](std::int64_t /*first*/, std::span<const Tensor> values) {
                    seen.push_back(values[0].dims());
                  });
    return seen;
  };
  EXPECT_EQ(shapes("[3,n]", {.axis = 1}), (std::vector<Dims>{{3, 3}, {3, 2}}));
  EXPECT_EQ(shapes("[3]", {.counting = SampleCounting::kWhole}), std::vector<Dims>(5, Dims{3}));
}

TEST(FittingBatch, IsSmallerIfValuesAreLarge) {
  // 4 MiB a sample, held twice, beside two others of this size.
  Graph graph = ParseGraph(R"(graph net {
  input %x : f32[n,1]
  const %w : f32[1,1048576] = random 1
  %y = MatMul(%x, %w) @wide
  output %y
})");
  InferTypes(graph);
  const std::vector<std::string> values = {"y"};
  EXPECT_EQ(FittingBatch(graph, values, CountingSamples(64, {1}), 32), 16);
  EXPECT_EQ(FittingBatch(graph, values, CountingSamples(64, {1}), 8), 8);
  EXPECT_EQ(FittingBatch(graph, values, CountingSamples(64, {1}), 32, 40.0 * (1U << 20U)), 2);
  EXPECT_EQ(FittingBatch(Net("n"), std::vector<std::string>{"r1"}, CountingSamples(64, {3}), 32),
            32);
  const CountingSamples samples(32, {1});
  (void)ObserveActivations(graph, samples, {.target = "reference"}, Targets());
  EXPECT_EQ(samples.most(), 16);
}

/// What a visitor saw: the first sample of each batch, and the bytes of all values.
struct Visits {
  std::vector<std::int64_t> first;
  std::vector<std::byte> bytes;
  [[nodiscard]] BatchVisitor Visitor() {
    return [this](std::int64_t sample, std::span<const Tensor> values) {
      first.push_back(sample);
      for (const Tensor& value : values) {
        bytes.insert(bytes.end(), value.Raw().begin(), value.Raw().end());
      }
    };
  }
};

TEST(CachedActivations, GiveWhatTheWholeGraphGives) {
  const std::vector<std::string> values = {"y", "r1", "y"};
  // An even batch, and one with a smaller last batch, which is compiled for itself.
  for (const std::int64_t count : {6, 7}) {
    const Graph graph = Net("n");
    const CountingSamples samples(count, {3});
    const CalibrationRun run{.target = "reference", .batch = 3};
    Visits whole;
    ObserveValues(graph, values, samples, run, Targets(), whole.Visitor());
    const TargetRegistry targets = Targets();
    CachedActivations cached(samples, run, targets);
    for (const char* from : {"", "x", "m1", "r1"}) {
      if (*from != 0) cached.Cache(graph, std::vector<std::string>{from});
      Visits seen;
      cached.Observe(graph, values, seen.Visitor());
      EXPECT_EQ(seen.first, whole.first) << from;
      EXPECT_EQ(seen.bytes, whole.bytes) << from;
    }
    Visits all;
    cached.Observe(graph, std::vector<std::string>{"m1"}, all.Visitor());
    EXPECT_EQ(all.first, whole.first);  // m1 is in front of r1: everything ran
  }
}

TEST(Observe, GivesTheSameForAnyNumberOfCallsAtOnce) {
  const std::vector<std::string> values = {"x", "r1", "y", "r1"};
  const Graph graph = Net("n");
  const CountingSamples samples(11, {3});
  const TargetRegistry targets = Targets();
  Visits one_by_one;
  ObserveValues(graph, values, samples, {.target = "reference", .batch = 2, .calls = 1}, targets,
                one_by_one.Visitor());
  for (const int calls : {2, 3, 8}) {
    const CalibrationRun run{.target = "reference", .batch = 2, .calls = calls};
    Visits seen;
    ObserveValues(graph, values, samples, run, targets, seen.Visitor());
    EXPECT_EQ(seen.first, one_by_one.first) << calls;
    EXPECT_EQ(seen.bytes, one_by_one.bytes) << calls;
    CachedActivations cached(samples, run, targets);
    cached.Cache(graph, std::vector<std::string>{"x", "m1"});
    cached.Cache(graph, std::vector<std::string>{"r1", "x"});
    for (int again = 0; again < 2; ++again) {  // what is cached is there after it was seen
      Visits from_cache;
      cached.Observe(graph, values, from_cache.Visitor());
      EXPECT_EQ(from_cache.first, one_by_one.first) << calls;
      EXPECT_EQ(from_cache.bytes, one_by_one.bytes) << calls;
    }
  }
}

TEST(CachedActivations, MayBeSizesThatTheGraphReads) {
  Graph graph = ParseGraph(R"(graph net {
  input %x : f32[n,4]
  const %w : f32[4,4] = random 1
  const %rest : i64[2] = [2, 2]
  const %zero : i64[1] = [0]
  const %one : i64[1] = [1]
  %m = MatMul(%x, %w) @first
  %s = Shape(%m)
  %b = Slice(%s, %zero, %one)
  %d = Concat(%b, %rest) {axis = 0}
  %r = Relu(%m)
  %t = Reshape(%r, %d)
  %y = Transpose(%t) {perm = [0, 2, 1]}
  output %y
})");
  InferTypes(graph);
  const std::vector<std::string> values = {"y"};
  const CountingSamples samples(5, {4});
  const CalibrationRun run{.target = "reference", .batch = 3};
  const TargetRegistry targets = Targets();
  Visits whole;
  ObserveValues(graph, values, samples, run, targets, whole.Visitor());
  CachedActivations cached(samples, run, targets);
  cached.Cache(graph, std::vector<std::string>{"r", "d"});
  Visits seen;
  cached.Observe(graph, values, seen.Visitor());
  EXPECT_EQ(seen.first, whole.first);
  EXPECT_EQ(seen.bytes, whole.bytes);
}

TEST(CachedActivations, AreTakenForThoseOfAChangedGraph) {
  Graph graph = Net("n");
  const CountingSamples samples(4, {3});
  const CalibrationRun run{.target = "reference"};
  const TargetRegistry targets = Targets();
  CachedActivations cached(samples, run, targets);
  cached.Cache(graph, std::vector<std::string>{"r1"});
  Graph changed = graph;
  const ValueId weights = changed.FindValue("w2");
  Tensor zeros(DType::kF32, {4, 2});
  changed.SetConstant(weights, std::make_shared<Tensor>(std::move(zeros)));
  Visits seen;
  cached.Observe(changed, std::vector<std::string>{"y"}, seen.Visitor());
  EXPECT_TRUE(std::ranges::all_of(seen.bytes, [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST(Observe, ShowsAValueAsOftenAsItIsNamed) {
  const Graph graph = Net("n");
  const CountingSamples samples(4, {3});
  ObserveValues(graph, std::vector<std::string>{"r1", "x", "r1", "x", "y"}, samples,
                {.target = "reference"}, Targets(),
                [&](std::int64_t /*first*/, std::span<const Tensor> values) {
                  EXPECT_EQ(values[0].dims(), (Dims{4, 4}));
                  EXPECT_EQ(values[0], values[2]);
                  EXPECT_EQ(values[1], values[3]);
                  EXPECT_EQ(values[4].dims(), (Dims{4, 2}));
                });
}

/// Samples of two sizes.
class TwoSizes final : public SampleSource {
 public:
  [[nodiscard]] std::int64_t count() const override { return 5; }
  [[nodiscard]] std::size_t inputs() const override { return 1; }
  [[nodiscard]] std::vector<Tensor> Read(std::int64_t first, std::int64_t count) const override {
    EXPECT_LE(first + count, GroupEnd(first));
    return {Tensor(DType::kF32, {count, first < 3 ? 4 : 7})};
  }
  [[nodiscard]] std::int64_t GroupEnd(std::int64_t first) const override {
    return first < 3 ? 3 : 5;
  }
};

TEST(Observe, RunsEachSizeByItself) {
  Graph graph = ParseGraph(R"(graph net {
  input %x : f32[n,s]
  %y = Relu(%x) @relu
  output %y
})");
  InferTypes(graph);
  std::vector<Dims> seen;
  ObserveValues(graph, std::vector<std::string>{"y"}, TwoSizes(),
                {.target = "reference", .batch = 8}, Targets(),
                [&](std::int64_t /*first*/, std::span<const Tensor> values) {
                  seen.push_back(values[0].dims());
                });
  EXPECT_EQ(seen, (std::vector<Dims>{{3, 4}, {2, 7}}));
}

}  // namespace
}  // namespace msc
