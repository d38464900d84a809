#include "tests/support/random_kernel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "compiler/base/rng.h"

namespace msc {

using kernel::Access;
using kernel::BufferRef;
using kernel::Expr;
using kernel::KernelBuilder;
using kernel::KernelFunc;
using kernel::Op;
using kernel::Stmt;
using kernel::Type;
using kernel::VarId;

namespace {

constexpr std::int64_t kElements = 128;
constexpr std::array kTypes = {DType::kF32,  DType::kI32,  DType::kU8,  DType::kI8,
                               DType::kBF16, DType::kI16,  DType::kU16, DType::kU32,
                               DType::kI64,  DType::kBool, DType::kU64};

class Generator {
 public:
  explicit Generator(std::uint64_t seed)
      : rng_(MixSeed({seed, 1})), builder_("random " + std::to_string(seed)) {
    for (const DType dtype : kTypes) {
      inputs_.push_back(builder_.AddBuffer({"in", dtype, kElements, Access::kRead}));
    }
    for (const DType dtype : kTypes) {
      outputs_.push_back(builder_.AddBuffer({"out", dtype, kElements, Access::kReadWrite}));
    }
  }

  KernelFunc Run() && {
    std::vector<Stmt> body;
    if (Chance(2)) {
      const VarId var = builder_.NewVar();
      indices_.push_back({var, 6});
      body.push_back({kernel::For{var, kernel::Int(6), kernel::LoopKind::kParallel, Body(0)}});
    } else {
      body = Body(0);
    }
    return std::move(builder_).Finish(std::move(body), 0);
  }

 private:
  struct Index {
    VarId var;
    std::int64_t extent = 0;
  };
  struct Local {
    VarId var;
    Type type;
  };

  std::int64_t Below(std::int64_t bound) {
    return static_cast<std::int64_t>(rng_.Below(static_cast<std::uint64_t>(bound)));
  }
  bool Chance(std::int64_t one_in) { return Below(one_in) == 0; }

  std::vector<Stmt> Body(int depth) {
    const std::size_t indices = indices_.size();
    const std::size_t locals = locals_.size();
    std::vector<Stmt> body;
    const std::int64_t count = 1 + Below(3);
    for (std::int64_t i = 0; i < count; ++i) body.push_back(Statement(depth));
    body.push_back(StoreSomething());
    indices_.resize(indices);
    locals_.resize(locals);
    return body;
  }

  Stmt Statement(int depth) {
    switch (Below(depth < 2 ? 8 : 5)) {
      case 0:
      case 1: {
        const Type type = AnyType();
        Expr value = Value(type, 2);
        const VarId var = builder_.NewVar();
        locals_.push_back({var, type});
        return {kernel::Let{var, std::move(value)}};
      }
      case 2:
        if (!locals_.empty()) {
          const Local local = locals_[rng_.Below(locals_.size())];
          return {kernel::Assign{local.var, Value(local.type, 2)}};
        }
        [[fallthrough]];
      case 3:
        return StoreSomething();
      case 4:
        return {kernel::Prefetch{inputs_[rng_.Below(inputs_.size())], Place(1) * 1000}};
      case 5:
        return {kernel::If{Value({DType::kBool, 1}, 2), Body(depth + 1),
                           Chance(2) ? Body(depth + 1) : std::vector<Stmt>{}}};
      default: {
        const VarId var = builder_.NewVar();
        const std::int64_t extent = Below(4);
        const bool unrolled = Chance(3);
        Expr end = kernel::Int(extent);
        if (!unrolled && !indices_.empty() && Chance(2)) {
          end = kernel::Binary(Op::kMin, end, kernel::Var(indices_.back().var) + 1);
        }
        indices_.push_back({var, std::max<std::int64_t>(extent, 1)});
        kernel::For loop{var, std::move(end),
                         unrolled ? kernel::LoopKind::kUnrolled : kernel::LoopKind::kSerial,
                         Body(depth + 1)};
        indices_.pop_back();
        return {std::move(loop)};
      }
    }
  }

  Type AnyType() { return {kTypes[rng_.Below(kTypes.size())], 1 << Below(Chance(8) ? 7 : 5)}; }
  static std::size_t Which(DType dtype) {
    return static_cast<std::size_t>(std::find(kTypes.begin(), kTypes.end(), dtype) -
                                    kTypes.begin());
  }

  /// Returns an index from which `lanes` elements are inside the buffer.
  Expr Place(int lanes) {
    const std::int64_t most = kElements - lanes;
    Expr index = kernel::Int(Below(4));
    std::int64_t top = *AsInt(index);
    for (const Index& loop : indices_) {
      const std::int64_t factor = Below(5);
      if (top + factor * (loop.extent - 1) > most) continue;
      top += factor * (loop.extent - 1);
      index = index + kernel::Var(loop.var) * factor;
    }
    switch (Below(5)) {
      case 0:
        return kernel::Binary(Op::kMod, index * 7 - kernel::Int(30), kernel::Int(most + 1));
      case 1:
        return kernel::Binary(Op::kDiv, index, kernel::Int(1 + Below(9)));
      case 2:
        return Clamped(Value(kernel::kIndex, 1), most);
      case 3:
        return Clamped(index * 5 - kernel::Int(9), most);
      default:
        return index;
    }
  }
  static Expr Clamped(Expr index, std::int64_t most) {
    return kernel::Binary(Op::kMin, kernel::Binary(Op::kMax, std::move(index), kernel::Int(0)),
                          kernel::Int(most));
  }

  Stmt StoreSomething() {
    Type type = AnyType();
    if (Chance(2)) type.dtype = DType::kF32;
    const int valid = Chance(3) ? static_cast<int>(1 + Below(type.lanes)) : 0;
    Expr value = Value(type, 2);
    if (type.dtype == DType::kF32 && Chance(3)) {
      constexpr std::array kLast = {Op::kSqrt, Op::kExp, Op::kTanh, Op::kErf, Op::kLog};
      value = kernel::Unary(kLast[rng_.Below(kLast.size())], std::move(value));
      // Writes into a buffer that is never read, so that rounding errors of functions do not
      // spread.
      if (!last_) {
        last_ = builder_.AddBuffer({"rounded", DType::kF32, kElements, Access::kWrite});
      }
      return {kernel::Store{*last_, Place(type.lanes), std::move(value), valid}};
    }
    return {kernel::Store{outputs_[Which(type.dtype)], Place(type.lanes), std::move(value), valid}};
  }

  Expr Load(Type type) {
    const int valid = Chance(4) ? static_cast<int>(1 + Below(type.lanes)) : 0;
    const BufferRef buffer = (Chance(4) ? outputs_ : inputs_)[Which(type.dtype)];
    return kernel::Load(buffer, Place(type.lanes), type, valid);
  }

  Expr Constant(Type type) {
    if (type.dtype == DType::kF32) return kernel::Float(double(Below(13) - 6) / 4, type.lanes);
    if (type.dtype == DType::kBF16) return kernel::Cast(Constant({DType::kF32, type.lanes}), type);
    return kernel::Int(Below(2000) - 1000, type);
  }

  Expr Leaf(Type type) {
    for (int i = 0; i < 4 && !locals_.empty(); ++i) {
      const Local local = locals_[rng_.Below(locals_.size())];
      if (local.type == type) return kernel::Var(local.var, type);
    }
    if (type == kernel::kIndex && !indices_.empty() && Chance(2)) {
      return kernel::Var(indices_[rng_.Below(indices_.size())].var);
    }
    return Chance(3) ? Constant(type) : Load(type);
  }

  /// Keeps f32 values small and multiples of 1/4, whatever was loaded.
  Expr Tamed(Expr value) {
    const int lanes = value->type.lanes;
    value = kernel::Binary(Op::kMax, std::move(value), kernel::Float(-1024, lanes));
    value = kernel::Binary(Op::kMin, std::move(value), kernel::Float(1024, lanes));
    const Expr quarters = kernel::Unary(Op::kFloor, std::move(value) * kernel::Float(4, lanes));
    return quarters * kernel::Float(0.25, lanes);
  }

  Expr Value(Type type, int depth) {
    if (depth == 0) return Leaf(type);
    if (type.lanes > 1 && Chance(8)) {
      return kernel::Broadcast(Value({type.dtype, 1}, depth - 1), type.lanes);
    }
    if (type.lanes > 1 && type.dtype != DType::kBool && Chance(10)) {
      const int group = 1 << Below(std::bit_width(static_cast<unsigned>(type.lanes)));
      return kernel::GroupBroadcast(Value(type, depth - 1), group, static_cast<int>(Below(group)));
    }
    if (type.dtype != DType::kBool && Chance(10)) {
      return kernel::Select(Value({DType::kBool, type.lanes}, depth - 1), Value(type, depth - 1),
                            Value(type, depth - 1));
    }
    if (type.dtype == DType::kBool) return Condition(type.lanes, depth);
    if (type.dtype == DType::kBF16)
      return kernel::Cast(Value({DType::kF32, type.lanes}, depth - 1), type);
    if (type.dtype == DType::kF32) return Real(type.lanes, depth);
    return Integer(type, depth);
  }

  Expr Condition(int lanes, int depth) {
    const Type type{kTypes[rng_.Below(kTypes.size())], lanes};
    const bool arithmetic = type.dtype != DType::kBool && type.dtype != DType::kBF16;
    constexpr std::array kCompare = {Op::kLess, Op::kLessEqual, Op::kEqual};
    if (arithmetic) {
      if (Chance(6)) return kernel::Cast(Value(type, depth - 1), {DType::kBool, lanes});
      return kernel::Binary(kCompare[rng_.Below(3)], Value(type, depth - 1),
                            Value(type, depth - 1));
    }
    const Type truth{DType::kBool, lanes};
    return kernel::Binary(Chance(2) ? Op::kAnd : Op::kOr, Value(truth, depth - 1),
                          Value(truth, depth - 1));
  }

  Expr Real(int lanes, int depth) {
    const Type type{DType::kF32, lanes};
    switch (Below(9)) {
      case 0:
        return Tamed(Value(type, depth - 1) * Value(type, depth - 1));
      case 1:
        return kernel::Unary(Op::kFloor, Value(type, depth - 1));
      case 2: {
        constexpr std::array kSmall = {DType::kU8, DType::kI8, DType::kI16, DType::kU16,
                                       DType::kBool};
        return Tamed(kernel::Cast(Value({kSmall[rng_.Below(5)], lanes}, depth - 1), type));
      }
      case 3:
        return Tamed(kernel::Cast(Value({DType::kBF16, lanes}, depth - 1), type));
      case 4:
        if (lanes <= 32) {
          const Type pairs{DType::kBF16, 2 * lanes};
          return Tamed(kernel::Dot(Op::kDot2, Value(type, depth - 1), Load(pairs), Load(pairs)));
        }
        [[fallthrough]];
      case 5:
        if (lanes == 1) {
          return Tamed(kernel::Reduce(Chance(2) ? Op::kReduceAdd : Op::kReduceMax,
                                      Value({DType::kF32, 1 << Below(6)}, depth - 1)));
        }
        [[fallthrough]];
      case 6:
        return Binary({Op::kMin, Op::kMax}, type, depth);
      default:
        return Tamed(Binary({Op::kAdd, Op::kSub}, type, depth));
    }
  }

  Expr Binary(std::array<Op, 2> ops, Type type, int depth) {
    return kernel::Binary(ops[rng_.Below(2)], Value(type, depth - 1), Value(type, depth - 1));
  }

  Expr Integer(Type type, int depth) {
    switch (Below(8)) {
      case 0:
        return kernel::Binary(Chance(2) ? Op::kDiv : Op::kMod, Value(type, depth - 1),
                              kernel::Int(1 + Below(100), type));
      case 1:
        return kernel::Cast(Value({DType::kF32, type.lanes}, depth - 1), type);
      case 2: {
        constexpr std::array kFrom = {DType::kU8,  DType::kI8,  DType::kI16, DType::kU16,
                                      DType::kI32, DType::kU32, DType::kI64, DType::kBool};
        return kernel::Cast(Value({kFrom[rng_.Below(kFrom.size())], type.lanes}, depth - 1), type);
      }
      case 3:
        if (type.dtype == DType::kI32 && type.lanes <= 16) {
          const bool narrow = Chance(2);
          const Type weights{DType::kI8, 4 * type.lanes};
          const Expr w = Load(weights);
          return kernel::Dot(narrow ? Op::kDot4Narrow : Op::kDot4, Value(type, depth - 1),
                             Load({DType::kU8, 4 * type.lanes}),
                             narrow ? kernel::Binary(Op::kDiv, w, kernel::Int(2, weights)) : w);
        }
        if (type.dtype == DType::kI32) {
          return kernel::Bits(Value({DType::kU32, type.lanes}, depth - 1), type);
        }
        if (type.dtype == DType::kU8 && type.lanes >= 4) {
          return kernel::Bits(Value({DType::kI32, type.lanes / 4}, depth - 1), type);
        }
        [[fallthrough]];
      case 4:
        return Binary({Op::kMin, Op::kMax}, type, depth);
      case 5:
        return Binary({Op::kMul, Op::kMul}, type, depth);
      default:
        return Binary({Op::kAdd, Op::kSub}, type, depth);
    }
  }

  Rng rng_;
  KernelBuilder builder_;
  std::vector<BufferRef> inputs_;
  std::vector<BufferRef> outputs_;
  std::optional<BufferRef> last_;
  std::vector<Index> indices_;
  std::vector<Local> locals_;
};

}  // namespace

KernelFunc RandomKernel(std::uint64_t seed) {
  return Generator(seed).Run();
}

std::vector<std::vector<std::byte>> RandomInputs(const KernelFunc& func, std::uint64_t seed) {
  Rng rng(MixSeed({seed, 2}));
  std::vector<std::vector<std::byte>> all;
  for (const kernel::Buffer& buffer : func.buffers) {
    const std::size_t size = ByteSize(buffer.dtype);
    std::vector<std::byte>& bytes =
        all.emplace_back(static_cast<std::size_t>(buffer.elements) * size);
    for (std::int64_t i = 0; i < buffer.elements; ++i) {
      const float real = (static_cast<float>(rng.Below(65)) - 32.0F) / 4;
      std::uint64_t bits = rng.Below(std::uint64_t{1} << 63U) << (rng.Below(2));
      if (buffer.dtype == DType::kF32) bits = std::bit_cast<std::uint32_t>(real);
      if (buffer.dtype == DType::kBF16) bits = ToBF16(real);
      if (buffer.dtype == DType::kBool) bits &= 1U;
      std::memcpy(bytes.data() + static_cast<std::size_t>(i) * size, &bits, size);
    }
  }
  return all;
}

}  // namespace msc
