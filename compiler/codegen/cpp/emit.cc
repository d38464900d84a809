#include "compiler/codegen/cpp/emit.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>
#include <variant>

#include "compiler/base/error.h"
#include "compiler/codegen/cpp/preamble.h"
#include "compiler/kernel/call.h"

namespace msc {

using kernel::Access;
using kernel::Expr;
using kernel::ExprNode;
using kernel::KernelFunc;
using kernel::Op;
using kernel::Stmt;
using kernel::Type;

namespace {

std::string Name(kernel::VarId var) {
  return "v" + std::to_string(var.id);
}
std::string Name(kernel::BufferRef buffer) {
  return "b" + std::to_string(buffer.index);
}

/// Element size of the masks that hold vectors of bool in variables.
constexpr int kMaskBytes = 4;

bool IsBoolVector(Type type) {
  return type.dtype == DType::kBool && type.lanes > 1;
}

std::string IntegerLiteral(DType dtype, std::int64_t value) {
  switch (dtype) {
    case DType::kBool:
      return value != 0 ? "true" : "false";
    case DType::kI64:
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

std::string FloatLiteral(double value) {
  if (std::isnan(value)) return "__builtin_nanf(\"\")";
  if (std::isinf(value)) return value > 0 ? "__builtin_inff()" : "(-__builtin_inff())";
  std::array<char, 48> text{};
  // Hexadecimal literals are exact. The text does not depend on the locale, because the format
  // string contains the point and only integers are formatted.
  const auto single = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(single);
  const std::uint32_t fraction = bits & 0x7fffffU;
  const int exponent = static_cast<int>((bits >> 23U) & 255U);
  std::snprintf(text.data(), text.size(), "0x%d.%06xp%df", exponent == 0 ? 0 : 1, fraction << 1U,
                exponent == 0 ? (fraction == 0 ? 0 : -126) : exponent - 127);
  const std::string literal(text.data());
  return bits >> 31U != 0 ? "(-" + literal + ")" : literal;
}

/// Writes the body of one kernel and requests from the preamble what it needs.
class Emitter {
 public:
  Emitter(const KernelFunc& func, Preamble& preamble)
      : func_(func), preamble_(preamble), called_(kernel::CalledFunctions(func)) {}

  std::string Function(const std::string& symbol) {
    text_ = "\nextern \"C\" __attribute__((visibility(\"default\")))\nvoid " + symbol +
            "(char* const* buffers, long begin, long end) {\n";
    for (std::size_t i = 0; i < func_.buffers.size(); ++i) {
      const kernel::Buffer& buffer = func_.buffers[i];
      const std::string type = (buffer.access == Access::kRead ? "const " : "") +
                               preamble_.MemoryTypeName({buffer.dtype, 1}) + "*";
      const std::string number = std::to_string(i);
      text_.append("  ").append(type).append(" __restrict b").append(number);
      text_.append(" = (").append(type).append(")buffers[").append(number).append("];\n");
    }
    if (!called_.empty()) {
      Line("const auto functions = (void (*const*)(char* const*, const long*))buffers[" +
           std::to_string(func_.buffers.size()) + "];");
    }
    Body(func_.body);
    return text_ + "}\n";
  }

 private:
  void Line(const std::string& text) {
    text_ += std::string(static_cast<std::size_t>(indent_) * 2, ' ') + text + "\n";
  }
  void Body(const std::vector<Stmt>& body) {
    for (const Stmt& stmt : body) {
      std::visit([this](const auto& node) { Write(node); }, stmt.node);
    }
  }
  void Block(const std::string& head, const std::vector<Stmt>& body) {
    Line(head + "{");
    ++indent_;
    Body(body);
    --indent_;
    Line("}");
  }

  void Write(const kernel::For& loop) {
    const std::string var = Name(loop.var);
    if (loop.kind == kernel::LoopKind::kParallel) {
      Block("for (i64 " + var + " = begin; " + var + " < end; ++" + var + ") ", loop.body);
      return;
    }
    const std::int64_t* extent = AsInt(loop.extent);
    if (loop.kind == kernel::LoopKind::kUnrolled) {
      Check(extent != nullptr, "the extent of an unrolled loop is constant");
      for (std::int64_t i = 0; i < *extent; ++i) {
        Line("{");
        ++indent_;
        Line("const i64 " + var + " = " + std::to_string(i) + "L;");
        Body(loop.body);
        --indent_;
        Line("}");
      }
      return;
    }
    if (extent != nullptr) {
      Block("for (i64 " + var + " = 0; " + var + " < " + std::to_string(*extent) + "L; ++" + var +
                ") ",
            loop.body);
      return;
    }
    const std::string end = "e" + std::to_string(loop.var.id);
    Block("for (i64 " + var + " = 0, " + end + " = " + Scalar(loop.extent) + "; " + var + " < " +
              end + "; ++" + var + ") ",
          loop.body);
  }

  void Write(const kernel::Let& let) {
    const Type type = let.value->type;
    const std::string name =
        IsBoolVector(type) ? preamble_.MaskName(kMaskBytes, type.lanes) : preamble_.TypeName(type);
    Line(name + " " + Name(let.var) + " = " + Stored(let.value) + ";");
  }
  void Write(const kernel::Assign& assign) {
    Line(Name(assign.var) + " = " + Stored(assign.value) + ";");
  }
  /// Returns a value in the form that a variable holds.
  std::string Stored(const Expr& value) {
    return IsBoolVector(value->type) ? Mask(value, kMaskBytes) : Value(value);
  }

  void Write(const kernel::Store& store) {
    Type type = store.value->type;
    std::string value;
    if (IsBoolVector(type)) {
      type.dtype = DType::kU8;
      value = "(" + preamble_.TypeName(type) + ")(" + Mask(store.value, 1) + " & (i8)1)";
    } else {
      value = Value(store.value);
    }
    const std::string address = Name(store.buffer) + " + " + Scalar(store.index);
    if (store.valid != 0 && type.lanes > 1) {
      Line(preamble_.PartialStore(type, store.valid) + "(" + address + ", " + value + ");");
    } else if (type.lanes == 1) {
      Line(Name(store.buffer) + "[" + Scalar(store.index) + "] = " + value + ";");
    } else {
      Line("*(" + preamble_.MemoryTypeName(type) + "*)(" + address + ") = " + value + ";");
    }
  }
  void Write(const kernel::Prefetch& prefetch) {
    // Computed as an integer, because a pointer must not leave its array. Locality 2: into the L2
    // cache.
    const std::string bytes = std::to_string(ByteSize(func_.buffers[prefetch.buffer.index].dtype));
    Line("__builtin_prefetch((const char*)((i64)" + Name(prefetch.buffer) + " + " +
         Scalar(prefetch.index) + " * " + bytes + "L), 0, 2);");
  }
  void Write(const kernel::If& branch) {
    Block("if (" + Value(branch.condition) + ") ", branch.body);
    if (!branch.otherwise.empty()) Block("else ", branch.otherwise);
  }

  void Write(const kernel::Call& call) {
    const auto found = std::find(called_.begin(), called_.end(), call.function);
    std::string addresses;
    for (const kernel::Call::Address& address : call.addresses) {
      addresses += (addresses.empty() ? "(char*)(" : ", (char*)(") + Name(address.buffer) + " + " +
                   Scalar(address.index) + ")";
    }
    std::string integers;
    for (const std::int64_t integer : call.integers) {
      integers += (integers.empty() ? "" : ", ") + IntegerLiteral(DType::kI64, integer);
    }
    Line("{");
    ++indent_;
    Line("char* const addresses[] = {" + addresses + "};");
    Line("const long integers[] = {" + integers + "};");
    Line("functions[" + std::to_string(found - called_.begin()) + "](addresses, integers);");
    --indent_;
    Line("}");
  }

  std::string Scalar(const Expr& expr) { return Value(expr); }

  /// Returns any expression except a vector of bool.
  std::string Value(const Expr& expr) {
    const ExprNode& node = *expr;
    Check(!IsBoolVector(node.type), "vectors of bool are masks");
    switch (node.op) {
      case Op::kInt:
        return Constant(node.type, IntegerLiteral(node.type.dtype, node.integer));
      case Op::kFloat:
        return Constant(node.type, FloatLiteral(node.real));
      case Op::kVar:
        return Name(node.var);
      case Op::kLoad:
        return Load(node, node.type);
      case Op::kBroadcast:
        return preamble_.Splat(node.type) + "(" + Value(node.args[0]) + ")";
      case Op::kCast:
        return Cast(node);
      case Op::kBits:
        return Bits(node);
      case Op::kSqrt:
      case Op::kExp:
      case Op::kTanh:
      case Op::kErf:
      case Op::kSigmoid:
      case Op::kLog:
      case Op::kFloor:
        return preamble_.Math(node.op, node.type.lanes) + "(" + Value(node.args[0]) + ")";
      case Op::kSelect:
        return Select(node);
      case Op::kDot4:
      case Op::kDot2:
        return preamble_.Dot(node.op, node.type.lanes) + "(" + Value(node.args[0]) + ", " +
               Value(node.args[1]) + ", " + Value(node.args[2]) + ")";
      case Op::kReduceAdd:
      case Op::kReduceMax:
        return preamble_.Reduce(node.op, node.args[0]->type) + "(" + Value(node.args[0]) + ")";
      default:
        return Operation(node);
    }
  }

  std::string Constant(Type type, const std::string& literal) {
    return type.lanes == 1 ? literal : preamble_.Splat(type) + "(" + literal + ")";
  }

  std::string Operation(const ExprNode& node) {
    const DType dtype = node.args[0]->type.dtype;
    const std::string a = Value(node.args[0]);
    const std::string b = Value(node.args[1]);
    switch (node.op) {
      case Op::kAdd:
        return Narrow(node.type, a + " + " + b);
      case Op::kSub:
        return Narrow(node.type, a + " - " + b);
      case Op::kMul:
        return Narrow(node.type, a + " * " + b);
      case Op::kDiv:
      case Op::kMod:
        return Divide(node, a, b);
      case Op::kMin:
      case Op::kMax:
        return preamble_.MinMax(node.op, node.type) + "(" + a + ", " + b + ")";
      case Op::kLess:
        return "(" + a + " < " + b + ")";
      case Op::kLessEqual:
        return "(" + a + " <= " + b + ")";
      case Op::kEqual:
        return "(" + a + " == " + b + ")";
      case Op::kAnd:
        return "(" + a + " && " + b + ")";
      case Op::kOr:
        return "(" + a + " || " + b + ")";
      default:
        break;
    }
    Check(dtype == DType::kUndefined, "an operation that is known");
    return {};
  }

  std::string Divide(const ExprNode& node, const std::string& a, const std::string& b) {
    const DType dtype = node.type.dtype;
    const bool is_signed =
        dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32 || dtype == DType::kI64;
    const bool is_div = node.op == Op::kDiv;
    if (!is_signed) return Narrow(node.type, a + (is_div ? " / " : " % ") + b);
    const auto divisor = static_cast<std::uint64_t>(node.args[1]->integer);
    // Shifts and masks already round toward minus infinity.
    if (node.type == kernel::kIndex && std::has_single_bit(divisor)) {
      return is_div ? "(" + a + " >> " + std::to_string(std::countr_zero(divisor)) + ")"
                    : "(" + a + " & " + std::to_string(divisor - 1) + "L)";
    }
    return preamble_.FloorDivMod(node.op) + "(" + a + ", " + b + ")";
  }

  /// Converts back to the type, because C++ computes small integers as int.
  static std::string Narrow(Type type, const std::string& text) {
    if (type.lanes == 1 && IsInteger(type.dtype) && ByteSize(type.dtype) < 4) {
      return "((" + std::string(Name(type.dtype)) + ")(" + text + "))";
    }
    return "(" + text + ")";
  }

  std::string Load(const ExprNode& node, Type as) {
    if (node.valid != 0) {
      return preamble_.PartialLoad(node.type, node.valid) + "(" + Name(node.buffer) + " + " +
             Value(node.args[0]) + ")";
    }
    if (node.type.dtype == DType::kBool) {
      return "(" + Name(node.buffer) + "[" + Value(node.args[0]) + "] != 0)";
    }
    if (as.lanes == 1 && as == node.type)
      return Name(node.buffer) + "[" + Value(node.args[0]) + "]";
    return "(*(const " + preamble_.MemoryTypeName(as) + "*)(" + Name(node.buffer) + " + " +
           Value(node.args[0]) + "))";
  }

  std::string Bits(const ExprNode& node) {
    const ExprNode& from = *node.args[0];
    if (from.op == Op::kLoad && from.valid == 0) return Load(from, node.type);
    const std::string value = Value(node.args[0]);
    if (from.type.lanes > 1 && node.type.lanes > 1) {
      return "((" + preamble_.TypeName(node.type) + ")" + value + ")";
    }
    return preamble_.Bits() + "<" + preamble_.TypeName(node.type) + ">(" + value + ")";
  }

  std::string Cast(const ExprNode& node) {
    const Expr& value = node.args[0];
    const DType from = value->type.dtype;
    const DType to = node.type.dtype;
    const int lanes = node.type.lanes;
    if (to == DType::kBool) return "(" + Value(value) + " != 0)";
    if (from == DType::kBF16) return preamble_.FromBF16(lanes) + "(" + Value(value) + ")";
    if (to == DType::kBF16) return preamble_.ToBF16(lanes) + "(" + Value(value) + ")";
    if (to == DType::kI32 && FitsInt32(*value)) {
      return preamble_.Nearest(lanes) + "(" + Value(value) + ")";
    }
    if (from == DType::kF32) return preamble_.RoundTo(node.type) + "(" + Value(value) + ")";
    const std::string name = preamble_.TypeName(node.type);
    if (lanes == 1) return "((" + name + ")" + Value(value) + ")";
    if (from != DType::kBool) {
      const std::size_t size = ByteSize(to);
      if (ByteSize(from) == 1 && size == 4) {
        const Type whole{to == DType::kF32 ? DType::kI32 : to, lanes};
        const std::string wide = preamble_.Convert(value->type, whole) + "(" + Value(value) + ")";
        return to == DType::kF32 ? "__builtin_convertvector(" + wide + ", " + name + ")" : wide;
      }
      if (ByteSize(from) == 4 && size == 1) {
        return preamble_.Convert(value->type, node.type) + "(" + Value(value) + ")";
      }
      return "__builtin_convertvector(" + Value(value) + ", " + name + ")";
    }
    const int bytes = static_cast<int>(ByteSize(to));
    const std::string ones =
        "(" + Mask(value, bytes) + " & " +
        Constant({MaskDType(bytes), lanes}, IntegerLiteral(MaskDType(bytes), 1)) + ")";
    return to == DType::kF32 ? "__builtin_convertvector(" + ones + ", " + name + ")"
                             : "((" + name + ")" + ones + ")";
  }

  /// Returns whether x is min(max(x, low), high) of f32 with bounds in the range of i32. It is
  /// never NaN, because the bound is the second operand.
  static bool FitsInt32(const ExprNode& node) {
    const auto bounded = [](const ExprNode& side, Op op) {
      return side.op == op && side.type.dtype == DType::kF32 && side.args[1]->op == Op::kFloat &&
             std::abs(side.args[1]->real) <= 0x1p30;
    };
    return bounded(node, Op::kMin) && bounded(*node.args[0], Op::kMax);
  }

  static DType MaskDType(int bytes) {
    return bytes == 1   ? DType::kI8
           : bytes == 2 ? DType::kI16
           : bytes == 4 ? DType::kI32
                        : DType::kI64;
  }

  std::string Select(const ExprNode& node) {
    const std::string yes = Value(node.args[1]);
    const std::string no = Value(node.args[2]);
    if (node.type.lanes == 1) return "(" + Value(node.args[0]) + " ? " + yes + " : " + no + ")";
    const int bytes = static_cast<int>(ByteSize(node.type.dtype));
    return "(" + Mask(node.args[0], bytes) + " ? " + yes + " : " + no + ")";
  }

  /// Returns a vector of bool as `lanes` signed integers of `bytes` bytes.
  std::string Mask(const Expr& expr, int bytes) {
    const ExprNode& node = *expr;
    const int lanes = node.type.lanes;
    const auto resized = [&](int native, const std::string& mask) {
      if (native == bytes) return mask;
      return "__builtin_convertvector(" + mask + ", " + preamble_.MaskName(bytes, lanes) + ")";
    };
    const Type element{MaskDType(bytes), lanes};
    switch (node.op) {
      case Op::kInt:
        return Constant(element, IntegerLiteral(element.dtype, node.integer != 0 ? -1 : 0));
      case Op::kBroadcast:
        return preamble_.Splat(element) + "(" + Value(node.args[0]) + " ? -1 : 0)";
      case Op::kVar:
        return resized(kMaskBytes, Name(node.var));
      case Op::kLoad: {
        ExprNode bytes_node = node;
        bytes_node.type.dtype = DType::kU8;
        return resized(1, "(" + Load(bytes_node, bytes_node.type) +
                              " != " + preamble_.Splat(bytes_node.type) + "(0))");
      }
      case Op::kCast: {
        const Type from = node.args[0]->type;
        const std::string zero =
            from.dtype == DType::kF32 ? FloatLiteral(0) : IntegerLiteral(from.dtype, 0);
        return resized(static_cast<int>(ByteSize(from.dtype)),
                       "(" + Value(node.args[0]) + " != " + Constant(from, zero) + ")");
      }
      case Op::kAnd:
        return "(" + Mask(node.args[0], bytes) + " & " + Mask(node.args[1], bytes) + ")";
      case Op::kOr:
        return "(" + Mask(node.args[0], bytes) + " | " + Mask(node.args[1], bytes) + ")";
      case Op::kSelect:
        return "(" + Mask(node.args[0], bytes) + " ? " + Mask(node.args[1], bytes) + " : " +
               Mask(node.args[2], bytes) + ")";
      default:
        return resized(static_cast<int>(ByteSize(node.args[0]->type.dtype)), Operation(node));
    }
  }

  const KernelFunc& func_;
  Preamble& preamble_;
  const std::vector<std::string> called_;
  std::string text_;
  int indent_ = 1;
};

}  // namespace

std::string FunctionSymbol(std::size_t index, const std::string& prefix) {
  return prefix + "k" + std::to_string(index);
}

std::vector<std::string> EmittedTextOptions() {
  // -ffp-contract=fast allows fused multiply-add. No option changes the semantics of NaN, infinity
  // or the order of additions. -fwrapv: integers of a kernel wrap around.
  return {"-std=c++17",
          "-ffreestanding",
          "-ffp-contract=fast",
          "-fno-math-errno",
          "-fno-trapping-math",
          "-fwrapv",
          "-fno-exceptions",
          "-fno-rtti",
          "-fno-stack-protector",
          "-fvisibility=hidden",
          "-w"};
}

std::string EmitCpp(std::span<const KernelFunc> funcs, const Isa& isa, const std::string& prefix) {
  Preamble preamble(isa);
  std::string functions;
  for (std::size_t i = 0; i < funcs.size(); ++i)
    functions += Emitter(funcs[i], preamble).Function(FunctionSymbol(i, prefix));
  return preamble.text() + functions;
}

}  // namespace msc
