#include "compiler/import/onnx/wire_scan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/import/onnx/wire_layout.h"

namespace msc::detail {
namespace {

class Scanner {
 public:
  Scanner(const ByteSource& bytes, const ImportLimits& limits)
      : size_(bytes.size()),
        limits_(limits),
        structure_limit_(std::min<std::uint64_t>(limits.structure_bytes, kMostParsed)),
        byte_limit_(limits.decoded_factor * std::min(bytes.size(), structure_limit_) +
                    limits.decoded_extra),
        cursor_(bytes) {}

  /// Returns what to parse instead of a message of type `root`.
  std::string Run(WireType root) {
    root_ = root;
    stack_.push_back({root, size_, kNoLength});
    while (!stack_.empty()) {
      if (cursor_.at() == stack_.back().end) {
        Close();
      } else {
        ReadField();
      }
    }
    CheckStructure(0);
    return std::move(out_);
  }

 private:
  struct Open {
    WireType type;
    std::uint64_t end;      ///< in the source
    std::size_t length_at;  ///< where out_ has the length of the message
  };

  [[noreturn]] void Malformed(const std::string& why) const {
    throw UserError((root_ == WireType::kModel ? "is not an ONNX model" : "holds no ONNX tensor") +
                    (", or was cut short: " + why) + " at byte " + std::to_string(cursor_.at()));
  }

  void Spend(std::uint64_t objects, std::uint64_t bytes) {
    CheckStructure(0);
    objects_ += objects;
    decoded_ += bytes;
    if (objects_ > limits_.messages) {
      throw UserError("holds more than " + std::to_string(limits_.messages) +
                      " protobuf messages and strings");
    }
    if (decoded_ > byte_limit_) {
      throw UserError("would take more than " + std::to_string(byte_limit_) +
                      " bytes once decoded, for a file of " + std::to_string(size_));
    }
  }

  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (cursor_.at() >= stack_.back().end) Malformed("a number ends early");
      const unsigned char byte = cursor_.Next();
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if ((byte & 0x80U) == 0) return value;
    }
    Malformed("a number is too long");
  }

  void CheckInside(std::uint64_t count) const {
    if (count > stack_.back().end - cursor_.at()) {
      Malformed("a field passes the end of its message");
    }
  }

  /// Checks that what is parsed may get `more` bytes.
  void CheckStructure(std::uint64_t more) const {
    if (out_.size() > structure_limit_ || more > structure_limit_ - out_.size()) {
      throw UserError("has more than " + std::to_string(structure_limit_) +
                      " bytes beside the raw bytes of its tensors");
    }
  }

  void PutVarint(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) out_ += static_cast<char>((value & 0x7FU) | 0x80U);
    out_ += static_cast<char>(value);
  }

  /// Copies `count` bytes to what is parsed.
  void Copy(std::uint64_t count) {
    CheckInside(count);
    CheckStructure(count);
    cursor_.Take(count, out_);
  }

  void ReadField() {
    const std::uint64_t tag = Varint();
    const std::uint64_t number = tag >> 3U;
    if (number == 0 || number > (1U << 29U) - 1) Malformed("a field has no valid number");
    PutVarint(tag);
    switch (tag & 7U) {
      case 0:
        PutVarint(Varint());
        return Spend(0, kScalarBytes);
      case 1:
        Copy(8);
        return Spend(0, kScalarBytes);
      case 2:
        return ReadDelimited(number);
      case 5:
        Copy(4);
        return Spend(0, kScalarBytes);
      default:
        Malformed("a field has a wire type that ONNX does not use");
    }
  }

  void ReadDelimited(std::uint64_t number) {
    const std::uint64_t length = Varint();
    CheckInside(length);
    const WireField* field = FindWireField(stack_.back().type, number);
    switch (field == nullptr ? WireKind::kUnknown : field->kind) {
      case WireKind::kMessage:
        return OpenMessage(field->message, length);
      case WireKind::kRaw:
        return ReplaceRaw(length);
      case WireKind::kText:
      case WireKind::kUnknown:
        Spend(1, kStringBytes + length);
        return CopyDelimited(length);
      case WireKind::kVarints32:
        return CopyVarints(length, 4);
      case WireKind::kVarints64:
        return CopyVarints(length, 8);
      case WireKind::kFixed:
        Spend(0, length);
        return CopyDelimited(length);
    }
  }

  void OpenMessage(WireType type, std::uint64_t length) {
    Spend(1, WireObjectBytes(type));
    if (stack_.size() >= limits_.message_depth) {
      throw UserError("nests protobuf messages deeper than " +
                      std::to_string(limits_.message_depth));
    }
    // Its length is not known before its end, so the number has a fixed width: leading zeros are
    // valid.
    stack_.push_back({type, cursor_.at() + length, out_.size()});
    out_.append(kLengthBytes, '\0');
  }

  void Close() {
    const std::size_t at = stack_.back().length_at;
    stack_.pop_back();
    if (at == kNoLength) return;
    std::uint64_t length = out_.size() - at - kLengthBytes;
    for (std::size_t i = 0; i < kLengthBytes; ++i, length >>= 7U) {
      const unsigned more = i + 1 < kLengthBytes ? 0x80U : 0U;
      out_[at + i] = static_cast<char>((length & 0x7FU) | more);
    }
  }

  void ReplaceRaw(std::uint64_t length) {
    Spend(1, kStringBytes + sizeof(RawPlace));
    const RawPlace place{.offset = cursor_.at(), .length = length};
    PutVarint(sizeof(place));
    out_.append(reinterpret_cast<const char*>(&place), sizeof(place));
    cursor_.Skip(length);
  }

  void CopyDelimited(std::uint64_t length) {
    PutVarint(length);
    Copy(length);
  }

  /// Copies a packed field, whose numbers take `size` bytes each once decoded.
  void CopyVarints(std::uint64_t length, std::uint64_t size) {
    CopyDelimited(length);
    const auto copied =
        std::string_view(out_).substr(out_.size() - static_cast<std::size_t>(length));
    const auto last_bytes = std::count_if(copied.begin(), copied.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0x80U) == 0;
    });
    Spend(0, size * static_cast<std::uint64_t>(last_bytes));
  }

  /// Upper bound: a scalar in a repeated field takes 8 bytes, an unknown one an UnknownField.
  static constexpr std::uint64_t kScalarBytes = 16;
  static constexpr std::uint64_t kStringBytes = sizeof(std::string) + 2 * sizeof(void*);
  static constexpr std::size_t kLengthBytes = 5;  // the most that libprotobuf reads
  static constexpr std::uint64_t kMostParsed = (std::uint64_t{1} << 31U) - 1;  // by libprotobuf
  static constexpr std::size_t kNoLength = static_cast<std::size_t>(-1);

  std::uint64_t size_;
  const ImportLimits& limits_;
  std::uint64_t structure_limit_;
  std::uint64_t byte_limit_;
  ByteCursor cursor_;
  WireType root_ = WireType::kModel;
  std::uint64_t objects_ = 0;
  std::uint64_t decoded_ = 0;
  std::vector<Open> stack_;
  std::string out_;
};

}  // namespace

std::string ScanModelWire(const ByteSource& bytes, const ImportLimits& limits) {
  return Scanner(bytes, limits).Run(WireType::kModel);
}

std::string ScanTensorWire(const ByteSource& bytes, const ImportLimits& limits) {
  return Scanner(bytes, limits).Run(WireType::kTensor);
}

RawPlace RawPlaceIn(const std::string& raw_data) {
  RawPlace place;
  Check(raw_data.size() == sizeof(place), "raw_data holds what a scan has put there");
  std::memcpy(&place, raw_data.data(), sizeof(place));
  return place;
}

}  // namespace msc::detail
