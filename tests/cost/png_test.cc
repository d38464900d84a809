#include "cost/samples/png.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "compiler/base/error.h"

namespace msc::cost {
namespace {

std::uint32_t NumberAt(const std::string& file, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i)
    number = number << 8U | static_cast<unsigned char>(file[at + i]);
  return number;
}

TEST(Png, HoldsItsPixelsInChunksWithChecksums) {
  const std::vector<std::uint8_t> pixels = {255, 0, 0, 0, 255, 0, 0, 0, 255, 1, 2, 3};
  const std::string file = EncodePng(pixels, 2, 2, 3);
  EXPECT_EQ(file.substr(0, 8), "\x89PNG\r\n\x1A\n");
  std::vector<std::string> types;
  std::string data;
  for (std::size_t at = 8; at < file.size();) {
    const std::uint32_t size = NumberAt(file, at);
    const std::string checked = file.substr(at + 4, 4 + size);
    types.push_back(checked.substr(0, 4));
    const auto* bytes = reinterpret_cast<const Bytef*>(checked.data());  // NOLINT
    EXPECT_EQ(NumberAt(file, at + 8 + size), crc32(0, bytes, static_cast<uInt>(checked.size())));
    if (types.back() == "IDAT") data = checked.substr(4);
    if (types.back() == "IHDR") {
      EXPECT_EQ(NumberAt(checked, 4), 2U) << "width";
      EXPECT_EQ(NumberAt(checked, 8), 2U) << "height";
      EXPECT_EQ(checked.substr(12), std::string("\x08\x02\0\0\0", 5)) << "8 bits, colours";
    }
    at += 12 + size;
  }
  EXPECT_EQ(types, (std::vector<std::string>{"IHDR", "IDAT", "IEND"}));
  std::vector<std::uint8_t> rows(14);
  uLongf size = rows.size();
  ASSERT_EQ(uncompress(rows.data(), &size, reinterpret_cast<const Bytef*>(data.data()),  // NOLINT
                       static_cast<uLong>(data.size())),
            Z_OK);
  EXPECT_EQ(rows, (std::vector<std::uint8_t>{0, 255, 0, 0, 0, 255, 0, 0, 0, 0, 255, 1, 2, 3}));
}

TEST(Png, IsForPixelsThatFit) {
  const std::vector<std::uint8_t> pixels(6);
  EXPECT_THROW((void)EncodePng(pixels, 2, 2, 1), InternalError);
  EXPECT_THROW((void)EncodePng(pixels, 3, 1, 2), InternalError);
  EXPECT_THROW((void)EncodePng({}, 0, 0, 1), InternalError);
}

}  // namespace
}  // namespace msc::cost
