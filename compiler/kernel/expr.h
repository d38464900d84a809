#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/base/dtype.h"

namespace msc::kernel {

/// Type of an expression: `lanes` elements, 1 for a scalar. Indices and loop variables are scalar
/// i64. Conditions are bool with the lanes of the values that they select.
struct Type {
  DType dtype = DType::kF32;
  int lanes = 1;
  bool operator==(const Type&) const = default;
};

inline constexpr Type kIndex{DType::kI64, 1};

/// Formats `type` as "f32" or "f32x16".
[[nodiscard]] std::string ToString(Type type);

/// Name of a loop variable or a local. Ids are unique within a KernelFunc.
struct VarId {
  std::uint32_t id = 0;
  bool operator==(const VarId&) const = default;
};

/// Index into KernelFunc::buffers.
struct BufferRef {
  std::uint32_t index = 0;
  bool operator==(const BufferRef&) const = default;
};

enum class Op : std::uint8_t {
  kInt,        ///< `integer`, of any integer type or bool, in every lane
  kFloat,      ///< `real`, f32, in every lane
  kVar,        ///< `var`
  kLoad,       ///< `lanes` elements of `buffer` from element args[0] on; see `valid`
  kBroadcast,  ///< args[0], a scalar, in every lane
  /// One lane of each group in the whole group: lane l is lane l - l % group + `integer` of args[0]
  /// (x86 vpermilps).
  kGroupBroadcast,
  /// Converts args[0] to `type`. Float to integer rounds half to even and saturates; NaN becomes
  /// the lowest value. f32 to bf16 rounds half to even; a subnormal may become 0. f32 to f16 rounds
  /// half to even, subnormals too, and its NaN are quiet. A bool is 0 or 1; a number becomes true
  /// if it is not 0.
  kCast,
  kBits,  ///< bits of args[0] as another `type` of the same size
  // Arithmetic on equal types. Integers wrap around; integer kDiv and kMod round toward minus
  // infinity, and their divisor is a positive constant. If one operand is NaN, kMin and kMax of
  // floats return the second. A float product and sum may be fused into one rounding.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kMin,
  kMax,
  // f32 only. kExp, kTanh, kErf and kSigmoid, 1 / (1 + e^-x), have an error of at most 4 ulp or
  // 1e-7 absolute.
  kSqrt,
  kExp,
  kTanh,
  kErf,
  kSigmoid,
  kLog,
  kFloor,
  // Comparisons return bool; kAnd and kOr take bool.
  kLess,
  kLessEqual,
  kEqual,
  kAnd,
  kOr,
  kSelect,  ///< args: condition, value if true, value if false
  /// args: sum i32xL, a u8x4L, b i8x4L -> i32xL: sum[l] + a[4l] * b[4l] + ... + a[4l+3] * b[4l+3],
  /// modulo 2^32 (x86 vpdpbusd).
  kDot4,
  /// The same, for values whose a[4l] * b[4l] + a[4l+1] * b[4l+1] and a[4l+2] * b[4l+2] + a[4l+3] *
  /// b[4l+3] fit in i16 (x86 pmaddubsw, which saturates there).
  kDot4Narrow,
  /// args: sum f32xL, a bf16x2L, b bf16x2L -> f32xL: sum[l] + a[2l]*b[2l] + a[2l+1]*b[2l+1] (x86
  /// vpdpbf16ps; subnormals may count as 0; the order of the additions is unspecified).
  kDot2,
  // args[0] with lanes -> scalar, of f32 or i32; the order of the additions is unspecified.
  kReduceAdd,
  kReduceMax,
};

struct ExprNode;
/// Immutable, shared expression; never null.
using Expr = std::shared_ptr<const ExprNode>;

struct ExprNode {
  Op op = Op::kInt;
  Type type;
  std::vector<Expr> args;
  std::int64_t integer = 0;
  double real = 0;
  VarId var;
  BufferRef buffer;
  /// kLoad: reads only the first `valid` lanes and sets the others to 0. 0 means all lanes.
  int valid = 0;
  int group = 0;  ///< kGroupBroadcast: lanes of a group; divides the lanes
};

// Factories. They check types (InternalError) and fold constants and neutral elements (x + 0
// becomes x for floats too, although -0 + 0 is 0); simplify.h does more. Code computes an
// expression at each use: bind it with a Let to compute it once.

[[nodiscard]] Expr Int(std::int64_t value, Type type = kIndex);
[[nodiscard]] Expr Float(double value, int lanes = 1);
[[nodiscard]] Expr Var(VarId var, Type type = kIndex);
[[nodiscard]] Expr Load(BufferRef buffer, Expr index, Type type, int valid = 0);
[[nodiscard]] Expr Broadcast(Expr scalar, int lanes);
/// Repeats lane `lane` of each group of `group` lanes.
[[nodiscard]] Expr GroupBroadcast(Expr vector, int group, int lane);
[[nodiscard]] Expr Cast(Expr value, Type type);
[[nodiscard]] Expr Bits(Expr value, Type type);
[[nodiscard]] Expr Binary(Op op, Expr a, Expr b);
[[nodiscard]] Expr Unary(Op op, Expr a);
[[nodiscard]] Expr Select(Expr condition, Expr yes, Expr no);
/// Makes kDot4, kDot4Narrow or kDot2.
[[nodiscard]] Expr Dot(Op op, Expr sum, Expr a, Expr b);
/// Makes kReduceAdd or kReduceMax.
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

/// Returns the value of a kInt, or nullptr.
[[nodiscard]] const std::int64_t* AsInt(const Expr& expr);

}  // namespace msc::kernel
