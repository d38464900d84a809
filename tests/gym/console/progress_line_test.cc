#include "gym/console/progress_line.h"

#include <gtest/gtest.h>

namespace msc::gym {
namespace {

TEST(ProgressLine, OffATerminalPrintsTheFirstAndTheLastOfEachKind) {
  ::testing::internal::CaptureStderr();
  {
    ProgressLine line;
    for (const char* text : {"[trial 0/3]", "[trial 1/3]", "[trial 2/3]", "[trial 3/3]",
                             "[sensitivity] 0 of 9", "[sensitivity] 1 of 9"}) {
      line.Show(text);
    }
    line.PrintLine("a word");
    line.Show("[trial 1/2]");
    line.Show("[trial 1/2]");
    line.Show("[trial 2/2]");
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "[trial 0/3]\n[trial 3/3]\n[sensitivity] 0 of 9\n[sensitivity] 1 of 9\na word\n"
            "[trial 1/2]\n[trial 2/2]\n");
}

}  // namespace
}  // namespace msc::gym
