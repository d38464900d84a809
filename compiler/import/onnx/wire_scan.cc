#include "compiler/import/onnx/wire_scan.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/base/error.h"

namespace msc::detail {
namespace {

/// Content of a length-delimited field. libprotobuf keeps fields that the table does not list as
/// unknown bytes.
enum class Kind : std::uint8_t { kUnknown, kText, kVarints32, kVarints64, kFixed, kMessage };

enum class Type : std::uint8_t {
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kSparseTensor,
  kSegment,
  kValueInfo,
  kType,
  kTypeTensor,
  kTypeElement,
  kTypeMap,
  kShape,
  kDimension,
  kPair,
  kOperatorSet,
  kFunction,
  kTraining,
  kAnnotation,
};

struct FieldRow {
  Type in;
  std::uint32_t number;
  Kind kind;
  Type message = Type::kModel;
};

using enum Kind;
using enum Type;

constexpr std::array kFields = {
    FieldRow{kModel, 2, kText},
    FieldRow{kModel, 3, kText},
    FieldRow{kModel, 4, kText},
    FieldRow{kModel, 6, kText},
    FieldRow{kModel, 7, kMessage, kGraph},
    FieldRow{kModel, 8, kMessage, kOperatorSet},
    FieldRow{kModel, 14, kMessage, kPair},
    FieldRow{kModel, 20, kMessage, kTraining},
    FieldRow{kModel, 25, kMessage, kFunction},
    FieldRow{kGraph, 1, kMessage, kNode},
    FieldRow{kGraph, 2, kText},
    FieldRow{kGraph, 5, kMessage, kTensor},
    FieldRow{kGraph, 10, kText},
    FieldRow{kGraph, 11, kMessage, kValueInfo},
    FieldRow{kGraph, 12, kMessage, kValueInfo},
    FieldRow{kGraph, 13, kMessage, kValueInfo},
    FieldRow{kGraph, 14, kMessage, kAnnotation},
    FieldRow{kGraph, 15, kMessage, kSparseTensor},
    FieldRow{kNode, 1, kText},
    FieldRow{kNode, 2, kText},
    FieldRow{kNode, 3, kText},
    FieldRow{kNode, 4, kText},
    FieldRow{kNode, 5, kMessage, kAttribute},
    FieldRow{kNode, 6, kText},
    FieldRow{kNode, 7, kText},
    FieldRow{kAttribute, 1, kText},
    FieldRow{kAttribute, 4, kText},
    FieldRow{kAttribute, 5, kMessage, kTensor},
    FieldRow{kAttribute, 6, kMessage, kGraph},
    FieldRow{kAttribute, 7, kFixed},
    FieldRow{kAttribute, 8, kVarints64},
    FieldRow{kAttribute, 9, kText},
    FieldRow{kAttribute, 10, kMessage, kTensor},
    FieldRow{kAttribute, 11, kMessage, kGraph},
    FieldRow{kAttribute, 13, kText},
    FieldRow{kAttribute, 14, kMessage, kType},
    FieldRow{kAttribute, 15, kMessage, kType},
    FieldRow{kAttribute, 21, kText},
    FieldRow{kAttribute, 22, kMessage, kSparseTensor},
    FieldRow{kAttribute, 23, kMessage, kSparseTensor},
    FieldRow{kTensor, 1, kVarints64},
    FieldRow{kTensor, 3, kMessage, kSegment},
    FieldRow{kTensor, 4, kFixed},
    FieldRow{kTensor, 5, kVarints32},
    FieldRow{kTensor, 6, kText},
    FieldRow{kTensor, 7, kVarints64},
    FieldRow{kTensor, 8, kText},
    FieldRow{kTensor, 9, kText},
    FieldRow{kTensor, 10, kFixed},
    FieldRow{kTensor, 11, kVarints64},
    FieldRow{kTensor, 12, kText},
    FieldRow{kTensor, 13, kMessage, kPair},
    FieldRow{kSparseTensor, 1, kMessage, kTensor},
    FieldRow{kSparseTensor, 2, kMessage, kTensor},
    FieldRow{kSparseTensor, 3, kVarints64},
    FieldRow{kValueInfo, 1, kText},
    FieldRow{kValueInfo, 2, kMessage, kType},
    FieldRow{kValueInfo, 3, kText},
    FieldRow{kType, 1, kMessage, kTypeTensor},
    FieldRow{kType, 4, kMessage, kTypeElement},
    FieldRow{kType, 5, kMessage, kTypeMap},
    FieldRow{kType, 6, kText},
    FieldRow{kType, 8, kMessage, kTypeTensor},
    FieldRow{kType, 9, kMessage, kTypeElement},
    FieldRow{kTypeTensor, 2, kMessage, kShape},
    FieldRow{kTypeElement, 1, kMessage, kType},
    FieldRow{kTypeMap, 2, kMessage, kType},
    FieldRow{kShape, 1, kMessage, kDimension},
    FieldRow{kDimension, 2, kText},
    FieldRow{kDimension, 3, kText},
    FieldRow{kPair, 1, kText},
    FieldRow{kPair, 2, kText},
    FieldRow{kOperatorSet, 1, kText},
    FieldRow{kFunction, 1, kText},
    FieldRow{kFunction, 4, kText},
    FieldRow{kFunction, 5, kText},
    FieldRow{kFunction, 6, kText},
    FieldRow{kFunction, 7, kMessage, kNode},
    FieldRow{kFunction, 8, kText},
    FieldRow{kFunction, 9, kMessage, kOperatorSet},
    FieldRow{kFunction, 10, kText},
    FieldRow{kTraining, 1, kMessage, kGraph},
    FieldRow{kTraining, 2, kMessage, kGraph},
    FieldRow{kTraining, 3, kMessage, kPair},
    FieldRow{kTraining, 4, kMessage, kPair},
    FieldRow{kAnnotation, 1, kText},
    FieldRow{kAnnotation, 2, kMessage, kPair},
};

/// Returns the bytes of the C++ object of one message, including its entry in a repeated field.
std::uint64_t ObjectBytes(Type type) {
  constexpr std::uint64_t kSlot = 16;
  switch (type) {
    case kModel:
      return sizeof(onnx::ModelProto) + kSlot;
    case kGraph:
      return sizeof(onnx::GraphProto) + kSlot;
    case kNode:
      return sizeof(onnx::NodeProto) + kSlot;
    case kAttribute:
      return sizeof(onnx::AttributeProto) + kSlot;
    case kTensor:
      return sizeof(onnx::TensorProto) + kSlot;
    case kSparseTensor:
      return sizeof(onnx::SparseTensorProto) + kSlot;
    case kFunction:
      return sizeof(onnx::FunctionProto) + kSlot;
    case kTraining:
      return sizeof(onnx::TrainingInfoProto) + kSlot;
    default:
      // The small messages: none is larger than a TypeProto with its nested tensor type.
      return sizeof(onnx::TypeProto) + sizeof(onnx::TypeProto::Tensor) + kSlot;
  }
}

const FieldRow* FindField(Type in, std::uint64_t number) {
  for (const FieldRow& row : kFields) {
    if (row.in == in && row.number == number) return &row;
  }
  return nullptr;
}

class Scanner {
 public:
  Scanner(std::string_view bytes, const ImportLimits& limits)
      : bytes_(bytes),
        limits_(limits),
        byte_limit_(limits.decoded_factor * bytes.size() + limits.decoded_extra) {}

  void Run() {
    stack_.push_back({kModel, bytes_.size()});
    while (!stack_.empty()) {
      if (at_ == stack_.back().end) {
        stack_.pop_back();
      } else {
        ReadField();
      }
    }
  }

 private:
  struct Open {
    Type type;
    std::size_t end;
  };

  [[noreturn]] void Malformed(const std::string& why) const {
    throw UserError("is not an ONNX model, or was cut short: " + why + " at byte " +
                    std::to_string(at_));
  }

  void Spend(std::uint64_t objects, std::uint64_t bytes) {
    objects_ += objects;
    decoded_ += bytes;
    if (objects_ > limits_.messages) {
      throw UserError("holds more than " + std::to_string(limits_.messages) +
                      " protobuf messages and strings");
    }
    if (decoded_ > byte_limit_) {
      throw UserError("would take more than " + std::to_string(byte_limit_) +
                      " bytes once decoded, for a file of " + std::to_string(bytes_.size()));
    }
  }

  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (at_ >= stack_.back().end) Malformed("a number ends early");
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if ((byte & 0x80U) == 0) return value;
    }
    Malformed("a number is too long");
  }

  void Skip(std::uint64_t count) {
    if (count > stack_.back().end - at_) Malformed("a field passes the end of its message");
    at_ += static_cast<std::size_t>(count);
  }

  void ReadField() {
    const std::uint64_t tag = Varint();
    const std::uint64_t number = tag >> 3U;
    if (number == 0 || number > (1U << 29U) - 1) Malformed("a field has no valid number");
    switch (tag & 7U) {
      case 0:
        Varint();
        return Spend(0, kScalarBytes);
      case 1:
        Skip(8);
        return Spend(0, kScalarBytes);
      case 2:
        return ReadDelimited(number);
      case 5:
        Skip(4);
        return Spend(0, kScalarBytes);
      default:
        Malformed("a field has a wire type that ONNX does not use");
    }
  }

  void ReadDelimited(std::uint64_t number) {
    const std::uint64_t length = Varint();
    if (length > stack_.back().end - at_) Malformed("a field passes the end of its message");
    const FieldRow* row = FindField(stack_.back().type, number);
    switch (row == nullptr ? kUnknown : row->kind) {
      case kMessage:
        Spend(1, ObjectBytes(row->message));
        if (stack_.size() >= limits_.message_depth) {
          throw UserError("nests protobuf messages deeper than " +
                          std::to_string(limits_.message_depth));
        }
        stack_.push_back({row->message, at_ + static_cast<std::size_t>(length)});
        return;
      case kText:
      case kUnknown:
        Spend(1, sizeof(std::string) + 2 * sizeof(void*) + length);
        break;
      case kVarints32:
        Spend(0, 4 * CountVarints(length));
        break;
      case kVarints64:
        Spend(0, 8 * CountVarints(length));
        break;
      case kFixed:
        Spend(0, length);
        break;
    }
    Skip(length);
  }

  [[nodiscard]] std::uint64_t CountVarints(std::uint64_t length) const {
    std::uint64_t count = 0;
    for (const char c : bytes_.substr(at_, static_cast<std::size_t>(length))) {
      count += (static_cast<unsigned char>(c) & 0x80U) == 0 ? 1 : 0;
    }
    return count;
  }

  /// Upper bound: a scalar in a repeated field takes 8 bytes, an unknown one an UnknownField.
  static constexpr std::uint64_t kScalarBytes = 16;

  std::string_view bytes_;
  const ImportLimits& limits_;
  std::uint64_t byte_limit_;
  std::uint64_t objects_ = 0;
  std::uint64_t decoded_ = 0;
  std::size_t at_ = 0;
  std::vector<Open> stack_;
};

}  // namespace

void ScanModelWire(std::string_view bytes, const ImportLimits& limits) {
  Scanner(bytes, limits).Run();
}

}  // namespace msc::detail
