#include "compiler/kernel/expr.h"

#include <bit>
#include <cmath>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/kernel/integer.h"

namespace msc::kernel {
namespace {

/// Returns whether values of this type are only stored: kernels compute them in f32.
bool IsNarrowFloat(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kF16;
}

bool IsKernelDType(DType dtype) {
  return IsInteger(dtype) || dtype == DType::kBool || dtype == DType::kF32 || IsNarrowFloat(dtype);
}

void CheckType(Type type) {
  Check(IsKernelDType(type.dtype),
        "a kernel computes in f32, bf16, integers and bool, and stores f16");
  Check(type.lanes >= 1 && type.lanes <= 64 && std::has_single_bit(unsigned(type.lanes)),
        "lanes are a power of two up to 64");
}

Expr Make(ExprNode node) {
  CheckType(node.type);
  for (const Expr& arg : node.args) Check(arg != nullptr, "no argument of an expression is null");
  return std::make_shared<const ExprNode>(std::move(node));
}

Expr Make(Op op, Type type, std::vector<Expr> args) {
  ExprNode node;
  node.op = op;
  node.type = type;
  node.args = std::move(args);
  return Make(std::move(node));
}

bool IsComparison(Op op) {
  return op == Op::kLess || op == Op::kLessEqual || op == Op::kEqual;
}

bool IsFloat(const Expr& expr, double value) {
  return expr->op == Op::kFloat && expr->real == value;
}

/// Folds an operation on two integer constants.
Expr FoldIntegers(Op op, Type type, std::int64_t a, std::int64_t b) {
  switch (op) {
    case Op::kLess:
      return Int(a < b ? 1 : 0, {DType::kBool, type.lanes});
    case Op::kLessEqual:
      return Int(a <= b ? 1 : 0, {DType::kBool, type.lanes});
    case Op::kEqual:
      return Int(a == b ? 1 : 0, {DType::kBool, type.lanes});
    default:
      return Int(ApplyInteger(op, type.dtype, a, b), type);
  }
}

/// Simplifies an integer operation whose right side is constant; returns null if it cannot.
Expr FoldNeutral(Op op, const Expr& a, const Expr& b) {
  const std::int64_t* right = AsInt(b);
  if (right == nullptr) return nullptr;
  if ((op == Op::kAdd || op == Op::kSub) && *right == 0) return a;
  if ((op == Op::kMul || op == Op::kDiv) && *right == 1) return a;
  if (op == Op::kMul && *right == 0) return b;
  if (op == Op::kMod && *right == 1) return Int(0, b->type);
  if (op == Op::kAnd) return *right != 0 ? a : b;
  if (op == Op::kOr) return *right != 0 ? b : a;
  // (x + 2) + 3 and (x * 2) * 3: exact, because both forms wrap around alike.
  const bool same = (op == Op::kAdd || op == Op::kMul) && a->op == op;
  if (same && AsInt(a->args[1]) != nullptr) {
    return Binary(op, a->args[0],
                  Int(ApplyInteger(op, b->type.dtype, *AsInt(a->args[1]), *right), b->type));
  }
  return nullptr;
}

Expr FoldBinary(Op op, Expr& a, Expr& b) {
  const bool commutes = op == Op::kAdd || op == Op::kMul || op == Op::kAnd || op == Op::kOr;
  if (a->op == Op::kInt && b->op == Op::kInt) {
    return FoldIntegers(op, a->type, a->integer, b->integer);
  }
  if (commutes && a->op == Op::kInt) std::swap(a, b);
  if (a->type.dtype != DType::kF32) return FoldNeutral(op, a, b);
  if (op == Op::kMul && IsFloat(a, 1)) return b;
  if ((op == Op::kMul || op == Op::kDiv) && IsFloat(b, 1)) return a;
  if (op == Op::kAdd && IsFloat(a, 0)) return b;
  if ((op == Op::kAdd || op == Op::kSub) && IsFloat(b, 0)) return a;
  return nullptr;
}

void CheckBinary(Op op, const Expr& a, const Expr& b) {
  Check(a->type == b->type, "both sides of an operation have one type");
  const DType dtype = a->type.dtype;
  const bool integer = IsInteger(dtype);
  switch (op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kMin:
    case Op::kMax:
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kEqual:
      Check(integer || dtype == DType::kF32, "arithmetic is on f32 or integers");
      return;
    case Op::kDiv:
      if (dtype == DType::kF32) return;
      [[fallthrough]];
    case Op::kMod:
      Check(integer && b->op == Op::kInt && b->integer > 0,
            "integers are divided by a positive constant");
      return;
    case Op::kAnd:
    case Op::kOr:
      Check(dtype == DType::kBool, "and, or are on bool");
      return;
    default:
      Check(false, "an operation of two sides");
  }
}

}  // namespace

std::string ToString(Type type) {
  std::string text(Name(type.dtype));
  return type.lanes == 1 ? text : text + "x" + std::to_string(type.lanes);
}

Expr Int(std::int64_t value, Type type) {
  Check(IsInteger(type.dtype) || type.dtype == DType::kBool, "an integer constant is of such type");
  ExprNode node;
  node.op = Op::kInt;
  node.type = type;
  node.integer = WrapInteger(type.dtype, value);
  return Make(std::move(node));
}

Expr Float(double value, int lanes) {
  ExprNode node;
  node.op = Op::kFloat;
  node.type = {DType::kF32, lanes};
  node.real = static_cast<double>(static_cast<float>(value));
  return Make(std::move(node));
}

Expr Var(VarId var, Type type) {
  ExprNode node;
  node.op = Op::kVar;
  node.type = type;
  node.var = var;
  return Make(std::move(node));
}

Expr Load(BufferRef buffer, Expr index, Type type, int valid) {
  Check(index->type == kIndex, "an index is a scalar i64");
  Check(valid >= 0 && valid <= type.lanes, "valid lanes are some of the lanes");
  ExprNode node;
  node.op = Op::kLoad;
  node.type = type;
  node.args = {std::move(index)};
  node.buffer = buffer;
  node.valid = valid == type.lanes ? 0 : valid;
  return Make(std::move(node));
}

Expr Broadcast(Expr scalar, int lanes) {
  Check(scalar->type.lanes == 1, "a scalar is broadcast");
  if (lanes == 1) return scalar;
  const Type type{scalar->type.dtype, lanes};
  if (scalar->op == Op::kInt) return Int(scalar->integer, type);
  if (scalar->op == Op::kFloat) return Float(scalar->real, lanes);
  return Make(Op::kBroadcast, type, {std::move(scalar)});
}

Expr GroupBroadcast(Expr vector, int group, int lane) {
  const Type type = vector->type;
  Check(type.dtype != DType::kBool, "vectors of numbers are broadcast in groups");
  Check(group >= 1 && type.lanes % group == 0, "groups of equal size make up the lanes");
  Check(lane >= 0 && lane < group, "a lane of the group is repeated");
  if (group == 1 || vector->op == Op::kInt || vector->op == Op::kFloat) return vector;
  ExprNode node;
  node.op = Op::kGroupBroadcast;
  node.type = type;
  node.args = {std::move(vector)};
  node.integer = lane;
  node.group = group;
  return Make(std::move(node));
}

Expr Cast(Expr value, Type type) {
  const DType from = value->type.dtype;
  Check(value->type.lanes == type.lanes, "a cast keeps the lanes");
  if (value->type == type) return value;
  if (IsNarrowFloat(from) || IsNarrowFloat(type.dtype)) {
    Check(from == DType::kF32 || type.dtype == DType::kF32,
          "bf16 and f16 are cast from and to f32 alone");
  }
  if (value->op == Op::kInt && type.dtype != DType::kF32 && type.dtype != DType::kBool) {
    return Int(value->integer, type);
  }
  if (value->op == Op::kInt && type.dtype == DType::kF32) {
    const float real = from == DType::kU64
                           ? static_cast<float>(static_cast<std::uint64_t>(value->integer))
                           : static_cast<float>(value->integer);
    return Float(static_cast<double>(real), type.lanes);
  }
  return Make(Op::kCast, type, {std::move(value)});
}

Expr Bits(Expr value, Type type) {
  Check(value->type.dtype != DType::kBool && type.dtype != DType::kBool, "a bool has no bits");
  Check(ByteSize(value->type.dtype) * static_cast<std::size_t>(value->type.lanes) ==
            ByteSize(type.dtype) * static_cast<std::size_t>(type.lanes),
        "the same bits have the same size");
  if (value->type == type) return value;
  return Make(Op::kBits, type, {std::move(value)});
}

Expr Binary(Op op, Expr a, Expr b) {
  Check(a != nullptr && b != nullptr, "no argument of an expression is null");
  CheckBinary(op, a, b);
  if (Expr folded = FoldBinary(op, a, b)) return folded;
  const Type type = IsComparison(op) ? Type{DType::kBool, a->type.lanes} : a->type;
  return Make(op, type, {std::move(a), std::move(b)});
}

Expr Unary(Op op, Expr a) {
  Check(op == Op::kSqrt || op == Op::kExp || op == Op::kTanh || op == Op::kErf || op == Op::kLog ||
            op == Op::kFloor || op == Op::kSigmoid,
        "an operation of one side");
  Check(a->type.dtype == DType::kF32, "functions of one argument are of f32");
  const Type type = a->type;
  return Make(op, type, {std::move(a)});
}

Expr Select(Expr condition, Expr yes, Expr no) {
  Check(condition->type == Type{DType::kBool, yes->type.lanes},
        "a condition is bool, lane by lane");
  Check(yes->type == no->type, "what is chosen between has one type");
  if (const std::int64_t* known = AsInt(condition)) return *known != 0 ? yes : no;
  const Type type = yes->type;
  return Make(Op::kSelect, type, {std::move(condition), std::move(yes), std::move(no)});
}

Expr Dot(Op op, Expr sum, Expr a, Expr b) {
  const int lanes = sum->type.lanes;
  if (op == Op::kDot4 || op == Op::kDot4Narrow) {
    Check(sum->type.dtype == DType::kI32 && a->type == Type{DType::kU8, 4 * lanes} &&
              b->type == Type{DType::kI8, 4 * lanes},
          "dot4 is of i32xL, u8x4L, i8x4L");
  } else {
    Check(op == Op::kDot2 && sum->type.dtype == DType::kF32 &&
              a->type == Type{DType::kBF16, 2 * lanes} && b->type == a->type,
          "dot2 is of f32xL, bf16x2L, bf16x2L");
  }
  const Type type = sum->type;
  return Make(op, type, {std::move(sum), std::move(a), std::move(b)});
}

Expr Reduce(Op op, Expr a) {
  Check(op == Op::kReduceAdd || op == Op::kReduceMax, "a reduction adds or takes the largest");
  Check(a->type.dtype == DType::kF32 || a->type.dtype == DType::kI32, "f32 or i32 is reduced");
  if (a->type.lanes == 1) return a;
  const Type type{a->type.dtype, 1};
  return Make(op, type, {std::move(a)});
}

const std::int64_t* AsInt(const Expr& expr) {
  return expr->op == Op::kInt ? &expr->integer : nullptr;
}

}  // namespace msc::kernel
