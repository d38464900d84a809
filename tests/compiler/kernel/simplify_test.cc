#include "compiler/kernel/simplify.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/kernel/func.h"
#include "compiler/kernel/print.h"

namespace msc::kernel {
namespace {

constexpr Type kScalar{DType::kF32, 1};

std::string Simplified(std::vector<Stmt> body) {
  KernelFunc func;
  func.body = std::move(body);
  std::string text;
  for (const Stmt& stmt : Simplify(std::move(func)).body) text += Print(stmt);
  return text;
}

Expr V(std::uint32_t id) {
  return Var({id});
}
Stmt StoreAt(Expr index, Expr value = Float(1)) {
  return {Store{{0}, std::move(index), std::move(value)}};
}
Stmt Loop(std::uint32_t id, std::int64_t extent, std::vector<Stmt> body,
          LoopKind kind = LoopKind::kSerial) {
  return {For{{id}, Int(extent), kind, std::move(body)}};
}

TEST(Simplify, RemovesLoopsOfOneIteration) {
  EXPECT_EQ(Simplified({Loop(0, 1, {StoreAt(V(0) * 8 + 3)})}), "b0[3] = 1.0\n");
}

TEST(Simplify, DropsLoopsWithoutIterations) {
  EXPECT_EQ(Simplified({Loop(0, 0, {StoreAt(V(0))}), Loop(1, -2, {StoreAt(V(1))})}), "");
}

TEST(Simplify, KeepsTheParallelLoop) {
  EXPECT_EQ(Simplified({Loop(0, 1, {StoreAt(V(0))}, LoopKind::kParallel)}),
            "for v0 < 1 parallel {\n  b0[v0] = 1.0\n}\n");
}

TEST(Simplify, UnrollsWithVariablesOfTheirOwn) {
  EXPECT_EQ(Simplified({Loop(0, 2,
                             {{Let{{1}, Load({1}, V(0), kScalar)}},
                              {Assign{{1}, Var({1}, kScalar) + Float(1)}},
                              StoreAt(V(0), Var({1}, kScalar))},
                             LoopKind::kUnrolled)}),
            "let v1: f32 = f32 b1[0]\n"
            "v1 = v1 + 1.0\n"
            "b0[0] = v1\n"
            "let v2: f32 = f32 b1[1]\n"
            "v2 = v2 + 1.0\n"
            "b0[1] = v2\n");
}

TEST(Simplify, TakesTheBranchThatIsKnown) {
  const Expr condition = Binary(Op::kLess, V(0), Int(1));
  EXPECT_EQ(Simplified({Loop(0, 2, {{If{condition, {StoreAt(Int(5))}, {StoreAt(V(0))}}}},
                             LoopKind::kUnrolled)}),
            "b0[5] = 1.0\nb0[1] = 1.0\n");
}

TEST(Simplify, DropsLocalsWithoutEffect) {
  EXPECT_EQ(Simplified({{Let{{0}, Load({1}, Int(0), kScalar)}},
                        {Let{{1}, Var({0}, kScalar) + Float(1)}},
                        {Assign{{1}, Var({1}, kScalar) * Float(2)}},
                        Loop(2, 9, {{Assign{{1}, Var({1}, kScalar) * Float(3)}}}),
                        StoreAt(Int(1))}),
            "b0[1] = 1.0\n");
}

TEST(Simplify, KeepsPrefetchesAndWhatTheyRead) {
  EXPECT_EQ(Simplified({Loop(0, 4, {{Let{{1}, Load({1}, V(0), kIndex)}}, {Prefetch{{2}, V(1)}}})}),
            "for v0 < 4 {\n  let v1: i64 = i64 b1[v0]\n  prefetch b2[v1]\n}\n");
}

TEST(Simplify, PutsConstantsAndNamesInPlace) {
  EXPECT_EQ(
      Simplified({Loop(0, 4, {{Let{{1}, V(0)}}, {Let{{2}, Int(3)}}, StoreAt(V(1) * 4 + V(2))})}),
      "for v0 < 4 {\n  b0[v0 * 4 + 3] = 1.0\n}\n");
}

TEST(Simplify, KeepsTheOldValueOfALocalThatChanges) {
  const Expr x = Var({0}, kScalar);
  EXPECT_EQ(Simplified({{Let{{0}, Load({1}, Int(0), kScalar)}},
                        {Let{{1}, x}},
                        {Assign{{0}, x + Float(1)}},
                        StoreAt(Int(0), Var({1}, kScalar)),
                        StoreAt(Int(1), x)}),
            "let v0: f32 = f32 b1[0]\n"
            "let v1: f32 = v0\n"
            "v0 = v0 + 1.0\n"
            "b0[0] = v1\n"
            "b0[1] = v0\n");
}

TEST(Simplify, DropsBranchesAndLoopsThatBecameEmpty) {
  const Expr condition = Binary(Op::kLess, Load({1}, Int(0), kScalar), Float(1));
  EXPECT_EQ(Simplified({Loop(0, 9, {{If{condition, {{Let{{1}, Float(1)}}}, {}}}})}), "");
}

TEST(Replace, FoldsOnTheWay) {
  EXPECT_EQ(Print(Replace(V(0) * 4 + V(1), {{{0}, Int(2)}})), "v1 + 8");
}

}  // namespace
}  // namespace msc::kernel
