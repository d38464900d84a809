#include "compiler/kernel/call.h"

#include <array>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/kernel/func.h"
#include "compiler/kernel/print.h"
#include "compiler/kernel/verify.h"
#include "tests/support/kernel_eval.h"

namespace msc::kernel {
namespace {

constexpr BufferRef kA{0};
constexpr BufferRef kB{1};
constexpr BufferRef kC{2};

/// a: 30 floats to read, b: 20 to read, c: 24 to write, i: 8 i64 to read.
KernelFunc With(std::vector<Stmt> body) {
  KernelBuilder builder("test");
  (void)builder.AddBuffer({"a", DType::kF32, 30, Access::kRead});
  (void)builder.AddBuffer({"b", DType::kF32, 20, Access::kRead});
  (void)builder.AddBuffer({"c", DType::kF32, 24, Access::kWrite});
  (void)builder.AddBuffer({"i", DType::kI64, 8, Access::kRead});
  return std::move(builder).Finish(std::move(body), 0);
}

/// [2,5] x [5,4].
Sgemm Small() {
  return {.m = 2, .n = 4, .k = 5, .lda = 5, .ldb = 4, .ldc = 4};
}
Call At(const Sgemm& product, Expr a, Expr b, Expr c) {
  return ToCall(product, {kA, std::move(a)}, {kB, std::move(b)}, {kC, std::move(c)});
}
/// Three products: A and C move on, B stays.
std::vector<Stmt> Batch(LoopKind kind, const Sgemm& product, std::int64_t extent = 3) {
  const Expr i = Var({0});
  return {{For{{0}, Int(extent), kind, {{At(product, i * 10, Int(0), i * 8)}}}}};
}

std::vector<std::string> Errors(std::vector<Stmt> body) {
  return Verify(With(std::move(body)));
}
void ExpectRefused(const Call& call, const std::string& why) {
  const std::vector<std::string> errors = Errors({{call}});
  ASSERT_FALSE(errors.empty()) << why;
  EXPECT_NE(errors[0].find(why), std::string::npos) << errors[0];
}

TEST(Call, IsAcceptedWhereAllOfItIsInside) {
  EXPECT_EQ(Errors({{At(Small(), Int(20), Int(0), Int(16))}}), std::vector<std::string>{});
  EXPECT_EQ(Errors(Batch(LoopKind::kParallel, Small())), std::vector<std::string>{});
  Sgemm wide = Small();
  wide.lda = 25;  // rows 0..4 and 25..29
  EXPECT_EQ(Errors({{At(wide, Int(0), Int(0), Int(0))}}), std::vector<std::string>{});
  Sgemm transposed = Small();
  transposed.transpose_a = true;
  transposed.transpose_b = true;
  transposed.lda = 2;
  transposed.ldb = 5;
  EXPECT_EQ(Errors({{At(transposed, Int(20), Int(0), Int(0))}}), std::vector<std::string>{});
}

TEST(Call, IsRefusedWhereSomeOfItIsOutside) {
  ExpectRefused(At(Small(), Int(21), Int(0), Int(0)), "b0[21] is not proven to stay inside");
  ExpectRefused(At(Small(), Int(-1), Int(0), Int(0)), "b0[-1] is not proven to stay inside");
  ExpectRefused(At(Small(), Int(0), Int(1), Int(0)), "b1[1] is not proven to stay inside");
  ExpectRefused(At(Small(), Int(0), Int(0), Int(17)), "b2[17] is not proven to stay inside");
  ExpectRefused(At(Small(), Load({3}, Int(0), kIndex), Int(0), Int(0)), "is not proven");
  Sgemm wide = Small();
  wide.lda = 26;
  ExpectRefused(At(wide, Int(0), Int(0), Int(0)), "b0[0] is not proven to stay inside");
  EXPECT_EQ(Errors(Batch(LoopKind::kSerial, Small(), 4)).size(), 2U);
}

TEST(Call, IsRefusedWhereItsArgumentsDoNotFit) {
  const Call good = At(Small(), Int(0), Int(0), Int(0));
  Call call = good;
  call.function = "system";
  ExpectRefused(call, "there is no such function");
  call = good;
  call.addresses.pop_back();
  ExpectRefused(call, "takes 3 addresses");
  call = good;
  call.integers.push_back(1);
  ExpectRefused(call, "takes 9 integers");
  for (const std::size_t size : {0, 1, 2, 3, 4, 5, 8}) {
    for (const std::int64_t wrong : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 31}) {
      call = good;
      call.integers[size] = wrong;
      ExpectRefused(call, "are between 1 and 2147483647");
    }
  }
  for (const std::size_t flag : {6, 7}) {
    call = good;
    call.integers[flag] = 2;
    ExpectRefused(call, "is 0 or 1");
  }
  for (const std::size_t stride : {3, 4, 5}) {
    call = good;
    call.integers[stride] = 3;
    ExpectRefused(call, "at least as far apart as they are long");
  }
  call = good;
  call.addresses[0].buffer = {9};
  ExpectRefused(call, "b9 is not there");
  call = good;
  call.addresses[0].buffer = {3};
  ExpectRefused(call, "b3 is of i64, not f32");
  call = good;
  call.addresses[0].index = Var({7});
  ExpectRefused(call, "v7 is not defined here");
  call = good;
  call.addresses[0].index = Float(0);
  ExpectRefused(call, "an index is not a scalar i64");
}

TEST(Call, IsRefusedWhereItMayNotWriteOrRead) {
  Call call = At(Small(), Int(0), Int(0), Int(0));
  call.addresses[2].buffer = kA;
  ExpectRefused(call, "b0 may only be read");
  call = At(Small(), Int(0), Int(0), Int(0));
  call.addresses[0].buffer = kC;
  ExpectRefused(call, "b2 may only be written");
  // Where both may be: what a library makes of that nobody says.
  KernelFunc func = With({{call}});
  func.buffers[2].access = Access::kReadWrite;
  ASSERT_EQ(Verify(func).size(), 1U);
  EXPECT_NE(Verify(func)[0].find("b2 is written and given twice"), std::string::npos);
}

TEST(Call, HasThreadsOfItsOwnOutsideOfParallelLoopsAlone) {
  Sgemm many = Small();
  many.threads = 2;
  EXPECT_EQ(Errors(Batch(LoopKind::kSerial, many)), std::vector<std::string>{});
  const std::vector<std::string> errors = Errors(Batch(LoopKind::kParallel, many));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NE(errors[0].find("has threads of its own in a parallel loop"), std::string::npos);
}

TEST(Call, IsPrintedWithItsNameQuoted) {
  EXPECT_EQ(Print(Stmt{At(Small(), Var({0}) * 10, Int(0), Int(8))}),
            "call \"sgemm\"(b0[v0 * 10], b1[0], b2[8], 2, 4, 5, 5, 4, 4, 0, 0, 1)\n");
  EXPECT_EQ(Print(Stmt{Call{"a\"\n", {}, {}}}), "call \"a\\\"\\x0a\"()\n");
}

TEST(Call, IsInTheTableOnceWhereverItStands) {
  Call other = At(Small(), Int(0), Int(0), Int(0));
  other.function = "other";
  const Expr yes = Int(1, {DType::kBool, 1});
  const std::vector<Stmt> calls = Batch(LoopKind::kSerial, Small());
  EXPECT_EQ(CalledFunctions(With({{If{yes, calls, {{other}}}}, calls[0]})),
            (std::vector<std::string>{"sgemm", "other"}));
  EXPECT_EQ(CalledFunctions(With({})), std::vector<std::string>{});
}

/// Adds 1 to the first element of C for each float of A's first row, to see where it was called.
void CountOnes(char* const* addresses, const long* integers) {  // NOLINT(google-runtime-int)
  const Sgemm p = ToSgemm(integers);
  const auto* const a = reinterpret_cast<const float*>(addresses[0]);
  auto* const c = reinterpret_cast<float*>(addresses[2]);
  for (std::int64_t i = 0; i < p.k; ++i) c[0] += a[i];
}

TEST(Call, IsDoneByTheFunctionOfTheTable) {
  std::array<float, 30> a{};
  std::array<float, 20> b{};
  std::array<float, 24> c{};
  std::array<std::int64_t, 8> i{};
  for (std::size_t k = 0; k < a.size(); ++k) a[k] = static_cast<float>(k / 10);
  const std::vector<std::span<std::byte>> buffers = {
      std::as_writable_bytes(std::span(a)), std::as_writable_bytes(std::span(b)),
      std::as_writable_bytes(std::span(c)), std::as_writable_bytes(std::span(i))};
  const KernelFunc func = With(Batch(LoopKind::kParallel, Small()));
  const std::array<LibraryFunction, 1> table = {CountOnes};
  Evaluate(func, buffers, 1, 3, table);
  EXPECT_EQ(c[0], 0);
  EXPECT_EQ(c[8], 5);
  EXPECT_EQ(c[16], 10);
  EXPECT_THROW(Evaluate(func, buffers, 1, 3), InternalError);
  // One that is not verified goes no further than its buffers either.
  const KernelFunc outside = With(Batch(LoopKind::kSerial, Small(), 4));
  EXPECT_THROW(Evaluate(outside, buffers, 0, 1, table), InternalError);
}

}  // namespace
}  // namespace msc::kernel
