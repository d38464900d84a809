#include "compiler/kernel/ranges.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>

namespace msc::kernel {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr IntegerRange kAnything{kLeast, kMost};

std::int64_t Saturate(Wide value) {
  return static_cast<std::int64_t>(std::clamp(value, Wide{kLeast}, Wide{kMost}));
}

/// Returns a * x + b * y, or nullopt if a number exceeds a quarter of the range of i64, so that
/// callers can add to it without an overflow.
std::optional<Linear> Combine(std::int64_t a, const Linear& x, std::int64_t b, const Linear& y) {
  bool fits = true;
  const auto number = [&](Wide value) {
    fits = fits && value >= kLeast / 4 && value <= kMost / 4;
    return fits ? static_cast<std::int64_t>(value) : 0;
  };
  Linear sum;
  sum.constant = number(Wide{a} * x.constant + Wide{b} * y.constant);
  auto i = x.terms.begin();
  auto j = y.terms.begin();
  while (i != x.terms.end() || j != y.terms.end()) {
    const bool left = j == y.terms.end() || (i != x.terms.end() && i->first <= j->first);
    const bool right = i == x.terms.end() || (j != y.terms.end() && j->first <= i->first);
    const int atom = left ? i->first : j->first;
    Wide value = 0;
    if (left) value += Wide{a} * (i++)->second;
    if (right) value += Wide{b} * (j++)->second;
    const std::int64_t coefficient = number(value);
    if (coefficient != 0) sum.terms.emplace_back(atom, coefficient);
  }
  if (!fits) return std::nullopt;
  return sum;
}

Linear Constant(std::int64_t value) {
  return {value, {}};
}

std::string Key(const Linear& form) {
  std::string key = std::to_string(form.constant);
  for (const auto& [atom, coefficient] : form.terms) {
    key += "+" + std::to_string(coefficient) + "a" + std::to_string(atom);
  }
  return key;
}

/// Divides a form <= 0 by the common divisor of its coefficients; the constant is rounded up, since
/// the form is an integer.
void Normalize(Linear& form) {
  std::int64_t divisor = 0;
  for (const auto& term : form.terms) divisor = std::gcd(divisor, term.second);
  if (divisor <= 1) return;
  for (auto& term : form.terms) term.second /= divisor;
  form.constant = -FloorDiv(-form.constant, divisor);
}

/// form <= rest / divisor.
struct Step {
  Linear rest;
  std::int64_t divisor = 1;
};

/// Cancels the atom by subtracting a multiple of the fact; nullopt unless that multiple is
/// positive.
std::optional<Step> Cancel(const Linear& form, const Linear& fact, int atom,
                           std::int64_t coefficient) {
  const auto same = std::find_if(fact.terms.begin(), fact.terms.end(),
                                 [&](const auto& term) { return term.first == atom; });
  if (same == fact.terms.end() || (same->second > 0) != (coefficient > 0)) return std::nullopt;
  const std::int64_t divisor = std::abs(same->second);
  auto rest = Combine(divisor, form, -std::abs(coefficient), fact);
  if (!rest) return std::nullopt;
  return Step{std::move(*rest), divisor};
}

bool IsAnalyzed(DType dtype) {
  return IsInteger(dtype) && dtype != DType::kU64;
}

}  // namespace

int Ranges::Atom(const std::string& key, IntegerRange range, bool& is_new) {
  const auto [entry, inserted] = keys_.try_emplace(key, static_cast<int>(atoms_.size()));
  is_new = inserted;
  if (inserted) atoms_.push_back(range);
  return entry->second;
}

Linear Ranges::Opaque(IntegerRange range) {
  atoms_.push_back(range);
  return {0, {{static_cast<int>(atoms_.size()) - 1, 1}}};
}

IntegerRange Ranges::Interval(const Linear& form) const {
  Wide least = form.constant;
  Wide most = form.constant;
  for (const auto& [atom, coefficient] : form.terms) {
    const IntegerRange& range = atoms_[static_cast<std::size_t>(atom)];
    const Wide a = Wide{coefficient} * range.least;
    const Wide b = Wide{coefficient} * range.most;
    least += std::min(a, b);
    most += std::max(a, b);
  }
  return {Saturate(least), Saturate(most)};
}

std::int64_t Ranges::Most(const Linear& form, const std::vector<Linear>& facts) const {
  std::int64_t most = Interval(form).most;
  for (const Linear& fact : facts) {
    for (const auto& [atom, coefficient] : form.terms) {
      if (const auto step = Cancel(form, fact, atom, coefficient)) {
        most = std::min(most, FloorDiv(Interval(step->rest).most, step->divisor));
      }
    }
  }
  return most;
}

IntegerRange Ranges::Bounds(const Linear& form, const std::vector<Linear>& facts) const {
  IntegerRange range = Interval(form);
  if (const auto negative = Combine(-1, form, 0, {})) {
    const std::int64_t most = Most(*negative, facts);
    // A saturated bound carries no information.
    if (most < kMost && most > kLeast) range.least = std::max(range.least, -most);
  }
  range.most = std::min(range.most, Most(form, facts));
  return range;
}

bool Ranges::AtMostZero(const Linear& form, int depth, int& budget) const {
  if (Interval(form).most <= 0) return true;
  if (depth == 0) return false;
  for (const std::vector<Linear>* facts : {&facts_, &lasting_}) {
    for (const Linear& fact : *facts) {
      for (const auto& [atom, coefficient] : form.terms) {
        auto step = Cancel(form, fact, atom, coefficient);
        if (!step) continue;
        if (--budget < 0) return false;
        // form <= rest / divisor and form is an integer, so rest < divisor suffices for form <= 0.
        step->rest.constant -= step->divisor - 1;
        Normalize(step->rest);
        if (AtMostZero(step->rest, depth - 1, budget)) return true;
      }
    }
  }
  return false;
}

bool Ranges::AtMostZero(const Linear& form) const {
  // Most proofs are shallow: try these first.
  for (const int depth : {0, 1, 2, 4}) {
    int budget = 3000;
    if (AtMostZero(form, depth, budget)) return true;
  }
  return false;
}

bool Ranges::Fits(const Linear& form, DType dtype) const {
  const IntegerRange range = kernel::RangeOf(dtype);
  const IntegerRange own = Interval(form);
  // A saturated interval is unknown.
  if (own.least > kLeast && own.most < kMost && own.least >= range.least &&
      own.most <= range.most) {
    return true;
  }
  const auto over = Combine(1, form, 1, Constant(-std::min(range.most, kMost / 8)));
  const auto under = Combine(-1, form, 1, Constant(std::max(range.least, kLeast / 8)));
  return over && under && AtMostZero(*over) && AtMostZero(*under);
}

Linear Ranges::Quotient(const Linear& a, std::int64_t divisor) {
  // floor((divisor * whole + rest) / divisor) = whole + floor(rest / divisor).
  Linear whole{FloorDiv(a.constant, divisor), {}};
  Linear rest{FloorMod(a.constant, divisor), {}};
  for (const auto& [atom, coefficient] : a.terms) {
    const bool divides = coefficient % divisor == 0;
    (divides ? whole : rest)
        .terms.emplace_back(atom, divides ? coefficient / divisor : coefficient);
  }
  const IntegerRange range = Bounds(rest, lasting_);
  const bool is_atom = rest.constant == 0 && rest.terms.size() == 1 && rest.terms[0].second == 1;
  if (!is_atom && (range.least == kLeast || range.most == kMost)) return Opaque(kAnything);
  const IntegerRange quotient{FloorDiv(range.least, divisor), FloorDiv(range.most, divisor)};
  if (quotient.least == quotient.most) {
    whole.constant += quotient.least;
    return whole;
  }
  bool is_new = false;
  const int atom = Atom("(" + Key(rest) + ")/" + std::to_string(divisor), quotient, is_new);
  const Linear q{0, {{atom, 1}}};
  if (is_new) {
    // divisor * q <= rest <= divisor * q + divisor - 1.
    if (auto fact = Combine(divisor, q, -1, rest)) lasting_.push_back(*fact);
    if (auto fact = Combine(1, rest, -divisor, q)) {
      fact->constant -= divisor - 1;
      lasting_.push_back(*fact);
    }
  }
  return Combine(1, whole, 1, q).value_or(Opaque(kAnything));
}

Linear Ranges::Remainder(const Linear& a, std::int64_t divisor) {
  const IntegerRange range{0, divisor - 1};
  const auto form = Combine(1, a, -divisor, Quotient(a, divisor));
  if (!form) return Opaque(range);
  const IntegerRange own = Bounds(*form, lasting_);
  if (own.least >= range.least && own.most <= range.most) return *form;
  bool is_new = false;
  const int atom = Atom("(" + Key(*form) + ")%" + std::to_string(divisor), range, is_new);
  const Linear m{0, {{atom, 1}}};
  if (is_new) {
    for (const int sign : {1, -1}) {
      if (auto fact = Combine(sign, m, -sign, *form)) lasting_.push_back(*fact);
    }
  }
  return m;
}

Linear Ranges::MinMax(Op op, const Linear& a, const Linear& b) {
  const int sign = op == Op::kMin ? 1 : -1;
  const auto a_first = Combine(sign, a, -sign, b);
  const auto b_first = Combine(sign, b, -sign, a);
  if (a_first && AtMostZero(*a_first)) return a;
  if (b_first && AtMostZero(*b_first)) return b;
  const IntegerRange x = Bounds(a, lasting_);
  const IntegerRange y = Bounds(b, lasting_);
  const IntegerRange range =
      op == Op::kMin ? IntegerRange{std::min(x.least, y.least), std::min(x.most, y.most)}
                     : IntegerRange{std::max(x.least, y.least), std::max(x.most, y.most)};
  bool is_new = false;
  const int atom =
      Atom((op == Op::kMin ? "min(" : "max(") + Key(a) + "," + Key(b) + ")", range, is_new);
  const Linear m{0, {{atom, 1}}};
  if (is_new) {
    // A minimum is <= both operands, a maximum >= both.
    if (auto fact = Combine(sign, m, -sign, a)) lasting_.push_back(*fact);
    if (auto fact = Combine(sign, m, -sign, b)) lasting_.push_back(*fact);
  }
  return m;
}

Linear Ranges::AnalyzeSelect(const ExprNode& node) {
  const Mark here = mark();
  AddCondition(node.args[0], true);
  const Linear yes = Analyze(node.args[1]);
  const IntegerRange x = Bounds(yes, facts_);
  Return(here);
  AddCondition(node.args[0], false);
  const Linear no = Analyze(node.args[2]);
  const IntegerRange y = Bounds(no, facts_);
  Return(here);
  return Opaque({std::min(x.least, y.least), std::max(x.most, y.most)});
}

Linear Ranges::AnalyzeExact(const Expr& expr) {
  const ExprNode& node = *expr;
  const IntegerRange any = kernel::RangeOf(node.type.dtype);
  switch (node.op) {
    case Op::kInt:
      return Constant(node.integer);
    case Op::kVar: {
      const auto known = variables_.find(node.var.id);
      return known != variables_.end() ? known->second : Opaque(any);
    }
    case Op::kAdd:
      return Combine(1, Analyze(node.args[0]), 1, Analyze(node.args[1])).value_or(Opaque(any));
    case Op::kSub:
      return Combine(1, Analyze(node.args[0]), -1, Analyze(node.args[1])).value_or(Opaque(any));
    case Op::kMul: {
      const Linear a = Analyze(node.args[0]);
      const Linear b = Analyze(node.args[1]);
      if (b.terms.empty()) return Combine(b.constant, a, 0, {}).value_or(Opaque(any));
      if (a.terms.empty()) return Combine(a.constant, b, 0, {}).value_or(Opaque(any));
      const IntegerRange x = Interval(a);
      const IntegerRange y = Interval(b);
      const std::initializer_list<Wide> corners = {Wide{x.least} * y.least, Wide{x.least} * y.most,
                                                   Wide{x.most} * y.least, Wide{x.most} * y.most};
      return Opaque({Saturate(std::min(corners)), Saturate(std::max(corners))});
    }
    case Op::kDiv:
      return Quotient(Analyze(node.args[0]), node.args[1]->integer);
    case Op::kMod:
      return Remainder(Analyze(node.args[0]), node.args[1]->integer);
    case Op::kMin:
    case Op::kMax:
      return MinMax(node.op, Analyze(node.args[0]), Analyze(node.args[1]));
    case Op::kSelect:
      return AnalyzeSelect(node);
    case Op::kCast:
      if (node.args[0]->type.dtype == DType::kBool) return Opaque({0, 1});
      return IsAnalyzed(node.args[0]->type.dtype) ? Analyze(node.args[0]) : Opaque(any);
    default:
      return Opaque(any);
  }
}

Linear Ranges::Analyze(const Expr& expr) {
  const DType dtype = expr->type.dtype;
  if (expr->type.lanes != 1 || !IsAnalyzed(dtype)) return Opaque(kAnything);
  Linear form = AnalyzeExact(expr);
  // The form holds only if the operation cannot have wrapped around.
  const bool wraps =
      expr->op == Op::kAdd || expr->op == Op::kSub || expr->op == Op::kMul || expr->op == Op::kCast;
  return !wraps || Fits(form, dtype) ? form : Opaque(kernel::RangeOf(dtype));
}

void Ranges::AddLoop(VarId var, const Expr& extent) {
  const Linear end = Analyze(extent);
  const IntegerRange range = Interval(end);
  const Linear form =
      Opaque({0, std::max<std::int64_t>(0, range.most == kLeast ? 0 : range.most - 1)});
  variables_[var.id] = form;
  if (end.terms.empty()) return;
  // var + 1 - extent <= 0.
  if (auto fact = Combine(1, form, -1, end)) {
    ++fact->constant;
    facts_.push_back(*fact);
  }
}

void Ranges::AddLet(VarId var, const Expr& value) {
  if (value->type.lanes == 1 && IsAnalyzed(value->type.dtype)) variables_[var.id] = Analyze(value);
}

void Ranges::AddCondition(const Expr& condition, bool truth) {
  const ExprNode& node = *condition;
  if ((node.op == Op::kAnd && truth) || (node.op == Op::kOr && !truth)) {
    AddCondition(node.args[0], truth);
    AddCondition(node.args[1], truth);
    return;
  }
  const bool compares =
      node.op == Op::kLess || node.op == Op::kLessEqual || (node.op == Op::kEqual && truth);
  if (!compares || !IsAnalyzed(node.args[0]->type.dtype)) return;
  const Linear a = Analyze(node.args[0]);
  const Linear b = Analyze(node.args[1]);
  const auto at_most = [&](const Linear& x, const Linear& y, std::int64_t more) {
    if (auto fact = Combine(1, x, -1, y)) {
      fact->constant += more;
      facts_.push_back(*fact);
    }
  };
  if (node.op == Op::kEqual) {
    at_most(a, b, 0);
    at_most(b, a, 0);
  } else if (truth) {
    at_most(a, b, node.op == Op::kLess ? 1 : 0);
  } else {
    at_most(b, a, node.op == Op::kLess ? 0 : 1);
  }
}

bool Ranges::Inside(const Expr& first, std::int64_t count, std::int64_t elements) {
  const Linear form = Analyze(first);
  const auto under = Combine(-1, form, 0, {});
  const auto over = Combine(1, form, 1, Constant(count - elements));
  return under && over && AtMostZero(*under) && AtMostZero(*over);
}

IntegerRange Ranges::RangeOf(const Expr& expr) {
  return Interval(Analyze(expr));
}

}  // namespace msc::kernel
