#include "compiler/codegen/cpp/package.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/kernel/call.h"
#include "tests/support/kernel_eval.h"

namespace msc {
namespace {

namespace fs = std::filesystem;
using kernel::Access;
using kernel::BufferRef;
using kernel::Expr;
using kernel::KernelBuilder;
using kernel::KernelFunc;
using kernel::Op;
using kernel::Program;
using kernel::ProgramBuffer;
using kernel::VarId;

constexpr std::int64_t kCount = 64;
constexpr ValueId kInput{1};
constexpr ValueId kOutput{2};

/// z[i] = op(x[i], y[i]), `lanes` at a time.
KernelFunc Elementwise(Op op, int lanes) {
  KernelBuilder builder("*/ hostile \"name");
  const auto buffer = [&](Access access) {
    return builder.AddBuffer({"\n#error", DType::kF32, kCount, access});
  };
  const BufferRef x = buffer(Access::kRead);
  const BufferRef y = buffer(Access::kRead);
  const BufferRef z = buffer(Access::kWrite);
  const VarId i = builder.NewVar();
  const Expr index = kernel::Var(i) * lanes;
  const kernel::Type type{DType::kF32, lanes};
  const Expr value = kernel::Binary(op, kernel::Load(x, index, type), kernel::Load(y, index, type));
  return std::move(builder).Finish({{kernel::For{i,
                                                 kernel::Int(kCount / lanes),
                                                 kernel::LoopKind::kParallel,
                                                 {{kernel::Store{z, index, value}}}}}},
                                   0);
}

Tensor Ramp(float step) {
  Tensor tensor(DType::kF32, {kCount});
  float value = -3;
  for (float& element : tensor.MutableValues<float>()) element = value += step;
  return tensor;
}

/// output = max(input * weight + weight, weight): a private buffer is used twice.
Program MakeProgram(int lanes) {
  Program program;
  for (const Op op : {Op::kMul, Op::kAdd, Op::kMax}) {
    program.funcs.push_back(Elementwise(op, lanes));
  }
  program.buffers = {{.kind = ProgramBuffer::Kind::kValue, .value = kInput},
                     {.kind = ProgramBuffer::Kind::kConstant,
                      .constant = std::make_shared<const Tensor>(Ramp(0.125F))},
                     {.kind = ProgramBuffer::Kind::kPrivate, .bytes = kCount * 4},
                     {.kind = ProgramBuffer::Kind::kPrivate, .bytes = kCount * 4},
                     {.kind = ProgramBuffer::Kind::kValue, .value = kOutput}};
  program.calls.resize(3);
  program.calls[0] = {.func = 0, .buffers = {0, 1, 2}, .name = "a", .nodes = {}, .precision = ""};
  program.calls[1] = {.func = 1, .buffers = {2, 1, 3}, .name = "b", .nodes = {}, .precision = ""};
  program.calls[2] = {.func = 2, .buffers = {3, 1, 4}, .name = "c", .nodes = {}, .precision = ""};
  return program;
}

CppPackage MakePackage() {
  CppPackage package;
  package.inputs = {{"portname\"*/`|\n", DType::kF32, {kCount}, kInput}};
  package.outputs = {{"out", DType::kF32, {kCount}, kOutput}};
  package.variants.push_back({*ParseIsa("avx512"), MakeProgram(16)});
  package.variants.push_back({*ParseIsa("avx2"), MakeProgram(8)});
  package.variants.push_back({Isa{}, MakeProgram(4)});
  package.example_inputs.push_back(Ramp(0.1F));

  const Program& program = package.variants[2].program;
  std::vector<Tensor> memory(5, Ramp(0));
  memory[0] = package.example_inputs[0];
  memory[1] = *program.buffers[1].constant;
  for (const kernel::ProgramCall& call : program.calls) {
    std::vector<std::span<std::byte>> spans;
    for (const std::size_t buffer : call.buffers) spans.push_back(memory[buffer].MutableRaw());
    const KernelFunc& func = program.funcs[call.func];
    kernel::Evaluate(func, spans, 0, func.parallel_extent());
  }
  package.example_outputs.push_back(memory[4]);
  package.tolerance = 1e-6;
  return package;
}

class Package : public testing::Test {
 protected:
  Package() : folder_(testing::TempDir() + "/msc_package_test_" + std::to_string(::getpid())) {
    fs::remove_all(folder_);
  }
  ~Package() override { fs::remove_all(folder_); }
  [[nodiscard]] int Run(const std::string& command) const {
    return std::system(("cd '" + folder_ + "' && (" + command + ") > log 2>&1").c_str());
  }
  std::string folder_;
};

TEST_F(Package, BuildsWithNothingElseAndReproducesTheExample) {
  WriteCppPackage(MakePackage(), folder_);
  ASSERT_EQ(Run("cmake -S . -B build && cmake --build build"), 0) << ReadFile(folder_ + "/log");
  EXPECT_EQ(Run("ctest --test-dir build"), 0) << ReadFile(folder_ + "/log");
  // From elsewhere, by hand, and it says which variants ran: at least what every x86-64 has.
  EXPECT_EQ(Run("cd / && '" + folder_ + "/build/model_test' '" + folder_ + "'"), 0);
  EXPECT_NE(ReadFile(folder_ + "/log").find("baseline output 0: error 0"), std::string::npos);

  // The test can fail: another output, then weights that are cut off.
  std::string output = ReadFile(folder_ + "/example/output_0.bin");
  std::string changed = output;
  changed[6] = static_cast<char>(changed[6] ^ 0x40);
  WriteFileAtomic(folder_ + "/example/output_0.bin", changed);
  EXPECT_NE(Run("build/model_test ."), 0);
  WriteFileAtomic(folder_ + "/example/output_0.bin", output);
  EXPECT_EQ(Run("build/model_test ."), 0);
  const std::string weights = ReadFile(folder_ + "/weights_baseline.bin");
  WriteFileAtomic(folder_ + "/weights_baseline.bin", weights.substr(0, weights.size() - 1));
  EXPECT_NE(Run("build/model_test ."), 0);
}

TEST_F(Package, KeepsNamesOutOfSources) {
  WriteCppPackage(MakePackage(), folder_);
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".cc" && extension != ".h" && extension != ".txt") continue;
    const std::string text = ReadFile(entry.path().string());
    EXPECT_EQ(text.find("hostile"), std::string::npos) << entry.path();
    EXPECT_EQ(text.find("#error"), std::string::npos) << entry.path();
    EXPECT_EQ(text.find("portname"), std::string::npos) << entry.path();
  }
  EXPECT_NE(ReadFile(folder_ + "/README.md").find("| `portname\"*/???` | f32 | [64] |"),
            std::string::npos);
}

TEST_F(Package, RefusesWhatItCannotDo) {
  const auto refusal = [&](const CppPackage& package) -> std::string {
    try {
      WriteCppPackage(package, folder_);
    } catch (const UserError& error) {
      return error.what();
    }
    return "none";
  };
  CppPackage package = MakePackage();
  package.outputs[0].value = ValueId{9};
  EXPECT_EQ(refusal(package), "output 'out' is not computed by kernels");
  package = MakePackage();
  package.inputs[0].value = ValueId{9};
  EXPECT_EQ(refusal(package), "the model reads a value that is neither its input nor computed");
  // A product, of what is input by what is constant: [8,8] each.
  package = MakePackage();
  KernelFunc& func = package.variants[1].program.funcs[0];
  const kernel::Sgemm product{.m = 8, .n = 8, .k = 8, .lda = 8, .ldb = 8, .ldc = 8};
  const Expr zero = kernel::Int(0);
  func.body = {{kernel::ToCall(product, {{0}, zero}, {{1}, zero}, {{2}, zero})}};
  EXPECT_EQ(refusal(package),
            "a kernel calls 'sgemm' of a library, and exported code has no libraries");
  EXPECT_FALSE(fs::exists(folder_));
  fs::create_directories(folder_);
  WriteFileAtomic(folder_ + "/mine", "x");
  EXPECT_EQ(refusal(MakePackage()), "'" + folder_ + "' is not empty: give a new folder");
}

}  // namespace
}  // namespace msc
