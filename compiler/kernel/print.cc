#include "compiler/kernel/print.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>

namespace msc::kernel {
namespace {

std::string Number(double value) {
  std::array<char, 32> text{};
  // Constants are f32, so print the shortest text of an f32.
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), static_cast<float>(value)).ptr;
  std::string number(text.data(), end);
  const bool plain = number.find_first_not_of("-0123456789") == std::string::npos;
  return plain ? number + ".0" : number;
}

/// Returns the precedence of an operator; 0 if it is printed as a function call.
int Precedence(Op op) {
  switch (op) {
    case Op::kMul:
    case Op::kDiv:
    case Op::kMod:
      return 5;
    case Op::kAdd:
    case Op::kSub:
      return 4;
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kEqual:
      return 3;
    case Op::kAnd:
      return 2;
    case Op::kOr:
      return 1;
    default:
      return 0;
  }
}

std::string_view Text(Op op) {
  switch (op) {
    case Op::kMul:
      return "*";
    case Op::kDiv:
      return "/";
    case Op::kMod:
      return "%";
    case Op::kAdd:
      return "+";
    case Op::kSub:
      return "-";
    case Op::kLess:
      return "<";
    case Op::kLessEqual:
      return "<=";
    case Op::kEqual:
      return "==";
    case Op::kAnd:
      return "and";
    case Op::kOr:
      return "or";
    case Op::kMin:
      return "min";
    case Op::kMax:
      return "max";
    case Op::kSqrt:
      return "sqrt";
    case Op::kExp:
      return "exp";
    case Op::kTanh:
      return "tanh";
    case Op::kErf:
      return "erf";
    case Op::kSigmoid:
      return "sigmoid";
    case Op::kLog:
      return "log";
    case Op::kFloor:
      return "floor";
    case Op::kSelect:
      return "select";
    case Op::kDot4:
      return "dot4";
    case Op::kDot2:
      return "dot2";
    case Op::kReduceAdd:
      return "reduce_add";
    case Op::kReduceMax:
      return "reduce_max";
    default:
      return "?";
  }
}

std::string Name(VarId var) {
  return "v" + std::to_string(var.id);
}
std::string Name(BufferRef buffer) {
  return "b" + std::to_string(buffer.index);
}

std::string PrintArgs(const ExprNode& node) {
  std::string text = "(";
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    text += (i == 0 ? "" : ", ") + Print(node.args[i]);
  }
  return text + ")";
}

std::string Sub(const Expr& expr, int around) {
  const int own = Precedence(expr->op);
  const bool wrap = own > 0 && own < around;
  return wrap ? "(" + Print(expr) + ")" : Print(expr);
}

/// Returns " valid 5" if only the first lanes are accessed, else nothing.
std::string Valid(int valid) {
  return valid == 0 ? "" : " valid " + std::to_string(valid);
}

std::string Element(BufferRef buffer, const Expr& index) {
  return Name(buffer) + "[" + Print(index) + "]";
}

std::string Constant(const ExprNode& node) {
  const std::string value =
      node.op == Op::kFloat ? Number(node.real) : std::to_string(node.integer);
  const bool plain = node.type == kIndex || node.type == Type{DType::kF32, 1};
  return plain ? value : value + ":" + ToString(node.type);
}

std::string Quoted(std::string_view name) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text = "\"";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += {'\\', c};
    } else if (byte < 0x20 || byte >= 0x7f) {
      text += {'\\', 'x', kHex[byte >> 4U], kHex[byte & 15U]};
    } else {
      text += c;
    }
  }
  return text + "\"";
}

std::string_view Text(LoopKind kind) {
  switch (kind) {
    case LoopKind::kSerial:
      return "";
    case LoopKind::kUnrolled:
      return " unrolled";
    case LoopKind::kParallel:
      return " parallel";
  }
  return "";
}

std::string_view Text(Access access) {
  switch (access) {
    case Access::kRead:
      return "read";
    case Access::kWrite:
      return "write";
    case Access::kReadWrite:
      return "read_write";
    case Access::kScratch:
      return "scratch";
  }
  return "";
}

std::string PrintCall(const Call& call) {
  std::string text = "call " + Quoted(call.function) + "(";
  std::string_view comma;
  for (const Call::Address& address : call.addresses) {
    text += std::string(comma) + Element(address.buffer, address.index);
    comma = ", ";
  }
  for (const std::int64_t integer : call.integers) {
    text += std::string(comma) + std::to_string(integer);
    comma = ", ";
  }
  return text + ")";
}

struct Headliner {
  std::string operator()(const For& loop) const {
    return "for " + Name(loop.var) + " < " + Print(loop.extent) + std::string(Text(loop.kind));
  }
  std::string operator()(const Let& let) const {
    return "let " + Name(let.var) + ": " + ToString(let.value->type) + " = " + Print(let.value);
  }
  std::string operator()(const Assign& assign) const {
    return Name(assign.var) + " = " + Print(assign.value);
  }
  std::string operator()(const Store& store) const {
    return Element(store.buffer, store.index) + Valid(store.valid) + " = " + Print(store.value);
  }
  std::string operator()(const Prefetch& prefetch) const {
    return "prefetch " + Element(prefetch.buffer, prefetch.index);
  }
  std::string operator()(const If& branch) const { return "if " + Print(branch.condition); }
  std::string operator()(const Call& call) const { return PrintCall(call); }
};

std::string PrintBody(const std::vector<Stmt>& body, int indent) {
  std::string text;
  for (const Stmt& stmt : body) text += Print(stmt, indent);
  return text;
}

}  // namespace

std::string Print(const Expr& expr) {
  const ExprNode& node = *expr;
  switch (node.op) {
    case Op::kInt:
    case Op::kFloat:
      return Constant(node);
    case Op::kVar:
      return Name(node.var);
    case Op::kLoad:
      return ToString(node.type) + " " + Element(node.buffer, node.args[0]) + Valid(node.valid);
    case Op::kBroadcast:
      return "broadcast(" + Print(node.args[0]) + ", " + std::to_string(node.type.lanes) + ")";
    case Op::kCast:
    case Op::kBits:
      return (node.op == Op::kCast ? "cast(" : "bits(") + Print(node.args[0]) + ", " +
             ToString(node.type) + ")";
    default:
      break;
  }
  const int own = Precedence(node.op);
  if (own == 0) return std::string(Text(node.op)) + PrintArgs(node);
  return Sub(node.args[0], own) + " " + std::string(Text(node.op)) + " " +
         Sub(node.args[1], own + 1);
}

std::string Headline(const Stmt& stmt) {
  return std::visit(Headliner{}, stmt.node);
}

std::string Print(const Stmt& stmt, int indent) {
  const std::string space(static_cast<std::size_t>(indent) * 2, ' ');
  std::string text = space + Headline(stmt);
  if (const For* loop = std::get_if<For>(&stmt.node)) {
    return text + " {\n" + PrintBody(loop->body, indent + 1) + space + "}\n";
  }
  if (const If* branch = std::get_if<If>(&stmt.node)) {
    text += " {\n" + PrintBody(branch->body, indent + 1) + space + "}";
    if (!branch->otherwise.empty()) {
      text += " else {\n" + PrintBody(branch->otherwise, indent + 1) + space + "}";
    }
  }
  return text + "\n";
}

std::string Print(const KernelFunc& func) {
  std::string text = "kernel " + Quoted(func.name) + "\n";
  for (std::size_t i = 0; i < func.buffers.size(); ++i) {
    const Buffer& buffer = func.buffers[i];
    text += "  b" + std::to_string(i) + " " + Quoted(buffer.name) + ": " +
            ToString(Type{buffer.dtype, 1}) + "[" + std::to_string(buffer.elements) + "] " +
            std::string(Text(buffer.access)) + "\n";
  }
  return text + PrintBody(func.body, 0);
}

}  // namespace msc::kernel
