#include "compiler/kernel/expr.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/kernel/func.h"
#include "compiler/kernel/integer.h"
#include "compiler/kernel/print.h"
#include "tests/support/kernel_eval.h"

namespace msc::kernel {
namespace {

constexpr VarId kA{7};
constexpr Type kVector{DType::kF32, 4};

TEST(Expr, FoldsWhatIsConstant) {
  EXPECT_EQ(Print(Int(3) * Int(5) + Int(1)), "16");
  EXPECT_EQ(Print(Binary(Op::kDiv, Int(-7), Int(2))), "-4");
  EXPECT_EQ(Print(Binary(Op::kMod, Int(-7), Int(4))), "1");
  EXPECT_EQ(Print(Int(250, {DType::kU8, 1}) + Int(10, {DType::kU8, 1})), "4:u8");
  EXPECT_EQ(Print(Binary(Op::kLess, Int(2), Int(3))), "1:bool");
  EXPECT_EQ(Print(Select(Binary(Op::kLess, Int(2), Int(3)), Var(kA), Int(0))), "v7");
  EXPECT_EQ(Print(Cast(Int(3), {DType::kF32, 1})), "3.0");
  EXPECT_EQ(Print(Broadcast(Float(2), 4)), "2.0:f32x4");
}

TEST(Expr, FoldsNeutralElements) {
  const Expr a = Var(kA);
  EXPECT_EQ(Print(a + 0), "v7");
  EXPECT_EQ(Print(Int(0) + a), "v7");
  EXPECT_EQ(Print(a * 1), "v7");
  EXPECT_EQ(Print(a * 0), "0");
  EXPECT_EQ(Print((a + 2) + 3), "v7 + 5");
  EXPECT_EQ(Print((a * 2) * 3), "v7 * 6");
  EXPECT_EQ(Print(Binary(Op::kDiv, a, Int(1))), "v7");
  EXPECT_EQ(Print(Binary(Op::kMod, a, Int(1))), "0");
  const Expr x = Var(kA, kVector);
  EXPECT_EQ(Print(x * Float(1, 4)), "v7");
  // Infinity and NaN make it something else than 0.
  EXPECT_EQ(Print(x * Float(0, 4)), "v7 * 0.0:f32x4");
}

TEST(Expr, BroadcastsOneLaneOfEachGroup) {
  const Expr x = Var(kA, kVector);
  EXPECT_EQ(Print(GroupBroadcast(x, 2, 1)), "broadcast(v7, lane 1 of 2)");
  EXPECT_EQ(Print(GroupBroadcast(x, 1, 0)), "v7");
  EXPECT_EQ(Print(GroupBroadcast(Float(2, 4), 4, 3)), "2.0:f32x4");
  EXPECT_THROW((void)GroupBroadcast(x, 3, 0), InternalError) << "lanes without a group";
  EXPECT_THROW((void)GroupBroadcast(x, 2, 2), InternalError) << "a lane of another group";
}

TEST(Expr, PrintsWithTheParenthesesItNeeds) {
  const Expr a = Var(kA);
  const Expr b = Var({8});
  EXPECT_EQ(Print((a + b) * 3), "(v7 + v8) * 3");
  EXPECT_EQ(Print(a - (b - Int(1))), "v7 - (v8 - 1)");
  EXPECT_EQ(Print((a - b) - Int(1)), "v7 - v8 - 1");
  EXPECT_EQ(Print(Binary(Op::kDiv, a * b, Int(4))), "v7 * v8 / 4");
  EXPECT_EQ(Print(a * Binary(Op::kDiv, b, Int(4))), "v7 * (v8 / 4)");
  EXPECT_EQ(Print(Float(0.1)), "0.1");
}

template <class Make>
std::string Refusal(const Make& make) {
  try {
    (void)make();
  } catch (const InternalError& error) {
    const std::string what = error.what();
    return what.substr(what.rfind("must hold: ") + 11);
  }
  return "none";
}

TEST(Expr, RefusesWrongTypes) {
  const Expr a = Var(kA);
  const Expr x = Var(kA, kVector);
  EXPECT_EQ(Refusal([&] { return Binary(Op::kAdd, a, x); }),
            "both sides of an operation have one type");
  EXPECT_EQ(Refusal([&] { return Binary(Op::kDiv, a, Var({8})); }),
            "integers are divided by a positive constant");
  EXPECT_EQ(Refusal([&] { return Binary(Op::kAnd, a, a); }), "and, or are on bool");
  EXPECT_EQ(Refusal([&] { return Unary(Op::kExp, a); }), "functions of one argument are of f32");
  EXPECT_EQ(Refusal([&] { return Load({0}, x, kVector); }), "an index is a scalar i64");
  EXPECT_EQ(Refusal([&] { return Load({0}, a, kVector, 5); }), "valid lanes are some of the lanes");
  EXPECT_EQ(Refusal([&] { return Cast(a, kVector); }), "a cast keeps the lanes");
  EXPECT_EQ(Refusal([&] { return Bits(a, kVector); }), "the same bits have the same size");
  EXPECT_EQ(Refusal([&] { return Select(a, a, a); }), "a condition is bool, lane by lane");
  EXPECT_EQ(Refusal([&] { return Dot(Op::kDot4, x, x, x); }), "dot4 is of i32xL, u8x4L, i8x4L");
  EXPECT_EQ(Refusal([&] {
              return Var(kA, {DType::kF32, 3});
            }),
            "lanes are a power of two up to 64");
  EXPECT_EQ(Refusal([&] {
              return Var(kA, {DType::kF64, 1});
            }),
            "a kernel computes in f32, bf16, integers and bool, and stores f16");
}

KernelFunc Scale() {
  KernelBuilder builder("scale \"quoted\"\n");
  const BufferRef in = builder.AddBuffer({"x", DType::kF32, 20, Access::kRead});
  const BufferRef out = builder.AddBuffer({"y", DType::kF32, 20, Access::kWrite});
  const VarId i = builder.NewVar();
  const VarId x = builder.NewVar();
  const VarId c = builder.NewVar();
  std::vector<Stmt> body;
  body.push_back({Let{x, Load(in, Var(i) * 4, kVector)}});
  body.push_back({Assign{x, Var(x, kVector) * Float(2, 4)}});
  body.push_back({If{Binary(Op::kLess, Var(i), Int(4)),
                     {{Store{out, Var(i) * 4, Var(x, kVector)}}},
                     {{Store{out, Var(i) * 4, Var(x, kVector), 3}}}}});
  body.push_back({For{c, Int(2), LoopKind::kUnrolled, {}}});
  return std::move(builder).Finish({{For{i, Int(5), LoopKind::kParallel, std::move(body)}}}, 20);
}

TEST(Func, Prints) {
  EXPECT_EQ(Print(Scale()), R"(kernel "scale \"quoted\"\x0a"
  b0 "x": f32[20] read
  b1 "y": f32[20] write
for v0 < 5 parallel {
  let v1: f32x4 = f32x4 b0[v0 * 4]
  v1 = v1 * 2.0:f32x4
  if v0 < 4 {
    b1[v0 * 4] = v1
  } else {
    b1[v0 * 4] valid 3 = v1
  }
  for v2 < 2 unrolled {
  }
}
)");
  EXPECT_EQ(Scale().parallel_extent(), 5);
}

std::vector<std::byte> Floats(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(Evaluate, RunsARangeOfTheParallelLoop) {
  std::vector<float> x(20);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  std::vector<std::byte> in = Floats(x);
  std::vector<std::byte> out = Floats(std::vector<float>(20, -1));
  Evaluate(Scale(), std::vector<std::span<std::byte>>{in, out}, 1, 5);
  std::vector<float> y(20);
  std::memcpy(y.data(), out.data(), out.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(y[i], i < 4 || i == 19 ? -1.0F : 2.0F * static_cast<float>(i)) << i;
  }
}

TEST(Evaluate, RefusesToLeaveABuffer) {
  KernelFunc func = Scale();
  func.buffers[1].elements = 19;
  std::vector<std::byte> in = Floats(std::vector<float>(20));
  std::vector<std::byte> out = in;
  const std::vector<std::span<std::byte>> both{in, out};
  Evaluate(func, both, 4, 5);
  func.buffers[1].elements = 18;
  EXPECT_EQ(Refusal([&] { return Evaluate(func, both, 4, 5), 0; }),
            "a kernel stays inside its buffers");
}

/// What a cast of one float gives, by the interpreter.
std::int64_t Rounded(float value, DType dtype) {
  KernelBuilder builder("cast");
  const BufferRef out = builder.AddBuffer({"y", dtype, 1, Access::kWrite});
  const BufferRef in = builder.AddBuffer({"x", DType::kF32, 1, Access::kRead});
  const Expr cast = Cast(Load(in, Int(0), {DType::kF32, 1}), {dtype, 1});
  const KernelFunc func = std::move(builder).Finish({{Store{out, Int(0), cast}}}, 0);
  std::vector<std::byte> bytes(8);
  std::vector<std::byte> from = Floats({value});
  Evaluate(func, std::vector<std::span<std::byte>>{bytes, from}, 0, 1);
  std::int64_t result = 0;
  std::memcpy(&result, bytes.data(), 8);
  return WrapInteger(dtype, result);
}

TEST(Evaluate, RoundsHalfToEvenAndSaturates) {
  EXPECT_EQ(Rounded(2.5F, DType::kI8), 2);
  EXPECT_EQ(Rounded(3.5F, DType::kI8), 4);
  EXPECT_EQ(Rounded(-2.5F, DType::kI32), -2);
  EXPECT_EQ(Rounded(300, DType::kU8), 255);
  EXPECT_EQ(Rounded(-1, DType::kU8), 0);
  EXPECT_EQ(Rounded(3e9F, DType::kI32), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(Rounded(-3e9F, DType::kI32), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(Rounded(std::nanf(""), DType::kI16), -32768);
  EXPECT_EQ(Rounded(INFINITY, DType::kI64), std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace msc::kernel
