#include "compiler/import/onnx/tensor_proto.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <iterator>
#include <utility>

#include <onnx/onnx_pb.h>

#include "compiler/base/error.h"
#include "compiler/base/with_type.h"
#include "compiler/import/onnx/external_data.h"
#include "compiler/import/onnx/tensor_bytes.h"
#include "compiler/import/onnx/text.h"
#include "compiler/ops/narrow.h"

namespace msc::detail {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

[[noreturn]] void Reject(const std::string& what, const std::string& why) {
  throw UserError(what + " " + why);
}

Dims ReadDims(const onnx::TensorProto& proto, const std::string& what, const ImportLimits& limits) {
  const auto& sizes = proto.dims();
  if (static_cast<std::uint64_t>(sizes.size()) > limits.rank) {
    Reject(what, "has " + std::to_string(sizes.size()) + " dimensions; at most " +
                     std::to_string(limits.rank) + " are read");
  }
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    if (size < 0) Reject(what, "has a negative size " + std::to_string(size));
    if (size > limits.dim || __builtin_mul_overflow(count, size, &count) ||
        count > limits.elements) {
      Reject(what, "is too large: size " + std::to_string(size));
    }
  }
  return {sizes.begin(), sizes.end()};
}

void CheckPayload(const std::string& what, std::uint64_t found, std::uint64_t wanted,
                  std::string_view unit) {
  if (found == wanted) return;
  Reject(what, "holds " + std::to_string(found) + " " + std::string(unit) +
                   " where its shape and type need " + std::to_string(wanted));
}

std::uint64_t ReadCount(const std::string& text, const std::string& what, const std::string& key) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) {
    Reject(what, "has an external data " + key + " that is no number: " + QuoteForeign(text));
  }
  return value;
}

ExternalPlace ReadPlace(const onnx::TensorProto& proto, const std::string& what,
                        std::uint64_t bytes) {
  ExternalPlace place{.offset = 0, .length = bytes};
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") place.location = entry.value();
    if (entry.key() == "offset") place.offset = ReadCount(entry.value(), what, "offset");
    if (entry.key() == "length") {
      CheckPayload(what, ReadCount(entry.value(), what, "length"), bytes, "bytes");
    }
  }
  return place;
}

Tensor ReadExternal(const onnx::TensorProto& proto, const std::string& what,
                    const SourceOptions& options, std::pair<DType, Dims> type) {
  if (options.external_folder.empty()) {
    Reject(what, "lies in an external file, which is not read here: import the model by its path");
  }
  if (type.first == DType::kString) Reject(what, "cannot keep strings in an external file");
  const auto bytes = static_cast<std::uint64_t>(ElementCount(type.second)) * ByteSize(type.first);
  ExternalPlace place = ReadPlace(proto, what, bytes);
  try {
    return options.bytes->ReadExternal(std::move(place), type.first, std::move(type.second));
  } catch (const UserError& error) {
    throw UserError(what + ": " + error.what());
  }
}

Tensor ReadRaw(const onnx::TensorProto& proto, const std::string& what,
               const SourceOptions& options, std::pair<DType, Dims> type) {
  if (type.first == DType::kString) Reject(what, "cannot keep strings as raw bytes");
  const RawPlace place = RawPlaceIn(proto.raw_data());
  // Check before allocating memory: the file may claim sizes that it does not contain.
  const auto bytes = static_cast<std::uint64_t>(ElementCount(type.second)) * ByteSize(type.first);
  CheckPayload(what, place.length, bytes, "bytes");
  try {
    return options.bytes->Read(place, type.first, std::move(type.second));
  } catch (const UserError& error) {
    throw UserError(what + ": " + error.what());
  }
}

/// Copies a typed field whose entries may be wider than the elements; rejects values out of range.
template <class T, class Field>
void CopyField(const Field& field, const std::string& what, Tensor& tensor) {
  const std::span<T> out = tensor.MutableValues<T>();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto value = field.Get(static_cast<int>(i));
    if constexpr (std::is_integral_v<T>) {
      if (!std::in_range<T>(value)) {
        Reject(what, "holds " + std::to_string(value) + ", which does not fit " +
                         std::string(Name(tensor.dtype())));
      }
    }
    out[i] = static_cast<T>(value);
  }
}

template <class Field>
void CopyComplex(const Field& field, Tensor& tensor) {
  if (tensor.bytes() > 0) std::memcpy(tensor.MutableRaw().data(), field.data(), tensor.bytes());
}

/// Returns the number of entries in the one typed field that the element type may use (ONNX IR,
/// TensorProto).
int FieldSize(const onnx::TensorProto& proto, DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kC64:
      return proto.float_data_size();
    case DType::kF64:
    case DType::kC128:
      return proto.double_data_size();
    case DType::kI64:
      return proto.int64_data_size();
    case DType::kU32:
    case DType::kU64:
      return proto.uint64_data_size();
    case DType::kString:
      return proto.string_data_size();
    default:
      return proto.int32_data_size();
  }
}

int AllFieldSizes(const onnx::TensorProto& proto) {
  return proto.float_data_size() + proto.double_data_size() + proto.int32_data_size() +
         proto.int64_data_size() + proto.uint64_data_size() + proto.string_data_size();
}

void ReadField(const onnx::TensorProto& proto, const std::string& what, Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF32:
      return CopyField<float>(proto.float_data(), what, tensor);
    case DType::kF64:
      return CopyField<double>(proto.double_data(), what, tensor);
    case DType::kC64:
      return CopyComplex(proto.float_data(), tensor);
    case DType::kC128:
      return CopyComplex(proto.double_data(), tensor);
    case DType::kI64:
      return CopyField<std::int64_t>(proto.int64_data(), what, tensor);
    case DType::kU64:
      return CopyField<std::uint64_t>(proto.uint64_data(), what, tensor);
    case DType::kU32:
      return CopyField<std::uint32_t>(proto.uint64_data(), what, tensor);
    case DType::kI32:
      return CopyField<std::int32_t>(proto.int32_data(), what, tensor);
    case DType::kI16:
      return CopyField<std::int16_t>(proto.int32_data(), what, tensor);
    case DType::kI8:
      return CopyField<std::int8_t>(proto.int32_data(), what, tensor);
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16:
      return CopyField<std::uint16_t>(proto.int32_data(), what, tensor);
    case DType::kU8:
    case DType::kBool:
      return CopyField<std::uint8_t>(proto.int32_data(), what, tensor);
    case DType::kString:
      tensor.mutable_strings().assign(proto.string_data().begin(), proto.string_data().end());
      return;
    case DType::kUndefined:
      break;
  }
  Check(false, "the element type of a tensor is defined");
}

void CheckBools(const Tensor& tensor, const std::string& what) {
  if (tensor.dtype() != DType::kBool) return;
  const auto values = tensor.Values<std::uint8_t>();
  if (std::any_of(values.begin(), values.end(), [](std::uint8_t v) { return v > 1; })) {
    Reject(what, "holds a bool that is neither 0 nor 1");
  }
}

Shape ReadShape(const onnx::TensorShapeProto& proto, const std::string& what,
                const ImportLimits& limits) {
  if (static_cast<std::uint64_t>(proto.dim_size()) > limits.rank) {
    Reject(what, "has " + std::to_string(proto.dim_size()) + " dimensions; at most " +
                     std::to_string(limits.rank) + " are read");
  }
  Shape shape;
  for (const auto& dim : proto.dim()) {
    if (dim.has_dim_value()) {
      // Exporters write -1 for an unknown size; an earlier specification allowed it.
      if (dim.dim_value() > limits.dim) {
        Reject(what, "is too large: size " + std::to_string(dim.dim_value()));
      }
      if (dim.dim_value() < -1) {
        Reject(what, "has a negative size " + std::to_string(dim.dim_value()));
      }
      shape.push_back(dim.dim_value() < 0 ? Dim() : Dim(dim.dim_value()));
    } else if (!dim.dim_param().empty()) {
      CheckForeignText(dim.dim_param(), what + ": dimension", limits.name_bytes);
      shape.push_back(Dim::Symbol(dim.dim_param()));
    } else {
      shape.emplace_back();
    }
  }
  return shape;
}

[[noreturn]] void RejectElementType(const std::string& what, std::int64_t number) {
  Reject(what, "has unknown element type " + std::to_string(number));
}

/// Returns DType by its number in TensorProto.DataType: all 16 types of IR version 8.
std::optional<DType> FromOnnxType(std::int64_t number) {
  static_assert(onnx::TensorProto::FLOAT == static_cast<int>(DType::kF32));
  static_assert(onnx::TensorProto::BOOL == static_cast<int>(DType::kBool));
  static_assert(onnx::TensorProto::BFLOAT16 == static_cast<int>(DType::kBF16));
  if (number < onnx::TensorProto::FLOAT || number > onnx::TensorProto::BFLOAT16) return {};
  return static_cast<DType>(number);
}

/// Converts the elements of a narrow type, which follow each other without gaps from the lowest bit
/// of the first byte on.
Tensor Unpacked(const NarrowType& type, const Tensor& packed, Dims dims) {
  Tensor tensor(type.held, std::move(dims));
  const auto bytes = packed.Values<std::uint8_t>();
  const auto bits_at = [&](std::size_t i) {
    const std::size_t bit = i * static_cast<std::size_t>(type.bits);
    std::uint32_t bits = bytes[bit / 8];
    if (bit / 8 + 1 < bytes.size()) bits |= std::uint32_t{bytes[bit / 8 + 1]} << 8U;
    return bits >> (bit % 8);
  };
  const auto fill = [&]<class T>() {
    const auto values = tensor.MutableValues<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<T>(NarrowValue(type, bits_at(i)));
    }
  };
  if (type.held == DType::kF32) {
    fill.template operator()<float>();
  } else {
    WithInteger(type.held, fill);
  }
  return tensor;
}

/// Reads the values of a tensor that has no more elements than the limits allow.
Tensor ReadElements(const onnx::TensorProto& proto, const std::string& what,
                    const SourceOptions& options, std::pair<DType, Dims> type) {
  const auto& [dtype, dims] = type;
  const bool external = proto.data_location() == onnx::TensorProto::EXTERNAL;
  const bool complex = dtype == DType::kC64 || dtype == DType::kC128;
  const int typed = FieldSize(proto, dtype);
  if (typed != AllFieldSizes(proto) || (proto.has_raw_data() && typed > 0) ||
      (external && (typed > 0 || proto.has_raw_data()))) {
    Reject(what, "holds its values in several or in the wrong fields");
  }
  if (external || proto.has_raw_data()) {
    Check(options.bytes != nullptr, "the bytes of a model's tensors are known");
    const auto read = external ? ReadExternal : ReadRaw;
    Tensor tensor = read(proto, what, options, std::move(type));
    CheckBools(tensor, what);
    return tensor;
  }
  // Check before allocating memory, as above.
  const auto count = static_cast<std::uint64_t>(ElementCount(dims));
  CheckPayload(what, static_cast<std::uint64_t>(typed), count * (complex ? 2 : 1), "values");
  Tensor tensor(dtype, dims);
  ReadField(proto, what, tensor);
  CheckBools(tensor, what);
  return tensor;
}

}  // namespace

std::optional<DType> HeldType(std::int64_t number) {
  const NarrowType* narrow = FindNarrowType(number);
  return narrow != nullptr ? narrow->held : FromOnnxType(number);
}

Tensor ReadTensorProto(const onnx::TensorProto& proto, const std::string& what,
                       const SourceOptions& options) {
  const NarrowType* narrow = FindNarrowType(proto.data_type());
  const auto dtype = HeldType(proto.data_type());
  if (!dtype) RejectElementType(what, proto.data_type());
  if (proto.has_segment()) Reject(what, "is split into segments, which are not supported");
  Dims dims = ReadDims(proto, what, options.limits);
  const auto count = static_cast<std::uint64_t>(ElementCount(dims));
  const std::uint64_t bytes = count * ByteSize(*dtype);
  if (bytes > options.limits.tensor_bytes) {
    Reject(what, "is too large: " + std::to_string(bytes) + " bytes");
  }
  if (narrow == nullptr) return ReadElements(proto, what, options, {*dtype, std::move(dims)});
  const std::uint64_t packed = (count * static_cast<std::uint64_t>(narrow->bits) + 7) / 8;
  const Tensor read =
      ReadElements(proto, what, options, {DType::kU8, {static_cast<std::int64_t>(packed)}});
  return Unpacked(*narrow, read, std::move(dims));
}

ValueType ReadTypeProto(const onnx::TypeProto& proto, const std::string& what,
                        const ImportLimits& limits) {
  ValueType type;
  const onnx::TypeProto* inner = &proto;
  bool optional = false;
  bool sequence = false;
  if (inner->has_optional_type()) {
    optional = true;
    inner = &inner->optional_type().elem_type();
  }
  if (inner->has_sequence_type()) {
    sequence = true;
    inner = &inner->sequence_type().elem_type();
  }
  type.container = optional && sequence ? Container::kOptionalSequence
                   : optional           ? Container::kOptional
                   : sequence           ? Container::kSequence
                                        : Container::kTensor;
  if (inner->value_case() == onnx::TypeProto::VALUE_NOT_SET && !optional && !sequence) return type;
  if (!inner->has_tensor_type()) Reject(what, "has a type that is not supported (map or sparse)");
  const auto& tensor = inner->tensor_type();
  if (tensor.elem_type() != onnx::TensorProto::UNDEFINED) {
    const auto dtype = HeldType(tensor.elem_type());
    if (!dtype) RejectElementType(what, tensor.elem_type());
    type.dtype = *dtype;
  }
  if (tensor.has_shape()) type.shape = ReadShape(tensor.shape(), what, limits);
  return type;
}

}  // namespace msc::detail
