#include "compiler/codegen/cpp/emit.h"

#include <algorithm>
#include <variant>

#include "compiler/base/error.h"
#include "compiler/codegen/cpp/expr_text.h"
#include "compiler/codegen/cpp/preamble.h"
#include "compiler/kernel/call.h"

namespace msc {

using kernel::Access;
using kernel::KernelFunc;
using kernel::Stmt;
using kernel::Type;

namespace {

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
  template <class WriteInside>
  void Block(const std::string& head, const WriteInside& inside) {
    Line(head + "{");
    ++indent_;
    inside();
    --indent_;
    Line("}");
  }
  void Block(const std::string& head, const std::vector<Stmt>& body) {
    Block(head, [&] { Body(body); });
  }

  void Write(const kernel::For& loop) {
    const std::string var = Name(loop.var);
    const std::int64_t* extent = AsInt(loop.extent);
    if (loop.kind == kernel::LoopKind::kUnrolled) {
      Check(extent != nullptr, "the extent of an unrolled loop is constant");
      const std::int64_t count = extent == nullptr ? 0 : *extent;
      // Each copy of the body is a block, so that its variables have a scope of their own.
      for (std::int64_t i = 0; i < count; ++i) {
        Block("", [&] {
          Line("const i64 " + var + " = " + std::to_string(i) + "L;");
          Body(loop.body);
        });
      }
      return;
    }
    std::string start = var + " = 0";
    std::string end = "e" + std::to_string(loop.var.id);
    // The caller cuts the iterations of a parallel loop into parts.
    if (loop.kind == kernel::LoopKind::kParallel) {
      start = var + " = begin";
      end = "end";
    } else if (extent != nullptr) {
      end = std::to_string(*extent) + "L";
    } else {
      // A computed extent is evaluated once.
      start += ", " + end + " = " + ValueText(loop.extent, preamble_);
    }
    Block("for (i64 " + start + "; " + var + " < " + end + "; ++" + var + ") ", loop.body);
  }

  void Write(const kernel::Let& let) {
    const std::string type = VariableType(let.value->type, preamble_);
    Line(type + " " + Name(let.var) + " = " + StoredText(let.value, preamble_) + ";");
  }
  void Write(const kernel::Assign& assign) {
    Line(Name(assign.var) + " = " + StoredText(assign.value, preamble_) + ";");
  }
  void Write(const kernel::Store& store) {
    Type type = store.value->type;
    std::string value;
    if (IsBoolVector(type)) {
      // Masks are -1 where true; memory holds 1.
      type.dtype = DType::kU8;
      value =
          "(" + preamble_.TypeName(type) + ")(" + MaskText(store.value, 1, preamble_) + " & (i8)1)";
    } else {
      value = ValueText(store.value, preamble_);
    }
    const std::string address = Name(store.buffer) + " + " + ValueText(store.index, preamble_);
    if (store.valid != 0 && type.lanes > 1) {
      Line(preamble_.PartialStore(type, store.valid) + "(" + address + ", " + value + ");");
    } else if (type.lanes == 1) {
      Line(Name(store.buffer) + "[" + ValueText(store.index, preamble_) + "] = " + value + ";");
    } else {
      Line("*(" + preamble_.MemoryTypeName(type) + "*)(" + address + ") = " + value + ";");
    }
  }
  void Write(const kernel::Prefetch& prefetch) {
    // Computed as an integer, because a pointer must not leave its array. Locality 2: into the L2
    // cache.
    const std::string bytes = std::to_string(ByteSize(func_.buffers[prefetch.buffer.index].dtype));
    Line("__builtin_prefetch((const char*)((i64)" + Name(prefetch.buffer) + " + " +
         ValueText(prefetch.index, preamble_) + " * " + bytes + "L), 0, 2);");
  }
  void Write(const kernel::If& branch) {
    Block("if (" + ValueText(branch.condition, preamble_) + ") ", branch.body);
    if (!branch.otherwise.empty()) Block("else ", branch.otherwise);
  }

  void Write(const kernel::Call& call) {
    const auto found = std::find(called_.begin(), called_.end(), call.function);
    std::string addresses;
    for (const kernel::Call::Address& address : call.addresses) {
      addresses += (addresses.empty() ? "(char*)(" : ", (char*)(") + Name(address.buffer) + " + " +
                   ValueText(address.index, preamble_) + ")";
    }
    std::string integers;
    for (const std::int64_t integer : call.integers) {
      integers += (integers.empty() ? "" : ", ") + IntegerLiteral(DType::kI64, integer);
    }
    Block("", [&] {
      Line("char* const addresses[] = {" + addresses + "};");
      Line("const long integers[] = {" + integers + "};");
      Line("functions[" + std::to_string(found - called_.begin()) + "](addresses, integers);");
    });
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
  // No kernel reads errno or the flags of floating-point exceptions.
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
