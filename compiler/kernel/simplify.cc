#include "compiler/kernel/simplify.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compiler/base/error.h"

namespace msc::kernel {
namespace {

/// Expressions that replace the variables of the old kernel.
using Names = std::map<std::uint32_t, Expr>;

Expr Rebuild(const ExprNode& node, std::vector<Expr> args) {
  switch (node.op) {
    case Op::kLoad:
      return Load(node.buffer, std::move(args[0]), node.type, node.valid);
    case Op::kBroadcast:
      return Broadcast(std::move(args[0]), node.type.lanes);
    case Op::kCast:
      return Cast(std::move(args[0]), node.type);
    case Op::kBits:
      return Bits(std::move(args[0]), node.type);
    case Op::kSelect:
      return Select(std::move(args[0]), std::move(args[1]), std::move(args[2]));
    case Op::kDot4:
    case Op::kDot2:
      return Dot(node.op, std::move(args[0]), std::move(args[1]), std::move(args[2]));
    case Op::kReduceAdd:
    case Op::kReduceMax:
      return Reduce(node.op, std::move(args[0]));
    default:
      return args.size() == 1 ? Unary(node.op, std::move(args[0]))
                              : Binary(node.op, std::move(args[0]), std::move(args[1]));
  }
}

Expr Rename(const Expr& expr, const Names& names) {
  if (expr->op == Op::kVar) {
    const auto found = names.find(expr->var.id);
    return found == names.end() ? expr : found->second;
  }
  if (expr->args.empty()) return expr;
  std::vector<Expr> args;
  for (const Expr& arg : expr->args) args.push_back(Rename(arg, names));
  if (args == expr->args) return expr;
  return Rebuild(*expr, std::move(args));
}

void AddReads(const Expr& expr, std::set<std::uint32_t>& read) {
  if (expr->op == Op::kVar) read.insert(expr->var.id);
  for (const Expr& arg : expr->args) AddReads(arg, read);
}

/// Calls `visit` with each statement, including nested ones.
template <class Visit>
void ForEach(const std::vector<Stmt>& body, const Visit& visit) {
  for (const Stmt& stmt : body) {
    visit(stmt);
    if (const auto* loop = std::get_if<For>(&stmt.node)) ForEach(loop->body, visit);
    if (const auto* branch = std::get_if<If>(&stmt.node)) {
      ForEach(branch->body, visit);
      ForEach(branch->otherwise, visit);
    }
  }
}

class Simplifier {
 public:
  explicit Simplifier(const std::vector<Stmt>& body) {
    ForEach(body, [this](const Stmt& stmt) {
      if (const auto* loop = std::get_if<For>(&stmt.node)) Seen(loop->var);
      if (const auto* let = std::get_if<Let>(&stmt.node)) Seen(let->var);
      if (const auto* assign = std::get_if<Assign>(&stmt.node)) assigned_.insert(assign->var.id);
    });
  }

  std::vector<Stmt> Run(const std::vector<Stmt>& body) {
    std::vector<Stmt> out;
    for (const Stmt& stmt : body) {
      std::visit([&](const auto& node) { Do(node, out); }, stmt.node);
    }
    return out;
  }

 private:
  void Seen(VarId var) { next_ = std::max(next_, var.id + 1); }

  /// Defines a variable of the new kernel; keeps the old id if it is free.
  VarId Define(VarId old, Type type) {
    const VarId var = taken_.insert(old.id).second ? old : VarId{next_++};
    taken_.insert(var.id);
    names_[old.id] = Var(var, type);
    return var;
  }

  void Do(const For& loop, std::vector<Stmt>& out) {
    const Expr extent = Rename(loop.extent, names_);
    const std::int64_t* known = AsInt(extent);
    const bool parallel = loop.kind == LoopKind::kParallel;
    const bool spread =
        known != nullptr && !parallel && (*known <= 1 || loop.kind == LoopKind::kUnrolled);
    if (!spread) {
      const VarId var = Define(loop.var, kIndex);
      std::vector<Stmt> body = Run(loop.body);
      if (parallel || !body.empty()) out.push_back({For{var, extent, loop.kind, std::move(body)}});
      return;
    }
    for (std::int64_t i = 0; i < *known; ++i) {
      names_[loop.var.id] = Int(i);
      for (Stmt& stmt : Run(loop.body)) out.push_back(std::move(stmt));
    }
  }
  void Do(const Let& let, std::vector<Stmt>& out) {
    const Expr value = Rename(let.value, names_);
    const bool fixed = assigned_.count(let.var.id) == 0;
    const bool is_name = value->op == Op::kVar && assigned_new_.count(value->var.id) == 0;
    if (fixed && (value->op == Op::kInt || value->op == Op::kFloat || is_name)) {
      names_[let.var.id] = value;
      return;
    }
    const VarId var = Define(let.var, value->type);
    if (!fixed) assigned_new_.insert(var.id);
    out.push_back({Let{var, value}});
  }
  void Do(const Assign& assign, std::vector<Stmt>& out) {
    const auto found = names_.find(assign.var.id);
    Check(found != names_.end(), "a variable is defined before it is assigned to");
    out.push_back({Assign{found->second->var, Rename(assign.value, names_)}});
  }
  void Do(const Store& store, std::vector<Stmt>& out) {
    out.push_back({Store{store.buffer, Rename(store.index, names_), Rename(store.value, names_),
                         store.valid}});
  }
  void Do(const Prefetch& prefetch, std::vector<Stmt>& out) {
    out.push_back({Prefetch{prefetch.buffer, Rename(prefetch.index, names_)}});
  }
  void Do(const If& branch, std::vector<Stmt>& out) {
    const Expr condition = Rename(branch.condition, names_);
    if (const std::int64_t* known = AsInt(condition)) {
      for (Stmt& stmt : Run(*known != 0 ? branch.body : branch.otherwise)) {
        out.push_back(std::move(stmt));
      }
      return;
    }
    If kept{condition, Run(branch.body), Run(branch.otherwise)};
    if (!kept.body.empty() || !kept.otherwise.empty()) out.push_back({std::move(kept)});
  }
  void Do(const Call& call, std::vector<Stmt>& out) {
    Call kept = call;
    for (Call::Address& address : kept.addresses) address.index = Rename(address.index, names_);
    out.push_back({std::move(kept)});
  }

  Names names_;
  std::set<std::uint32_t> assigned_;      ///< in the old kernel
  std::set<std::uint32_t> assigned_new_;  ///< in the new kernel
  std::set<std::uint32_t> taken_;
  std::uint32_t next_ = 0;
};

/// Returns the variables that an effect, or a condition around one, depends on.
std::set<std::uint32_t> Needed(const std::vector<Stmt>& body) {
  std::set<std::uint32_t> needed;
  std::map<std::uint32_t, std::set<std::uint32_t>> behind;  // variable -> variables it reads
  ForEach(body, [&](const Stmt& stmt) {
    if (const auto* loop = std::get_if<For>(&stmt.node)) AddReads(loop->extent, needed);
    if (const auto* branch = std::get_if<If>(&stmt.node)) AddReads(branch->condition, needed);
    if (const auto* let = std::get_if<Let>(&stmt.node)) AddReads(let->value, behind[let->var.id]);
    if (const auto* assign = std::get_if<Assign>(&stmt.node)) {
      AddReads(assign->value, behind[assign->var.id]);
    }
    if (const auto* store = std::get_if<Store>(&stmt.node)) {
      AddReads(store->index, needed);
      AddReads(store->value, needed);
    }
    if (const auto* prefetch = std::get_if<Prefetch>(&stmt.node)) {
      AddReads(prefetch->index, needed);
    }
    if (const auto* call = std::get_if<Call>(&stmt.node)) {
      for (const Call::Address& address : call->addresses) AddReads(address.index, needed);
    }
  });
  std::vector<std::uint32_t> open(needed.begin(), needed.end());
  while (!open.empty()) {
    const std::uint32_t id = open.back();
    open.pop_back();
    for (const std::uint32_t read : behind[id]) {
      if (needed.insert(read).second) open.push_back(read);
    }
  }
  return needed;
}

void DropUnneeded(std::vector<Stmt>& body, const std::set<std::uint32_t>& needed) {
  for (Stmt& stmt : body) {
    if (auto* loop = std::get_if<For>(&stmt.node)) DropUnneeded(loop->body, needed);
    if (auto* branch = std::get_if<If>(&stmt.node)) {
      DropUnneeded(branch->body, needed);
      DropUnneeded(branch->otherwise, needed);
    }
  }
  std::erase_if(body, [&](const Stmt& stmt) {
    if (const auto* let = std::get_if<Let>(&stmt.node)) return needed.count(let->var.id) == 0;
    if (const auto* assign = std::get_if<Assign>(&stmt.node)) {
      return needed.count(assign->var.id) == 0;
    }
    if (const auto* loop = std::get_if<For>(&stmt.node)) {
      return loop->body.empty() && loop->kind != LoopKind::kParallel;
    }
    const auto* branch = std::get_if<If>(&stmt.node);
    return branch != nullptr && branch->body.empty() && branch->otherwise.empty();
  });
}

std::size_t Count(const std::vector<Stmt>& body) {
  std::size_t count = 0;
  ForEach(body, [&](const Stmt& /*stmt*/) { ++count; });
  return count;
}

}  // namespace

KernelFunc Simplify(KernelFunc func) {
  // Dropping a statement may make a local constant or unneeded, so repeat until nothing changes.
  std::size_t before = 0;
  do {
    before = Count(func.body);
    func.body = Simplifier(func.body).Run(func.body);
    DropUnneeded(func.body, Needed(func.body));
  } while (Count(func.body) != before);
  return func;
}

Expr Replace(const Expr& expr, const std::vector<Replacement>& replacements) {
  Names names;
  for (const Replacement& replacement : replacements) {
    names[replacement.var.id] = replacement.value;
  }
  return Rename(expr, names);
}

}  // namespace msc::kernel
