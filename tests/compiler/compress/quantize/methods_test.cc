#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "compiler/compress/quantize/grid.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/compress/quantize/rescale.h"
#include "compiler/compress/quantize/saturation.h"
#include "tests/compiler/passes/support.h"

namespace msc {
namespace {

using testing::Parse;
using testing::RandomInputs;

std::vector<float> Normals(std::uint64_t seed, std::size_t count) {
  Rng rng(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(rng.Normal());
  return values;
}

// --- ranges ---

double SquareError(const std::vector<float>& values, double range, int steps) {
  const double step = range / steps;
  double sum = 0;
  for (const float value : values) {
    const double level = std::clamp(std::nearbyint(value / step), -1.0 * steps, 1.0 * steps);
    sum += (value - level * step) * (value - level * step);
  }
  return sum;
}

StreamingHistogram HistogramOf(const std::vector<float>& values) {
  StreamingHistogram histogram;
  histogram.Add(values);
  return histogram;
}

TEST(ChooseRange, LosesNoMoreByMseThanAnyOtherRange) {
  for (const double power : {1.0, 3.0, 5.0}) {
    for (const int steps : {127, 255}) {
      std::vector<float> values = Normals(7, 4000);
      for (float& value : values) {
        value = static_cast<float>(std::pow(std::abs(value), power)) * (value < 0 ? -1.0F : 1.0F);
      }
      const StreamingHistogram histogram = HistogramOf(values);
      const double range = ChooseRange(histogram, {.method = "mse"}, steps);
      const double most = std::max(-histogram.min(), histogram.max());
      double least = std::numeric_limits<double>::infinity();
      for (int i = 1; i <= 400; ++i) {
        least = std::min(least, SquareError(values, most * i / 400, steps));
      }
      EXPECT_LE(SquareError(values, range, steps), 1.1 * least) << power << " " << steps;
      EXPECT_LE(range, most);
    }
  }
}

TEST(ChooseRange, CutsATailThatTellsLittleByEntropy) {
  std::vector<float> values = Normals(3, 20000);
  const float bulk = std::max(-HistogramOf(values).min(), HistogramOf(values).max());
  values.push_back(100.0F);
  const StreamingHistogram tailed = HistogramOf(values);
  const float range = ChooseRange(tailed, {.method = "entropy"}, 127);
  EXPECT_LT(range, 4 * bulk);
  EXPECT_GT(range, 0.4F * bulk);
  EXPECT_EQ(ChooseRange(tailed, {.method = "minmax"}, 127), 100.0F);
  // What is spread evenly is kept.
  std::iota(values.begin(), values.end(), 1.0F);
  const auto most = static_cast<float>(values.size());
  EXPECT_GT(ChooseRange(HistogramOf(values), {.method = "entropy"}, 127), 0.97F * most);
}

TEST(ChooseRange, DoesNotCountZeros) {
  std::vector<float> values = Normals(5, 3000);
  for (float& value : values) value = std::pow(std::abs(value), 4.0F);
  const StreamingHistogram without = HistogramOf(values);
  values.resize(30000, 0.0F);
  const StreamingHistogram with = HistogramOf(values);
  for (const char* method : {"entropy", "mse", "minmax"}) {
    EXPECT_EQ(ChooseRange(with, {.method = method}, 255),
              ChooseRange(without, {.method = method}, 255))
        << method;
  }
  EXPECT_EQ(ChooseRange(HistogramOf({0.0F}), {.method = "mse"}, 255), 0.0F);
}

TEST(Calibrator, HoldsNothingOfABatch) {
  const Graph graph = Parse(R"(graph main {
    input %x : f32[1,2]
    const %w : f32[2,2] = [1, 2, 3, 4]
    %y = MatMul(%x, %w) @layer
    output %y
  })");
  Calibrator calibrator(graph);
  const std::size_t before = calibrator.bytes();
  float magnitude = 1e-30F;
  for (int batch = 0; batch < 300; ++batch, magnitude *= 1.5F) {
    std::vector<float> values = Normals(static_cast<std::uint64_t>(batch), 500);
    for (float& value : values) value *= magnitude;
    for (const std::string& name : calibrator.tensors()) calibrator.Observe(name, values);
    ASSERT_EQ(calibrator.bytes(), before);
  }
  for (const char* method : {"minmax", "percentile", "entropy", "mse"}) {
    EXPECT_GT(calibrator.Scales({.method = method}).at("x").scale, 0) << method;
  }
}

TEST(RangeMethods, AreOfTheFirstReaderAndSharedWhereRangesAre) {
  const Graph graph = Parse(R"(graph main {
    input %x : f32[1,2,4,4]
    const %w : f32[2,2,1,1] = [1, 2, 3, 4]
    %a = Conv(%x, %w) @first
    %p = MaxPool(%a) @pool {kernel_shape = [1, 1]}
    %b = Conv(%p, %w) @second
    %c = Conv(%b, %w) @third
    %y = Add(%c, %x) @sum
    output %y
  })");
  using Methods = std::map<std::string, std::string>;
  EXPECT_EQ(RangeMethods(graph, {{"first", "minmax"}, {"second", "mse"}, {"third", "entropy"}}),
            (Methods{{"x", "minmax"},
                     {"a", "minmax"},
                     {"p", "minmax"},  // shares a's range
                     {"b", "entropy"},
                     {"y", "entropy"}}));
  EXPECT_EQ(RangeMethods(graph, {{"third", "mse"}, {"gone", "minmax"}}),
            (Methods{{"b", "mse"}, {"x", "mse"}, {"y", "mse"}}));
}

// --- grids ---

double RowError(std::span<const float> row, float scale, int bits,
                const std::vector<double>& importance) {
  double sum = 0;
  const double most = LargestLevel(bits);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double level =
        std::clamp(std::nearbyint(static_cast<double>(row[i]) / scale), -most, most);
    sum += importance[i] * (row[i] - level * scale) * (row[i] - level * scale);
  }
  return sum;
}

TEST(WeightGrid, LosesLeastAtTheBestScale) {
  for (const int bits : {2, 4, 8}) {
    const std::vector<float> row = Normals(11, 200);
    std::vector<double> importance(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) importance[i] = i % 3 == 0 ? 5.0 : 0.1;
    const double best = RowError(row, BestScale(row, bits, importance), bits, importance);
    EXPECT_LE(best, RowError(row, MaxScale(row, bits), bits, importance));
    for (int i = 20; i <= 100; i += 5) {
      const float other = MaxScale(row, bits) * static_cast<float>(i) / 100;
      EXPECT_LE(best, 1.001 * RowError(row, other, bits, importance)) << bits << " " << i;
    }
  }
  EXPECT_EQ(MaxScale(std::vector<float>{1.0F, -14.0F}, 4), 2.0F);
  EXPECT_EQ(MaxScale(std::vector<float>{0.0F}, 4), 1.0F);
  EXPECT_EQ(BestScale(std::vector<float>{0.0F, 0.0F}, 4), 1.0F);
}

TEST(WeightGrid, HasAllLevelsBetweenTheLeastAndTheLargestWeightWithAZeroPoint) {
  const std::vector<float> row = {-1.0F, 0.0F, 2.0F};
  const WeightStep step = AffineStep(row, 2);  // -1, 0, 1, 2
  EXPECT_EQ(step, (WeightStep{.scale = 1.0F, .least = -1, .most = 2}));
  EXPECT_EQ(ZeroPointOf(step, 2), -1);
  EXPECT_EQ(RoundRows(row, std::vector{step}, {}, WeightRounding::kNearest), row);
  // 0 is a level also where all weights are on one side of it.
  EXPECT_EQ(AffineStep(std::vector<float>{2.0F, 3.0F}, 2),
            (WeightStep{.scale = 1.0F, .least = 0, .most = 3}));
  EXPECT_EQ(AffineStep(std::vector<float>{0.0F}, 4).scale, 1.0F);
  const std::vector<float> skewed = [] {
    std::vector<float> values = Normals(3, 64);
    for (float& value : values) value = value * value;
    return values;
  }();
  const auto lost = [&](const WeightStep& taken) {
    const auto rounded = RoundRows(skewed, std::vector{taken}, {}, WeightRounding::kNearest);
    double sum = 0;
    for (std::size_t i = 0; i < skewed.size(); ++i) {
      sum += (rounded[i] - skewed[i]) * (rounded[i] - skewed[i]);
    }
    return sum;
  };
  const double affine = lost(AffineStep(skewed, 4));
  EXPECT_LT(affine, 0.5 * lost(SymmetricStep(MaxScale(skewed, 4), 4)));
  EXPECT_LE(lost(BestAffineStep(skewed, 4)), affine);
}

struct Problem {
  std::vector<float> rows;
  std::vector<WeightStep> steps;
  std::vector<double> gram;
  std::size_t inputs = 0;

  [[nodiscard]] double Error(std::span<const float> rounded, std::size_t r) const {
    double sum = 0;
    for (std::size_t i = 0; i < inputs; ++i) {
      for (std::size_t j = 0; j < inputs; ++j) {
        sum += gram[i * inputs + j] * (double{rounded[r * inputs + i]} - rows[r * inputs + i]) *
               (double{rounded[r * inputs + j]} - rows[r * inputs + j]);
      }
    }
    return sum;
  }
};

/// Inputs that go together, so that there is something to make up for.
Problem RandomProblem(std::uint64_t seed, std::size_t inputs, std::size_t outputs, int bits) {
  Problem problem;
  problem.inputs = inputs;
  problem.rows = Normals(seed, inputs * outputs);
  for (std::size_t r = 0; r < outputs; ++r) {
    problem.steps.push_back(SymmetricStep(
        MaxScale(std::span<const float>(problem.rows).subspan(r * inputs, inputs), bits), bits));
  }
  const std::size_t samples = 3 * inputs;
  std::vector<float> x = Normals(seed + 1, inputs * samples);
  for (std::size_t s = 0; s < samples; ++s) {
    for (std::size_t i = 1; i < inputs; ++i) x[s * inputs + i] += x[s * inputs + i - 1];
  }
  problem.gram.assign(inputs * inputs, 0.0);
  for (std::size_t s = 0; s < samples; ++s) {
    for (std::size_t i = 0; i < inputs; ++i) {
      for (std::size_t j = 0; j < inputs; ++j) {
        problem.gram[i * inputs + j] += double{x[s * inputs + i]} * x[s * inputs + j];
      }
    }
  }
  return problem;
}

TEST(RoundRows, KeepsOutputsCloserThanRoundingToTheNearest) {
  for (const int bits : {2, 3, 4, 8}) {
    double nearest_sum = 0;
    double gptq_sum = 0;
    double descent_sum = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Problem problem = RandomProblem(seed, 12, 3, bits);
      const auto round = [&](WeightRounding rounding) {
        return RoundRows(problem.rows, problem.steps, problem.gram, rounding);
      };
      const std::vector<float> nearest = round(WeightRounding::kNearest);
      const std::vector<float> gptq = round(WeightRounding::kGptq);
      const std::vector<float> descent = round(WeightRounding::kDescent);
      for (std::size_t r = 0; r < 3; ++r) {
        EXPECT_LE(problem.Error(gptq, r), problem.Error(nearest, r));
        EXPECT_LE(problem.Error(descent, r), problem.Error(gptq, r) * (1 + 1e-6));
        nearest_sum += problem.Error(nearest, r);
        gptq_sum += problem.Error(gptq, r);
        descent_sum += problem.Error(descent, r);
        // No single weight can be moved for the better.
        for (std::size_t i = 0; i < 12; ++i) {
          const float scale = problem.steps[r].scale;
          const float level = std::nearbyint(descent[r * 12 + i] / scale);
          EXPECT_EQ(level * scale, descent[r * 12 + i]);
          EXPECT_LE(std::abs(level), static_cast<float>(LargestLevel(bits)));
          for (const float step : {-1.0F, 1.0F}) {
            if (std::abs(level + step) > static_cast<float>(LargestLevel(bits))) continue;
            std::vector<float> moved = descent;
            moved[r * 12 + i] = (level + step) * scale;
            EXPECT_GE(problem.Error(moved, r), problem.Error(descent, r) * (1 - 1e-5));
          }
        }
      }
    }
    EXPECT_LT(gptq_sum, 0.7 * nearest_sum) << bits;
    EXPECT_LE(descent_sum, gptq_sum) << bits;
  }
}

TEST(RoundRows, IsToTheNearestWhereInputsAreIndependentOrSilent) {
  const std::vector<float> rows = Normals(2, 40);
  const std::vector<WeightStep> steps = {SymmetricStep(0.1F, 4),
                                         {.scale = 0.3F, .least = -2, .most = 13}};
  const std::vector<float> nearest = RoundRows(rows, steps, {}, WeightRounding::kNearest);
  std::vector<double> gram(400, 0.0);
  for (const double diagonal : {2.0, 0.0}) {
    for (std::size_t i = 0; i < 20; ++i) gram[i * 21] = diagonal;
    EXPECT_EQ(RoundRows(rows, steps, gram, WeightRounding::kGptq), nearest);
    EXPECT_EQ(RoundRows(rows, steps, gram, WeightRounding::kDescent), nearest);
  }
}

TEST(ProductError, IsTheShareThatRoundingCosts) {
  const std::vector<float> x = {1.0F, 0.26F, -0.5F, 2.0F};
  const std::vector<float> w = {127.0F, 1.0F, 3.0F, -127.0F};
  // x in steps of 1 up to 2, saturating: {1, 0, -0, 2}; w is on its grid already.
  double lost = 0;
  double whole = 0;
  const std::vector<float> rounded = {1.0F, 0.0F, 0.0F, 2.0F};
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::size_t o = 0; o < 2; ++o) {
      const double wanted = x[2 * r] * w[2 * o] + x[2 * r + 1] * w[2 * o + 1];
      const double got = rounded[2 * r] * w[2 * o] + rounded[2 * r + 1] * w[2 * o + 1];
      lost += (wanted - got) * (wanted - got);
      whole += wanted * wanted;
    }
  }
  EXPECT_NEAR(ProductError({.x = x, .w = w, .inputs = 2}, 2.0F, 2, 8), lost / whole, 1e-6);
  EXPECT_EQ(ProductError({.x = std::vector<float>(4), .w = w, .inputs = 2}, 2.0F, 2, 8), 0);
}

// --- pairs in 16 bits ---

TEST(CheckPairSums, CountsWhatASixteenBitSumCuts) {
  Rng rng(4);
  for (const auto& [channels, taps] : {std::pair{4, 1}, std::pair{5, 3}, std::pair{1, 9}}) {
    const auto inputs = static_cast<std::size_t>(channels * taps);
    std::vector<std::int8_t> levels(6 * inputs);
    std::vector<std::uint8_t> x(7 * inputs);
    for (auto& level : levels) level = static_cast<std::int8_t>(rng.Below(255));
    for (auto& value : x) value = static_cast<std::uint8_t>(rng.Below(256));
    double overflows = 0;
    for (std::size_t o = 0; o < 6; ++o) {
      for (std::size_t r = 0; r < 7; ++r) {
        bool any = false;
        for (int c = 0; c + 1 < channels; c += 2) {
          for (int t = 0; t < taps; ++t) {
            const auto a = static_cast<std::size_t>(c * taps + t);
            const auto b = static_cast<std::size_t>((c + 1) * taps + t);
            const int sum = x[r * inputs + a] * levels[o * inputs + a] +
                            x[r * inputs + b] * levels[o * inputs + b];
            any = any || sum != static_cast<std::int16_t>(std::clamp(sum, -32768, 32767));
          }
        }
        overflows += any ? 1 : 0;
      }
    }
    const PairSums found = CheckPairSums(levels, x, channels, taps);
    EXPECT_DOUBLE_EQ(found.saturated, overflows / 42);
    EXPECT_EQ(channels > 1, found.can_saturate > 0);
    for (auto& level : levels) level = std::clamp<std::int8_t>(level, -63, 63);
    EXPECT_EQ(CheckPairSums(levels, x, channels, taps).can_saturate, 0);
  }
}

// --- scales moved between layers ---

constexpr const char* kPair = R"(graph main {
  input %x : f32[1,1,1,1]
  const %w1 : f32[3,1,1,1] = [16, -1, 0]
  const %b1 : f32[3] = [8, 2, 1]
  const %w2 : f32[1,3,1,1] = [1, -4, 5]
  %a = Conv(%x, %w1, %b1) @first
  %r = Relu(%a)
  %p = MaxPool(%r) {kernel_shape = [1, 1]}
  %y = Conv(%p, %w2) @second
  output %y
})";

std::string Line(const Graph& graph, const std::string& constant) {
  const std::string text = Print(graph);
  const std::size_t at = text.find("const %" + constant + " ");
  return text.substr(at, text.find('\n', at) - at);
}

TEST(EqualizeLayers, MovesPowersOfTwoFromOneLayerToTheNext) {
  Graph graph = Parse(kPair);
  EXPECT_TRUE(EqualizeLayers(graph));
  // 16 and 1 meet at 4; 1 and 4 at 2; a channel of zeros stays.
  EXPECT_EQ(Line(graph, "w1"), "const %w1 : f32[3,1,1,1] = [4, -2, 0]");
  EXPECT_EQ(Line(graph, "b1"), "const %b1 : f32[3] = [2, 4, 1]");
  EXPECT_EQ(Line(graph, "w2"), "const %w2 : f32[1,3,1,1] = [4, -2, 5]");
  testing::ExpectSound(EqualizeLayers, Parse(kPair), 0.0);
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(EqualizeLayers, LeavesWhatAFactorDoesNotGoThrough) {
  const std::string pair = kPair;
  for (const std::string& text :
       {Replaced(pair, "Relu(%a)", "Sigmoid(%a)"), Replaced(pair, "Relu(%a)", "HardSwish(%a)"),
        // Relu6.
        Replaced(Replaced(pair, "Relu(%a)", "Clip(%a, %zero, %six)"), "const %w2",
                 "const %zero : f32[] = [0]\n const %six : f32[] = [6]\n const %w2"),
        Replaced(pair, "output %y", "output %y\n output %p"),
        Replaced(pair, "output %y", "%z = Add(%p, %p)\n output %y\n output %z")}) {
    Graph graph = Parse(text);
    EXPECT_FALSE(EqualizeLayers(graph)) << text;
  }
}

/// Chains with depthwise and grouped layers, pools, PRelu, Flatten, Transpose, norms.
constexpr const char* kMixed = R"(graph main {
  input %x : f32[2,4,6,6]
  const %w1 : f32[8,4,1,1] = random 1
  const %b1 : f32[8] = random 2
  const %w2 : f32[8,1,3,3] = random 3
  const %s : f32[8,1,1] = random 4
  const %w3 : f32[6,4,1,1] = random 5
  const %b3 : f32[6] = random 6
  const %w4 : f32[10,24] = random 7
  const %b4 : f32[10] = random 8
  const %g : f32[10] = random 9
  const %h : f32[10] = random 10
  const %shape : i64[3] = [1, 2, 10]
  const %w5 : f32[10,5] = random 11
  const %w6 : f32[10,5] = random 12
  const %b6 : f32[5] = random 13
  %c1 = Conv(%x, %w1, %b1) @expand
  %r1 = Relu(%c1)
  %c2 = Conv(%r1, %w2) @depth {group = 8, pads = [1, 1, 1, 1]}
  %r2 = PRelu(%c2, %s)
  %p2 = AveragePool(%r2) {kernel_shape = [2, 2], strides = [2, 2]}
  %c3 = Conv(%p2, %w3, %b3) @grouped {group = 2}
  %r3 = LeakyRelu(%c3)
  %p3 = MaxPool(%r3) {kernel_shape = [2, 2]}
  %f = Flatten(%p3)
  %d = Gemm(%f, %w4, %b4) @dense {transB = 1}
  %n = LayerNormalization(%d, %g, %h) @norm
  %u = Reshape(%n, %shape)
  %t = Transpose(%u) {perm = [1, 0, 2]}
  %q = MatMul(%t, %w5) @query
  %k0 = MatMul(%t, %w6) @key
  %k = Add(%k0, %b6)
  %y = Add(%q, %k)
  output %y
})";

/// Channels as uneven as trained ones may be.
Graph Uneven(std::uint64_t seed) {
  Graph graph = Parse(kMixed);
  Rng rng(seed);
  for (const ValueId id : graph.constants()) {
    if (graph.type(id).dtype != DType::kF32) continue;
    Tensor tensor = *graph.constant(id);
    for (float& value : tensor.MutableValues<float>()) {
      value *= std::ldexp(1.0F, static_cast<int>(rng.Below(9)) - 4);
    }
    graph.SetConstant(id, std::make_shared<const Tensor>(std::move(tensor)));
  }
  return graph;
}

TEST(RescaleLinks, AreFoundThroughEverythingThatHandsFactorsOn) {
  std::string text;
  for (const RescaleLink& link : FindRescaleLinks(Parse(kMixed))) {
    text += link.value + " " + std::to_string(link.channels) + " " +
            std::to_string(link.makers.size()) + ">" + std::to_string(link.readers.size()) + "\n";
  }
  EXPECT_EQ(text, "r1 8 2>1\nr2 8 1>1\nr3 6 2>1\nn 10 2>2\n");
}

TEST(RescaleLinks, LeaveTheOutputsAsTheyAreInEveryBit) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Graph before = Uneven(seed);
    Graph after = before;
    EXPECT_TRUE(EqualizeLayers(after));
    EXPECT_FALSE(SameGraph(before, after));
    testing::ExpectSameNumbers(before, after, 0.0);
    Graph again = after;
    EXPECT_FALSE(EqualizeLayers(again));
    const auto spread = [](const Graph& graph) {
      double sum = 0;
      for (const RescaleLink& link : FindRescaleLinks(graph)) {
        if (link.from_norm) continue;
        const auto a = ChannelMaxima(graph, std::span(link.makers).first(1), link.channels);
        const auto b = ChannelMaxima(graph, link.readers, link.channels);
        for (std::size_t c = 0; c < a.size(); ++c) sum += std::abs(std::log2(a[c] / b[c]));
      }
      return sum;
    };
    EXPECT_LT(spread(after), 0.6 * spread(before));

    Graph random = before;
    Rng rng(seed);
    for (const RescaleLink& link : FindRescaleLinks(random)) {
      std::vector<int> exponents(static_cast<std::size_t>(link.channels));
      for (int& exponent : exponents) exponent = static_cast<int>(rng.Below(21)) - 10;
      RescaleChannels(link, exponents, random);
    }
    EXPECT_FALSE(SameGraph(before, random));
    testing::ExpectSameNumbers(before, random, 0.0);
  }
}

TEST(SmoothingExponents, FollowTheFormulaToTheNearestPowerOfTwo) {
  const std::vector<float> activation = {64, 1, 0, 4};
  const std::vector<float> weight = {1, 1, 3, 4};
  EXPECT_EQ(SmoothingExponents(activation, weight, 1.0), (std::vector<int>{3, -3, 0, -1}));
  EXPECT_EQ(SmoothingExponents(activation, weight, 0.5), (std::vector<int>{2, -1, 0, -1}));
  EXPECT_EQ(SmoothingExponents(activation, weight, 0.0), (std::vector<int>{1, 1, 0, -1}));
}

}  // namespace
}  // namespace msc
