#include "cost/samples/png.h"

#include <string_view>

#include <zlib.h>

#include "compiler/base/error.h"

namespace msc::cost {
namespace {

std::string BigEndian(std::uint32_t number) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    bytes += static_cast<char>(number >> shift & 255U);
  return bytes;
}

const Bytef* BytesOf(std::string_view text) {
  return reinterpret_cast<const Bytef*>(text.data());  // NOLINT(*-reinterpret-cast): zlib's type
}

/// Returns a chunk: its length, type and content, and the checksum of both.
std::string Chunk(std::string_view type, std::string_view content) {
  const std::string checked = std::string(type) + std::string(content);
  const auto sum =
      static_cast<std::uint32_t>(crc32(0, BytesOf(checked), static_cast<uInt>(checked.size())));
  return BigEndian(static_cast<std::uint32_t>(content.size())) + checked + BigEndian(sum);
}

std::string Deflate(const std::string& text) {
  uLongf size = compressBound(static_cast<uLong>(text.size()));
  std::string out(size, '\0');
  // NOLINTNEXTLINE(*-reinterpret-cast): zlib's type
  auto* const bytes = reinterpret_cast<Bytef*>(out.data());
  const int status = compress(bytes, &size, BytesOf(text), static_cast<uLong>(text.size()));
  Check(status == Z_OK, "zlib has as much room as it asked for");
  out.resize(size);
  return out;
}

}  // namespace

std::string EncodePng(std::span<const std::uint8_t> pixels, std::uint32_t width,
                      std::uint32_t height, std::uint32_t channels) {
  Check(channels == 1 || channels == 3, "a picture is grey or has three colours");
  const std::size_t row = std::size_t{width} * channels;
  Check(row > 0 && height > 0 && pixels.size() == row * height, "a picture has its pixels");
  std::string lines;
  for (std::size_t y = 0; y < height; ++y) {
    lines += '\0';  // the filter "none"
    const auto line = pixels.subspan(y * row, row);
    lines.append(line.begin(), line.end());
  }
  constexpr char kDepth = 8;
  const char colour = channels == 1 ? 0 : 2;
  // The last three: deflate, the usual filters, no interlacing.
  const std::string header =
      BigEndian(width) + BigEndian(height) + kDepth + colour + std::string(3, '\0');
  return "\x89PNG\r\n\x1A\n" + Chunk("IHDR", header) + Chunk("IDAT", Deflate(lines)) +
         Chunk("IEND", "");
}

}  // namespace msc::cost
