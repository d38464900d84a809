#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/onnx/lift.h"
#include "compiler/import/onnx/steps.h"

// Einsum-12 as sums, transposes and products of matrices, which all targets have. Source: ONNX
// operator page Einsum-12; numpy.einsum for the meaning of an equation.

namespace msc::detail {
namespace {

/// Axes by their letters. Those that an ellipsis stands for have the letters '0', '1', ..., from
/// the last one on.
using Letters = std::string;

struct Equation {
  std::vector<Letters> operands;
  Letters result;
};

/// A value and the letters of its axes.
struct Operand {
  std::string name;
  Letters letters;
};

bool Has(const Letters& letters, char letter) {
  return letters.find(letter) != Letters::npos;
}

/// Returns the letters of a term, with those of its ellipsis if it has one.
Letters Expanded(const Lift& lift, const std::string& term, std::size_t behind_ellipsis) {
  const std::size_t dots = term.find("...");
  if (dots == std::string::npos) return term;
  Letters open;
  for (std::size_t i = behind_ellipsis; i > 0; --i) open += static_cast<char>('0' + i - 1);
  std::string expanded = term;
  expanded.replace(dots, 3, open);
  if (expanded.find('.') != std::string::npos) lift.Reject("its equation has a stray '.'");
  return expanded;
}

void CheckTerm(const Lift& lift, const std::string& term, bool is_result) {
  std::string letters = term;
  if (const auto dots = letters.find("..."); dots != std::string::npos) letters.erase(dots, 3);
  std::set<char> seen;
  for (const char letter : letters) {
    if (std::isalpha(static_cast<unsigned char>(letter)) == 0) {
      lift.Reject("its equation has letters other than a to z and A to Z");
    }
    if (!seen.insert(letter).second && is_result) {
      lift.Reject("its equation gives an axis twice");
    }
  }
}

Equation ReadEquation(const Lift& lift, std::string text) {
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  std::vector<std::string> terms(1);
  for (const char letter : left) {
    if (letter == ',') {
      terms.emplace_back();
    } else {
      terms.back() += letter;
    }
  }
  if (terms.size() != lift.node.inputs.size()) {
    lift.Reject("its equation has another number of terms than the node has inputs");
  }
  Equation equation;
  std::size_t open = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    CheckTerm(lift, terms[i], false);
    const ValueType type = lift.InputType(i);
    if (!type.shape) lift.Reject("needs inputs whose numbers of axes are known");
    const bool dots = terms[i].find("...") != std::string::npos;
    const std::size_t named = terms[i].size() - (dots ? 3 : 0);
    const std::size_t rank = type.shape->size();
    constexpr std::size_t kMostOpen = 10;  // letters '0' to '9'
    if (named > rank || (!dots && named != rank) || rank - named > kMostOpen) {
      lift.Reject("its equation does not fit the axes of input " + std::to_string(i));
    }
    open = std::max(open, rank - named);
    equation.operands.push_back(Expanded(lift, terms[i], rank - named));
  }
  if (arrow != std::string::npos) {
    const std::string result = text.substr(arrow + 2);
    CheckTerm(lift, result, true);
    if (open > 0 && result.find("...") == std::string::npos) {
      lift.Reject("its equation sums over an ellipsis, which is not supported");
    }
    equation.result = Expanded(lift, result, open);
    return equation;
  }
  // Without an arrow, the result has what an ellipsis stands for and then, sorted, the letters that
  // occur once.
  if (open > 0) equation.result = Expanded(lift, "...", open);
  std::string all;
  for (const Letters& letters : equation.operands) all += letters;
  std::string once;
  for (const char letter : all) {
    const bool named = std::isalpha(static_cast<unsigned char>(letter)) != 0;
    if (named && std::ranges::count(all, letter) == 1) once += letter;
  }
  std::ranges::sort(once);
  equation.result += once;
  return equation;
}

class Expansion {
 public:
  explicit Expansion(Lift& lift) : lift_(lift), steps_(lift) {
    equation_ = ReadEquation(lift, lift.Take("equation", std::string()));
  }

  void Run() {
    const Letters& result = equation_.result;
    std::vector<Operand> operands;
    for (std::size_t i = 0; i < equation_.operands.size(); ++i) operands.push_back(OnDiagonals(i));
    Operand all = Summed(operands[0], Needed(0));
    for (std::size_t i = 1; i < operands.size(); ++i) {
      const Operand& next = operands[i];
      // What only one of both has and nobody needs later is summed before they meet.
      const Letters later = Needed(i);
      all = Product(Summed(all, later + next.letters), Summed(next, later + all.letters), later);
    }
    for (const char letter : result) {
      if (!Has(all.letters, letter)) lift_.Reject("its equation gives an axis that no input has");
    }
    steps_.End("Identity", {Transposed(all, result)});
  }

 private:
  /// Returns the letters that the result or operands behind `index` have.
  [[nodiscard]] Letters Needed(std::size_t index) const {
    Letters needed = equation_.result;
    for (std::size_t i = index + 1; i < equation_.operands.size(); ++i) {
      needed += equation_.operands[i];
    }
    return needed;
  }

  /// Returns operand `index` with each letter once: a letter of two axes stands for their diagonal.
  /// The elements beside it are replaced by zeros, and one of the axes is summed away.
  Operand OnDiagonals(std::size_t index) {
    Operand operand = {lift_.node.inputs[index], equation_.operands[index]};
    Shape shape = *lift_.InputType(index).shape;
    for (std::size_t first = 0; first < operand.letters.size(); ++first) {
      const std::size_t second = operand.letters.find(operand.letters[first], first + 1);
      if (second == Letters::npos) continue;
      operand.name = Diagonal(operand.name, shape, first, second, lift_.InputType(index).dtype);
      operand.letters.erase(second, 1);
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(second));
      --first;  // a letter may stand for three axes
    }
    return operand;
  }

  std::string Diagonal(const std::string& name, const Shape& shape, std::size_t first,
                       std::size_t second, DType dtype) {
    if (!shape[first].known() || shape[first] != shape[second]) {
      lift_.Reject("its equation reads a diagonal, whose two sizes must be known and equal");
    }
    const std::int64_t size = shape[first].size();
    Dims dims(shape.size(), 1);
    dims[first] = dims[second] = size;
    Tensor on(DType::kBool, dims);
    for (std::int64_t i = 0; i < size; ++i) {
      on.MutableValues<std::uint8_t>()[static_cast<std::size_t>(i * size + i)] = 1;
    }
    const std::string zero =
        steps_.Add("Cast", {steps_.Constant(Tensor(DType::kF32, {}), "nothing")}, "zero",
                   {{"to", static_cast<std::int64_t>(dtype)}});
    const std::string kept =
        steps_.Add("Where", {steps_.Constant(std::move(on), "on_diagonal"), name, zero}, "kept");
    const std::string axes = steps_.List({static_cast<std::int64_t>(second)}, "axes");
    return steps_.Add("ReduceSum", {kept, axes}, "diagonal", {{"keepdims", std::int64_t{0}}});
  }

  /// Sums over the axes that `needed` lacks.
  Operand Summed(const Operand& operand, const Letters& needed) {
    std::vector<std::int64_t> axes;
    Letters rest;
    for (std::size_t i = 0; i < operand.letters.size(); ++i) {
      if (Has(needed, operand.letters[i])) {
        rest += operand.letters[i];
      } else {
        axes.push_back(static_cast<std::int64_t>(i));
      }
    }
    if (axes.empty()) return operand;
    return {steps_.Add("ReduceSum", {operand.name, steps_.List(axes, "axes")}, "sum",
                       {{"keepdims", std::int64_t{0}}}),
            rest};
  }

  /// Returns a value whose axes are those of `wanted`, a permutation of the operand's.
  std::string Transposed(const Operand& operand, const Letters& wanted) {
    if (operand.letters == wanted) return operand.name;
    std::vector<std::int64_t> perm;
    for (const char letter : wanted) {
      perm.push_back(static_cast<std::int64_t>(operand.letters.find(letter)));
    }
    return steps_.Add("Transpose", {operand.name}, "turned", {{"perm", std::move(perm)}});
  }

  /// Returns a value with the axes of `wanted`, of size 1 where the operand has none.
  std::string Spread(const Operand& operand, const Letters& wanted) {
    Letters own;
    std::vector<std::int64_t> missing;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (Has(operand.letters, wanted[i])) {
        own += wanted[i];
      } else {
        missing.push_back(static_cast<std::int64_t>(i));
      }
    }
    std::string turned = Transposed(operand, own);
    if (missing.empty()) return turned;
    return steps_.Add("Unsqueeze", {turned, steps_.List(missing, "axes")}, "spread");
  }

  /// Multiplies two operands and sums over what both have and `later` lacks. One axis of each kind
  /// (of the left alone, of the right alone, summed) is a side of a product of matrices; others are
  /// axes along which such products are repeated.
  Operand Product(const Operand& left, const Operand& right, const Letters& later) {
    Letters rows;
    Letters columns;
    Letters inner;
    Letters both;
    for (const char letter : left.letters) {
      if (!Has(right.letters, letter)) {
        rows += letter;
      } else if (Has(later, letter)) {
        both += letter;
      } else {
        inner += letter;
      }
    }
    for (const char letter : right.letters) {
      if (!Has(left.letters, letter)) columns += letter;
    }
    // The last axes are the most likely to be contiguous.
    const auto last = [](const Letters& letters) {
      return letters.empty() ? Letters() : letters.substr(letters.size() - 1);
    };
    const auto others = [](const Letters& letters) {
      return letters.empty() ? Letters() : letters.substr(0, letters.size() - 1);
    };
    const Letters repeated = both + others(rows) + others(columns) + others(inner);
    // Letters that no operand has stand for an axis of size 1.
    const Letters row = rows.empty() ? "(" : last(rows);
    const Letters column = columns.empty() ? ")" : last(columns);
    const Letters between = inner.empty() ? "|" : last(inner);
    const std::string product = steps_.Add(
        "MatMul",
        {Spread(left, repeated + row + between), Spread(right, repeated + between + column)},
        "product");
    Letters letters = repeated + row + column;
    std::string name = product;
    std::vector<std::int64_t> ones;
    if (rows.empty()) ones.push_back(static_cast<std::int64_t>(letters.find('(')));
    if (columns.empty()) ones.push_back(static_cast<std::int64_t>(letters.find(')')));
    if (!ones.empty()) {
      name = steps_.Add("Squeeze", {name, steps_.List(ones, "axes")}, "squeezed");
      std::erase(letters, '(');
      std::erase(letters, ')');
    }
    return Summed({name, letters}, later);
  }

  Lift& lift_;
  Steps steps_;
  Equation equation_;
};

void LiftEinsum(Lift& lift) {
  if (lift.node.inputs.empty()) lift.Reject("has no input");
  Expansion(lift).Run();
}

constexpr std::array<LiftRule, 1> kRules = {{{"Einsum", kNoEnd, LiftEinsum, 12}}};

}  // namespace

std::span<const LiftRule> EinsumLifts() {
  return kRules;
}

}  // namespace msc::detail
