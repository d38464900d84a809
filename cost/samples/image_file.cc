#include "cost/samples/image_file.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <string_view>

#ifdef MSC_WITH_PNG
#include <png.h>
#endif
#ifdef MSC_WITH_JPEG
#include <jpeglib.h>
#endif

#include "compiler/base/error.h"
#include "compiler/base/file.h"

namespace msc::cost {
namespace {

constexpr std::int64_t kMaxPixels = 64'000'000;

[[noreturn]] void Reject(const std::string& path, const std::string& why) {
  throw UserError("'" + path + "' " + why);
}

Tensor NewImage(const std::string& path, std::uint64_t height, std::uint64_t width, int channels) {
  // A division, as the product could overflow.
  if (height == 0 || width == 0 || height > kMaxPixels || width > kMaxPixels / height) {
    Reject(path, "is " + std::to_string(width) + " x " + std::to_string(height) +
                     " pixels: none, or more than 64 million");
  }
  return {DType::kU8,
          {static_cast<std::int64_t>(height), static_cast<std::int64_t>(width), channels}};
}

/// Reads "P5" or "P6", width, height, 255, one space, and the bytes; '#' starts a comment.
Tensor ReadPnm(const std::string& path, std::string_view bytes) {
  const int channels = bytes[1] == '6' ? 3 : 1;
  std::size_t at = 2;
  const auto number = [&] {
    while (at < bytes.size() &&
           (std::isspace(static_cast<unsigned char>(bytes[at])) != 0 || bytes[at] == '#')) {
      if (bytes[at] == '#') at = std::min(bytes.find('\n', at), bytes.size());
      if (at < bytes.size()) ++at;
    }
    std::uint64_t value = 0;
    const std::size_t first = at;
    // Ten digits fit into 64 bits.
    while (at < bytes.size() && bytes[at] >= '0' && bytes[at] <= '9' && at - first < 10) {
      value = value * 10 + static_cast<std::uint64_t>(bytes[at++] - '0');
    }
    if (at == first) Reject(path, "is not a PGM or PPM image");
    return value;
  };
  const std::uint64_t width = number();
  const std::uint64_t height = number();
  if (number() != 255) Reject(path, "does not have 255 as its largest value");
  ++at;
  Tensor image = NewImage(path, height, width, channels);
  if (at > bytes.size() || bytes.size() - at < image.bytes()) Reject(path, "is truncated");
  std::memcpy(image.MutableRaw().data(), bytes.data() + at, image.bytes());
  return image;
}

Tensor ReadPng(const std::string& path, [[maybe_unused]] const std::string& bytes) {
#ifdef MSC_WITH_PNG
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) == 0) {
    Reject(path, std::string("cannot be read: ") + png.message);
  }
  const bool colours = (png.format & PNG_FORMAT_FLAG_COLOR) != 0;
  png.format = colours ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  Tensor image;
  try {
    image = NewImage(path, png.height, png.width, colours ? 3 : 1);
  } catch (...) {
    png_image_free(&png);
    throw;
  }
  const png_color black{};
  if (png_image_finish_read(&png, &black, image.MutableRaw().data(), 0, nullptr) == 0) {
    Reject(path, std::string("cannot be read: ") + png.message);
  }
  return image;
#else
  Reject(path, "is a PNG image, and this build has no libpng");
#endif
}

#ifdef MSC_WITH_JPEG
struct JpegErrors {
  jpeg_error_mgr manager{};
  std::jmp_buf leave{};
  char text[JMSG_LENGTH_MAX] = {};  // NOLINT(modernize-avoid-c-arrays): libjpeg's form
};

/// Holds only plain data, because longjmp runs no destructors.
bool DecodeJpeg(const std::string& bytes, jpeg_decompress_struct& jpeg, JpegErrors& errors,
                Tensor& image, bool decode) {
  if (setjmp(errors.leave) != 0) return false;  // NOLINT(cert-err52-cpp): libjpeg's way
  if (!decode) {
    jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_read_header(&jpeg, TRUE);
    jpeg.out_color_space = jpeg.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    return true;
  }
  jpeg_start_decompress(&jpeg);
  auto* const to = reinterpret_cast<unsigned char*>(image.MutableRaw().data());
  const std::size_t row = static_cast<std::size_t>(jpeg.output_width) *
                          static_cast<std::size_t>(jpeg.output_components);
  while (jpeg.output_scanline < jpeg.output_height) {
    unsigned char* line = to + jpeg.output_scanline * row;
    jpeg_read_scanlines(&jpeg, &line, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return errors.manager.num_warnings == 0;
}
#endif

Tensor ReadJpeg(const std::string& path, [[maybe_unused]] const std::string& bytes) {
#ifdef MSC_WITH_JPEG
  jpeg_decompress_struct jpeg{};
  JpegErrors errors;
  jpeg.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = [](j_common_ptr info) {
    auto* const all = reinterpret_cast<JpegErrors*>(info->err);
    all->manager.format_message(info, all->text);
    std::longjmp(all->leave, 1);  // NOLINT(cert-err52-cpp)
  };
  errors.manager.output_message = [](j_common_ptr info) {
    auto* const all = reinterpret_cast<JpegErrors*>(info->err);
    all->manager.format_message(info, all->text);
  };
  jpeg_create_decompress(&jpeg);
  Tensor image;
  std::string problem;
  bool decoded = DecodeJpeg(bytes, jpeg, errors, image, false);
  if (decoded) {
    try {
      image = NewImage(path, jpeg.image_height, jpeg.image_width, jpeg.num_components == 1 ? 1 : 3);
      decoded = DecodeJpeg(bytes, jpeg, errors, image, true);
    } catch (const UserError& error) {
      problem = error.what();
    }
  }
  jpeg_destroy_decompress(&jpeg);
  if (!problem.empty()) throw UserError(problem);
  if (!decoded) Reject(path, std::string("cannot be read: ") + errors.text);
  return image;
#else
  Reject(path, "is a JPEG image, and this build has no libjpeg");
#endif
}

}  // namespace

Tensor ReadImage(const std::string& path) {
  const std::string bytes = ReadFile(path, std::uint64_t{1} << 28U);
  if (bytes.starts_with("P5") || bytes.starts_with("P6")) return ReadPnm(path, bytes);
  if (bytes.starts_with("\x89PNG")) return ReadPng(path, bytes);
  if (bytes.starts_with("\xFF\xD8")) return ReadJpeg(path, bytes);
  Reject(path, "is not a PGM, PPM, PNG or JPEG image");
}

}  // namespace msc::cost
