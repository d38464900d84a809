#include "cost/samples/npy_header.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "compiler/base/error.h"

namespace msc::cost {
namespace {

struct NpyType {
  DType dtype;
  std::string_view code;  ///< kind and size in bytes
};
constexpr std::array<NpyType, 14> kNpyTypes = {{{DType::kF16, "f2"},
                                                {DType::kF32, "f4"},
                                                {DType::kF64, "f8"},
                                                {DType::kI8, "i1"},
                                                {DType::kI16, "i2"},
                                                {DType::kI32, "i4"},
                                                {DType::kI64, "i8"},
                                                {DType::kU8, "u1"},
                                                {DType::kU16, "u2"},
                                                {DType::kU32, "u4"},
                                                {DType::kU64, "u8"},
                                                {DType::kBool, "b1"},
                                                {DType::kC64, "c8"},
                                                {DType::kC128, "c16"}}};

/// Parses the Python dictionary of a NumPy header, in the subset that the format allows.
class NpyHeaderReader {
 public:
  NpyHeaderReader(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  NpyHeader Read() {
    NpyHeader header;
    bool has_order = false;
    bool has_dims = false;
    Expect('{');
    while (!Accept('}')) {
      const std::string_view key = Quoted();
      Expect(':');
      if (key == "descr") {
        ReadType(header);
      } else if (key == "fortran_order") {
        header.fortran = AcceptWord("True");
        if (!header.fortran && !AcceptWord("False")) Reject();
        has_order = true;
      } else if (key == "shape") {
        header.dims = ReadDims();
        has_dims = true;
      } else {
        Reject();
      }
      if (!Accept(',')) {
        Expect('}');
        break;
      }
    }
    if (header.dtype == DType::kUndefined || !has_order || !has_dims) Reject();
    return header;
  }

 private:
  [[noreturn]] void Reject() const {
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
    if (!Accept(wanted)) Reject();
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
    if (end == std::string_view::npos) Reject();
    const std::string_view inner = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return inner;
  }
  void ReadType(NpyHeader& header) {
    SkipSpace();
    if (text_.starts_with("[")) {
      throw UserError("'" + path_ + "' holds records, not numbers");
    }
    const std::string_view descr = Quoted();
    const char order = descr.empty() ? ' ' : descr.front();
    const bool ordered = order == '<' || order == '>' || order == '|' || order == '=';
    for (const NpyType& type : kNpyTypes) {
      if (!ordered || descr.substr(1) != type.code) continue;
      header.dtype = type.dtype;
      header.swapped = order == '>' && ByteSize(type.dtype) > 1;
      return;
    }
    throw UserError("'" + path_ + "' holds elements of type '" + std::string(descr) +
                    "'; supported are numbers: f2, f4, f8, i1 to i8, u1 to u8, b1, c8 and c16");
  }
  Dims ReadDims() {
    Dims dims;
    Expect('(');
    while (!Accept(')')) {
      dims.push_back(ReadNumber());
      if (dims.size() > kMaxArrayRank) Reject();
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
      if (++digits > 12) Reject();
      number = number * 10 + static_cast<std::uint64_t>(text_.front() - '0');
      text_.remove_prefix(1);
    }
    if (digits == 0) Reject();
    return CheckedSize(number, path_);
  }

  std::string_view text_;
  const std::string& path_;
};

}  // namespace

NpyHeader ParseNpyHeader(std::string_view text, const std::string& path) {
  return NpyHeaderReader(text, path).Read();
}

bool IsNpyType(DType dtype) {
  return std::any_of(kNpyTypes.begin(), kNpyTypes.end(),
                     [&](const NpyType& type) { return type.dtype == dtype; });
}

std::string NpyHeaderBytes(DType dtype, const Dims& dims) {
  Check(IsNpyType(dtype), "a NumPy file is written of a type that NumPy has");
  const auto type = std::find_if(kNpyTypes.begin(), kNpyTypes.end(),
                                 [&](const NpyType& each) { return each.dtype == dtype; });
  std::string header = std::string("{'descr': '") + (ByteSize(dtype) == 1 ? '|' : '<') +
                       std::string(type->code) + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t size : dims) header += std::to_string(size) + ",";
  header += "), }";
  // Magic, version and length take 10 bytes. The format pads the header to a multiple of 64 bytes.
  constexpr std::size_t kFixed = 10;
  constexpr std::size_t kMultiple = 64;
  while ((kFixed + header.size() + 1) % kMultiple != 0) header += ' ';
  header += '\n';
  std::string bytes = {'\x93', 'N', 'U', 'M', 'P', 'Y', '\x01', '\x00'};
  bytes += static_cast<char>(header.size() & 0xFFU);
  bytes += static_cast<char>(header.size() >> 8U);
  return bytes + header;
}

std::int64_t CheckedSize(std::uint64_t size, const std::string& path) {
  if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())) {
    throw UserError("'" + path + "' claims a dimension of " + std::to_string(size));
  }
  return static_cast<std::int64_t>(size);
}

}  // namespace msc::cost
