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

/// How an operator is printed: as a function call if its precedence is 0.
struct Spelling {
  std::string_view text;
  int precedence = 0;
};

Spelling SpellingOf(Op op) {
  // The rows follow the order of the enumerators from kAdd on; those before have their own form.
  constexpr auto kSpellings = std::to_array<Spelling>(
      {{"+", 4},  {"-", 4},        {"*", 5},   {"/", 5},       {"%", 5},
       {"min"},   {"max"},         {"sqrt"},   {"exp"},        {"tanh"},
       {"erf"},   {"sigmoid"},     {"log"},    {"floor"},      {"<", 3},
       {"<=", 3}, {"==", 3},       {"and", 2}, {"or", 1},      {"select"},
       {"dot4"},  {"dot4_narrow"}, {"dot2"},   {"reduce_add"}, {"reduce_max"}});
  if (op < Op::kAdd) return {"?"};
  return kSpellings.at(static_cast<std::size_t>(op) - static_cast<std::size_t>(Op::kAdd));
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
  const int own = SpellingOf(expr->op).precedence;
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
  constexpr std::array<std::string_view, 3> kWords = {"", " unrolled", " parallel"};
  return kWords.at(static_cast<std::size_t>(kind));
}

std::string_view Text(Access access) {
  constexpr std::array<std::string_view, 4> kWords = {"read", "write", "read_write", "scratch"};
  return kWords.at(static_cast<std::size_t>(access));
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
    case Op::kGroupBroadcast:
      return "broadcast(" + Print(node.args[0]) + ", lane " + std::to_string(node.integer) +
             " of " + std::to_string(node.group) + ")";
    case Op::kCast:
    case Op::kBits:
      return (node.op == Op::kCast ? "cast(" : "bits(") + Print(node.args[0]) + ", " +
             ToString(node.type) + ")";
    default:
      break;
  }
  const auto [text, own] = SpellingOf(node.op);
  if (own == 0) return std::string(text) + PrintArgs(node);
  return Sub(node.args[0], own) + " " + std::string(text) + " " + Sub(node.args[1], own + 1);
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
