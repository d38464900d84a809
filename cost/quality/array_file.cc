#include "cost/quality/array_file.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "cost/quality/byte_source.h"

namespace msc::cost {
namespace {

constexpr std::size_t kMaxRank = 16;

/// A file of which the header was read.
struct OpenedArray {
  std::unique_ptr<ByteSource> source;
  ArrayForm form;
};

std::uint64_t BytesOf(const ArrayForm& form) {
  return static_cast<std::uint64_t>(ElementCount(form.dims)) * ByteSize(form.dtype);
}

/// These rows with their number, which is not left open; UserError if they are not there.
RowRange Checked(const OpenedArray& array, RowRange rows) {
  const std::int64_t total = array.form.dims[0];
  if (rows.count == 0 && rows.first <= total) rows.count = total - rows.first;
  if (rows.first < 0 || rows.count < 0 || rows.first > total || rows.count > total - rows.first) {
    throw UserError("'" + array.source->path() + "' has " + std::to_string(total) + " samples; " +
                    std::to_string(rows.count) + " from " + std::to_string(rows.first) +
                    " on were asked for");
  }
  return rows;
}

std::uint64_t RowBytes(const ArrayForm& form) {
  const auto total = static_cast<std::uint64_t>(form.dims[0]);
  return total == 0 ? 0 : BytesOf(form) / total;
}

/// Passes over what is behind the rows that were read, so that damage anywhere is found.
void Finish(const OpenedArray& array, const RowRange& rows) {
  const auto left = static_cast<std::uint64_t>(array.form.dims[0] - rows.first - rows.count);
  array.source->Skip(left * RowBytes(array.form));
  array.source->ExpectEnd();
}

Tensor ReadRows(const OpenedArray& array, const RowRange& asked) {
  const RowRange rows = Checked(array, asked);
  const std::uint64_t row_bytes = RowBytes(array.form);
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 32U;
  if (row_bytes * static_cast<std::uint64_t>(rows.count) > kMostBytes) {
    throw UserError("'" + array.source->path() +
                    "' holds more than 4 GiB of samples; take fewer with 'count'");
  }
  Dims dims = array.form.dims;
  dims[0] = rows.count;
  Tensor tensor(array.form.dtype, std::move(dims));
  array.source->Skip(static_cast<std::uint64_t>(rows.first) * row_bytes);
  array.source->Fill(tensor.MutableRaw());
  Finish(array, rows);
  return tensor;
}

std::int64_t CheckedSize(std::uint64_t size, const std::string& path) {
  if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())) {
    throw UserError("'" + path + "' claims a dimension of " + std::to_string(size));
  }
  return static_cast<std::int64_t>(size);
}

ArrayForm ReadIdxHeader(ByteSource& source) {
  std::array<std::uint8_t, 4> magic{};
  source.Fill(std::as_writable_bytes(std::span(magic)));
  if (magic[0] != 0 || magic[1] != 0 || magic[3] == 0 || magic[3] > kMaxRank) {
    throw UserError("'" + source.path() + "' is not an IDX file");
  }
  constexpr std::uint8_t kUnsignedByte = 0x08;
  if (magic[2] != kUnsignedByte) {
    throw UserError("'" + source.path() + "' holds IDX element type " + std::to_string(magic[2]) +
                    "; only 8, unsigned bytes, is read");
  }
  ArrayForm header{DType::kU8, {}};
  for (unsigned axis = 0; axis < magic[3]; ++axis) {
    std::array<std::uint8_t, 4> big_endian{};
    source.Fill(std::as_writable_bytes(std::span(big_endian)));
    std::uint64_t size = 0;
    for (const std::uint8_t byte : big_endian) size = size << 8U | byte;
    header.dims.push_back(CheckedSize(size, source.path()));
  }
  return header;
}

struct NpyType {
  DType dtype;
  std::string_view descr;
};
constexpr std::array<NpyType, 5> kNpyTypes = {{{DType::kF32, "<f4"},
                                               {DType::kF64, "<f8"},
                                               {DType::kI32, "<i4"},
                                               {DType::kI64, "<i8"},
                                               {DType::kU8, "|u1"}}};

/// The Python dictionary of a NumPy header, as far as the format allows one.
class NpyHeaderReader {
 public:
  NpyHeaderReader(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  ArrayForm Read() {
    ArrayForm header;
    bool has_order = false;
    bool has_dims = false;
    Expect('{');
    while (!Accept('}')) {
      const std::string_view key = Quoted();
      Expect(':');
      if (key == "descr") {
        header.dtype = ReadType();
      } else if (key == "fortran_order") {
        if (!AcceptWord("False")) throw UserError("'" + path_ + "' is not in C order");
        has_order = true;
      } else if (key == "shape") {
        header.dims = ReadDims();
        has_dims = true;
      } else {
        Refuse();
      }
      if (!Accept(',')) {
        Expect('}');
        break;
      }
    }
    if (header.dtype == DType::kUndefined || !has_order || !has_dims) Refuse();
    return header;
  }

 private:
  [[noreturn]] void Refuse() const {
    throw UserError("'" + path_ + "' has a header that is not NumPy's");
  }
  void SkipSpace() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n')) {
      text_.remove_prefix(1);
    }
  }
  bool Accept(char wanted) {
    SkipSpace();
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  void Expect(char wanted) {
    if (!Accept(wanted)) Refuse();
  }
  bool AcceptWord(std::string_view word) {
    SkipSpace();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  std::string_view Quoted() {
    Expect('\'');
    const std::size_t end = text_.find('\'');
    if (end == std::string_view::npos) Refuse();
    const std::string_view inner = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return inner;
  }
  DType ReadType() {
    const std::string_view descr = Quoted();
    for (const NpyType& type : kNpyTypes) {
      if (type.descr == descr) return type.dtype;
    }
    throw UserError("'" + path_ + "' holds elements of type '" + std::string(descr) +
                    "'; read are <f4, <f8, <i4, <i8 and |u1");
  }
  Dims ReadDims() {
    Dims dims;
    Expect('(');
    while (!Accept(')')) {
      dims.push_back(ReadNumber());
      if (dims.size() > kMaxRank) Refuse();
      if (!Accept(',')) {
        Expect(')');
        break;
      }
    }
    return dims;
  }
  std::int64_t ReadNumber() {
    SkipSpace();
    std::uint64_t number = 0;
    std::size_t digits = 0;
    while (!text_.empty() && text_.front() >= '0' && text_.front() <= '9') {
      if (++digits > 12) Refuse();
      number = number * 10 + static_cast<std::uint64_t>(text_.front() - '0');
      text_.remove_prefix(1);
    }
    if (digits == 0) Refuse();
    return CheckedSize(number, path_);
  }

  std::string_view text_;
  const std::string& path_;
};

ArrayForm ReadNpyHeader(ByteSource& source) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  std::array<std::uint8_t, 8> start{};
  source.Fill(std::as_writable_bytes(std::span(start)));
  const auto same = [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; };
  const unsigned version = start[6];
  if (!std::equal(kMagic.begin(), kMagic.end(), start.begin(), same) || version < 1 ||
      version > 3) {
    throw UserError("'" + source.path() + "' is not a NumPy array file");
  }
  std::array<std::uint8_t, 4> little_endian{};
  source.Fill(std::as_writable_bytes(std::span(little_endian).first(version == 1 ? 2 : 4)));
  std::size_t length = 0;
  for (std::size_t i = little_endian.size(); i-- > 0;) length = length << 8U | little_endian[i];
  constexpr std::size_t kMaxHeader = 1U << 16U;
  if (length > kMaxHeader) {
    throw UserError("'" + source.path() + "' has a header that is not NumPy's");
  }
  std::string text(length, '\0');
  source.Fill(std::as_writable_bytes(std::span(text)));
  return NpyHeaderReader(text, source.path()).Read();
}

/// Reads the header and compares it with what the file can hold, before any allocation.
OpenedArray Opened(std::unique_ptr<ByteSource> source, bool is_idx) {
  ArrayForm form = is_idx ? ReadIdxHeader(*source) : ReadNpyHeader(*source);
  const std::string& path = source->path();
  if (form.dims.empty()) throw UserError("'" + path + "' holds a single number, not samples");
  if (BytesOf(form) > source->most_bytes()) throw UserError("'" + path + "' is truncated");
  return {std::move(source), std::move(form)};
}

OpenedArray OpenNpz(const std::string& array) {
  constexpr std::string_view kArchive = ".npz";
  constexpr std::string_view kMember = ".npy";
  const std::size_t ending = array.rfind(std::string(kArchive) + ":");
  const bool named = ending != std::string::npos;
  const std::string path = array.substr(0, named ? ending + kArchive.size() : array.size());
  const std::string wanted =
      named ? array.substr(path.size() + 1) + std::string(kMember) : std::string();
  const std::vector<ZipMember> members = ZipMembers(path);
  std::string names;
  for (const ZipMember& member : members) {
    if (named ? member.name == wanted : members.size() == 1) {
      return Opened(std::make_unique<ByteSource>(path, member), false);
    }
    if (names.size() > 200 || !member.name.ends_with(kMember)) continue;
    names +=
        (names.empty() ? "" : ", ") + member.name.substr(0, member.name.size() - kMember.size());
  }
  throw UserError("write " + path + ":NAME for an array of this file; it holds " +
                  (names.empty() ? "none" : names));
}

OpenedArray OpenArray(const std::string& format, const std::string& array) {
  if (format == "npz") return OpenNpz(array);
  Check(format == "npy" || format == "idx", "arrays are npy, npz or idx");
  return Opened(std::make_unique<ByteSource>(array), format == "idx");
}

std::string NpyHeader(DType dtype, const Dims& dims) {
  std::string header;
  for (const NpyType& type : kNpyTypes) {
    if (type.dtype == dtype) header = "{'descr': '" + std::string(type.descr) + "', ";
  }
  Check(!header.empty(), "WriteNpy is given a type that NumPy files of ours can hold");
  header += "'fortran_order': False, 'shape': (";
  for (const std::int64_t size : dims) header += std::to_string(size) + ",";
  header += "), }";
  // Magic, version and length take 10 bytes; the whole is padded to a multiple of 64.
  constexpr std::size_t kFixed = 10;
  constexpr std::size_t kMultiple = 64;
  while ((kFixed + header.size() + 1) % kMultiple != 0) header += ' ';
  header += '\n';
  std::string bytes = {'\x93', 'N', 'U', 'M', 'P', 'Y', '\x01', '\x00'};
  bytes += static_cast<char>(header.size() & 0xFFU);
  bytes += static_cast<char>(header.size() >> 8U);
  return bytes + header;
}

void Append(const Tensor& values, AtomicFile& file) {
  file.Append({reinterpret_cast<const char*>(values.Raw().data()), values.bytes()});
}

}  // namespace

Tensor ReadNpy(const std::string& path, const RowRange& rows) {
  return ReadRows(OpenArray("npy", path), rows);
}

Tensor ReadNpz(const std::string& array, const RowRange& rows) {
  return ReadRows(OpenArray("npz", array), rows);
}

Tensor ReadIdx(const std::string& path, const RowRange& rows) {
  return ReadRows(OpenArray("idx", path), rows);
}

ArrayForm ReadArrayForm(const std::string& format, const std::string& array) {
  return OpenArray(format, array).form;
}

void VisitRows(const std::string& format, const std::string& array, const RowRange& asked,
               const RowVisitor& visit) {
  const OpenedArray opened = OpenArray(format, array);
  const RowRange rows = Checked(opened, asked);
  Dims dims = opened.form.dims;
  dims[0] = 1;
  Tensor row(opened.form.dtype, std::move(dims));
  opened.source->Skip(static_cast<std::uint64_t>(rows.first) * RowBytes(opened.form));
  for (std::int64_t i = 0; i < rows.count; ++i) {
    opened.source->Fill(row.MutableRaw());
    visit(row);
  }
  Finish(opened, rows);
}

void WriteNpy(const std::string& path, const Tensor& tensor) {
  AtomicFile file(path);
  file.Append(NpyHeader(tensor.dtype(), tensor.dims()));
  Append(tensor, file);
  file.Commit();
}

void WriteNpy(const std::string& path, const SampleSource& samples, std::size_t input) {
  constexpr std::int64_t kAtATime = 32;
  Check(input < samples.inputs() && samples.count() > 0, "there are samples for the input");
  AtomicFile file(path);
  for (std::int64_t first = 0; first < samples.count(); first += kAtATime) {
    const Tensor rows = samples.Read(first, std::min(kAtATime, samples.count() - first)).at(input);
    if (first == 0) {
      Dims dims = rows.dims();
      dims.at(0) = samples.count();
      file.Append(NpyHeader(rows.dtype(), dims));
    }
    Append(rows, file);
  }
  file.Commit();
}

}  // namespace msc::cost
