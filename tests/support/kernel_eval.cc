#include "tests/support/kernel_eval.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/kernel/integer.h"

namespace msc::kernel {
namespace {

/// Lanes of any type: integers by value, f32 and bf16 by their bits.
struct Value {
  Type type;
  std::vector<std::int64_t> lanes;
};

float AsFloat(std::int64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}
std::int64_t AsBits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

std::int64_t FromMemory(const std::byte* from, DType dtype) {
  std::int64_t value = 0;  // assumes little-endian, as the rest of this program does
  std::memcpy(&value, from, ByteSize(dtype));
  return dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16
             ? value
             : WrapInteger(dtype, value);
}

// Rounds half to even and saturates; a NaN fails the first comparison and becomes the lowest.
// `beyond` is most + 1, because `most` of 64-bit types is not a double.
std::int64_t RoundToInteger(float value, DType dtype) {
  const IntegerRange range = RangeOf(dtype);
  const bool is_u64 = dtype == DType::kU64;
  const double least = is_u64 ? 0 : static_cast<double>(range.least);
  const double beyond = is_u64 ? 0x1p64 : static_cast<double>(range.most) + 1;
  const double whole = std::nearbyint(static_cast<double>(value));
  if (!(whole >= least)) return is_u64 ? 0 : range.least;
  if (whole >= beyond) return is_u64 ? -1 : range.most;
  return is_u64 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(whole))
                : static_cast<std::int64_t>(whole);
}

std::int64_t CastLane(std::int64_t value, DType from, DType to) {
  if (from == DType::kBF16) return AsBits(FromBF16(static_cast<std::uint16_t>(value)));
  if (to == DType::kBF16) return ToBF16(AsFloat(value));
  if (from == DType::kF16) return AsBits(FromF16(static_cast<std::uint16_t>(value)));
  if (to == DType::kF16) return ToF16(AsFloat(value));
  if (from == DType::kF32 && to == DType::kBool) return AsFloat(value) != 0 ? 1 : 0;
  if (from == DType::kF32) return RoundToInteger(AsFloat(value), to);
  if (to != DType::kF32) return WrapInteger(to, value);
  return AsBits(from == DType::kU64 ? static_cast<float>(static_cast<std::uint64_t>(value))
                                    : static_cast<float>(value));
}

float BinaryFloat(Op op, float a, float b) {
  switch (op) {
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kMul:
      return a * b;
    case Op::kDiv:
      return a / b;
    case Op::kMin:
      return a < b ? a : b;
    case Op::kMax:
      return a > b ? a : b;
    default:
      Check(false, "an operation on two floats");
  }
  return 0;
}

float UnaryFloat(Op op, float a) {
  const auto x = static_cast<double>(a);
  switch (op) {
    case Op::kSqrt:
      return std::sqrt(a);
    case Op::kExp:
      return static_cast<float>(std::exp(x));
    case Op::kTanh:
      return static_cast<float>(std::tanh(x));
    case Op::kErf:
      return static_cast<float>(std::erf(x));
    case Op::kSigmoid:
      return static_cast<float>(1 / (1 + std::exp(-x)));
    case Op::kLog:
      return static_cast<float>(std::log(x));
    case Op::kFloor:
      return std::floor(a);
    default:
      Check(false, "an operation on one float");
  }
  return 0;
}

bool Compare(Op op, DType dtype, std::int64_t a, std::int64_t b) {
  const auto compare = [op](auto x, auto y) {
    return op == Op::kLess ? x < y : op == Op::kLessEqual ? x <= y : x == y;
  };
  if (dtype == DType::kF32) return compare(AsFloat(a), AsFloat(b));
  if (dtype == DType::kU64) {
    return compare(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
  }
  return compare(a, b);
}

std::int64_t BinaryLane(Op op, DType dtype, std::int64_t a, std::int64_t b) {
  if (op == Op::kLess || op == Op::kLessEqual || op == Op::kEqual) {
    return Compare(op, dtype, a, b) ? 1 : 0;
  }
  if (dtype == DType::kF32) return AsBits(BinaryFloat(op, AsFloat(a), AsFloat(b)));
  return ApplyInteger(op, dtype, a, b);
}

// Combines the upper half of the lanes with the lower half until one lane is left.
Value Reduce(Op op, Value value) {
  const Op step = op == Op::kReduceAdd ? Op::kAdd : Op::kMax;
  while (value.lanes.size() > 1) {
    const std::size_t half = value.lanes.size() / 2;
    for (std::size_t i = 0; i < half; ++i) {
      value.lanes[i] = BinaryLane(step, value.type.dtype, value.lanes[i], value.lanes[i + half]);
    }
    value.lanes.resize(half);
  }
  value.type.lanes = 1;
  return value;
}

Value Dot(Op op, Value sum, const Value& a, const Value& b) {
  const std::size_t ways = op == Op::kDot2 ? 2 : 4;
  for (std::size_t i = 0; i < sum.lanes.size(); ++i) {
    for (std::size_t j = ways * i; j < ways * (i + 1); ++j) {
      if (op != Op::kDot2) {
        sum.lanes[i] = WrapInteger(DType::kI32, sum.lanes[i] + a.lanes[j] * b.lanes[j]);
      } else {
        const float product = FromBF16(static_cast<std::uint16_t>(a.lanes[j])) *
                              FromBF16(static_cast<std::uint16_t>(b.lanes[j]));
        sum.lanes[i] = AsBits(AsFloat(sum.lanes[i]) + product);
      }
    }
  }
  return sum;
}

Value Reinterpret(const Value& value, Type type) {
  std::vector<std::byte> bytes(ByteSize(type.dtype) * static_cast<std::size_t>(type.lanes));
  const std::size_t from = ByteSize(value.type.dtype);
  for (std::size_t i = 0; i < value.lanes.size(); ++i) {
    std::memcpy(bytes.data() + i * from, &value.lanes[i], from);
  }
  Value seen{type, {}};
  for (std::size_t i = 0; i < static_cast<std::size_t>(type.lanes); ++i) {
    seen.lanes.push_back(FromMemory(bytes.data() + i * ByteSize(type.dtype), type.dtype));
  }
  return seen;
}

class Interpreter {
 public:
  Interpreter(const KernelFunc& func, std::span<const std::span<std::byte>> buffers,
              std::int64_t begin, std::int64_t end, std::span<const LibraryFunction> functions)
      : func_(func),
        buffers_(buffers),
        begin_(begin),
        end_(end),
        functions_(functions),
        called_(CalledFunctions(func)) {
    Check(functions.size() >= called_.size(), "each function that a kernel calls is given");
    Check(buffers.size() == func.buffers.size(), "each buffer of a kernel is given");
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const Buffer& buffer = func.buffers[i];
      Check(buffers[i].size() >= static_cast<std::size_t>(buffer.elements) * ByteSize(buffer.dtype),
            "a buffer has all its elements");
    }
  }

  void Run(const std::vector<Stmt>& body) {
    for (const Stmt& stmt : body) {
      std::visit([this](const auto& node) { Do(node); }, stmt.node);
    }
  }

 private:
  void Do(const For& loop) {
    const bool parallel = loop.kind == LoopKind::kParallel;
    const std::int64_t end = parallel ? end_ : Index(loop.extent);
    for (std::int64_t i = parallel ? begin_ : 0; i < end; ++i) {
      variables_[loop.var.id] = {kIndex, {i}};
      Run(loop.body);
    }
  }
  void Do(const Let& let) { variables_[let.var.id] = Get(let.value); }
  void Do(const Assign& assign) { variables_.at(assign.var.id) = Get(assign.value); }
  void Do(const Store& store) {
    const Value value = Get(store.value);
    const std::size_t count =
        store.valid == 0 ? value.lanes.size() : static_cast<std::size_t>(store.valid);
    std::byte* to = Address(store.buffer, Index(store.index), count, value.type.dtype);
    const std::size_t size = ByteSize(value.type.dtype);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * size, &value.lanes[i], size);
  }
  void Do(const Prefetch& /*prefetch*/) {}
  void Do(const If& branch) {
    Run(Get(branch.condition).lanes[0] != 0 ? branch.body : branch.otherwise);
  }

  void Do(const Call& call) {
    const CallFacts facts = FactsOf(call);
    Check(facts.error.empty(), "calls fit their functions");
    std::vector<char*> addresses;
    for (std::size_t i = 0; i < facts.touched.size(); ++i) {
      const Touched& touched = facts.touched[i];
      const Call::Address& address = call.addresses[i];
      addresses.push_back(reinterpret_cast<char*>(
          Address(address.buffer, Index(address.index), static_cast<std::size_t>(touched.elements),
                  touched.dtype)));
    }
    const auto found = std::find(called_.begin(), called_.end(), call.function);
    const std::vector<long> integers(  // NOLINT(google-runtime-int)
        call.integers.begin(), call.integers.end());
    functions_[static_cast<std::size_t>(found - called_.begin())](addresses.data(),
                                                                  integers.data());
  }

  std::int64_t Index(const Expr& expr) { return Get(expr).lanes[0]; }

  std::byte* Address(BufferRef ref, std::int64_t index, std::size_t count, DType dtype) {
    const Buffer& buffer = func_.buffers.at(ref.index);
    Check(buffer.dtype == dtype, "a buffer is used as what it is");
    Check(index >= 0 && index + static_cast<std::int64_t>(count) <= buffer.elements,
          "a kernel stays inside its buffers");
    return buffers_[ref.index].data() + static_cast<std::size_t>(index) * ByteSize(dtype);
  }

  Value Load(const ExprNode& node) {
    const auto lanes = static_cast<std::size_t>(node.type.lanes);
    const std::size_t count = node.valid == 0 ? lanes : static_cast<std::size_t>(node.valid);
    const DType dtype = node.type.dtype;
    const std::byte* from = Address(node.buffer, Index(node.args[0]), count, dtype);
    Value value{node.type, std::vector<std::int64_t>(lanes)};
    for (std::size_t i = 0; i < count; ++i) {
      value.lanes[i] = FromMemory(from + i * ByteSize(dtype), dtype);
    }
    return value;
  }

  Value Get(const Expr& expr) {
    const ExprNode& node = *expr;
    const auto lanes = static_cast<std::size_t>(node.type.lanes);
    switch (node.op) {
      case Op::kInt:
        return {node.type, std::vector<std::int64_t>(lanes, node.integer)};
      case Op::kFloat:
        return {node.type, std::vector<std::int64_t>(lanes, AsBits(static_cast<float>(node.real)))};
      case Op::kVar: {
        const auto found = variables_.find(node.var.id);
        Check(found != variables_.end() && found->second.type == node.type,
              "a variable is defined before it is used");
        return found->second;
      }
      case Op::kLoad:
        return Load(node);
      case Op::kBroadcast:
        return {node.type, std::vector<std::int64_t>(lanes, Get(node.args[0]).lanes[0])};
      case Op::kGroupBroadcast: {
        const Value from = Get(node.args[0]);
        Value result{node.type, {}};
        for (std::size_t l = 0; l < lanes; ++l) {
          const std::size_t first = l - l % static_cast<std::size_t>(node.group);
          result.lanes.push_back(from.lanes[first + static_cast<std::size_t>(node.integer)]);
        }
        return result;
      }
      case Op::kBits:
        return Reinterpret(Get(node.args[0]), node.type);
      case Op::kDot4:
      case Op::kDot4Narrow:
      case Op::kDot2:
        return Dot(node.op, Get(node.args[0]), Get(node.args[1]), Get(node.args[2]));
      case Op::kReduceAdd:
      case Op::kReduceMax:
        return Reduce(node.op, Get(node.args[0]));
      default:
        return LaneByLane(node);
    }
  }

  Value LaneByLane(const ExprNode& node) {
    std::vector<Value> args;
    for (const Expr& arg : node.args) args.push_back(Get(arg));
    const DType from = args[0].type.dtype;
    Value result{node.type, {}};
    for (std::size_t i = 0; i < static_cast<std::size_t>(node.type.lanes); ++i) {
      const std::int64_t first = args[0].lanes[i];
      if (node.op == Op::kSelect) {
        result.lanes.push_back(args[first != 0 ? 1 : 2].lanes[i]);
      } else if (node.op == Op::kCast) {
        result.lanes.push_back(CastLane(first, from, node.type.dtype));
      } else if (args.size() == 2) {
        result.lanes.push_back(BinaryLane(node.op, from, first, args[1].lanes[i]));
      } else {
        result.lanes.push_back(AsBits(UnaryFloat(node.op, AsFloat(first))));
      }
    }
    return result;
  }

  const KernelFunc& func_;
  std::span<const std::span<std::byte>> buffers_;
  std::int64_t begin_;
  std::int64_t end_;
  std::span<const LibraryFunction> functions_;
  std::vector<std::string> called_;
  std::unordered_map<std::uint32_t, Value> variables_;
};

}  // namespace

void Evaluate(const KernelFunc& func, std::span<const std::span<std::byte>> buffers,
              std::int64_t begin, std::int64_t end, std::span<const LibraryFunction> functions) {
  Interpreter(func, buffers, begin, end, functions).Run(func.body);
}

}  // namespace msc::kernel
