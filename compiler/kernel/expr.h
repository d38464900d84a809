#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/base/dtype.h"

namespace msc::kernel {

/// Type of an expression: `lanes` elements side by side, 1 for a scalar. Indices and loop variables
/// are scalar i64, conditions are bool with the lanes of what they choose between.
struct Type {
  DType dtype = DType::kF32;
  int lanes = 1;
  bool operator==(const Type&) const = default;
};

inline constexpr Type kIndex{DType::kI64, 1};

/// "f32", "f32x16".
[[nodiscard]] std::string ToString(Type type);

/// A name in a kernel: a loop variable or a local. Ids are unique in one KernelFunc.
struct VarId {
  std::uint32_t id = 0;
  bool operator==(const VarId&) const = default;
};

/// Position in KernelFunc::buffers.
struct BufferRef {
  std::uint32_t index = 0;
  bool operator==(const BufferRef&) const = default;
};

enum class Op : std::uint8_t {
  kInt,        ///< `integer`, of any integer type or bool; with lanes, the same in each
  kFloat,      ///< `real`, f32; with lanes, the same in each
  kVar,        ///< `var`
  kLoad,       ///< `lanes` elements of `buffer` from element args[0] on; see `valid`
  kBroadcast,  ///< args[0], a scalar, in every lane
  /// args[0] as `type`. Floats to integers round half to even and saturate, NaN becomes the lowest;
  /// f32 to bf16 rounds half to even, a denormal may become 0; bool is 0 or 1, and != 0 is true.
  kCast,
  kBits,  ///< args[0] seen as `type` of the same size
  // Arithmetic on equal types. Integers wrap; kDiv and kMod of integers round towards minus
  // infinity, and the divisor is a positive constant. Of two floats one of which is NaN, kMin and
  // kMax give the second. A product and a sum of floats may be rounded together.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kMin,
  kMax,
  // f32 only. kExp, kTanh, kErf and kSigmoid, 1 / (1 + e^-x), are within 4 ulp or 1e-7 absolute of
  // the real function.
  kSqrt,
  kExp,
  kTanh,
  kErf,
  kSigmoid,
  kLog,
  kFloor,
  // Comparisons give bool; kAnd and kOr take it.
  kLess,
  kLessEqual,
  kEqual,
  kAnd,
  kOr,
  kSelect,  ///< args: condition, value where true, value where false
  /// args: sum i32xL, a u8x4L, b i8x4L -> i32xL: sum[l] + a[4l] * b[4l] + ... + a[4l+3] * b[4l+3],
  /// modulo 2^32 (x86 vpdpbusd).
  kDot4,
  /// args: sum f32xL, a bf16x2L, b bf16x2L -> f32xL: sum[l] + a[2l]*b[2l] + a[2l+1]*b[2l+1]
  /// (x86 vdpbf16ps; denormals may count as 0, the order of the two additions is open).
  kDot2,
  // args[0] with lanes -> scalar, of f32 or i32; the order of additions is open.
  kReduceAdd,
  kReduceMax,
};

struct ExprNode;
/// An expression: immutable, shared, never null.
using Expr = std::shared_ptr<const ExprNode>;

struct ExprNode {
  Op op = Op::kInt;
  Type type;
  std::vector<Expr> args;
  std::int64_t integer = 0;
  double real = 0;
  VarId var;
  BufferRef buffer;
  /// kLoad: only the first `valid` lanes are read, the others are 0. 0 means all.
  int valid = 0;
};

// Makers. They check types (InternalError) and fold constants and neutral elements (x + 0 is x for
// floats too, though -0 + 0 is 0): see simplify.h for more. An expression that is used twice is
// computed twice: name it with a Let.

[[nodiscard]] Expr Int(std::int64_t value, Type type = kIndex);
[[nodiscard]] Expr Float(double value, int lanes = 1);
[[nodiscard]] Expr Var(VarId var, Type type = kIndex);
[[nodiscard]] Expr Load(BufferRef buffer, Expr index, Type type, int valid = 0);
[[nodiscard]] Expr Broadcast(Expr scalar, int lanes);
[[nodiscard]] Expr Cast(Expr value, Type type);
[[nodiscard]] Expr Bits(Expr value, Type type);
[[nodiscard]] Expr Binary(Op op, Expr a, Expr b);
[[nodiscard]] Expr Unary(Op op, Expr a);
[[nodiscard]] Expr Select(Expr condition, Expr yes, Expr no);
/// kDot4 and kDot2.
[[nodiscard]] Expr Dot(Op op, Expr sum, Expr a, Expr b);
/// kReduceAdd and kReduceMax.
[[nodiscard]] Expr Reduce(Op op, Expr a);

[[nodiscard]] inline Expr operator+(Expr a, Expr b) {
  return Binary(Op::kAdd, std::move(a), std::move(b));
}
[[nodiscard]] inline Expr operator-(Expr a, Expr b) {
  return Binary(Op::kSub, std::move(a), std::move(b));
}
[[nodiscard]] inline Expr operator*(Expr a, Expr b) {
  return Binary(Op::kMul, std::move(a), std::move(b));
}
[[nodiscard]] inline Expr operator+(Expr a, std::int64_t b) {
  return std::move(a) + Int(b);
}
[[nodiscard]] inline Expr operator*(Expr a, std::int64_t b) {
  return std::move(a) * Int(b);
}

/// The value of a kInt, else nothing.
[[nodiscard]] const std::int64_t* AsInt(const Expr& expr);

}  // namespace msc::kernel
