#include "cost/samples/zip_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "compiler/base/error.h"

namespace msc::cost {
namespace {

constexpr std::uint64_t kAll32 = 0xFFFFFFFF;

class ZipReader {
 public:
  explicit ZipReader(const std::string& path) : path_(path) {
    std::error_code failed;
    // Checked before opening, because opening a named pipe would wait for a writer.
    const auto status = std::filesystem::status(path, failed);
    if (failed) throw UserError("cannot read '" + path + "': " + failed.message());
    if (!std::filesystem::is_regular_file(status)) {
      throw UserError("'" + path + "' is not a regular file");
    }
    size_ = std::filesystem::file_size(path, failed);
    file_.open(path, std::ios::binary);
    if (failed || !file_) throw UserError("cannot read '" + path + "'");
  }

  std::vector<ZipMember> Members() {
    FindDirectory();
    const std::string directory = Read(directory_offset_, directory_size_);
    std::vector<ZipMember> members;
    std::size_t at = 0;
    while (at < directory.size()) members.push_back(ReadEntry(directory, at));
    if (members.size() != entries_) Reject();
    return members;
  }

 private:
  [[noreturn]] void Reject() const {
    throw UserError("'" + path_ + "' is not a zip archive, or a damaged one");
  }

  std::string Read(std::uint64_t offset, std::uint64_t count) {
    constexpr std::uint64_t kMaxDirectory = std::uint64_t{1} << 22U;
    if (offset > size_ || count > size_ - offset || count > kMaxDirectory) Reject();
    std::string bytes(count, '\0');
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    file_.read(bytes.data(), static_cast<std::streamsize>(count));
    if (!file_) Reject();
    return bytes;
  }

  /// Returns `count` bytes at `at` as a little-endian number.
  [[nodiscard]] std::uint64_t Number(std::string_view bytes, std::size_t at,
                                     std::size_t count) const {
    if (at > bytes.size() || count > bytes.size() - at) Reject();
    std::uint64_t number = 0;
    for (std::size_t i = count; i-- > 0;) {
      number = number << 8U | static_cast<std::uint8_t>(bytes[at + i]);
    }
    return number;
  }

  /// Finds the directory through the end record, which only a comment of at most 65,535 bytes
  /// follows.
  void FindDirectory() {
    constexpr std::uint64_t kEnd = 22;
    if (size_ < kEnd) Reject();
    const std::uint64_t tail_size = std::min<std::uint64_t>(size_, kEnd + 65535);
    const std::string tail = Read(size_ - tail_size, tail_size);
    const std::size_t at = tail.rfind("PK\x05\x06");
    if (at == std::string::npos || at + kEnd + Number(tail, at + 20, 2) != tail.size()) Reject();
    entries_ = Number(tail, at + 10, 2);
    directory_size_ = Number(tail, at + 12, 4);
    directory_offset_ = Number(tail, at + 16, 4);
    const bool is_zip64 =
        directory_offset_ == kAll32 || directory_size_ == kAll32 || entries_ == 0xFFFF;
    if (!is_zip64) return;
    constexpr std::size_t kLocator = 20;
    if (at < kLocator || tail.compare(at - kLocator, 4, "PK\x06\x07") != 0) Reject();
    const std::string end = Read(Number(tail, at - kLocator + 8, 8), 56);
    if (!end.starts_with("PK\x06\x06")) Reject();
    entries_ = Number(end, 32, 8);
    directory_size_ = Number(end, 40, 8);
    directory_offset_ = Number(end, 48, 8);
  }

  ZipMember ReadEntry(std::string_view directory, std::size_t& at) {
    if (directory.substr(at, 4) != "PK\x01\x02") Reject();
    const std::uint64_t flags = Number(directory, at + 8, 2);
    const std::uint64_t method = Number(directory, at + 10, 2);
    ZipMember member;
    member.crc = static_cast<std::uint32_t>(Number(directory, at + 16, 4));
    member.stored = Number(directory, at + 20, 4);
    member.size = Number(directory, at + 24, 4);
    const std::uint64_t name_size = Number(directory, at + 28, 2);
    const std::uint64_t extra_size = Number(directory, at + 30, 2);
    const std::uint64_t comment_size = Number(directory, at + 32, 2);
    std::uint64_t header = Number(directory, at + 42, 4);
    constexpr std::size_t kFixed = 46;
    if (directory.size() - at < kFixed + name_size + extra_size + comment_size) Reject();
    member.name = directory.substr(at + kFixed, name_size);
    ReadZip64(directory.substr(at + kFixed + name_size, extra_size), member, header);
    at += kFixed + name_size + extra_size + comment_size;
    if ((flags & 1U) != 0) throw UserError("'" + path_ + "' is encrypted");
    if (method != 0 && method != 8) {
      throw UserError("'" + path_ + "': '" + member.name + "' is compressed by method " +
                      std::to_string(method) + "; supported are 0 (stored) and 8 (deflated)");
    }
    member.deflated = method == 8;
    const std::string local = Read(header, 30);
    if (!local.starts_with("PK\x03\x04")) Reject();
    member.offset = header + 30 + Number(local, 26, 2) + Number(local, 28, 2);
    // Deflate compresses at most 1032 to 1.
    constexpr std::uint64_t kLargestRatio = 1032;
    const bool fits = member.offset <= size_ && member.stored <= size_ - member.offset &&
                      (member.deflated ? member.size / kLargestRatio <= member.stored
                                       : member.size == member.stored);
    if (!fits) Reject();
    return member;
  }

  /// Reads the sizes that do not fit in 32 bits from an extra field, which holds them in this
  /// order.
  void ReadZip64(std::string_view extra, ZipMember& member, std::uint64_t& header) const {
    for (std::size_t at = 0; at + 4 <= extra.size();) {
      const std::uint64_t id = Number(extra, at, 2);
      const std::uint64_t size = Number(extra, at + 2, 2);
      std::size_t field = at + 4;
      at = field + size;
      if (id != 1) continue;
      for (std::uint64_t* const number : {&member.size, &member.stored, &header}) {
        if (*number != kAll32) continue;
        if (field + 8 > at) Reject();
        *number = Number(extra, field, 8);
        field += 8;
      }
    }
  }

  const std::string& path_;
  std::ifstream file_;
  std::uint64_t size_ = 0;
  std::uint64_t entries_ = 0;
  std::uint64_t directory_size_ = 0;
  std::uint64_t directory_offset_ = 0;
};

}  // namespace

std::vector<ZipMember> ZipMembers(const std::string& path) {
  return ZipReader(path).Members();
}

}  // namespace msc::cost
