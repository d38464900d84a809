#include "cost/samples/byte_source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "compiler/base/error.h"

namespace msc::cost {

struct ByteSource::Handle {
  gzFile file = nullptr;
  // Only for a member of an archive.
  std::ifstream archive;
  ZipMember member;
  z_stream stream{};
  bool is_member = false;
  std::uint64_t taken = 0;  ///< stored bytes read so far
  std::array<char, 1U << 16U> buffer{};
  uLong crc = 0;
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
  // Deflate compresses at most 1032 to 1, so a header that claims more is wrong.
  constexpr std::uint64_t kLargestRatio = 1032;
  most_bytes_ = static_cast<std::uint64_t>(status.st_size) * (plain_ ? 1 : kLargestRatio);
}

ByteSource::ByteSource(const std::string& path, const ZipMember& member)
    : path_(path + ":" + member.name),
      plain_(false),  // so that Skip reads instead of seeking
      most_bytes_(member.size),
      handle_(std::make_unique<Handle>()) {
  handle_->member = member;
  handle_->archive.open(path, std::ios::binary);
  handle_->archive.seekg(static_cast<std::streamoff>(member.offset));
  if (!handle_->archive) throw UserError("cannot read '" + path + "'");
  handle_->is_member = true;
  if (::inflateInit2(&handle_->stream, -MAX_WBITS) != Z_OK) {
    throw SystemError("cannot set up decompression of '" + path + "'");
  }
  handle_->crc = ::crc32(0, nullptr, 0);
}

ByteSource::~ByteSource() {
  if (handle_->is_member) ::inflateEnd(&handle_->stream);
  if (handle_->file != nullptr) ::gzclose(handle_->file);
}

std::size_t ByteSource::ReadMember(std::span<std::byte> out) {
  Handle& handle = *handle_;
  const auto refill = [&](std::span<char> to) {
    const std::uint64_t left = handle.member.stored - handle.taken;
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(left, to.size()));
    handle.archive.read(to.data(), static_cast<std::streamsize>(part));
    if (!handle.archive) throw UserError("'" + path_ + "' is truncated");
    handle.taken += part;
    return part;
  };
  // zlib counts in unsigned int.
  constexpr std::size_t kMost = std::size_t{1} << 30U;
  out = out.first(std::min(out.size(), kMost));
  std::size_t got = 0;
  if (!handle.member.deflated) {
    got = refill({reinterpret_cast<char*>(out.data()), out.size()});
  } else {
    handle.stream.next_out = reinterpret_cast<Bytef*>(out.data());
    handle.stream.avail_out = static_cast<uInt>(out.size());
    int code = Z_OK;
    while (handle.stream.avail_out == out.size() && code == Z_OK) {
      if (handle.stream.avail_in == 0) {
        handle.stream.avail_in = static_cast<uInt>(refill(handle.buffer));
        handle.stream.next_in = reinterpret_cast<Bytef*>(handle.buffer.data());
      }
      code = ::inflate(&handle.stream, Z_NO_FLUSH);
    }
    if (code == Z_BUF_ERROR) throw UserError("'" + path_ + "' is truncated");
    if (code != Z_OK && code != Z_STREAM_END) throw UserError("'" + path_ + "' is damaged");
    got = out.size() - handle.stream.avail_out;
  }
  handle.crc =
      ::crc32(handle.crc, reinterpret_cast<const Bytef*>(out.data()), static_cast<uInt>(got));
  position_ += got;
  return got;
}

std::size_t ByteSource::ReadSome(std::span<std::byte> out) {
  if (handle_->is_member) return ReadMember(out);
  // gzread takes an unsigned int and returns an int.
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
  if (count == 0) return;
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

std::string ByteSource::Some(std::size_t most) {
  std::string bytes(most, '\0');
  bytes.resize(ReadSome(std::as_writable_bytes(std::span(bytes))));
  return bytes;
}

void ByteSource::ExpectEnd() {
  std::array<std::byte, 1> more{};
  if (ReadSome(more) != 0) throw UserError("'" + path_ + "' holds more than its header says");
  if (handle_->is_member && handle_->crc != handle_->member.crc) {
    throw UserError("'" + path_ + "' is damaged");
  }
}

}  // namespace msc::cost
