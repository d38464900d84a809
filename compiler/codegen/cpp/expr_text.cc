#include "compiler/codegen/cpp/expr_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "compiler/base/error.h"

namespace msc {

using kernel::Expr;
using kernel::ExprNode;
using kernel::Op;
using kernel::Type;

namespace {

/// Element size of the masks that hold vectors of bool in variables.
constexpr int kMaskBytes = 4;

std::string FloatLiteral(double value) {
  if (std::isnan(value)) return "__builtin_nanf(\"\")";
  if (std::isinf(value)) return value > 0 ? "__builtin_inff()" : "(-__builtin_inff())";
  std::array<char, 48> text{};
  // Hexadecimal literals are exact. The text does not depend on the locale, because the format
  // string contains the point and only integers are formatted.
  const auto single = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(single);
  // 23 bits of fraction and a zero make six hexadecimal digits. Exponent 0 means a subnormal
  // number, 0.fraction * 2^-126; other exponents have a bias of 127 and a leading 1.
  const std::uint32_t fraction = bits & 0x7fffffU;
  const int exponent = static_cast<int>((bits >> 23U) & 255U);
  std::snprintf(text.data(), text.size(), "0x%d.%06xp%df", exponent == 0 ? 0 : 1, fraction << 1U,
                exponent == 0 ? (fraction == 0 ? 0 : -126) : exponent - 127);
  const std::string literal(text.data());
  return bits >> 31U != 0 ? "(-" + literal + ")" : literal;
}

std::string Constant(Type type, const std::string& literal, Preamble& preamble) {
  return type.lanes == 1 ? literal : preamble.Splat(type) + "(" + literal + ")";
}

/// Converts back to the type, because C++ computes small integers as int.
std::string Narrow(Type type, const std::string& text) {
  if (type.lanes == 1 && IsInteger(type.dtype) && ByteSize(type.dtype) < 4) {
    return "((" + std::string(Name(type.dtype)) + ")(" + text + "))";
  }
  return "(" + text + ")";
}

std::string Divide(const ExprNode& node, const std::string& a, const std::string& b,
                   Preamble& preamble) {
  const DType dtype = node.type.dtype;
  const bool is_signed =
      dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32 || dtype == DType::kI64;
  const bool is_div = node.op == Op::kDiv;
  // Without negative numbers, rounding toward zero is rounding toward minus infinity.
  if (!is_signed) return Narrow(node.type, a + (is_div ? " / " : " % ") + b);
  const auto divisor = static_cast<std::uint64_t>(node.args[1]->integer);
  // Shifts and masks already round toward minus infinity.
  if (node.type == kernel::kIndex && std::has_single_bit(divisor)) {
    return is_div ? "(" + a + " >> " + std::to_string(std::countr_zero(divisor)) + ")"
                  : "(" + a + " & " + std::to_string(divisor - 1) + "L)";
  }
  return preamble.FloorDivMod(node.op) + "(" + a + ", " + b + ")";
}

constexpr auto kInfix = std::to_array<std::pair<Op, const char*>>({{Op::kAdd, " + "},
                                                                   {Op::kSub, " - "},
                                                                   {Op::kMul, " * "},
                                                                   {Op::kLess, " < "},
                                                                   {Op::kLessEqual, " <= "},
                                                                   {Op::kEqual, " == "},
                                                                   {Op::kAnd, " && "},
                                                                   {Op::kOr, " || "}});

std::string Operation(const ExprNode& node, Preamble& preamble) {
  const std::string a = ValueText(node.args[0], preamble);
  const std::string b = ValueText(node.args[1], preamble);
  if (node.op == Op::kDiv || node.op == Op::kMod) return Divide(node, a, b, preamble);
  if (node.op == Op::kMin || node.op == Op::kMax) {
    return preamble.MinMax(node.op, node.type) + "(" + a + ", " + b + ")";
  }
  const auto* const infix = std::find_if(kInfix.begin(), kInfix.end(),
                                         [&](const auto& entry) { return entry.first == node.op; });
  Check(infix != kInfix.end(), "an operation that is known");
  return Narrow(node.type, a + infix->second + b);
}

std::string Load(const ExprNode& node, Type as, Preamble& preamble) {
  if (node.valid != 0) {
    return preamble.PartialLoad(node.type, node.valid) + "(" + Name(node.buffer) + " + " +
           ValueText(node.args[0], preamble) + ")";
  }
  if (node.type.dtype == DType::kBool) {
    return "(" + Name(node.buffer) + "[" + ValueText(node.args[0], preamble) + "] != 0)";
  }
  if (as.lanes == 1 && as == node.type)
    return Name(node.buffer) + "[" + ValueText(node.args[0], preamble) + "]";
  return "(*(const " + preamble.MemoryTypeName(as) + "*)(" + Name(node.buffer) + " + " +
         ValueText(node.args[0], preamble) + "))";
}

std::string Bits(const ExprNode& node, Preamble& preamble) {
  const ExprNode& from = *node.args[0];
  if (from.op == Op::kLoad && from.valid == 0) return Load(from, node.type, preamble);
  const std::string value = ValueText(node.args[0], preamble);
  if (from.type.lanes > 1 && node.type.lanes > 1) {
    return "((" + preamble.TypeName(node.type) + ")" + value + ")";
  }
  return preamble.Bits() + "<" + preamble.TypeName(node.type) + ">(" + value + ")";
}

/// Returns whether x is min(max(x, low), high) of f32 with bounds in the range of i32. It is
/// never NaN, because the bound is the second operand.
bool FitsInt32(const ExprNode& node) {
  const auto bounded = [](const ExprNode& side, Op op) {
    return side.op == op && side.type.dtype == DType::kF32 && side.args[1]->op == Op::kFloat &&
           std::abs(side.args[1]->real) <= 0x1p30;
  };
  return bounded(node, Op::kMin) && bounded(*node.args[0], Op::kMax);
}

DType MaskDType(int bytes) {
  return bytes == 1   ? DType::kI8
         : bytes == 2 ? DType::kI16
         : bytes == 4 ? DType::kI32
                      : DType::kI64;
}

std::string Cast(const ExprNode& node, Preamble& preamble) {
  const Expr& value = node.args[0];
  const auto text = [&] { return ValueText(value, preamble); };
  const DType from = value->type.dtype;
  const DType to = node.type.dtype;
  const int lanes = node.type.lanes;
  if (to == DType::kBool) return "(" + text() + " != 0)";
  if (from == DType::kBF16) return preamble.FromBF16(lanes) + "(" + text() + ")";
  if (to == DType::kBF16) return preamble.ToBF16(lanes) + "(" + text() + ")";
  if (from == DType::kF16) return preamble.FromF16(lanes) + "(" + text() + ")";
  if (to == DType::kF16) return preamble.ToF16(lanes) + "(" + text() + ")";
  // Clamped values need no check of their range.
  if (to == DType::kI32 && FitsInt32(*value)) {
    return preamble.Nearest(lanes) + "(" + text() + ")";
  }
  if (from == DType::kF32) return preamble.RoundTo(node.type) + "(" + text() + ")";
  const std::string name = preamble.TypeName(node.type);
  if (lanes == 1) return "((" + name + ")" + text() + ")";
  if (from != DType::kBool) {
    const std::size_t size = ByteSize(to);
    if (ByteSize(from) == 1 && size == 4) {
      // A byte goes to f32 through i32, which is exact.
      const Type whole{to == DType::kF32 ? DType::kI32 : to, lanes};
      const std::string wide = preamble.Convert(value->type, whole) + "(" + text() + ")";
      return to == DType::kF32 ? "__builtin_convertvector(" + wide + ", " + name + ")" : wide;
    }
    if (ByteSize(from) == 4 && size == 1) {
      return preamble.Convert(value->type, node.type) + "(" + text() + ")";
    }
    return "__builtin_convertvector(" + text() + ", " + name + ")";
  }
  const int bytes = static_cast<int>(ByteSize(to));
  // A mask is -1 or 0; a bool as a number is 1 or 0.
  const std::string ones =
      "(" + MaskText(value, bytes, preamble) + " & " +
      Constant({MaskDType(bytes), lanes}, IntegerLiteral(MaskDType(bytes), 1), preamble) + ")";
  return to == DType::kF32 ? "__builtin_convertvector(" + ones + ", " + name + ")"
                           : "((" + name + ")" + ones + ")";
}

std::string Select(const ExprNode& node, Preamble& preamble) {
  const std::string yes = ValueText(node.args[1], preamble);
  const std::string no = ValueText(node.args[2], preamble);
  if (node.type.lanes == 1)
    return "(" + ValueText(node.args[0], preamble) + " ? " + yes + " : " + no + ")";
  const int bytes = static_cast<int>(ByteSize(node.type.dtype));
  return "(" + MaskText(node.args[0], bytes, preamble) + " ? " + yes + " : " + no + ")";
}

}  // namespace

std::string Name(kernel::VarId var) {
  return "v" + std::to_string(var.id);
}
std::string Name(kernel::BufferRef buffer) {
  return "b" + std::to_string(buffer.index);
}

bool IsBoolVector(Type type) {
  return type.dtype == DType::kBool && type.lanes > 1;
}

std::string IntegerLiteral(DType dtype, std::int64_t value) {
  switch (dtype) {
    case DType::kBool:
      return value != 0 ? "true" : "false";
    case DType::kI64:
      // A minus is an operator on a positive literal, and 2^63 does not fit.
      if (value == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807L - 1)";
      return value < 0 ? "(" + std::to_string(value) + "L)" : std::to_string(value) + "L";
    case DType::kU64:
      return std::to_string(static_cast<std::uint64_t>(value)) + "UL";
    case DType::kU32:
      return std::to_string(value) + "U";
    case DType::kI32:
      if (value == std::numeric_limits<std::int32_t>::min()) return "(-2147483647 - 1)";
      return value < 0 ? "(" + std::to_string(value) + ")" : std::to_string(value);
    default:
      return "((" + std::string(Name(dtype)) + ")" + std::to_string(value) + ")";
  }
}

std::string ValueText(const Expr& expr, Preamble& preamble) {
  const ExprNode& node = *expr;
  const auto arg = [&](std::size_t i) { return ValueText(node.args[i], preamble); };
  Check(!IsBoolVector(node.type), "vectors of bool are masks");
  switch (node.op) {
    case Op::kInt:
      return Constant(node.type, IntegerLiteral(node.type.dtype, node.integer), preamble);
    case Op::kFloat:
      return Constant(node.type, FloatLiteral(node.real), preamble);
    case Op::kVar:
      return Name(node.var);
    case Op::kLoad:
      return Load(node, node.type, preamble);
    case Op::kBroadcast:
      return preamble.Splat(node.type) + "(" + arg(0) + ")";
    case Op::kGroupBroadcast:
      return preamble.GroupBroadcast(node.type, node.group, static_cast<int>(node.integer)) + "(" +
             arg(0) + ")";
    case Op::kCast:
      return Cast(node, preamble);
    case Op::kBits:
      return Bits(node, preamble);
    case Op::kSqrt:
    case Op::kExp:
    case Op::kTanh:
    case Op::kErf:
    case Op::kSigmoid:
    case Op::kLog:
    case Op::kFloor:
      return preamble.Math(node.op, node.type.lanes) + "(" + arg(0) + ")";
    case Op::kSelect:
      return Select(node, preamble);
    case Op::kDot4:
    case Op::kDot4Narrow:
    case Op::kDot2:
      return preamble.Dot(node.op, node.type.lanes) + "(" + arg(0) + ", " + arg(1) + ", " + arg(2) +
             ")";
    case Op::kReduceAdd:
    case Op::kReduceMax:
      return preamble.Reduce(node.op, node.args[0]->type) + "(" + arg(0) + ")";
    default:
      return Operation(node, preamble);
  }
}

std::string MaskText(const Expr& expr, int bytes, Preamble& preamble) {
  const ExprNode& node = *expr;
  const int lanes = node.type.lanes;
  const auto arg = [&](std::size_t i) { return MaskText(node.args[i], bytes, preamble); };
  const auto resized = [&](int native, const std::string& mask) {
    if (native == bytes) return mask;
    return "__builtin_convertvector(" + mask + ", " + preamble.MaskName(bytes, lanes) + ")";
  };
  const Type element{MaskDType(bytes), lanes};
  switch (node.op) {
    case Op::kInt:
      return Constant(element, IntegerLiteral(element.dtype, node.integer != 0 ? -1 : 0), preamble);
    case Op::kBroadcast:
      return preamble.Splat(element) + "(" + ValueText(node.args[0], preamble) + " ? -1 : 0)";
    case Op::kVar:
      return resized(kMaskBytes, Name(node.var));
    case Op::kLoad: {
      ExprNode bytes_node = node;
      bytes_node.type.dtype = DType::kU8;
      // In memory any byte but 0 means true.
      return resized(1, "(" + Load(bytes_node, bytes_node.type, preamble) +
                            " != " + preamble.Splat(bytes_node.type) + "(0))");
    }
    case Op::kCast: {
      const Type from = node.args[0]->type;
      const std::string zero =
          from.dtype == DType::kF32 ? FloatLiteral(0) : IntegerLiteral(from.dtype, 0);
      return resized(
          static_cast<int>(ByteSize(from.dtype)),
          "(" + ValueText(node.args[0], preamble) + " != " + Constant(from, zero, preamble) + ")");
    }
    case Op::kAnd:
      return "(" + arg(0) + " & " + arg(1) + ")";
    case Op::kOr:
      return "(" + arg(0) + " | " + arg(1) + ")";
    case Op::kSelect:
      return "(" + arg(0) + " ? " + arg(1) + " : " + arg(2) + ")";
    default:
      return resized(static_cast<int>(ByteSize(node.args[0]->type.dtype)),
                     Operation(node, preamble));
  }
}

std::string VariableType(Type type, Preamble& preamble) {
  return IsBoolVector(type) ? preamble.MaskName(kMaskBytes, type.lanes) : preamble.TypeName(type);
}

std::string StoredText(const Expr& value, Preamble& preamble) {
  return IsBoolVector(value->type) ? MaskText(value, kMaskBytes, preamble)
                                   : ValueText(value, preamble);
}

}  // namespace msc
