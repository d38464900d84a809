#include "cost/analytic/roof.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/sanitizer.h"

namespace msc::cost {
namespace {

TEST(Roof, IsMeasuredForEveryKindOfArithmetic) {
  for (const int threads : kSanitized ? std::vector{2} : std::vector{1, 2}) {
    const Roof roof = MeasureRoof(threads);
    for (const Peak* peak : {&roof.f32, &roof.bf16, &roof.int8}) {
      EXPECT_TRUE(std::isfinite(peak->per_second));
      EXPECT_GT(peak->per_second, 0);
      EXPECT_FALSE(peak->instruction.empty());
    }
    EXPECT_GT(roof.copy_bytes_per_second, 0);
  }
}

TEST(Roof, HasAPeakForWhatAStepMultipliesIn) {
  const Roof roof{.f32 = {1, "a"}, .bf16 = {2, "b"}, .int8 = {4, "c"}, .copy_bytes_per_second = 1};
  EXPECT_EQ(PeakOf(roof, "f32").per_second, 1);
  EXPECT_EQ(PeakOf(roof, "bf16").per_second, 2);
  EXPECT_EQ(PeakOf(roof, "int8").per_second, 4);
  EXPECT_EQ(PeakOf(roof, "").per_second, 1);
}

}  // namespace
}  // namespace msc::cost
