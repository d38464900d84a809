#include "compiler/codegen/cpp/emit.h"

#include <cctype>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/kernel/call.h"
#include "compiler/kernel/func.h"

namespace msc {
namespace {

using kernel::Access;
using kernel::BufferRef;
using kernel::Expr;
using kernel::KernelBuilder;
using kernel::KernelFunc;
using kernel::Op;
using kernel::Type;
using kernel::VarId;

/// y[i] = max(x[i] + 1, 0), eight at a time, under names of the caller's choice.
KernelFunc Named(const std::string& name, const std::string& buffer) {
  KernelBuilder builder(name);
  const BufferRef in = builder.AddBuffer({buffer, DType::kF32, 64, Access::kRead});
  const BufferRef out = builder.AddBuffer({buffer + "'", DType::kF32, 64, Access::kWrite});
  const VarId i = builder.NewVar();
  const Expr index = kernel::Var(i) * 8;
  const Expr value =
      kernel::Binary(Op::kMax, kernel::Load(in, index, {DType::kF32, 8}) + kernel::Float(1, 8),
                     kernel::Float(0, 8));
  return std::move(builder).Finish(
      {{kernel::For{
          i, kernel::Int(8), kernel::LoopKind::kParallel, {{kernel::Store{out, index, value}}}}}},
      0);
}

std::string Text(const KernelFunc& func, const char* isa = "avx2") {
  return EmitCpp({&func, 1}, *ParseIsa(isa));
}

TEST(EmitCpp, IsOneFunctionOverBuffers) {
  const std::string text = Text(Named("relu", "x"));
  const std::string function = text.substr(text.find("\nextern"));
  EXPECT_EQ(function, R"(
extern "C" __attribute__((visibility("default")))
void k0(char* const* buffers, long begin, long end) {
  const f32_m* __restrict b0 = (const f32_m*)buffers[0];
  f32_m* __restrict b1 = (f32_m*)buffers[1];
  for (i64 v0 = begin; v0 < end; ++v0) {
    *(f32x8_m*)(b1 + (v0 * 8L)) = msc_max(((*(const f32x8_m*)(b0 + (v0 * 8L))) + splat_f32x8(0x1.000000p0f)), splat_f32x8(0x0.000000p0f));
  }
}
)");
}

TEST(EmitCpp, ComputesWhatIsPrefetchedAsANumber) {
  KernelBuilder builder("ahead");
  const BufferRef in = builder.AddBuffer({"x", DType::kI16, 8, Access::kRead});
  const std::string text =
      Text(std::move(builder).Finish({{kernel::Prefetch{in, kernel::Int(100)}}}, 0));
  EXPECT_NE(text.find("__builtin_prefetch((const char*)((i64)b0 + 100L * 2L), 0, 2);"),
            std::string::npos)
      << text;
}

TEST(EmitCpp, KeepsNamesOutOfTheText) {
  const std::string plain = Text(Named("kernel", "buffer"));
  for (const std::string& hostile :
       {std::string("\"; system(\"id\"); //"), std::string("*/ int main() {} /*"),
        std::string("a\n#include \"/etc/passwd\"\n"),
        std::string("?"
                    "?/\n?"
                    "?=define f32 int"),
        std::string("\\\nevil"), std::string("\0nul", 4), std::string("\xff\xfe\x80"),
        std::string("%s%n$(id)`id`"), std::string(10'000, 'k'), std::string("float")}) {
    EXPECT_EQ(Text(Named(hostile, hostile)), plain);
  }
}

TEST(EmitCpp, HasWordsOfItsOwnOnly) {
  // Identifiers of kernels: a letter and a number; everything else is known beforehand.
  const std::string text = Text(Named("relu", "x"));
  const std::string function = text.substr(text.find("\nextern"));
  const std::set<std::string> known = {"extern", "C", "__attribute__", "visibility", "void", "char",
                                       "const", "buffers", "long", "begin", "end", "__restrict",
                                       "for", "i64", "f32_m", "f32x8_m", "msc_max", "splat_f32x8",
                                       // quoted
                                       "default"};
  std::string word;
  for (const char c : function + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
      continue;
    }
    const bool starts = !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) == 0;
    const bool generated = word.size() >= 2 &&
                           std::string("kbv").find(word[0]) != std::string::npos &&
                           word.find_first_not_of("0123456789", 1) == std::string::npos;
    const bool allowed = !starts || generated || word == "p0f" || known.count(word) != 0;
    EXPECT_TRUE(allowed) << word;
    word.clear();
  }
}

/// One product a call, under a name of the caller's choice.
KernelFunc Calling(const std::string& name) {
  KernelBuilder builder("product");
  const BufferRef a = builder.AddBuffer({"a", DType::kF32, 12, Access::kRead});
  const BufferRef b = builder.AddBuffer({"b", DType::kF32, 6, Access::kRead});
  const BufferRef c = builder.AddBuffer({"c", DType::kF32, 8, Access::kWrite});
  const VarId i = builder.NewVar();
  const Expr index = kernel::Var(i);
  const kernel::Sgemm product{.m = 2, .n = 2, .k = 3, .lda = 3, .ldb = 2, .ldc = 2};
  kernel::Call call = kernel::ToCall(product, {a, index * 6}, {b, kernel::Int(0)}, {c, index * 4});
  call.function = name;
  return std::move(builder).Finish(
      {{kernel::For{i, kernel::Int(2), kernel::LoopKind::kParallel, {{call}}}}}, 0);
}

TEST(EmitCpp, CallsThroughATable) {
  const std::string text = Text(Calling("sgemm"));
  const std::string function = text.substr(text.find("\nextern"));
  EXPECT_EQ(function, R"(
extern "C" __attribute__((visibility("default")))
void k0(char* const* buffers, long begin, long end) {
  const f32_m* __restrict b0 = (const f32_m*)buffers[0];
  const f32_m* __restrict b1 = (const f32_m*)buffers[1];
  f32_m* __restrict b2 = (f32_m*)buffers[2];
  const auto functions = (void (*const*)(char* const*, const long*))buffers[3];
  for (i64 v0 = begin; v0 < end; ++v0) {
    {
      char* const addresses[] = {(char*)(b0 + (v0 * 6L)), (char*)(b1 + 0L), (char*)(b2 + (v0 * 4L))};
      const long integers[] = {2L, 2L, 3L, 3L, 2L, 2L, 0L, 0L, 1L};
      functions[0](addresses, integers);
    }
  }
}
)");
}

// No such call is ever verified, but nothing of it would get into the source if it were.
TEST(EmitCpp, KeepsNamesOfFunctionsOutOfTheText) {
  const std::string plain = Text(Calling("sgemm"));
  for (const std::string& hostile :
       {std::string("system(\"id\"); //"), std::string("*/ int main() {} /*"),
        std::string("a\n#include \"/etc/passwd\"\n"), std::string("\\\nevil")}) {
    EXPECT_EQ(Text(Calling(hostile)), plain);
  }
}

TEST(EmitCpp, IncludesNothing) {
  for (const char* const isa : {"baseline", "avx2", "avx512", "avx512_vnni_bf16"}) {
    EXPECT_EQ(Text(Named("relu", "x"), isa).find("#include"), std::string::npos);
  }
}

TEST(EmitCpp, WritesFloatsExactly) {
  for (const double value : {0.1, -3.0, 1e-42, 3.4028234e38, 1.0 / 3}) {
    KernelBuilder builder("constant");
    const BufferRef out = builder.AddBuffer({"y", DType::kF32, 1, Access::kWrite});
    const Expr constant = kernel::Float(value);
    const std::string text =
        Text(std::move(builder).Finish({{kernel::Store{out, kernel::Int(0), constant}}}, 0));
    const std::size_t start = text.find("b0[0L] = ") + 9;
    std::string literal = text.substr(start, text.find(';', start) - start);
    if (literal[0] == '(') literal = literal.substr(1, literal.size() - 2);
    EXPECT_EQ(std::stod(literal), constant->real) << literal;
  }
}

TEST(Isa, HasNamesThatReadBack) {
  for (const char* const name :
       {"baseline", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "avx512_vnni_bf16"}) {
    ASSERT_TRUE(ParseIsa(name).has_value());
    EXPECT_EQ(ToString(*ParseIsa(name)), name);
  }
  EXPECT_FALSE(ParseIsa("avx9").has_value());
  EXPECT_TRUE(RunsOn(*ParseIsa("avx2"), *ParseIsa("avx512")));
  EXPECT_FALSE(RunsOn(*ParseIsa("avx512_vnni"), *ParseIsa("avx512")));
}

}  // namespace
}  // namespace msc
