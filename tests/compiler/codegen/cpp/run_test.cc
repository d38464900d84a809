// Generated code against the interpreter, and its functions against the C++ library in double.

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/codegen/cpp/emit.h"
#include "compiler/kernel/call.h"
#include "compiler/kernel/print.h"
#include "compiler/kernel/verify.h"
#include "compiler/targets/native/compile.h"
#include "compiler/targets/native/module.h"
#include "tests/support/kernel_eval.h"
#include "tests/support/random_kernel.h"
#include "tests/support/seeds.h"
#include "tests/support/sgemm.h"

namespace msc {
namespace {

using kernel::Access;
using kernel::Expr;
using kernel::KernelBuilder;
using kernel::KernelFunc;
using kernel::Op;

using Bytes = std::vector<std::vector<std::byte>>;

class Folder {
 public:
  Folder() : path_(testing::TempDir() + "/msc_run_test_" + std::to_string(::getpid())) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Code that several tests want, compiled in one go with little optimization.
struct Compiled {
  std::shared_ptr<void> library;
  [[nodiscard]] kernel::Entry entry(std::size_t i) const {
    return reinterpret_cast<kernel::Entry>(::dlsym(library.get(), FunctionSymbol(i).c_str()));
  }
};

Compiled Compile(const std::vector<KernelFunc>& funcs, const Isa& isa, const std::string& cache,
                 const std::string& level) {
  BuildOptions options;
  options.compiler = FindCompiler(std::getenv);
  options.cache_dir = cache;
  CompileJob job{EmitCpp(funcs, isa), EmittedTextOptions()};
  for (const std::string& option : CompilerOptions(isa)) job.options.push_back(option);
  job.options.push_back(level);
  const auto loaded = CompileAndLoad({&job, 1}, options);
  if (!loaded.ok()) throw InternalError(loaded.failure().detail, __FILE__, __LINE__);
  return {loaded.value()[0]};
}

void Interpret(const KernelFunc& func, Bytes& bytes) {
  const std::vector<std::span<std::byte>> spans(bytes.begin(), bytes.end());
  kernel::Evaluate(func, spans, 0, func.parallel_extent());
}

void Execute(const KernelFunc& func, kernel::Entry entry, Bytes& bytes) {
  std::vector<char*> pointers;
  for (auto& buffer : bytes) pointers.push_back(reinterpret_cast<char*>(buffer.data()));
  // Parallel iterations in two ranges, as two threads would get them.
  const std::int64_t middle = func.parallel_extent() / 2;
  if (middle > 0) entry(pointers.data(), 0, middle);
  entry(pointers.data(), middle, func.parallel_extent());
}

float FloatAt(const std::vector<std::byte>& bytes, std::size_t i) {
  float value = 0;
  std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
  return value;
}

std::uint16_t BF16At(const std::vector<std::byte>& bytes, std::size_t i) {
  std::uint16_t value = 0;
  std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
  return value;
}

/// Where two runs of a kernel differ: a line, or nothing. Zeros of either sign are equal.
std::string Difference(const KernelFunc& func, const Bytes& want, const Bytes& got) {
  for (std::size_t b = 0; b < want.size(); ++b) {
    const kernel::Buffer& buffer = func.buffers[b];
    if (buffer.dtype == DType::kBF16) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(buffer.elements); ++i) {
        const std::uint16_t x = BF16At(want[b], i);
        const std::uint16_t y = BF16At(got[b], i);
        const bool zeros = ((x | y) & 0x7fffU) == 0;
        if (x != y && !zeros) {
          return "buffer " + std::to_string(b) + " element " + std::to_string(i);
        }
      }
      continue;
    }
    if (buffer.dtype != DType::kF32) {
      if (want[b] != got[b]) return "buffer " + std::to_string(b);
      continue;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(buffer.elements); ++i) {
      const float x = FloatAt(want[b], i);
      const float y = FloatAt(got[b], i);
      const float allowed = buffer.access == Access::kWrite ? 1e-6F * std::abs(x) + 2e-7F : 0;
      if (x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= allowed) continue;
      return "buffer " + std::to_string(b) + " element " + std::to_string(i) + ": " +
             std::to_string(x) + " and " + std::to_string(y);
    }
  }
  return "";
}

class Levels : public testing::TestWithParam<const char*> {};

TEST_P(Levels, RandomKernelsRunAsInterpreted) {
  const Isa isa = ParseIsa(GetParam()).value();
  if (!RunsOn(isa, DetectIsa())) GTEST_SKIP() << "this processor has no " << GetParam();
  // 1070 makes a bf16 of floor(-0), whose sign is open.
  std::vector<std::uint64_t> seeds = {1070};
  for (std::uint64_t seed = 0; seed < Seeds(10); ++seed) seeds.push_back(seed);
  std::vector<KernelFunc> funcs;
  for (const std::uint64_t seed : seeds) {
    funcs.push_back(RandomKernel(seed));
    ASSERT_EQ(kernel::Verify(funcs.back()), std::vector<std::string>{}) << Print(funcs.back());
  }
  const Folder folder;
  const Compiled code = Compile(funcs, isa, folder.path(), "-O1");
  for (std::size_t i = 0; i < funcs.size(); ++i) {
    Bytes want = RandomInputs(funcs[i], seeds[i]);
    Bytes got = want;
    Interpret(funcs[i], want);
    Execute(funcs[i], code.entry(i), got);
    EXPECT_EQ(Difference(funcs[i], want, got), "") << "seed " << seeds[i] << "\n"
                                                   << Print(funcs[i]);
  }
}

struct Function {
  Op op = Op::kExp;
  double (*real)(double) = nullptr;
  double ulp = 0;       ///< largest error allowed, in units of the last place
  double absolute = 0;  ///< or this
};

/// A kernel that applies `op` to n floats, 16 at a time.
KernelFunc Apply(Op op, std::int64_t n, int lanes) {
  KernelBuilder builder("apply");
  const auto in = builder.AddBuffer({"in", DType::kF32, n, Access::kRead});
  const auto out = builder.AddBuffer({"out", DType::kF32, n, Access::kWrite});
  const auto var = builder.NewVar();
  const Expr index = kernel::Var(var) * lanes;
  const Expr value = kernel::Unary(op, kernel::Load(in, index, {DType::kF32, lanes}));
  return std::move(builder).Finish({{kernel::For{var,
                                                 kernel::Int(n / lanes),
                                                 kernel::LoopKind::kSerial,
                                                 {{kernel::Store{out, index, value}}}}}},
                                   0);
}

/// Floats of all magnitudes and both signs, dense where functions bend, and all that is special.
std::vector<float> Samples() {
  std::vector<float> samples = {0.0F, -0.0F, INFINITY, -INFINITY, NAN};
  const auto step = static_cast<std::uint32_t>(Stride());
  for (std::uint32_t bits = 0; bits < 0x7f800000U; bits += 20011U * step) {
    samples.push_back(std::bit_cast<float>(bits));
    samples.push_back(std::bit_cast<float>(bits | 0x80000000U));
  }
  for (std::uint32_t i = 0; i < 200'000; i += step) {
    samples.push_back(static_cast<float>(i) * 0.001F - 110.0F);
    samples.push_back(static_cast<float>(i) * 0.00005F - 5.0F);
  }
  while (samples.size() % 64 != 0) samples.push_back(1);
  return samples;
}

TEST_P(Levels, FunctionsAreAccurate) {
  const Isa isa = ParseIsa(GetParam()).value();
  if (!RunsOn(isa, DetectIsa())) GTEST_SKIP() << "this processor has no " << GetParam();
  const std::vector<Function> functions = {
      {Op::kExp, std::exp, 2},
      {Op::kTanh, std::tanh, 3},
      {Op::kErf, std::erf, 4},
      {Op::kLog, std::log, 3},
      {Op::kSqrt, std::sqrt, 0.5},
      {Op::kFloor, std::floor, 0},
      {Op::kSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 4, 1e-37}};
  const std::vector<float> samples = Samples();
  const auto n = static_cast<std::int64_t>(samples.size());
  const int widest = isa.vector_bytes() / 4;
  std::vector<KernelFunc> funcs;
  for (const Function& function : functions) {
    funcs.push_back(Apply(function.op, n, widest));
    funcs.push_back(Apply(function.op, n, 1));
  }
  const Folder folder;
  const Compiled code = Compile(funcs, isa, folder.path(), "-O2");
  for (std::size_t f = 0; f < funcs.size(); ++f) {
    const Function& function = functions[f / 2];
    Bytes bytes(2, std::vector<std::byte>(samples.size() * 4));
    std::memcpy(bytes[0].data(), samples.data(), bytes[0].size());
    Execute(funcs[f], code.entry(f), bytes);
    double worst = 0;
    float at = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const double real = function.real(static_cast<double>(samples[i]));
      const float nearest = static_cast<float>(real);
      const float got = FloatAt(bytes[1], i);
      if (std::isnan(nearest) || std::isinf(nearest) || std::isnan(got) || std::isinf(got)) {
        ASSERT_TRUE((std::isnan(nearest) && std::isnan(got)) || nearest == got)
            << function.ulp << " of " << samples[i] << ": " << got << ", not " << nearest;
        continue;
      }
      // Below the least normal number the unit does not shrink any more.
      const int exponent = std::max(std::ilogb(nearest == 0 ? 1e-45F : nearest), -126);
      const double error = std::abs(static_cast<double>(got) - real);
      if (error <= function.absolute) continue;
      const double ulp = error / std::ldexp(1.0, exponent - 23);
      if (ulp > worst) {
        worst = ulp;
        at = samples[i];
      }
    }
    EXPECT_LE(worst, function.ulp) << "function " << f / 2 << " at " << at;
  }
}

/// out = saturate(round(in * 0.375 - 20)) of bytes, and sums of four products of `in` in every lane
/// with as many i8 a lane, `lanes` at a time, the last ones in part. If `narrow`, with halves of
/// these, whose pairs of products fit in i16.
KernelFunc ApplyToBytes(DType dtype, std::int64_t n, int lanes, bool narrow) {
  KernelBuilder builder("bytes");
  const auto in = builder.AddBuffer({"in", dtype, n, Access::kRead});
  const auto weights = builder.AddBuffer({"weights", DType::kI8, 4 * n, Access::kRead});
  const auto out = builder.AddBuffer({"out", dtype, n, Access::kWrite});
  const auto dots = builder.AddBuffer({"dots", DType::kI32, n, Access::kWrite});
  const auto body = [&](const Expr& index, int valid) {
    const Expr real =
        kernel::Cast(kernel::Load(in, index, {dtype, lanes}, valid), {DType::kF32, lanes}) *
            kernel::Float(0.375, lanes) -
        kernel::Float(20, lanes);
    const auto bound = [&](Op op, Expr x, double value) {
      return kernel::Binary(op, std::move(x), kernel::Float(value, lanes));
    };
    const Expr fitting = bound(Op::kMin, bound(Op::kMax, real, -30), 41);
    const Expr code = kernel::Cast(kernel::Cast(fitting, {DType::kI32, lanes}), {dtype, lanes});
    const Expr four = kernel::Bits(kernel::Load(in, kernel::Int(3), {dtype, 4}), {DType::kI32, 1});
    const Expr spread = kernel::Bits(kernel::Broadcast(four, lanes), {DType::kU8, 4 * lanes}) +
                        kernel::Int(128, {DType::kU8, 4 * lanes});
    const kernel::Type four_a_lane{DType::kI8, 4 * lanes};
    const Expr all = kernel::Load(weights, index * 4, four_a_lane, 4 * valid);
    const Expr sum = kernel::Dot(
        narrow ? Op::kDot4Narrow : Op::kDot4,
        kernel::Cast(kernel::Load(in, index, {dtype, lanes}, valid), {DType::kI32, lanes}), spread,
        narrow ? kernel::Binary(Op::kDiv, all, kernel::Int(2, four_a_lane)) : all);
    return std::vector<kernel::Stmt>{{kernel::Store{out, index, code, valid}},
                                     {kernel::Store{dots, index, sum, valid}}};
  };
  const auto var = builder.NewVar();
  std::vector<kernel::Stmt> all = {{kernel::For{
      var, kernel::Int(n / lanes), kernel::LoopKind::kSerial, body(kernel::Var(var) * lanes, 0)}}};
  if (const auto rest = static_cast<int>(n % lanes); rest > 0) {
    for (kernel::Stmt& stmt : body(kernel::Int(n - rest), rest)) all.push_back(std::move(stmt));
  }
  return std::move(builder).Finish(std::move(all), 0);
}

TEST_P(Levels, BytesRunAsInterpreted) {
  const Isa isa = ParseIsa(GetParam()).value();
  if (!RunsOn(isa, DetectIsa())) GTEST_SKIP() << "this processor has no " << GetParam();
  constexpr std::int64_t kBytes = 263;  // all values, and 7 more: no multiple of the lanes
  std::vector<KernelFunc> funcs;
  for (const DType dtype : {DType::kU8, DType::kI8}) {
    for (const int lanes : {1, 4, 8, 16}) {
      for (const bool narrow : {false, true}) {
        funcs.push_back(ApplyToBytes(dtype, kBytes, lanes, narrow));
        ASSERT_EQ(kernel::Verify(funcs.back()), std::vector<std::string>{}) << Print(funcs.back());
      }
    }
  }
  const Folder folder;
  const Compiled code = Compile(funcs, isa, folder.path(), "-O2");
  for (std::size_t f = 0; f < funcs.size(); ++f) {
    Bytes want = {std::vector<std::byte>(kBytes), std::vector<std::byte>(4 * kBytes),
                  std::vector<std::byte>(kBytes), std::vector<std::byte>(4 * kBytes)};
    for (std::size_t i = 0; i < want[0].size(); ++i) want[0][i] = std::byte(i & 255U);
    for (std::size_t i = 0; i < want[1].size(); ++i) want[1][i] = std::byte((i * 151 + 7) & 255U);
    Bytes got = want;
    Interpret(funcs[f], want);
    Execute(funcs[f], code.entry(f), got);
    EXPECT_EQ(Difference(funcs[f], want, got), "") << Print(funcs[f]);
  }
}

// What the library wrote is what the loops behind the call read, and is not kept from before it.
TEST_P(Levels, CallsRunAsInterpreted) {
  const Isa isa = ParseIsa(GetParam()).value();
  if (!RunsOn(isa, DetectIsa())) GTEST_SKIP() << "this processor has no " << GetParam();
  KernelBuilder builder("product");
  const auto a = builder.AddBuffer({"a", DType::kF32, 4 * 6, Access::kRead});
  const auto b = builder.AddBuffer({"b", DType::kF32, 6, Access::kRead});
  const auto c = builder.AddBuffer({"c", DType::kF32, 4 * 4, Access::kReadWrite});
  const auto i = builder.NewVar();
  const kernel::Sgemm product{.m = 2, .n = 2, .k = 3, .lda = 3, .ldb = 2, .ldc = 2};
  const Expr at = kernel::Var(i) * 4;
  const Expr sums = kernel::Load(c, at, {DType::kF32, 4});
  const KernelFunc func = std::move(builder).Finish(
      {{kernel::For{
          i,
          kernel::Int(4),
          kernel::LoopKind::kParallel,
          {{kernel::Store{c, at, kernel::Float(7, 4)}},
           {kernel::ToCall(product, {a, kernel::Var(i) * 6}, {b, kernel::Int(0)}, {c, at})},
           {kernel::Store{c, at, sums + kernel::Float(1, 4)}}}}}},
      0);
  BuildOptions options = BuildOptionsFrom(std::getenv);
  const Folder folder;
  options.cache_dir = folder.path();
  const auto find = [](std::string_view name) -> kernel::LibraryFunction {
    return name == "sgemm" ? test::Sgemm : nullptr;
  };
  const auto module = BuildModule({&func, 1}, isa, options, find);
  ASSERT_TRUE(module.ok()) << module.failure().detail;
  EXPECT_THROW((void)BuildModule({&func, 1}, isa, options), InternalError);

  Bytes want;
  for (const kernel::Buffer& buffer : func.buffers) {
    std::vector<float> values(static_cast<std::size_t>(buffer.elements));
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(k % 5);
    const auto bytes = std::as_bytes(std::span(values));
    want.emplace_back(bytes.begin(), bytes.end());
  }
  Bytes got = want;
  const std::vector<std::span<std::byte>> spans(want.begin(), want.end());
  const std::vector<kernel::LibraryFunction>& table = module.value()->Table(0);
  kernel::Evaluate(func, spans, 0, 4, table);
  EXPECT_EQ(FloatAt(want[2], 0), 0 * 0 + 1 * 2 + 2 * 4 + 1);
  std::vector<char*> pointers;
  for (auto& buffer : got) pointers.push_back(reinterpret_cast<char*>(buffer.data()));
  pointers.push_back(reinterpret_cast<char*>(const_cast<kernel::LibraryFunction*>(table.data())));
  module.value()->Function(0)(pointers.data(), 0, 4);
  EXPECT_EQ(Difference(func, want, got), "");
}

INSTANTIATE_TEST_SUITE_P(Isa, Levels,
                         testing::Values("baseline", "avx2", "avx512", "avx512_vnni_bf16"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace msc
