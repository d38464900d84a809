#include "cost/samples/array_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "cost/samples/byte_source.h"
#include "cost/samples/npy_header.h"

namespace msc::cost {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 32U;

/// A file whose header has been read.
struct OpenedArray {
  std::unique_ptr<ByteSource> source;
  ArrayForm form;
  bool swapped = false;  ///< big-endian
  bool fortran = false;  ///< the first axis varies fastest
};

std::uint64_t BytesOf(const ArrayForm& form) {
  return static_cast<std::uint64_t>(ElementCount(form.dims)) * ByteSize(form.dtype);
}

/// Returns `rows` with a definite count. UserError if they do not all exist.
RowRange Checked(const OpenedArray& array, RowRange rows) {
  const std::int64_t total = array.form.dims[0];
  if (rows.count == 0 && rows.first <= total) rows.count = total - rows.first;
  if (rows.first < 0 || rows.count < 0 || rows.first > total || rows.count > total - rows.first) {
    throw UserError("'" + array.source->path() + "' has " + std::to_string(total) + " samples; " +
                    std::to_string(rows.count) + " from number " + std::to_string(rows.first) +
                    " on were requested");
  }
  return rows;
}

std::uint64_t RowBytes(const ArrayForm& form) {
  const auto total = static_cast<std::uint64_t>(form.dims[0]);
  return total == 0 ? 0 : BytesOf(form) / total;
}

/// Reads over the rows behind those that were read, so that damage anywhere is found.
void Finish(const OpenedArray& array, const RowRange& rows) {
  const auto left = static_cast<std::uint64_t>(array.form.dims[0] - rows.first - rows.count);
  array.source->Skip(left * RowBytes(array.form));
  array.source->ExpectEnd();
}

/// Fills `tensor` with the next values, in this machine's byte order.
void FillValues(const OpenedArray& array, Tensor& tensor) {
  const std::span<std::byte> bytes = tensor.MutableRaw();
  array.source->Fill(bytes);
  if (array.swapped) {
    const bool complex = tensor.dtype() == DType::kC64 || tensor.dtype() == DType::kC128;
    const std::size_t each = ByteSize(tensor.dtype()) / (complex ? 2 : 1);
    for (std::size_t i = 0; i < bytes.size(); i += each) {
      std::reverse(bytes.data() + i, bytes.data() + i + each);
    }
  }
  if (tensor.dtype() != DType::kBool) return;
  const auto values = tensor.Values<std::uint8_t>();
  if (std::any_of(values.begin(), values.end(), [](std::uint8_t value) { return value > 1; })) {
    throw UserError("'" + array.source->path() + "' holds a bool that is neither 0 nor 1");
  }
}

/// Returns the whole array in the order of the file: the first axis varies fastest.
Tensor ReadFortran(const OpenedArray& array) {
  if (BytesOf(array.form) > kMaxBytes) {
    throw UserError("'" + array.source->path() +
                    "' holds more than 4 GiB in Fortran order, which is read whole: save it in C "
                    "order (numpy.ascontiguousarray)");
  }
  Tensor whole(array.form.dtype, array.form.dims);
  FillValues(array, whole);
  array.source->ExpectEnd();
  return whole;
}

/// Copies row `row` of the result of ReadFortran to `out`, in C order.
void CopyFortranRow(const Tensor& whole, std::int64_t row, std::span<std::byte> out) {
  const Dims& dims = whole.dims();
  const std::size_t each = ByteSize(whole.dtype());
  Dims index(dims.size(), 0);
  for (std::size_t at = 0; at < out.size(); at += each) {
    // Horner's scheme: in Fortran order, axis k has the stride dims[0] * ... * dims[k - 1].
    std::int64_t place = 0;
    for (std::size_t axis = dims.size(); axis-- > 1;) {
      place = (place + index[axis]) * dims[axis - 1];
    }
    std::memcpy(out.data() + at, whole.Raw().data() + static_cast<std::size_t>(place + row) * each,
                each);
    for (std::size_t axis = dims.size(); axis-- > 1;) {
      if (++index[axis] < dims[axis]) break;
      index[axis] = 0;
    }
  }
}

Tensor ReadRows(const OpenedArray& array, const RowRange& asked) {
  const RowRange rows = Checked(array, asked);
  const std::uint64_t row_bytes = RowBytes(array.form);
  if (row_bytes * static_cast<std::uint64_t>(rows.count) > kMaxBytes) {
    throw UserError("'" + array.source->path() +
                    "' holds more than 4 GiB of samples; take fewer with 'count'");
  }
  Dims dims = array.form.dims;
  dims[0] = rows.count;
  Tensor tensor(array.form.dtype, std::move(dims));
  if (array.fortran) {
    const Tensor whole = ReadFortran(array);
    for (std::int64_t i = 0; i < rows.count; ++i) {
      CopyFortranRow(whole, rows.first + i,
                     tensor.MutableRaw().subspan(static_cast<std::size_t>(i) * row_bytes,
                                                 static_cast<std::size_t>(row_bytes)));
    }
    return tensor;
  }
  array.source->Skip(static_cast<std::uint64_t>(rows.first) * row_bytes);
  FillValues(array, tensor);
  Finish(array, rows);
  return tensor;
}

ArrayForm ReadIdxHeader(ByteSource& source) {
  std::array<std::uint8_t, 4> magic{};
  source.Fill(std::as_writable_bytes(std::span(magic)));
  if (magic[0] != 0 || magic[1] != 0 || magic[3] == 0 || magic[3] > kMaxArrayRank) {
    throw UserError("'" + source.path() + "' is not an IDX file");
  }
  constexpr std::uint8_t kUnsignedByte = 0x08;
  if (magic[2] != kUnsignedByte) {
    throw UserError("'" + source.path() + "' holds IDX element type " + std::to_string(magic[2]) +
                    "; only 8 (unsigned bytes) is supported");
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

NpyHeader ReadNpyHeader(ByteSource& source) {
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
  return ParseNpyHeader(text, source.path());
}

/// Reads the header and checks that the file is large enough for it, before any allocation.
OpenedArray Opened(std::unique_ptr<ByteSource> source, bool is_idx) {
  OpenedArray opened;
  if (is_idx) {
    opened.form = ReadIdxHeader(*source);
  } else {
    NpyHeader header = ReadNpyHeader(*source);
    opened.form = {header.dtype, std::move(header.dims)};
    opened.swapped = header.swapped;
    opened.fortran = header.fortran && opened.form.dims.size() > 1;
  }
  if (BytesOf(opened.form) > source->most_bytes()) {
    throw UserError("'" + source->path() + "' is truncated");
  }
  opened.source = std::move(source);
  return opened;
}

void CheckSamples(const OpenedArray& array) {
  if (!array.form.dims.empty()) return;
  throw UserError("'" + array.source->path() + "' holds a single number, not samples");
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
  Check(format == "npz" || format == "npy" || format == "idx", "arrays are npy, npz or idx");
  return format == "npz" ? OpenNpz(array)
                         : Opened(std::make_unique<ByteSource>(array), format == "idx");
}

OpenedArray OpenSamples(const std::string& format, const std::string& array) {
  OpenedArray opened = OpenArray(format, array);
  CheckSamples(opened);
  return opened;
}

void CheckNpyType(const Tensor& tensor, const std::string& path) {
  if (IsNpyType(tensor.dtype())) return;
  throw UserError("'" + path + "': a NumPy file cannot hold " + std::string(Name(tensor.dtype())));
}

void Append(const Tensor& values, AtomicFile& file) {
  file.Append({reinterpret_cast<const char*>(values.Raw().data()), values.bytes()});
}

}  // namespace

Tensor ReadNpy(const std::string& path, const RowRange& rows) {
  return ReadRows(OpenSamples("npy", path), rows);
}

Tensor ReadNpyArray(const std::string& path) {
  return ReadArray("npy", path);
}

Tensor ReadArray(const std::string& format, const std::string& array) {
  const OpenedArray opened = OpenArray(format, array);
  if (!opened.form.dims.empty()) return ReadRows(opened, {});
  Tensor number(opened.form.dtype, {});
  FillValues(opened, number);
  opened.source->ExpectEnd();
  return number;
}

Tensor ReadNpz(const std::string& array, const RowRange& rows) {
  return ReadRows(OpenSamples("npz", array), rows);
}

Tensor ReadIdx(const std::string& path, const RowRange& rows) {
  return ReadRows(OpenSamples("idx", path), rows);
}

ArrayForm ReadArrayForm(const std::string& format, const std::string& array) {
  return OpenArray(format, array).form;
}

void VisitRows(const std::string& format, const std::string& array, const RowRange& asked,
               const RowVisitor& visit) {
  const OpenedArray opened = OpenSamples(format, array);
  const RowRange rows = Checked(opened, asked);
  Dims dims = opened.form.dims;
  dims[0] = 1;
  Tensor row(opened.form.dtype, std::move(dims));
  if (opened.fortran) {
    const Tensor whole = ReadFortran(opened);
    for (std::int64_t i = 0; i < rows.count; ++i) {
      CopyFortranRow(whole, rows.first + i, row.MutableRaw());
      visit(row);
    }
    return;
  }
  opened.source->Skip(static_cast<std::uint64_t>(rows.first) * RowBytes(opened.form));
  for (std::int64_t i = 0; i < rows.count; ++i) {
    FillValues(opened, row);
    visit(row);
  }
  Finish(opened, rows);
}

void WriteNpy(const std::string& path, const Tensor& tensor) {
  const NamedArray array{path, &tensor};
  WriteNpyFiles({&array, 1});
}

void WriteNpyFiles(std::span<const NamedArray> arrays) {
  for (const NamedArray& array : arrays) CheckNpyType(*array.tensor, array.path);
  std::vector<std::unique_ptr<AtomicFile>> files;
  for (const NamedArray& array : arrays) {
    AtomicFile& file = *files.emplace_back(std::make_unique<AtomicFile>(array.path));
    file.Append(NpyHeaderBytes(array.tensor->dtype(), array.tensor->dims()));
    Append(*array.tensor, file);
  }
  for (const auto& file : files) file->Commit();
}

void WriteNpy(const std::string& path, const SampleSource& samples, std::size_t input) {
  constexpr std::int64_t kAtATime = 32;
  Check(input < samples.inputs() && samples.count() > 0, "there are samples for the input");
  Check(samples.GroupEnd(0) == samples.count(), "all samples have one size");
  AtomicFile file(path);
  for (std::int64_t first = 0; first < samples.count(); first += kAtATime) {
    const Tensor rows = samples.Read(first, std::min(kAtATime, samples.count() - first)).at(input);
    if (first == 0) {
      Dims dims = rows.dims();
      dims.at(0) = samples.count();
      file.Append(NpyHeaderBytes(rows.dtype(), dims));
    }
    Append(rows, file);
  }
  file.Commit();
}

namespace {

/// Returns the bytes in front of `dims[0]` rows, as long as those of any other number of rows.
std::string GrowingHeader(DType dtype, Dims dims) {
  const std::int64_t rows = std::exchange(dims.at(0), std::numeric_limits<std::int32_t>::max());
  const std::size_t size = NpyHeaderBytes(dtype, dims).size();
  dims[0] = rows;
  std::string header = NpyHeaderBytes(dtype, dims);
  // Spaces before the final newline are padding; the length of the text follows magic and version.
  header.insert(header.size() - 1, size - header.size(), ' ');
  constexpr std::size_t kFixed = 10;
  header[kFixed - 2] = static_cast<char>((size - kFixed) & 0xFFU);
  header[kFixed - 1] = static_cast<char>((size - kFixed) >> 8U);
  return header;
}

}  // namespace

NpyWriter::NpyWriter(std::string path)
    : path_(std::move(path)), file_(path_, std::ios::binary | std::ios::trunc) {
  if (!file_) throw SystemError("cannot write '" + path_ + "'", errno);
}

void NpyWriter::Write(std::string_view bytes) {
  if (!file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
    throw SystemError("cannot write '" + path_ + "'", errno);
  }
}

void NpyWriter::Append(const Tensor& rows) {
  if (dims_.empty()) {
    CheckNpyType(rows, path_);
    dtype_ = rows.dtype();
    dims_ = rows.dims();
    dims_.at(0) = 0;
    Write(GrowingHeader(dtype_, dims_));
  }
  Dims wanted = rows.dims();
  wanted.at(0) = dims_[0];
  Check(rows.dtype() == dtype_ && wanted == dims_, "all pieces of an array have rows of one form");
  dims_[0] += rows.dims()[0];
  Write({reinterpret_cast<const char*>(rows.Raw().data()), rows.bytes()});
}

void NpyWriter::Finish() {
  Check(!dims_.empty(), "an array file that is written has rows");
  file_.seekp(0);
  Write(GrowingHeader(dtype_, dims_));
  file_.close();
  if (!file_) throw SystemError("cannot write '" + path_ + "'", errno);
}

void CopyNpyRows(const std::string& from, const RowRange& rows, const std::string& to) {
  constexpr std::int64_t kAtATime = 32;
  NpyWriter writer(to);
  for (std::int64_t done = 0; done < rows.count; done += kAtATime) {
    writer.Append(ReadNpy(from, {rows.first + done, std::min(kAtATime, rows.count - done)}));
  }
  writer.Finish();
}

}  // namespace msc::cost
