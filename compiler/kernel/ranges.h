#pragma once

// Bounds of integers at a point of a kernel. Private to this folder.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/kernel/expr.h"
#include "compiler/kernel/integer.h"

namespace msc::kernel {

/// constant + sum of coefficient * atom, with ascending atom ids and no coefficient 0.
struct Linear {
  std::int64_t constant = 0;
  std::vector<std::pair<int, std::int64_t>> terms;
};

/// Proves bounds of index expressions. Integers become linear forms over atoms: loop variables,
/// quotients, minima, and opaque values. Each atom has an interval; a fact states that a form is <=
/// 0. A form is proven <= 0 if its interval is, or after adding multiples of facts that cancel
/// atoms (Fourier-Motzkin elimination, a few steps deep). Sound but incomplete: a failed proof does
/// not mean that the bound is wrong.
class Ranges {
 public:
  /// State of the facts at a point; Return drops the facts that were added later.
  struct Mark {
    std::size_t facts = 0;
  };
  [[nodiscard]] Mark mark() const { return {facts_.size()}; }
  void Return(Mark mark) { facts_.resize(mark.facts); }

  /// Adds 0 <= var < extent.
  void AddLoop(VarId var, const Expr& extent);
  /// Adds var = value; the variable must never be assigned again. Ignores types other than
  /// integers.
  void AddLet(VarId var, const Expr& value);
  /// Adds that the scalar condition is `truth`.
  void AddCondition(const Expr& condition, bool truth);

  /// Proves 0 <= first and first + count <= elements at this point.
  [[nodiscard]] bool Inside(const Expr& first, std::int64_t count, std::int64_t elements);
  /// Returns the interval of the expression without facts, for messages.
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
  /// Returns an upper bound: the interval's, improved by one step with one fact.
  [[nodiscard]] std::int64_t Most(const Linear& form, const std::vector<Linear>& facts) const;
  [[nodiscard]] IntegerRange Bounds(const Linear& form, const std::vector<Linear>& facts) const;
  [[nodiscard]] bool AtMostZero(const Linear& form, int depth, int& budget) const;
  [[nodiscard]] bool AtMostZero(const Linear& form) const;
  [[nodiscard]] bool Fits(const Linear& form, DType dtype) const;

  std::vector<IntegerRange> atoms_;
  std::map<std::string, int> keys_;
  std::map<std::uint32_t, Linear> variables_;
  std::vector<Linear> facts_;    ///< at the current point: each <= 0
  std::vector<Linear> lasting_;  ///< about atoms, valid everywhere: each <= 0
};

}  // namespace msc::kernel
