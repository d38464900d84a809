#include "compiler/base/base64.h"

#include <gtest/gtest.h>

namespace msc {
namespace {

TEST(Base64, HasTheVectorsOfItsStandard) {
  // RFC 4648, section 10.
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64("\xFF\xFE"), "//4=");
}

}  // namespace
}  // namespace msc
