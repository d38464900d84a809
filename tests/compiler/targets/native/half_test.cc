// Casts between f32 and f16 in native code have the bits of compiler/base, for every f16 and around
// every rounding, with each instruction set.

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/dtype.h"
#include "compiler/base/error.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/targets/native/native.h"
#include "compiler/targets/target.h"

namespace msc {
namespace {

/// Runs a Cast of `x` to the type that ONNX numbers `to`.
Tensor CastBy(const Target& target, const Tensor& x, int to) {
  Graph graph = ParseGraph("graph g {\n  input %x : " + std::string(Name(x.dtype())) + "[" +
                           std::to_string(x.size()) +
                           "]\n  %y = Cast(%x) {to = " + std::to_string(to) + "}\n  output %y\n}");
  InferTypes(graph);
  EXPECT_TRUE(target.Supports(graph, graph.order().front()));
  ExecutableBuilder builder(graph);
  const auto failure =
      target.GraphToRuntime({.graph = &graph, .nodes = graph.order()}, {.threads = 1}, builder);
  EXPECT_FALSE(failure.has_value()) << failure->detail;
  Executable executable = std::move(builder).Build();
  return executable.Run(std::vector<Tensor>{x}).front();
}

class HalfCast : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    registry_.Add(NativeKind());
    try {
      target_ = &registry_.Get("native:isa=" + GetParam());
    } catch (const UserError& absent) {
      GTEST_SKIP() << absent.what();
    }
  }
  TargetRegistry registry_;
  const Target* target_ = nullptr;
};

TEST_P(HalfCast, WidensEveryHalf) {
  constexpr std::int64_t kAll = 65536;
  // Three more, so that the last vector is partial.
  Tensor x(DType::kF16, {kAll + 3});
  const auto halves = x.MutableValues<std::uint16_t>();
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  const Tensor y = CastBy(*target_, x, 1);
  const auto wide = y.Values<float>();
  for (std::size_t i = 0; i < halves.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]),
              std::bit_cast<std::uint32_t>(FromF16(halves[i])))
        << halves[i];
  }
}

TEST_P(HalfCast, RoundsLikeTheReference) {
  std::vector<std::uint32_t> bits;
  // Every half, the numbers halfway to the next one, and the neighbours of both.
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto half = static_cast<std::uint16_t>(i);
    const auto from = std::bit_cast<std::uint32_t>(FromF16(half));
    const auto next = std::bit_cast<std::uint32_t>(FromF16(static_cast<std::uint16_t>(i + 1)));
    const float middle =
        (std::bit_cast<float>(from) + std::bit_cast<float>(next)) / 2;  // exact, if both are finite
    for (const std::uint32_t one : {from, std::bit_cast<std::uint32_t>(middle)}) {
      bits.insert(bits.end(), {one - 1, one, one + 1});
    }
  }
  // Subnormal and infinite f32, and NaN with all kinds of payloads.
  for (const std::uint32_t one :
       {0x00000001U, 0x007fffffU, 0x477fefffU, 0x477ff000U, 0x7f7fffffU, 0x7f800000U, 0x7f800001U,
        0x7fbfffffU, 0x7fc00000U, 0x7fffffffU}) {
    bits.insert(bits.end(), {one, one | 0x80000000U});
  }
  Tensor x(DType::kF32, {static_cast<std::int64_t>(bits.size())});
  const auto values = x.MutableValues<float>();
  for (std::size_t i = 0; i < bits.size(); ++i) values[i] = std::bit_cast<float>(bits[i]);
  const Tensor y = CastBy(*target_, x, 10);
  const auto halves = y.Values<std::uint16_t>();
  for (std::size_t i = 0; i < bits.size(); ++i) {
    ASSERT_EQ(halves[i], ToF16(values[i])) << std::hex << bits[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, HalfCast, testing::Values("baseline", "avx2", "avx512"),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace msc
