#include "compiler/compress/prune/score.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/compress/prune/choose.h"
#include "compiler/compress/prune/least_squares.h"
#include "compiler/compress/prune/linear_form.h"
#include "compiler/compress/prune/sparsity.h"
#include "tests/compiler/compress/prune/support.h"

namespace msc {
namespace {

using testing::Parse;

std::string ErrorOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

/// Three layers of 4 > 24 > 10 > 3 channels on 6 x 6 and 1 x 1.
Graph Net() {
  return Parse(R"(graph main {
    input %x : f32[n,4,6,6]
    const %w1 : f32[24,4,3,3] = random 1
    const %w2 : f32[10,24,3,3] = random 2
    const %w3 : f32[3,10] = random 3
    %a = Conv(%x, %w1) @conv1 {pads = [1, 1, 1, 1]}
    %b = Relu(%a) @act
    %c = Conv(%b, %w2) @conv2 {pads = [1, 1, 1, 1]}
    %p = GlobalAveragePool(%c) @pool
    %f = Flatten(%p) @flat
    %y = Gemm(%f, %w3) @fc {transB = 1}
    output %y
  })");
}

std::int64_t Kept(const PrunePlan& plan, const std::string& group, std::int64_t all) {
  const auto it = plan.groups.find(group);
  return it == plan.groups.end() ? all : std::ssize(it->second.keep);
}

TEST(PruneScore, ReadsNormsPerUnit) {
  const Graph graph = Parse(R"(graph main {
    input %x : f32[n,2]
    const %w1 : f32[2,3] = [3, 0, 1, 4, 2, 1]
    const %w2 : f32[3,2] = random 1
    %h = MatMul(%x, %w1) @up
    %y = MatMul(%h, %w2) @down
    output %y
  })");
  const PruneSpace space(graph);
  // Columns (3, 4), (0, 2), (1, 1); their mean is 1.
  const double mean1 = (7.0 + 2 + 2) / 3;
  EXPECT_EQ(ScoreWeights(graph, space, ScoreMethod::kL1, 0).of_unit,
            (std::vector<double>{7 / mean1, 2 / mean1, 2 / mean1}));
  const double mean2 = (5.0 + 2 + std::sqrt(2.0)) / 3;
  EXPECT_EQ(ScoreWeights(graph, space, ScoreMethod::kL2, 0).of_unit,
            (std::vector<double>{5 / mean2, 2 / mean2, std::sqrt(2.0) / mean2}));
  // Distances: 0-1 sqrt(13), 0-2 sqrt(13), 1-2 sqrt(2).
  const std::vector<double> fpgm = ScoreWeights(graph, space, ScoreMethod::kFpgm, 0).of_unit;
  EXPECT_NEAR(fpgm[0] / fpgm[1], 2 * std::sqrt(13.0) / (std::sqrt(13.0) + std::sqrt(2.0)), 1e-9);
  EXPECT_DOUBLE_EQ(fpgm[1], fpgm[2]);
  const auto random = [&](std::uint64_t seed) {
    return ScoreWeights(graph, space, ScoreMethod::kRandom, seed).of_unit;
  };
  EXPECT_EQ(random(1), random(1));
  EXPECT_NE(random(1), random(2));
}

TEST(PruneScore, ReadsAllGatesOfAHiddenUnit) {
  const Graph graph = Parse(R"(graph main {
    input %x : f32[5,n,1]
    const %w : f32[1,8,1] = [1, 0, -2, 0, 3, 0, 4, 0]
    const %r : f32[1,8,2] = [0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    const %wy : f32[2,3] = random 1
    %h = LSTM(%x, %w, %r) @lstm
    %y = MatMul(%h, %wy) @down
    output %y
  })");
  const PruneSpace space(graph);
  EXPECT_EQ(ScoreWeights(graph, space, ScoreMethod::kL1, 0).of_unit,
            (std::vector<double>{10 / 7.5, 5 / 7.5}));
  const std::vector<double> l2 = ScoreWeights(graph, space, ScoreMethod::kL2, 0).of_unit;
  EXPECT_NEAR(l2[0] / l2[1], std::sqrt(30.0) / 5, 1e-12);
}

TEST(PruneScore, AveragesOverTheLayersOfAGroup) {
  const Graph graph = Parse(R"(graph main {
    input %x : f32[n,1]
    const %w1 : f32[1,2] = [1, 3]
    const %w2 : f32[1,2] = [30, 10]
    const %w3 : f32[2,1] = random 1
    %a = MatMul(%x, %w1) @one
    %b = MatMul(%x, %w2) @two
    %c = Add(%a, %b) @sum
    %y = MatMul(%c, %w3) @down
    output %y
  })");
  EXPECT_EQ(ScoreWeights(graph, PruneSpace(graph), ScoreMethod::kL2, 0).of_unit,
            (std::vector<double>{1, 1}));
}

TEST(PruneChoice, RoundsWithoutBias) {
  const Graph graph = Net();
  const PruneSpace space(graph);
  const UnitScores scores = ScoreWeights(graph, space, ScoreMethod::kL2, 0);
  struct Row {
    double density;
    std::int64_t align, conv1, conv2;  // of 24 and of 10
  };
  for (const Row& row : {Row{0.5, 1, 12, 5}, Row{0.45, 1, 11, 4},  // 4.5: ties to even
                         Row{0.5, 8, 16, 8},                       // 12 / 8 = 1.5: ties to even
                         Row{0.4, 8, 8, 8}, Row{0.95, 8, 24, 10}, Row{0.01, 8, 8, 8},
                         Row{0.01, 1, 1, 1}, Row{0.5, 64, 24, 10}, Row{1.0, 8, 24, 10}}) {
    const PrunePlan plan =
        ChoosePlan(graph, space, scores, {.density = row.density, .align = row.align});
    EXPECT_EQ(Kept(plan, "conv1", 24), row.conv1) << row.density << " align " << row.align;
    EXPECT_EQ(Kept(plan, "conv2", 10), row.conv2) << row.density << " align " << row.align;
  }
}

TEST(PruneChoice, KeepsTheBestOfEveryGroup) {
  const Graph graph = Net();
  const PruneSpace space(graph);
  UnitScores scores{.of_unit = std::vector<double>(34, 1.0)};
  scores.of_unit[3] = 5;
  scores.of_unit[20] = 4;
  scores.of_unit[24 + 9] = 2;
  const PrunePlan plan =
      ChoosePlan(graph, space, scores, {.densities = {{"conv1", 2.0 / 24}, {"conv2", 0.1}}});
  EXPECT_EQ(plan.groups.at("conv1").keep, (std::vector<std::int64_t>{3, 20}));
  EXPECT_EQ(plan.groups.at("conv2").keep, (std::vector<std::int64_t>{9}));
}

TEST(PruneChoice, MeetsBudgetsWithTheLowestThreshold) {
  const Graph graph = Net();
  const PruneSpace space(graph);
  const std::vector<bool> all(space.units(), true);
  for (const ScoreMethod method : {ScoreMethod::kL1, ScoreMethod::kFpgm, ScoreMethod::kRandom}) {
    const UnitScores scores = ScoreWeights(graph, space, method, 3);
    for (const double share : {0.9, 0.5, 0.25}) {
      const PrunePlan macs = ChoosePlan(graph, space, scores, {.macs = share});
      const double got = TotalMacs(graph, space, KeptUnits(space, macs));
      EXPECT_LE(got, share * TotalMacs(graph, space, all));
      // One channel of conv1 or conv2 is at most a tenth of the model.
      EXPECT_GT(got, (share - 0.12) * TotalMacs(graph, space, all));
      const PrunePlan bytes = ChoosePlan(graph, space, scores, {.bytes = share});
      const double size = KeptBytes(graph, space, KeptUnits(space, bytes));
      EXPECT_LE(size, share * KeptBytes(graph, space, all));
      EXPECT_GT(size, (share - 0.12) * KeptBytes(graph, space, all));
    }
  }
}

TEST(PruneChoice, LeavesAChannelInEveryBranch) {
  const Graph graph = Parse(R"(graph main {
    input %x : f32[n,4,2,2]
    const %w1 : f32[8,4,1,1] = random 1
    const %w2 : f32[2,4,1,1] = random 2
    const %w3 : f32[2,4,1,1] = random 3
    %a = Conv(%x, %w1) @conv1
    %b, %c = Split(%a) @split {axis = 1}
    %d = Conv(%b, %w2) @low
    %e = Conv(%c, %w3) @high
    %y = Add(%d, %e) @sum
    output %y
  })");
  const PruneSpace space(graph);
  UnitScores scores{.of_unit = {9, 9, 9, 9, 1, 2, 1, 1}};
  const PrunePlan plan = ChoosePlan(graph, space, scores, {.density = 0.5});
  EXPECT_EQ(plan.groups.at("conv1").keep, (std::vector<std::int64_t>{0, 1, 2, 3, 5}));
}

TEST(PruneChoice, RefusesWhatCannotBe) {
  const Graph graph = Net();
  const PruneSpace space(graph);
  const UnitScores scores = ScoreWeights(graph, space, ScoreMethod::kL2, 0);
  const auto error = [&](const PruneRequest& request) {
    return ErrorOf([&] { (void)ChoosePlan(graph, space, scores, request); });
  };
  EXPECT_EQ(error({.density = 0}), "the density must be above 0 and at most 1, not 0.000000");
  EXPECT_EQ(error({.density = 1.5}), "the density must be above 0 and at most 1, not 1.500000");
  EXPECT_EQ(error({.density = std::numeric_limits<double>::quiet_NaN()}),
            "the density must be above 0 and at most 1, not nan");
  EXPECT_EQ(error({.densities = {{"conv1", -1}}}),
            "the density of 'conv1' must be above 0 and at most 1, not -1.000000");
  EXPECT_EQ(error({.densities = {{"fc", 0.5}}}),
            "layer 'fc' cannot be pruned: 'y' is an output of the model");
  EXPECT_EQ(error({.densities = {{"conv9", 0.5}}}),
            "the model has no layer 'conv9' that can be pruned");
  EXPECT_EQ(error({.macs = 0.0}),
            "the share of multiply-adds must be above 0 and at most 1, not 0.000000");
  EXPECT_EQ(error({.density = 0.5, .macs = 0.5}),
            "give densities, or one budget: of multiply-adds or of bytes");
  EXPECT_EQ(error({.align = 0}), "the alignment must be at least 1");
  EXPECT_NE(error({.macs = 0.01, .least = 0.5}).find("the budget cannot be met"),
            std::string::npos);
  EXPECT_EQ(ErrorOf([] { (void)ParseScoreMethod("tailor"); }),
            "unknown score 'tailor'; known: l1, l2, fpgm, random, energy, obs, taylor");
}

/// Correlated inputs, [count, width].
std::vector<float> CorrelatedRows(std::int64_t count, std::int64_t width, Rng& rng) {
  std::vector<float> rows;
  for (std::int64_t i = 0; i < count; ++i) {
    const double common = rng.Normal();
    for (std::int64_t j = 0; j < width; ++j) {
      rows.push_back(
          static_cast<float>(common * 0.2 * static_cast<double>(j) + rng.Normal() + 0.5));
    }
  }
  return rows;
}

std::vector<float> Apply(const std::vector<float>& rows, const std::vector<float>& weights,
                         const std::vector<float>& bias, std::int64_t inputs) {
  const auto outputs = std::ssize(bias);
  std::vector<float> y;
  for (std::int64_t i = 0; i < std::ssize(rows) / inputs; ++i) {
    for (std::int64_t o = 0; o < outputs; ++o) {
      double sum = bias[static_cast<std::size_t>(o)];
      for (std::int64_t k = 0; k < inputs; ++k) {
        sum += static_cast<double>(rows[static_cast<std::size_t>(i * inputs + k)]) *
               weights[static_cast<std::size_t>(o * inputs + k)];
      }
      y.push_back(static_cast<float>(sum));
    }
  }
  return y;
}

std::vector<float> RandomFloats(std::int64_t count, Rng& rng) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(rng.Normal()));
  return values;
}

TEST(PruneLeastSquares, FindsTheLinearMap) {
  Rng rng(1);
  const std::vector<float> x = CorrelatedRows(400, 5, rng);
  const std::vector<float> weights = RandomFloats(15, rng);
  const std::vector<float> bias = {1, -2, 3};
  const std::vector<float> y = Apply(x, weights, bias, 5);
  LinearMoments moments(5, 3);
  moments.Add(150, x.data(), 5, y.data(), 3);
  moments.Add(250, x.data() + 750, 5, y.data() + 450, 3);
  const std::vector<float> zeros(15, 0.0F);
  const std::vector<float> no_bias(3, 0.0F);
  double variance = 0;
  for (std::size_t o = 0; o < 3; ++o) {
    double sum = 0;
    double squares = 0;
    for (std::size_t i = o; i < y.size(); i += 3) {
      sum += y[i];
      squares += static_cast<double>(y[i]) * y[i];
    }
    variance += squares / 400 - sum / 400 * sum / 400;
  }
  EXPECT_NEAR(moments.Variance(), variance, 1e-9 * variance);
  const LinearMoments::Fit fit = moments.Solve(zeros, no_bias, true, 1e-9);
  for (std::size_t i = 0; i < 15; ++i) EXPECT_NEAR(fit.weights[i], weights[i], 1e-4);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(fit.bias[i], bias[i], 1e-4);
  EXPECT_LT(fit.error_after, 1e-6);
  EXPECT_GT(fit.error_before, 0.5);
  // The bias stays where it is asked to.
  const LinearMoments::Fit fixed = moments.Solve(zeros, no_bias, false, 1e-9);
  EXPECT_EQ(fixed.bias, no_bias);
  EXPECT_GT(fixed.error_after, fit.error_after);
  EXPECT_LT(fixed.error_after, fixed.error_before);
  // A right answer stays right, and a heavy ridge keeps a wrong one.
  EXPECT_LT(moments.Solve(weights, bias, true, 1.0).error_after, 1e-6);
  for (const float w : moments.Solve(zeros, no_bias, true, 1e9).weights) EXPECT_NEAR(w, 0, 1e-6);
}

TEST(PruneLeastSquares, KeepsOldWeightsWhereSamplesSayNothing) {
  const std::vector<float> x = {1, 0, 2, 0, 3, 0};  // the second input is never seen
  const std::vector<float> y = {2, 4, 6};
  LinearMoments moments(2, 1);
  moments.Add(3, x.data(), 2, y.data(), 1);
  const std::vector<float> old = {0, 7};
  const std::vector<float> bias = {0};
  const LinearMoments::Fit fit = moments.Solve(old, bias, true, 1e-6);
  EXPECT_NEAR(fit.weights[0], 2, 1e-3);
  EXPECT_NEAR(fit.weights[1], 7, 1e-3);
}

// Units of two inputs each; what is lost when one goes and the others make up for it, by solving
// the smaller problem outright.
TEST(LinearMoments, OfFewRowsGiveTheSameFitAsTheirSums) {
  constexpr std::int64_t kInputs = 24;
  constexpr std::int64_t kOutputs = 5;
  for (const std::int64_t rows : {1, 7, 24, 25}) {
    Rng rng(static_cast<std::uint64_t>(rows));
    const auto random = [&](std::int64_t count) {
      std::vector<float> values(static_cast<std::size_t>(count));
      for (float& value : values) value = static_cast<float>(rng.Normal());
      return values;
    };
    const std::vector<float> x = random(rows * kInputs);
    const std::vector<float> y = random(rows * kOutputs);
    const std::vector<float> old = random(kOutputs * kInputs);
    const std::vector<float> bias = random(kOutputs);
    LinearMoments kept(kInputs, kOutputs);
    LinearMoments summed(kInputs, kOutputs);
    for (LinearMoments* each : {&kept, &summed}) {
      // In two parts, the second of which makes more rows than inputs in the last case.
      each->Add(rows - rows / 2, x.data(), kInputs, y.data(), kOutputs);
      each->Add(rows / 2, x.data() + (rows - rows / 2) * kInputs, kInputs,
                y.data() + (rows - rows / 2) * kOutputs, kOutputs);
    }
    (void)summed.Gram(LinearMoments::About::kZero);  // the sums take the place of the rows
    for (const bool free_bias : {false, true}) {
      const LinearMoments::Fit a = kept.Solve(old, bias, free_bias, 1e-2);
      const LinearMoments::Fit b = summed.Solve(old, bias, free_bias, 1e-2);
      for (std::size_t i = 0; i < a.weights.size(); ++i) {
        EXPECT_NEAR(a.weights[i], b.weights[i], 1e-5) << rows;
      }
      for (std::size_t i = 0; i < a.bias.size(); ++i) EXPECT_NEAR(a.bias[i], b.bias[i], 1e-5);
      // One row has no variance, to which errors are relative.
      if (rows == 1) continue;
      EXPECT_NEAR(a.error_before, b.error_before, 1e-6 * b.error_before);
      EXPECT_NEAR(a.error_after, b.error_after, 1e-6);
      EXPECT_NEAR(summed.Error(a.weights, a.bias), a.error_after, 1e-5);
    }
  }
}

TEST(PruneElimination, MatchesTheErrorOfTheSmallerProblem) {
  Rng rng(4);
  const std::int64_t inputs = 8;
  const std::vector<float> x = CorrelatedRows(3000, inputs, rng);
  const std::vector<float> weights = RandomFloats(3 * inputs, rng);
  const std::vector<float> bias = {0, 1, 2};
  const std::vector<float> y = Apply(x, weights, bias, inputs);
  LinearMoments moments(inputs, 0);
  moments.Add(3000, x.data(), inputs, nullptr, 0);
  PruneGroup group;
  group.units = 4;
  UnitElimination elimination;
  elimination.AddReader(moments, weights, {0, 0, 1, 1, 2, 2, 3, 3});
  const std::vector<double> obs = elimination.Score(group, ScoreMethod::kObs);

  const auto error_without = [&](const std::vector<std::size_t>& gone) {
    std::vector<float> fewer;
    std::int64_t width = 0;
    for (std::size_t row = 0; row < 3000; ++row) {
      width = 0;
      for (std::size_t k = 0; k < 8; ++k) {
        if (std::find(gone.begin(), gone.end(), k / 2) != gone.end()) continue;
        fewer.push_back(x[row * 8 + k]);
        ++width;
      }
    }
    LinearMoments smaller(width, 3);
    smaller.Add(3000, fewer.data(), width, y.data(), 3);
    const std::vector<float> zeros(static_cast<std::size_t>(3 * width), 0.0F);
    return smaller.Solve(zeros, std::vector<float>(3, 0.0F), true, 1e-10).error_after;
  };
  std::vector<std::size_t> order = {0, 1, 2, 3};
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return obs[a] < obs[b]; });
  // First to go is the one with the least error; errors add up along the order of removal.
  for (std::size_t unit = 0; unit < 4; ++unit) {
    EXPECT_GE(error_without({unit}), error_without({order[0]}));
  }
  EXPECT_NEAR(obs[order[0]], error_without({order[0]}), 2e-3);
  EXPECT_NEAR(obs[order[0]] + obs[order[1]], error_without({order[0], order[1]}), 5e-3);
}

TEST(PruneElimination, CountsOnlyWhatOthersCannotMakeUpFor) {
  // Input 1 is twice input 0; input 2 is on its own.
  Rng rng(9);
  std::vector<float> x;
  for (int i = 0; i < 500; ++i) {
    const auto a = static_cast<float>(rng.Normal());
    x.insert(x.end(), {a, 2 * a, static_cast<float>(rng.Normal())});
  }
  LinearMoments moments(3, 0);
  moments.Add(500, x.data(), 3, nullptr, 0);
  const std::vector<float> weights = {1, 1, 1};
  PruneGroup group;
  group.units = 3;
  UnitElimination elimination;
  elimination.AddReader(moments, weights, {0, 1, 2});
  const std::vector<double> obs = elimination.Score(group, ScoreMethod::kObs);
  EXPECT_LT(std::min(obs[0], obs[1]), 1e-3);
  EXPECT_GT(std::max(obs[0], obs[1]), 0.5);
  EXPECT_GT(obs[2], 0.05);
  // Energies of 1, 4 and 1 among 9 + 1, the covariance of 0 and 1 apart.
  const std::vector<double> energy = elimination.Score(group, ScoreMethod::kEnergy);
  EXPECT_NEAR(energy[1] / energy[0], 4, 1e-3);
  EXPECT_NEAR(energy[0], 0.1, 0.02);
}

TEST(PruneSparsity, KeepsNOfEveryMChannelsOfATap) {
  Rng rng(3);
  const LinearForm form{.groups = 1, .inputs = 24, .outputs = 6, .taps = 3};
  std::vector<float> rows(6 * 24);
  for (float& w : rows) w = static_cast<float>(rng.Normal());
  // Inputs that have much in common, so that one can stand for another.
  std::vector<double> gram(24 * 24, 0.0);
  std::vector<double> x(24);
  for (int sample = 0; sample < 60; ++sample) {
    const double common = rng.Normal();
    for (double& value : x) value = common + 0.5 * rng.Normal();
    for (std::size_t i = 0; i < gram.size(); ++i) gram[i] += x[i / 24] * x[i % 24];
  }
  const auto missed = [&](std::span<const float> other, std::size_t row) {
    double sum = 0;
    for (std::size_t i = 0; i < 24; ++i) {
      for (std::size_t j = 0; j < 24; ++j) {
        sum += gram[i * 24 + j] * (other[row * 24 + i] - rows[row * 24 + i]) *
               (other[row * 24 + j] - rows[row * 24 + j]);
      }
    }
    return sum;
  };
  for (const auto& [n, m] : {std::pair{2, 4}, {1, 4}, {3, 8}}) {
    const SparsityPattern pattern = ParseSparsity(std::to_string(n) + ":" + std::to_string(m));
    const std::vector<float> sparse = SparsifyRows(rows, form, pattern, gram);
    std::vector<double> identity(gram.size(), 0.0);
    for (std::size_t i = 0; i < 24; ++i) identity[i * 25] = 1;
    const std::vector<float> largest = SparsifyRows(rows, form, pattern, identity);
    double made_up = 0;
    double cut = 0;
    for (std::size_t row = 0; row < 6; ++row) {
      EXPECT_LE(missed(sparse, row), missed(largest, row) * (1 + 1e-5));
      made_up += missed(sparse, row);
      cut += missed(largest, row);
      for (std::size_t tap = 0; tap < 3; ++tap) {
        for (std::size_t first = 0; first < 8; first += static_cast<std::size_t>(m)) {
          std::vector<float> kept;
          int dropped = 0;
          for (std::size_t c = first; c < first + static_cast<std::size_t>(m); ++c) {
            const std::size_t at = row * 24 + c * 3 + tap;
            if (sparse[at] == 0) ++dropped;
            // Independent inputs: the largest stay, as they were.
            if (largest[at] != 0) {
              EXPECT_EQ(largest[at], rows[at]);
              kept.push_back(std::abs(rows[at]));
            }
          }
          EXPECT_EQ(dropped, m - n);
          ASSERT_EQ(kept.size(), static_cast<std::size_t>(n));
          for (std::size_t c = first; c < first + static_cast<std::size_t>(m); ++c) {
            const std::size_t at = row * 24 + c * 3 + tap;
            if (largest[at] == 0) {
              EXPECT_LE(std::abs(rows[at]), *std::min_element(kept.begin(), kept.end()));
            }
          }
        }
      }
    }
    EXPECT_LT(made_up, 0.5 * cut);  // it is worth the trouble
  }
  const std::vector<float> loose = SparsifyRows(rows, form, ParseSparsity("0.25"), gram);
  EXPECT_NEAR(ZeroShare(loose), 0.75, 1e-9);
}

TEST(PruneSparsity, RefusesWhatIsNoPattern) {
  for (const char* text :
       {"", "2", "1", "0", "-0.5", "2:", ":4", "4:4", "0:4", "2:4x", "3:2", "1:65"}) {
    EXPECT_NE(ErrorOf([&] { (void)ParseSparsity(text); }).find("is no sparsity"), std::string::npos)
        << text;
  }
  const LinearForm form{.groups = 1, .inputs = 18, .outputs = 1, .taps = 3};
  EXPECT_FALSE(PatternFits(ParseSparsity("2:4"), form));
  EXPECT_TRUE(PatternFits(ParseSparsity("2:6"), form));
  EXPECT_TRUE(PatternFits(ParseSparsity("0.5"), form));
}

}  // namespace
}  // namespace msc
