#include "compiler/kernel/verify.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/kernel/func.h"
#include "compiler/kernel/print.h"
#include "compiler/kernel/ranges.h"

namespace msc::kernel {
namespace {

constexpr Type kScalar{DType::kF32, 1};
constexpr Type kVector{DType::kF32, 8};

/// b0: 100 floats to read, b1: 100 floats to write, b2: 10 i64 to read. Variables from v0 on.
KernelFunc With(std::vector<Stmt> body) {
  KernelBuilder builder("test");
  (void)builder.AddBuffer({"in", DType::kF32, 100, Access::kRead});
  (void)builder.AddBuffer({"out", DType::kF32, 100, Access::kWrite});
  (void)builder.AddBuffer({"index", DType::kI64, 10, Access::kRead});
  return std::move(builder).Finish(std::move(body), 0);
}

Expr V(std::uint32_t id) {
  return Var({id});
}
Stmt Loop(std::uint32_t id, Expr extent, std::vector<Stmt> body,
          LoopKind kind = LoopKind::kSerial) {
  return {For{{id}, std::move(extent), kind, std::move(body)}};
}
Stmt Loop(std::uint32_t id, std::int64_t extent, std::vector<Stmt> body) {
  return Loop(id, Int(extent), std::move(body));
}
/// Eight floats to b1 from `index` on.
Stmt Eight(Expr index) {
  return {Store{{1}, std::move(index), Float(0, 8)}};
}
Stmt One(Expr index) {
  return {Store{{1}, std::move(index), Float(0)}};
}
Stmt When(Expr condition, std::vector<Stmt> body, std::vector<Stmt> otherwise = {}) {
  return {If{std::move(condition), std::move(body), std::move(otherwise)}};
}
Expr Less(Expr a, Expr b) {
  return Binary(Op::kLess, std::move(a), std::move(b));
}
Expr Min(Expr a, Expr b) {
  return Binary(Op::kMin, std::move(a), std::move(b));
}
Expr Max(Expr a, Expr b) {
  return Binary(Op::kMax, std::move(a), std::move(b));
}
Expr Div(Expr a, std::int64_t b) {
  return Binary(Op::kDiv, std::move(a), Int(b));
}
Expr Mod(Expr a, std::int64_t b) {
  return Binary(Op::kMod, std::move(a), Int(b));
}

std::vector<std::string> Errors(std::vector<Stmt> body) {
  return Verify(With(std::move(body)));
}
/// Without what is said of the interval, which is only an aid.
std::string TheError(std::vector<Stmt> body) {
  const std::vector<std::string> errors = Errors(std::move(body));
  return errors.size() == 1 ? errors[0].substr(0, errors[0].find(" stay inside")) : Print(With({}));
}
void ExpectProven(std::vector<Stmt> body) {
  EXPECT_EQ(Errors(std::move(body)), std::vector<std::string>{});
}
void ExpectRefused(const Expr& index, std::vector<Stmt> body) {
  const std::vector<std::string> errors = Errors(std::move(body));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NE(errors[0].find("b1[" + Print(index) + "] is not proven to stay inside"),
            std::string::npos)
      << errors[0];
}

TEST(Verify, AcceptsAnEmptyKernel) {
  ExpectProven({});
}

TEST(Verify, RefusesVariablesThatAreNotThere) {
  EXPECT_EQ(Errors({One(V(3) * 0 + 1), {Let{{4}, Var({3}, kScalar)}}})[0],
            "let v4: f32 = v3: v3 is not defined here");
  const std::vector<std::string> after =
      Errors({Loop(0, 3, {{Let{{1}, Float(2)}}}), {Store{{1}, Int(0), Var({1}, kScalar)}}});
  EXPECT_EQ(after, std::vector<std::string>{"b1[0] = v1: v1 is not defined here"});
}

TEST(Verify, RefusesAVariableDefinedTwice) {
  EXPECT_EQ(TheError({Loop(0, 3, {}), Loop(0, 3, {})}), "for v0 < 3: v0 is defined twice");
}

TEST(Verify, RefusesAnotherTypeThanTheVariables) {
  EXPECT_EQ(TheError({{Let{{0}, Float(2)}}, {Let{{1}, Var({0}, kVector)}}}),
            "let v1: f32x8 = v0: v0 is f32, not f32x8");
  EXPECT_EQ(TheError({{Let{{0}, Float(2)}}, {Assign{{0}, Float(2, 8)}}}),
            "v0 = 2.0:f32x8: v0 is f32, not f32x8");
}

TEST(Verify, RefusesToAssignToALoopVariable) {
  EXPECT_EQ(TheError({Loop(0, 3, {{Assign{{0}, Int(1)}}})}),
            "v0 = 1: loop variable v0 is assigned to");
}

TEST(Verify, RefusesBuffersUsedAsWhatTheyAreNot) {
  EXPECT_EQ(TheError({{Store{{0}, Int(0), Float(1)}}}), "b0[0] = 1.0: b0 may only be read");
  EXPECT_EQ(TheError({{Let{{0}, Load({1}, Int(0), kScalar)}}}),
            "let v0: f32 = f32 b1[0]: b1 may only be written");
  EXPECT_EQ(TheError({{Store{{1}, Int(0), Int(1)}}}), "b1[0] = 1: b1 is of f32, not i64");
  EXPECT_EQ(TheError({{Store{{9}, Int(0), Int(1)}}}), "b9[0] = 1: b9 is not there");
}

TEST(Verify, LetsAPrefetchLeaveItsBuffer) {
  ExpectProven({{Prefetch{{0}, Int(-64)}}, {Prefetch{{1}, Int(1000)}}});
  EXPECT_EQ(TheError({{Prefetch{{9}, Int(0)}}}), "prefetch b9[0]: b9 is not there");
  EXPECT_EQ(TheError({{Prefetch{{0}, Float(0)}}}),
            "prefetch b0[0.0]: an index is not a scalar i64");
  EXPECT_EQ(TheError({{Prefetch{{0}, V(3)}}}), "prefetch b0[v3]: v3 is not defined here");
}

TEST(Verify, RefusesParallelLoopsThatAreNotTheWholeBody) {
  EXPECT_EQ(TheError({Loop(0, Int(3), {}, LoopKind::kParallel), One(Int(0))}),
            "for v0 < 3 parallel: a parallel loop is not the whole body");
  EXPECT_EQ(TheError({Loop(1, 2, {Loop(0, Int(3), {}, LoopKind::kParallel)})}),
            "for v0 < 3 parallel: a parallel loop is not the whole body");
  ExpectProven({Loop(0, Int(3), {}, LoopKind::kParallel)});
}

TEST(Verify, RefusesLongUnrolledLoops) {
  EXPECT_EQ(TheError({Loop(0, Int(5000), {}, LoopKind::kUnrolled)}),
            "for v0 < 5000 unrolled: is too long to be unrolled");
  EXPECT_EQ(TheError({Loop(0, 3, {Loop(1, V(0), {}, LoopKind::kUnrolled)})}),
            "for v1 < v0 unrolled: the extent is not constant");
}

TEST(Verify, ThrowsWhatIsWrong) {
  EXPECT_THROW(CheckVerified(With({One(Int(100))})), InternalError);
  CheckVerified(With({One(Int(99))}));
}

TEST(Bounds, OfConstants) {
  ExpectProven({Eight(Int(92))});
  ExpectRefused(Int(93), {Eight(Int(93))});
  ExpectRefused(Int(-1), {Eight(Int(-1))});
}

TEST(Bounds, OfSomeLanes) {
  ExpectProven({{Store{{1}, Int(95), Float(0, 8), 5}}});
  ExpectRefused(Int(96), {{Store{{1}, Int(96), Float(0, 8), 5}}});
}

TEST(Bounds, OfAffineExpressions) {
  const Expr index = V(0) * 10 + V(1) * 2 + 1;
  ExpectProven({Loop(0, 9, {Loop(1, 6, {Eight(index)})})});
  ExpectRefused(index, {Loop(0, 10, {Loop(1, 6, {Eight(index)})})});
  // Terms that cancel: v0 - v0 stays 0.
  ExpectProven({Loop(0, 1'000'000, {One(V(0) * 3 + 5 - V(0) * 3)})});
}

TEST(Bounds, OfQuotientsAndRemainders) {
  ExpectProven({Loop(0, 1000, {One(Div(V(0), 10))})});
  ExpectRefused(Div(V(0), 10), {Loop(0, 1001, {One(Div(V(0), 10))})});
  ExpectProven({Loop(0, 1'000'000, {One(Mod(V(0) - Int(77), 100))})});
  // Together they are the number itself.
  ExpectProven({Loop(0, 100, {One(Div(V(0), 7) * 7 + Mod(V(0), 7))})});
  // (v0 * 4 + v1) / 4 is v0, and the remainder v1.
  ExpectProven({Loop(0, 100, {Loop(1, 4, {One(Div(V(0) * 4 + V(1), 4))})})});
  ExpectProven({Loop(0, 1000, {Loop(1, 4, {One(Mod(V(0) * 4 + V(1), 4) * 33)})})});
}

TEST(Bounds, OfMinimaAndMaxima) {
  ExpectProven({Loop(0, 1000, {Eight(Min(V(0) * 8, Int(92)))})});
  ExpectProven({Loop(0, 10, {One(Max(V(0) - Int(5), Int(0)))})});
  // A last tile that is moved back.
  ExpectProven({Loop(0, 17, {Loop(1, 6, {One(Min(V(0) * 6, Int(94)) + V(1))})})});
}

TEST(Bounds, OfLoadedNumbers) {
  const Expr any = Load({2}, Int(0), kIndex);
  ExpectRefused(any, {One(any)});
  ExpectProven({One(Min(Max(any, Int(0)), Int(99)))});
  ExpectProven({When(Binary(Op::kAnd, Binary(Op::kLessEqual, Int(0), any), Less(any, Int(100))),
                     {One(Mod(any, 100))})});
  // Two loads of the same place may differ: another thread may write there.
  ExpectRefused(any, {When(Binary(Op::kAnd, Less(Int(-1), any), Less(any, Int(100))), {One(any)})});
  // A local is one number.
  ExpectProven({{Let{{5}, any}},
                When(Binary(Op::kAnd, Less(Int(-1), V(5)), Less(V(5), Int(100))), {One(V(5))})});
  // What wraps is not what it seems.
  ExpectRefused(Max(any + 1, Int(0)), {When(Less(any, Int(50)), {One(Max(any + 1, Int(0)))})});
}

TEST(Bounds, OfAssignedLocals) {
  ExpectRefused(V(0), {{Let{{0}, Int(5)}}, One(V(0)), {Assign{{0}, V(0) + 200}}});
  ExpectProven({{Let{{0}, Int(5)}}, One(V(0))});
}

TEST(Bounds, UnderConditions) {
  const Expr index = V(0) * 8;
  ExpectProven({Loop(
      0, 13, {When(Less(V(0), Int(12)), {Eight(index)}, {{Store{{1}, index, Float(0, 8), 4}}})})});
  ExpectRefused(index, {Loop(0, 13, {When(Less(Int(0), V(0)), {Eight(index)})})});
  // Of a sum, not of any one variable.
  const Expr sum = V(0) * 16 + V(1);
  ExpectProven({Loop(0, 100, {Loop(1, 16, {When(Less(sum, Int(100)), {One(sum)})})})});
  // A padded window: inside only between both borders.
  const Expr row = V(0) * 2 + V(1) - Int(1);
  const Expr inside = Binary(Op::kAnd, Binary(Op::kLessEqual, Int(0), row), Less(row, Int(10)));
  ExpectProven({Loop(0, 6, {Loop(1, 3, {When(inside, {One(row * 10 + 9)})})})});
  ExpectRefused(row * 10 + 9,
                {Loop(0, 6, {Loop(1, 3, {When(Less(row, Int(10)), {One(row * 10 + 9)})})})});
  // Equality, and what is false.
  ExpectProven({Loop(0, 200, {When(Binary(Op::kEqual, V(0), Int(7)), {One(V(0) * 10)})})});
  ExpectProven({Loop(0, 200, {When(Binary(Op::kLessEqual, Int(100), V(0)), {}, {One(V(0))})})});
  ExpectProven({Loop(
      0, 200,
      {When(Binary(Op::kOr, Less(Int(99), V(0)), Less(V(0), Int(3))), {}, {One(V(0) - Int(3))})})});
}

TEST(Bounds, OfLoopsWithExtentsThatVary) {
  ExpectProven({Loop(0, 100, {Loop(1, Min(Int(8), Int(100) - V(0)), {One(V(0) + V(1))})})});
  ExpectRefused(V(0) + V(1),
                {Loop(0, 100, {Loop(1, Min(Int(8), Int(101) - V(0)), {One(V(0) + V(1))})})});
}

TEST(Bounds, OfSelections) {
  const Expr clamped = Select(Less(V(0), Int(100)), V(0), Int(3));
  ExpectProven({Loop(0, 200, {One(clamped)})});
  ExpectRefused(clamped + 1, {Loop(0, 200, {One(clamped + 1)})});
}

/// A random index expression over v0 < 5 and v1 < 7.
Expr RandomIndex(Rng& rng, int depth) {
  const auto number = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(rng.Below(static_cast<std::uint64_t>(bound)));
  };
  if (depth == 0) {
    const std::int64_t which = number(3);
    return which == 2 ? Int(number(21) - 10) : V(static_cast<std::uint32_t>(which));
  }
  const Expr a = RandomIndex(rng, depth - 1);
  const Expr b = RandomIndex(rng, depth - 1);
  switch (number(9)) {
    case 0:
      return a * (number(9) - 4);
    case 1:
      return Div(a, 1 + number(6));
    case 2:
      return Mod(a, 1 + number(6));
    case 3:
      return Min(a, b);
    case 4:
      return Max(a, b);
    case 5:
      return Select(Less(a, b), a, RandomIndex(rng, depth - 1));
    case 6:
      return a - b;
    default:
      return a + b;
  }
}

std::int64_t Eval(const Expr& expr, std::int64_t v0, std::int64_t v1) {
  if (expr->op == Op::kInt) return expr->integer;
  if (expr->op == Op::kVar) return expr->var.id == 0 ? v0 : v1;
  if (expr->op == Op::kSelect) {
    return Eval(expr->args[Eval(expr->args[0], v0, v1) != 0 ? 1 : 2], v0, v1);
  }
  const std::int64_t a = Eval(expr->args[0], v0, v1);
  const std::int64_t b = Eval(expr->args[1], v0, v1);
  return expr->op == Op::kLess ? (a < b ? 1 : 0) : ApplyInteger(expr->op, DType::kI64, a, b);
}

TEST(Bounds, AreNeverProvenWhereTheyDoNotHold) {
  Rng rng(3);
  int proven = 0;
  for (int round = 0; round < 3000; ++round) {
    const Expr index = RandomIndex(rng, 3);
    const Expr condition = Less(RandomIndex(rng, 1), RandomIndex(rng, 1));
    std::int64_t least = 1'000'000;
    std::int64_t most = -1'000'000;
    for (std::int64_t v0 = 0; v0 < 5; ++v0) {
      for (std::int64_t v1 = 0; v1 < 7; ++v1) {
        if (Eval(condition, v0, v1) == 0) continue;
        least = std::min(least, Eval(index, v0, v1));
        most = std::max(most, Eval(index, v0, v1));
      }
    }
    if (least > most) continue;
    // One element less on either side must not be proven.
    const auto accepts = [&](std::int64_t shift, std::int64_t elements) {
      Ranges ranges;
      ranges.AddLoop({0}, Int(5));
      ranges.AddLoop({1}, Int(7));
      ranges.AddCondition(condition, true);
      return ranges.Inside(index + shift, 1, elements);
    };
    proven += accepts(-least, most - least + 1) ? 1 : 0;
    ASSERT_FALSE(accepts(-least, most - least)) << Print(index) << " if " << Print(condition);
    ASSERT_FALSE(accepts(-least - 1, most - least + 1)) << Print(index);
  }
  // What is meant here is that it does prove things: such expressions are wilder than those of
  // kernels.
  EXPECT_GT(proven, 1000);
}

}  // namespace
}  // namespace msc::kernel
