#pragma once

// Private to this folder: what is known of integers at a place in a kernel.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/kernel/expr.h"
#include "compiler/kernel/integer.h"

namespace msc::kernel {

/// constant + sum of coefficient * atom: ids ascending, no coefficient 0.
struct Linear {
  std::int64_t constant = 0;
  std::vector<std::pair<int, std::int64_t>> terms;
};

/// Bounds of index expressions. Integers become linear forms over atoms: loop variables, quotients,
/// minima, and what is opaque. Each atom has an interval; facts say of a form that it is <= 0. A
/// form is at most 0 if its interval says so, or once atoms are cancelled by adding multiples of
/// facts (Fourier and Motzkin's elimination, a few steps deep). Sound, not complete: yes is proven,
/// no may only mean that it was too hard.
class Ranges {
 public:
  /// Everything known at one place; going back to it forgets what came after.
  struct Mark {
    std::size_t facts = 0;
  };
  [[nodiscard]] Mark mark() const { return {facts_.size()}; }
  void Return(Mark mark) { facts_.resize(mark.facts); }

  /// 0 <= var < extent from here on.
  void AddLoop(VarId var, const Expr& extent);
  /// var is value from here on, and is never assigned to. Other types than integers do not matter.
  void AddLet(VarId var, const Expr& value);
  /// The scalar condition has this truth from here on.
  void AddCondition(const Expr& condition, bool truth);

  /// 0 <= first and first + count <= elements, whenever this place is reached.
  [[nodiscard]] bool Inside(const Expr& first, std::int64_t count, std::int64_t elements);
  /// What the expression's interval alone says: for messages.
  [[nodiscard]] IntegerRange RangeOf(const Expr& expr);

 private:
  [[nodiscard]] Linear Analyze(const Expr& expr);
  [[nodiscard]] Linear AnalyzeExact(const Expr& expr);
  [[nodiscard]] Linear AnalyzeSelect(const ExprNode& node);
  [[nodiscard]] Linear Quotient(const Linear& a, std::int64_t divisor);
  [[nodiscard]] Linear Remainder(const Linear& a, std::int64_t divisor);
  [[nodiscard]] Linear MinMax(Op op, const Linear& a, const Linear& b);
  [[nodiscard]] Linear Opaque(IntegerRange range);
  [[nodiscard]] int Atom(const std::string& key, IntegerRange range, bool& is_new);
  [[nodiscard]] IntegerRange Interval(const Linear& form) const;
  /// Better than the interval by one step with one fact.
  [[nodiscard]] std::int64_t Most(const Linear& form, const std::vector<Linear>& facts) const;
  [[nodiscard]] IntegerRange Bounds(const Linear& form, const std::vector<Linear>& facts) const;
  [[nodiscard]] bool AtMostZero(const Linear& form, int depth, int& budget) const;
  [[nodiscard]] bool AtMostZero(const Linear& form) const;
  [[nodiscard]] bool Fits(const Linear& form, DType dtype) const;

  std::vector<IntegerRange> atoms_;
  std::map<std::string, int> keys_;
  std::map<std::uint32_t, Linear> variables_;
  std::vector<Linear> facts_;    ///< of the place: each <= 0
  std::vector<Linear> lasting_;  ///< of atoms, wherever: each <= 0
};

}  // namespace msc::kernel
