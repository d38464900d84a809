#include "cost/quality/byte_source.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "compiler/base/error.h"

namespace msc::cost {

struct ByteSource::Handle {
  gzFile file = nullptr;
};

ByteSource::ByteSource(const std::string& path) : path_(path), handle_(std::make_unique<Handle>()) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) throw UserError(SystemError("cannot read '" + path + "'", errno).what());
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd);
    throw UserError("'" + path + "' is not a regular file");
  }
  handle_->file = ::gzdopen(fd, "rb");
  if (handle_->file == nullptr) {
    ::close(fd);
    throw SystemError("cannot set up decompression of '" + path + "'");
  }
  ::gzbuffer(handle_->file, 1U << 17U);
  plain_ = ::gzdirect(handle_->file) != 0;
  constexpr std::uint64_t kLargestRatio = 1032;
  most_bytes_ = static_cast<std::uint64_t>(status.st_size) * (plain_ ? 1 : kLargestRatio);
}

ByteSource::~ByteSource() {
  if (handle_->file != nullptr) ::gzclose(handle_->file);
}

std::size_t ByteSource::ReadSome(std::span<std::byte> out) {
  constexpr std::size_t kMost = std::size_t{1} << 30U;
  const int got =
      ::gzread(handle_->file, out.data(), static_cast<unsigned>(std::min(out.size(), kMost)));
  int code = Z_OK;
  ::gzerror(handle_->file, &code);
  if (code == Z_BUF_ERROR) throw UserError("'" + path_ + "' is truncated");
  if (got < 0 || code < 0) throw UserError("'" + path_ + "' is damaged");
  position_ += static_cast<std::uint64_t>(got);
  return static_cast<std::size_t>(got);
}

void ByteSource::Fill(std::span<std::byte> out) {
  while (!out.empty()) {
    const std::size_t got = ReadSome(out);
    if (got == 0) throw UserError("'" + path_ + "' is truncated");
    out = out.subspan(got);
  }
}

void ByteSource::Skip(std::uint64_t count) {
  if (plain_) {
    if (count > most_bytes_ - position_) throw UserError("'" + path_ + "' is truncated");
    position_ += count;
    if (::gzseek(handle_->file, static_cast<z_off_t>(position_), SEEK_SET) < 0) {
      throw SystemError("cannot seek in '" + path_ + "'");
    }
    return;
  }
  std::array<std::byte, 1U << 16U> buffer{};
  while (count > 0) {
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(count, buffer.size()));
    Fill(std::span(buffer).first(part));
    count -= part;
  }
}

void ByteSource::ExpectEnd() {
  std::array<std::byte, 1> more{};
  if (ReadSome(more) != 0) throw UserError("'" + path_ + "' holds more than its header says");
}

}  // namespace msc::cost
