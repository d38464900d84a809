#include "compiler/kernel/verify.h"

#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/kernel/call.h"
#include "compiler/kernel/print.h"
#include "compiler/kernel/ranges.h"

namespace msc::kernel {
namespace {

constexpr std::size_t kMaxErrors = 20;
constexpr std::int64_t kLongestUnrolled = 1024;
constexpr int kDeepest = 64;

void CollectAssigned(const std::vector<Stmt>& body, std::set<std::uint32_t>& assigned) {
  for (const Stmt& stmt : body) {
    if (const auto* assign = std::get_if<Assign>(&stmt.node)) assigned.insert(assign->var.id);
    if (const auto* loop = std::get_if<For>(&stmt.node)) CollectAssigned(loop->body, assigned);
    if (const auto* branch = std::get_if<If>(&stmt.node)) {
      CollectAssigned(branch->body, assigned);
      CollectAssigned(branch->otherwise, assigned);
    }
  }
}

class Verifier {
 public:
  explicit Verifier(const KernelFunc& func) : func_(func) { CollectAssigned(func.body, assigned_); }

  std::vector<std::string> Run() {
    for (const Buffer& buffer : func_.buffers) {
      if (ByteSize(buffer.dtype) == 0 || buffer.elements < 0) {
        errors_.push_back("buffer " + buffer.name + ": has no size");
      }
    }
    whole_ = func_.body.size() == 1 ? &func_.body[0] : nullptr;
    Body(func_.body, 0);
    return std::move(errors_);
  }

 private:
  struct Variable {
    Type type;
    bool is_loop = false;
  };

  void Error(const std::string& what) {
    if (errors_.size() < kMaxErrors) errors_.push_back(Headline(*stmt_) + ": " + what);
  }

  void Body(const std::vector<Stmt>& body, int depth) {
    if (depth > kDeepest) {
      Error("is nested too deep");
      return;
    }
    const Ranges::Mark here = ranges_.mark();
    std::vector<std::uint32_t> defined;
    for (const Stmt& stmt : body) {
      stmt_ = &stmt;
      std::visit([&](const auto& node) { Check(node, depth); }, stmt.node);
      if (const auto* let = std::get_if<Let>(&stmt.node)) defined.push_back(let->var.id);
    }
    for (const std::uint32_t id : defined) visible_.erase(id);
    ranges_.Return(here);
  }

  void Define(VarId var, Variable variable) {
    if (!seen_.insert(var.id).second) Error("v" + std::to_string(var.id) + " is defined twice");
    visible_[var.id] = variable;
  }

  void Check(const For& loop, int depth) {
    Value(loop.extent);
    if (loop.extent->type != kIndex) Error("the extent is not a scalar i64");
    const std::int64_t* extent = AsInt(loop.extent);
    if (loop.kind != LoopKind::kSerial && extent == nullptr) Error("the extent is not constant");
    if (loop.kind == LoopKind::kParallel && stmt_ != whole_) {
      Error("a parallel loop is not the whole body");
    }
    if (loop.kind == LoopKind::kUnrolled && extent != nullptr && *extent > kLongestUnrolled) {
      Error("is too long to be unrolled");
    }
    Define(loop.var, {kIndex, true});
    const Ranges::Mark here = ranges_.mark();
    if (loop.extent->type == kIndex) ranges_.AddLoop(loop.var, loop.extent);
    if (loop.kind == LoopKind::kParallel) in_parallel_ = true;  // the loop is the whole body
    Body(loop.body, depth + 1);
    visible_.erase(loop.var.id);
    ranges_.Return(here);
  }

  void Check(const Let& let, int /*depth*/) {
    Value(let.value);
    Define(let.var, {let.value->type, false});
    if (assigned_.count(let.var.id) == 0) ranges_.AddLet(let.var, let.value);
  }

  void Check(const Assign& assign, int /*depth*/) {
    Value(assign.value);
    const auto found = visible_.find(assign.var.id);
    const std::string name = "v" + std::to_string(assign.var.id);
    if (found == visible_.end()) {
      Error(name + " is not defined here");
    } else if (found->second.is_loop) {
      Error("loop variable " + name + " is assigned to");
    } else if (found->second.type != assign.value->type) {
      Error(name + " is " + ToString(found->second.type) + ", not " + ToString(assign.value->type));
    }
  }

  void Check(const Store& store, int /*depth*/) {
    Value(store.index);
    Value(store.value);
    const Type type = store.value->type;
    if (store.valid < 0 || store.valid > type.lanes) Error("more lanes are valid than there are");
    const Buffer* buffer = Find(store.buffer);
    if (buffer == nullptr) return;
    if (buffer->access == Access::kRead) Error(Name(store.buffer) + " may only be read");
    Elements(store.buffer, store.index, type, store.valid);
  }

  void Check(const Prefetch& prefetch, int /*depth*/) {
    Value(prefetch.index);
    if (prefetch.index->type != kIndex) Error("an index is not a scalar i64");
    (void)Find(prefetch.buffer);
  }

  void Check(const If& branch, int depth) {
    Value(branch.condition);
    if (branch.condition->type != Type{DType::kBool, 1})
      Error("the condition is not a scalar bool");
    const Stmt* const own = stmt_;
    const Ranges::Mark here = ranges_.mark();
    ranges_.AddCondition(branch.condition, true);
    Body(branch.body, depth + 1);
    ranges_.Return(here);
    stmt_ = own;
    ranges_.AddCondition(branch.condition, false);
    Body(branch.otherwise, depth + 1);
    ranges_.Return(here);
  }

  void Check(const Call& call, int /*depth*/) {
    for (const Call::Address& address : call.addresses) {
      Value(address.index);
      if (address.index->type != kIndex) Error("an index is not a scalar i64");
    }
    const CallFacts facts = FactsOf(call);
    if (!facts.error.empty()) Error(facts.error);
    if (facts.parallel && in_parallel_) Error("has threads of its own in a parallel loop");
    for (std::size_t i = 0; i < facts.touched.size(); ++i) {
      const BufferRef ref = call.addresses[i].buffer;
      const Buffer* buffer = Find(ref);
      if (buffer == nullptr) continue;
      const Touched& touched = facts.touched[i];
      const bool writes = touched.access != Access::kRead;
      if (writes && buffer->access == Access::kRead) Error(Name(ref) + " may only be read");
      if (!writes && buffer->access == Access::kWrite) Error(Name(ref) + " may only be written");
      for (std::size_t other = 0; other < facts.touched.size() && writes; ++other) {
        if (other != i && call.addresses[other].buffer.index == ref.index) {
          Error(Name(ref) + " is written and given twice");
        }
      }
      Elements(ref, call.addresses[i].index, {touched.dtype, 1}, touched.elements);
    }
  }

  void Value(const Expr& expr) {
    const ExprNode& node = *expr;
    for (const Expr& arg : node.args) Value(arg);
    if (node.op == Op::kVar) {
      const auto found = visible_.find(node.var.id);
      const std::string name = "v" + std::to_string(node.var.id);
      if (found == visible_.end()) {
        Error(name + " is not defined here");
      } else if (found->second.type != node.type) {
        Error(name + " is " + ToString(found->second.type) + ", not " + ToString(node.type));
      }
    }
    if (node.op == Op::kLoad) {
      const Buffer* buffer = Find(node.buffer);
      if (buffer == nullptr) return;
      if (buffer->access == Access::kWrite) Error(Name(node.buffer) + " may only be written");
      Elements(node.buffer, node.args[0], node.type, node.valid);
    }
  }

  static std::string Name(BufferRef buffer) { return "b" + std::to_string(buffer.index); }

  const Buffer* Find(BufferRef buffer) {
    if (buffer.index < func_.buffers.size()) return &func_.buffers[buffer.index];
    Error(Name(buffer) + " is not there");
    return nullptr;
  }

  void Elements(BufferRef ref, const Expr& index, Type type, std::int64_t valid) {
    const Buffer& buffer = func_.buffers[ref.index];
    if (buffer.dtype != type.dtype) {
      Error(Name(ref) + " is of " + ToString(Type{buffer.dtype, 1}) + ", not " + ToString(type));
    }
    const std::int64_t count = valid == 0 ? type.lanes : valid;
    if (index->type != kIndex || ranges_.Inside(index, count, buffer.elements)) return;
    const IntegerRange range = ranges_.RangeOf(index);
    Error(Name(ref) + "[" + Print(index) + "] is not proven to stay inside: " +
          std::to_string(count) + " from " + std::to_string(range.least) + " .. " +
          std::to_string(range.most) + " of " + std::to_string(buffer.elements));
  }

  const KernelFunc& func_;
  const Stmt* whole_ = nullptr;
  const Stmt* stmt_ = nullptr;
  bool in_parallel_ = false;
  std::set<std::uint32_t> assigned_;
  std::set<std::uint32_t> seen_;
  std::map<std::uint32_t, Variable> visible_;
  Ranges ranges_;
  std::vector<std::string> errors_;
};

}  // namespace

std::vector<std::string> Verify(const KernelFunc& func) {
  return Verifier(func).Run();
}

void CheckVerified(const KernelFunc& func) {
  const std::vector<std::string> errors = Verify(func);
  if (errors.empty()) return;
  std::string text = "kernel '" + func.name + "' is sound, but";
  for (const std::string& error : errors) text += "\n  " + error;
  Check(false, text.c_str());
}

}  // namespace msc::kernel
