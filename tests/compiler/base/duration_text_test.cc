#include "compiler/base/duration_text.h"

#include <gtest/gtest.h>

#include "compiler/base/error.h"

namespace msc {
namespace {

double Seconds(const char* text) {
  return ParseDuration(text, "--time").count();
}

TEST(ParseDuration, ReadsUnits) {
  EXPECT_EQ(Seconds("90"), 90);
  EXPECT_EQ(Seconds("90s"), 90);
  EXPECT_EQ(Seconds("10m"), 600);
  EXPECT_EQ(Seconds("1.5h"), 5400);
}

TEST(ParseDuration, RefusesOthers) {
  for (const char* text : {"", "s", "10x", "10 m", "-5s", "0", "inf", "nan", "1e400h", "m10"}) {
    EXPECT_THROW((void)Seconds(text), UserError) << text;
  }
}

TEST(FormatDuration, RoundsToSeconds) {
  EXPECT_EQ(FormatDuration(std::chrono::duration<double>(3725.6)), "01:02:06");
  EXPECT_EQ(FormatDuration(std::chrono::duration<double>(-1)), "00:00:00");
}

}  // namespace
}  // namespace msc
