// Schedules: the list of a shape has what it can have and nothing else, and whatever is chosen of
// it computes the same. Kernels are interpreted, so nothing is compiled.

#include "compiler/targets/native/schedule.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/kernel/print.h"
#include "compiler/ops/op.h"
#include "compiler/targets/native/native.h"
#include "compiler/targets/target.h"
#include "tests/compiler/targets/native/interpreted.h"
#include "tests/support/seeds.h"

namespace msc::native {
namespace {

std::int64_t OneOf(Rng& rng, const std::vector<std::int64_t>& list) {
  return list[rng.Below(list.size())];
}

ConvShape RandomShape(Rng& rng) {
  ConvShape shape;
  shape.out_height = OneOf(rng, {1, 5, 14, 56});
  shape.out_width = OneOf(rng, {1, 3, 7, 14, 56});
  shape.in_channels = OneOf(rng, {1, 3, 16, 33});
  shape.out_channels = OneOf(rng, {1, 8, 40, 128});
  shape.groups = OneOf(rng, {1, 1, 2});
  if (rng.Below(4) == 0) {  // groups that fit in a vector
    shape.groups = 8;
    shape.in_channels = shape.out_channels = OneOf(rng, {2, 4, 8, 16});
  }
  shape.kernel_height = OneOf(rng, {1, 3, 5});
  shape.kernel_width = OneOf(rng, {1, 3, 5});
  shape.unit_steps = rng.Below(2) == 0;
  shape.joinable = rng.Below(2) == 0;
  shape.depthwise = shape.in_channels == 1 && rng.Below(2) == 0;
  shape.x = rng.Below(3) == 0 ? DType::kU8 : DType::kF32;
  shape.narrow = shape.x == DType::kU8 && rng.Below(2) == 0;
  return shape;
}

const std::vector<VectorUnit> kUnits = {{.lanes = 4, .registers = 16},
                                        {.lanes = 8, .registers = 16, .dot4_narrow = true},
                                        {.lanes = 16, .registers = 32, .dot4 = true, .dot2 = true}};

TEST(NativeSchedules, HaveTheDefaultFirstAndNothingTwiceOrThatDoesNotApply) {
  Rng rng(1);
  for (std::uint64_t seed = 0; seed < Seeds(60); ++seed) {
    const ConvShape shape = RandomShape(rng);
    const VectorUnit& unit = kUnits[rng.Below(kUnits.size())];
    const std::vector<ConvSchedule> all = ConvSchedules(shape, unit);
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all.front(), DefaultConv(shape, unit));
    std::set<std::string> names;
    for (const ConvSchedule& schedule : all) {
      const KernelSchedule plain = ToPlain(schedule);
      EXPECT_TRUE(names.insert(Name(plain)).second) << Name(plain);
      EXPECT_TRUE(SupportsShape(schedule, shape, unit)) << Name(plain);
      EXPECT_EQ(FromPlain(plain), schedule);
      EXPECT_EQ(ScheduleFromText(ToText(plain), "it"), plain);
      if (schedule.algorithm != ConvAlgorithm::kDirect || shape.x != DType::kF32) continue;
      const TileSchedule& tile = schedule.tile;
      const bool fits = tile.columns * tile.vectors + tile.vectors + 1 <= unit.registers;
      EXPECT_TRUE(fits) << Name(plain) << " spills";
      const std::int64_t rows = shape.out_width * (schedule.join_rows ? shape.out_height : 1);
      EXPECT_LE(tile.columns, std::max<std::int64_t>(rows, 1)) << Name(plain);
    }
  }
}

double Largest(const Tensor& wanted, const Tensor& got) {
  double largest = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(wanted.size()); ++i) {
    const double a =
        wanted.dtype() == DType::kU8 ? wanted.Values<std::uint8_t>()[i] : wanted.Values<float>()[i];
    const double b =
        got.dtype() == DType::kU8 ? got.Values<std::uint8_t>()[i] : got.Values<float>()[i];
    if (!(std::abs(a - b) <= largest)) largest = std::abs(a - b);
  }
  return largest;
}

struct Layer {
  const char* label;
  const char* text;
  friend void PrintTo(const Layer& layer, std::ostream* out) { *out << layer.label; }
};

const Layer kLayers[] = {
    {"window", R"(graph g {
  input %x : f32[1,5,4,7]
  const %w : f32[6,5,3,3] = random 3
  %y = msc.Conv(%x, %w) @it {kernel_shape = [3, 3], strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = 1, activation = "Relu", y_type = 1}
  output %y
})"},
    {"atrous", R"(graph g {
  input %x : f32[1,3,6,11]
  const %w : f32[10,3,3,3] = random 3
  %y = msc.Conv(%x, %w) @it {kernel_shape = [3, 3], strides = [1, 1], pads = [4, 7, 4, 7], dilations = [4, 7], group = 1, y_type = 1}
  output %y
})"},
    {"point", R"(graph g {
  input %x : f32[2,7,3,5]
  const %w : f32[9,7,1,1] = random 3
  const %b : f32[9] = random 4
  %y = msc.Conv(%x, %w, %b) @it {kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, y_type = 1}
  output %y
})"},
    {"depthwise", R"(graph g {
  input %x : f32[1,6,4,9]
  const %w : f32[6,1,3,3] = random 3
  %y = msc.Conv(%x, %w) @it {kernel_shape = [3, 3], strides = [2, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = 6, y_type = 1}
  output %y
})"},
    {"grouped", R"(graph g {
  input %x : f32[1,6,4,9]
  const %w : f32[6,2,3,3] = random 3
  %y = msc.Conv(%x, %w) @it {kernel_shape = [3, 3], strides = [1, 2], pads = [1, 1, 1, 1], dilations = [1, 1], group = 3, y_type = 1}
  output %y
})"},
    {"bytes", R"(graph g {
  input %x : u8[1,6,3,6]
  const %w : i8[10,3,2,3] = random 3
  const %s : f32[1] = [0.0078125]
  %y = msc.Conv(%x, %w, _, _, %s) @it {kernel_shape = [2, 3], strides = [1, 1], pads = [0, 1, 1, 1], dilations = [1, 1], group = 2, x_scale = 0.25, x_zero_point = 13, y_scale = 2.0, y_zero_point = 99, y_type = 2}
  output %y
})"},
    {"product", R"(graph g {
  input %x : f32[5,11]
  const %w : f32[13,11] = random 3
  %y = msc.Gemm(%x, %w) @it {y_type = 1}
  output %y
})"},
};

class NativeLayer : public testing::TestWithParam<Layer> {
 protected:
  NativeLayer() : graph_(ParseGraph(GetParam().text)) {
    InferTypes(graph_);
    targets_.Add(NativeKind());
  }
  /// What every CPU runs: kernels are interpreted, and four lanes show all that sixteen do.
  [[nodiscard]] const Target& Get() const { return targets_.Get("native:isa=baseline"); }

  Graph graph_;
  TargetRegistry targets_;
};

TEST(NativeSchedules, ReadASmallImageOncePerTileOfChannelsUnlessThreadsShareIt) {
  ConvShape shape{
      .out_height = 7, .out_width = 7, .in_channels = 576, .out_channels = 128, .joinable = false};
  const VectorUnit& unit = kUnits.back();
  EXPECT_EQ(DefaultConv(shape, unit).tile.order, LoopOrder::kChannelsOuter);
  shape.threads = 2;
  EXPECT_EQ(DefaultConv(shape, unit).tile.order, LoopOrder::kRowsOuter);
  // Few weights stay in the first-level cache, and a large image in none.
  ConvShape few = shape;
  few.threads = 1;
  few.in_channels = 16;
  few.out_channels = 32;
  EXPECT_EQ(DefaultConv(few, unit).tile.order, LoopOrder::kRowsOuter);
  ConvShape large = shape;
  large.threads = 1;
  large.out_height = large.out_width = 112;
  EXPECT_EQ(DefaultConv(large, unit).tile.order, LoopOrder::kRowsOuter);
}

TEST_P(NativeLayer, ComputesTheSameBySchedulesOfItsList) {
  const NodeId node = graph_.order()[0];
  const KernelChoices choices = Get().Schedules(graph_, node);
  ASSERT_GE(choices.schedules.size(), 4U);
  Rng rng(5);
  Tensor x(graph_.type(graph_.inputs()[0]).dtype,
           *StaticDims(*graph_.type(graph_.inputs()[0]).shape));
  for (std::byte& byte : x.MutableRaw()) byte = static_cast<std::byte>(rng.Below(256));
  if (x.dtype() == DType::kF32) {
    for (float& value : x.MutableValues<float>()) value = static_cast<float>(rng.Normal());
  }
  const std::vector<Tensor> inputs = {x};
  const Tensor wanted = Interpret(graph_, inputs)[0];
  // By itself, then a part of the list: one of each algorithm, and others.
  constexpr std::size_t kStride = kSanitized ? 67 : 17;
  std::set<std::string> algorithms;
  for (std::size_t i = 0; i < choices.schedules.size(); ++i) {
    const KernelSchedule& schedule = choices.schedules[i];
    const bool fresh = algorithms.insert(schedule.algorithm).second;
    if (!fresh && i % kStride != 3) continue;
    SCOPED_TRACE(Name(schedule));
    graph_.SetAttr(node, kScheduleAttr, ToText(schedule));
    ASSERT_TRUE(Get().Supports(graph_, node));
    const auto program = Get().GraphToKernel({.graph = &graph_, .nodes = graph_.order()}, {});
    ASSERT_TRUE(program.ok());
    const std::vector<Tensor> got = Interpreted(program.value(), graph_, inputs);
    ASSERT_EQ(got.size(), 1U);
    const bool winograd = schedule.algorithm.starts_with("winograd");
    EXPECT_LE(Largest(wanted, got[0]), winograd ? 1e-4 : 1e-5);
  }
}

/// Iterations that threads share in every kernel of a 3x3 convolution of `images` by Winograd.
std::vector<std::int64_t> SharedByThreads(std::int64_t images, std::int64_t side) {
  const std::string dims = "[" + std::to_string(images) + ",32," + std::to_string(side) + "," +
                           std::to_string(side) + "]";
  Graph graph = ParseGraph("graph g {\n input %x : f32" + dims + R"(
    const %w : f32[32,32,3,3] = random 1
    %y = Conv(%x, %w) @conv {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
    output %y
  })");
  InferTypes(graph);
  graph.SetAttr(graph.order()[0], kScheduleAttr, ToText({.algorithm = "winograd4"}));
  const kernel::Program program = ProgramOf(graph);
  std::vector<std::int64_t> extents;
  for (const kernel::ProgramCall& call : program.calls) {
    if (call.nodes.empty()) continue;  // of the halo
    extents.push_back(program.funcs[call.func].parallel_extent());
  }
  return extents;
}

/// Returns the mean distance of the outputs of a 3x3 convolution by an algorithm from sums in
/// double.
double MeanError(const char* algorithm) {
  constexpr std::int64_t kDepth = 64;
  constexpr std::int64_t kSide = 10;
  Graph graph = ParseGraph(R"(graph g {
    input %x : f32[1,64,10,10]
    const %w : f32[8,64,3,3] = random 1
    %y = msc.Conv(%x, %w) @conv {kernel_shape = [3, 3], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, y_type = 1}
    output %y
  })");
  InferTypes(graph);
  graph.SetAttr(graph.order()[0], kScheduleAttr, ToText({.algorithm = algorithm}));
  const kernel::Program program = ProgramOf(graph);
  Tensor x(DType::kF32, {1, kDepth, kSide, kSide});
  Rng rng(5);
  for (float& value : x.MutableValues<float>()) value = static_cast<float>(rng.Normal());
  const Tensor y = Interpreted(program, graph, {x})[0];
  const auto in = x.Values<float>();
  const auto weights = graph.constant(graph.FindValue("w"))->Values<float>();
  const auto out = y.Values<float>();
  double error = 0;
  for (std::size_t at = 0; at < out.size(); ++at) {
    const std::size_t c = at / 64;
    const std::size_t row = at / 8 % 8;
    const std::size_t column = at % 8;
    double sum = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(kDepth) * 9; ++i) {
      const std::size_t pixel = (row + i / 3 % 3) * 10 + column + i % 3;
      sum += static_cast<double>(in[i / 9 * 100 + pixel]) *
             static_cast<double>(weights[c * 64 * 9 + i]);
    }
    error += std::abs(static_cast<double>(out[at]) - sum);
  }
  return error / static_cast<double>(out.size());
}

TEST(NativeWinograd, IsNearlyAsExactAsADirectSum) {
  const double direct = MeanError("direct");
  EXPECT_GT(direct, 0);
  const double small = MeanError("winograd2") / direct;
  const double large = MeanError("winograd4") / direct;
  std::printf("mean error, in that of a direct sum: F(2x2) %.2f, F(4x4) %.2f\n", small, large);
  EXPECT_LT(small, 1.5);
  EXPECT_LT(large, 2.6);
}

TEST(NativeWinograd, GivesThreadsSomethingToShare) {
  // 7x7 pixels are one block of 2x2 tiles: a kernel each for the tiles that go in, the products,
  // and the tiles that come out.
  const std::vector<std::int64_t> one = SharedByThreads(1, 7);
  ASSERT_EQ(one.size(), 3U);
  for (const std::int64_t extent : one) EXPECT_GE(extent, 2);
  // Several blocks are shared whole, each by one thread.
  EXPECT_EQ(SharedByThreads(3, 7), std::vector<std::int64_t>{3});
  EXPECT_EQ(SharedByThreads(1, 56).size(), 1U);
}

TEST_P(NativeLayer, IsWrittenAsTheChosenScheduleSays) {
  const NodeId node = graph_.order()[0];
  std::set<std::string> sizes;
  for (const KernelSchedule& schedule : {Get().Schedules(graph_, node).schedules.front(),
                                         Get().Schedules(graph_, node).schedules.back()}) {
    graph_.SetAttr(node, kScheduleAttr, ToText(schedule));
    const auto program = Get().GraphToKernel({.graph = &graph_, .nodes = graph_.order()}, {});
    ASSERT_TRUE(program.ok());
    std::string text;
    for (const kernel::KernelFunc& func : program.value().funcs) text += kernel::Print(func);
    sizes.insert(text);
  }
  EXPECT_EQ(sizes.size(), 2U) << "both schedules make the same kernels";
}

TEST_P(NativeLayer, RefusesWhatItsShapeCannotHave) {
  const NodeId node = graph_.order()[0];
  const auto supported = [&](const KernelSchedule& schedule) {
    graph_.SetAttr(node, kScheduleAttr, ToText(schedule));
    return Get().Supports(graph_, node);
  };
  const std::string label = GetParam().label;
  EXPECT_EQ(supported({.algorithm = "winograd4", .order = "channels"}), label == "window");
  EXPECT_EQ(supported({.algorithm = "depthwise"}), label == "depthwise");
  EXPECT_EQ(supported({.algorithm = "grouped"}), label == "grouped");
  EXPECT_EQ(supported({.order = "channels", .join_rows = true}), label == "point");
  EXPECT_TRUE(supported({.columns = 5, .vectors = 3, .unroll = 3, .order = "channels"}))
      << "beside the list, and right all the same";
  graph_.SetAttr(node, kScheduleAttr, std::string(R"({"columns": 1000000})"));
  EXPECT_THROW((void)Get().Supports(graph_, node), UserError);
}

INSTANTIATE_TEST_SUITE_P(All, NativeLayer, testing::ValuesIn(kLayers),
                         [](const auto& test) { return std::string(test.param.label); });

}  // namespace
}  // namespace msc::native
