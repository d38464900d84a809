// Every registered target against the reference kernels, operator by operator: what a target says
// it supports must build, run, and give the reference's result within the tolerance of its type.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/ops/eval.h"
#include "compiler/ops/op.h"
#include "compiler/targets/register.h"
#include "compiler/targets/target.h"
#include "tests/compiler/targets/contract_cases.h"
#include "tests/compiler/targets/example_target.h"
#include "tests/compiler/targets/generated_cases.h"
#include "tests/contract/op_cases.h"
#include "tests/support/exact_int8.h"
#include "tests/support/seeds.h"

namespace msc {
namespace {

// Every target of the product, and the one that docs/add_a_target.md explains.
TargetRegistry AllTargets() {
  TargetRegistry registry;
  RegisterAllTargets(registry);
  registry.Add(ExampleKind());
  return registry;
}

std::vector<CaseFamily> AllFamilies() {
  std::vector<CaseFamily> families;
  for (const auto& some : {FusedFamilies, OperatorFamilies, RecurrentFamilies, FunctionFamilies,
                           IndexFamilies, TransformerFamilies}) {
    for (CaseFamily& family : some()) families.push_back(std::move(family));
  }
  for (const std::string& kind : GeneratedKinds()) {
    families.push_back({"generated_" + kind, [kind] { return GenerateCases(kind, 1, 24); }});
  }
  return families;
}

std::vector<GraphCase> CasesOf(const std::string& label) {
  for (const CaseFamily& family : AllFamilies()) {
    if (family.label == label) return family.cases();
  }
  ADD_FAILURE() << "no family " << label;
  return {};
}

/// Some are equal, and some are indices.
std::int32_t Small(Rng& rng) {
  return static_cast<std::int32_t>(rng.Below(7)) - 3;
}

Tensor RandomTensor(DType dtype, const Dims& dims, std::uint64_t seed) {
  Rng rng(seed);
  Tensor tensor(dtype, dims);
  switch (dtype) {
    case DType::kF32:
      for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng.Normal());
      break;
    case DType::kBF16:
      for (std::uint16_t& x : tensor.MutableValues<std::uint16_t>()) {
        x = ToBF16(static_cast<float>(rng.Normal()));
      }
      break;
    case DType::kF16:
      for (std::uint16_t& x : tensor.MutableValues<std::uint16_t>()) {
        x = ToF16(static_cast<float>(rng.Normal()));
      }
      break;
    case DType::kI8:
      for (std::int8_t& x : tensor.MutableValues<std::int8_t>()) {
        x = static_cast<std::int8_t>(static_cast<std::int64_t>(rng.Below(256)) - 128);
      }
      break;
    case DType::kU8:
      for (std::uint8_t& x : tensor.MutableValues<std::uint8_t>()) {
        x = static_cast<std::uint8_t>(rng.Below(256));
      }
      break;
    case DType::kI32:
      for (std::int32_t& x : tensor.MutableValues<std::int32_t>()) x = Small(rng);
      break;
    case DType::kI64:
      for (std::int64_t& x : tensor.MutableValues<std::int64_t>()) x = Small(rng);
      break;
    case DType::kBool:
      for (std::uint8_t& x : tensor.MutableValues<std::uint8_t>()) {
        x = static_cast<std::uint8_t>(rng.Below(2));
      }
      break;
    default:
      ADD_FAILURE() << "no random values of this type";
  }
  return tensor;
}

// One quantum for what is rounded to 8 bits, nothing for other integers; relative to the range for
// floats.
double Tolerance(const Tensor& expected, bool has_bf16) {
  if (expected.dtype() == DType::kI8 || expected.dtype() == DType::kU8) return 1.0;
  if (!IsFloat(expected.dtype())) return 0.0;
  double range = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(expected.size()); ++i) {
    range = std::max(range, std::abs(NumberAt(expected, static_cast<std::int64_t>(i))));
  }
  // Numbers that differ by less may be rounded to neighbours.
  const double part = has_bf16 ? 2e-2 : expected.dtype() == DType::kF16 ? 1e-3 : 1e-4;
  return part * std::max(range, 1e-6);
}

void ExpectClose(const Tensor& actual, const Tensor& expected, bool has_bf16) {
  ASSERT_EQ(actual.dtype(), expected.dtype());
  ASSERT_EQ(actual.dims(), expected.dims());
  const double tolerance = Tolerance(expected, has_bf16);
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(expected.size()); ++i) {
    const double one = NumberAt(actual, static_cast<std::int64_t>(i));
    const double other = NumberAt(expected, static_cast<std::int64_t>(i));
    const bool same = one == other || (std::isnan(one) && std::isnan(other));
    const double error = same ? 0 : std::abs(one - other);
    if (!(error <= worst)) {  // NaN instead of a number counts as worst
      worst = error;
      at = i;
    }
  }
  const auto index = static_cast<std::int64_t>(at);
  EXPECT_LE(worst, tolerance) << "at " << at << ": " << NumberAt(actual, index) << " instead of "
                              << NumberAt(expected, index);
}

// A graph cut into regions: nodes the target supports go to it, the others to the reference.
Executable Build(const Graph& graph, const Target& target, const Target& reference, int threads) {
  ExecutableBuilder builder(graph);
  const TargetOptions options{.threads = threads};
  Region region{.graph = &graph, .nodes = {}};
  const auto flush = [&] {
    if (region.nodes.empty()) return;
    const auto failure = target.GraphToRuntime(region, options, builder);
    EXPECT_FALSE(failure.has_value()) << failure->detail;
    region.nodes.clear();
  };
  for (const NodeId id : graph.order()) {
    if (target.Supports(graph, id)) {
      region.nodes.push_back(id);
      continue;
    }
    flush();
    const Region rest{.graph = &graph, .nodes = {id}};
    EXPECT_FALSE(reference.GraphToRuntime(rest, options, builder).has_value());
  }
  flush();
  return std::move(builder).Build();
}

class TargetContract : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  TargetContract() : registry_(AllTargets()) {}

  void Compare(const Target& target, const GraphCase& c, int threads) {
    Graph graph = ParseGraph(c.text);
    InferTypes(graph);
    std::vector<Tensor> inputs;
    for (const ValueId input : graph.inputs()) {
      inputs.push_back(RandomTensor(graph.type(input).dtype, *StaticDims(*graph.type(input).shape),
                                    inputs.size() + 1));
    }
    const std::vector<Tensor> expected = Interpret(graph, inputs);
    const bool has_bf16 = c.text.find("bf16") != std::string::npos;
    Executable executable = Build(graph, target, registry_.Get("reference"), threads);
    const std::vector<Tensor> outputs = executable.Run(inputs);
    ASSERT_EQ(outputs.size(), expected.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      ExpectClose(outputs[i], expected[i], has_bf16);
    }
    // Nothing is left over from one run that the next one sees.
    EXPECT_EQ(executable.Run(inputs), outputs);
  }

  TargetRegistry registry_;
};

TEST_P(TargetContract, AgreesWithTheReferenceKernels) {
  const auto& [name, family] = GetParam();
  try {
    (void)registry_.Get(name);
  } catch (const UserError& absent) {
    GTEST_SKIP() << absent.what();
  }
  const std::vector<GraphCase> cases = CasesOf(family);
  // In a sample some of each: what takes the time is a compiler for each, under a sanitizer
  // building and interpreting. So with the option sets: others for each family, so that every mix
  // of types has its turn.
  const bool with_options = name.find(':') != std::string::npos;
  const std::size_t stride = with_options ? 11 * Stride() : Stride();
  const std::size_t first = family.size() % stride % cases.size();
  for (std::size_t i = first; i < cases.size(); i += stride) {
    SCOPED_TRACE(cases[i].label + "\n" + cases[i].text);
    const bool bytes = cases[i].text.find("8[") != std::string::npos;
    if (bytes && !IsExactInInt8(name)) continue;
    Compare(registry_.Get(name), cases[i], 1);
    // Two threads wait for each other on busy machines: a part of the cases will do, in a sample
    // without options.
    if (with_options && Sampled()) continue;
    if ((i - first) % (4 * stride) == 0) Compare(registry_.Get(name), cases[i], 2);
  }
}

std::vector<std::string> TargetNames() {
  const TargetRegistry registry = AllTargets();
  std::vector<std::string> names;
  for (const auto& [name, kind] : registry.kinds()) names.push_back(name);
  return names;
}

/// Runs the call on `target`, if it supports it, and compares the outputs with the reference's. The
/// operands come from outside or are, but for the first, constants.
void CompareCall(const Target& target, const Target& reference, const OpCase& op_case,
                 bool constants) {
  const auto is_constant = [constants](std::size_t i) { return constants && i > 0; };
  Graph graph = GraphOfCase(op_case, [&](std::size_t i, const Tensor& tensor) {
    return is_constant(i) ? std::nullopt : std::optional(TypeOfTensor(tensor));
  });
  InferTypes(graph);
  const bool is_static = std::ranges::all_of(graph.outputs(), [&](ValueId output) {
    return graph.type(output).shape && StaticDims(*graph.type(output).shape);
  });
  if (!is_static || !target.Supports(graph, graph.order().front())) return;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    if (op_case.inputs[i] && !is_constant(i)) inputs.push_back(*op_case.inputs[i]);
  }
  const std::vector<Tensor> expected = Interpret(graph, inputs);
  Executable executable = Build(graph, target, reference, 1);
  const std::vector<Tensor> outputs = executable.Run(inputs);
  ASSERT_EQ(outputs.size(), expected.size());
  const auto has_bf16 = [](const auto& tensors) {
    return std::ranges::any_of(tensors,
                               [](const Tensor& tensor) { return tensor.dtype() == DType::kBF16; });
  };
  const bool rounds = has_bf16(inputs) || has_bf16(expected);
  for (std::size_t i = 0; i < outputs.size(); ++i) ExpectClose(outputs[i], expected[i], rounds);
}

class TargetOpContract : public testing::TestWithParam<std::string> {};

/// The cases of the operators' own contract enrol every operator, so that one that a target takes
/// is compared without a row in a family.
TEST_P(TargetOpContract, AgreesWithTheReferenceOnTheCasesOfEveryOperator) {
  const TargetRegistry registry = AllTargets();
  const Target* target = nullptr;
  try {
    target = &registry.Get(GetParam());
  } catch (const UserError& absent) {
    GTEST_SKIP() << absent.what();
  }
  const std::vector<OpCase> cases = OpCases();
  for (std::size_t i = 0; i < cases.size(); i += Stride()) {
    for (const bool constants : {false, true}) {
      SCOPED_TRACE(cases[i].label + (constants ? ", constant operands" : ""));
      CompareCall(*target, registry.Get("reference"), cases[i], constants);
    }
  }
}

/// Kernels cannot report an index that is outside: whoever runs them does.
TEST_P(TargetOpContract, RefusesComputedIndicesOutside) {
  const TargetRegistry registry = AllTargets();
  const Target* target = nullptr;
  try {
    target = &registry.Get(GetParam());
  } catch (const UserError& absent) {
    GTEST_SKIP() << absent.what();
  }
  for (const std::string op : {"Gather", "GatherElements"}) {
    for (const std::string type : {"i32", "i64"}) {
      Graph graph =
          ParseGraph("graph g {\n  input %x : f32[2,3]\n  input %i : " + type +
                     "[2,2]\n  %y = " + op + "(%x, %i) @picked {axis = 1}\n  output %y\n}");
      InferTypes(graph);
      const Executable executable = Build(graph, *target, registry.Get("reference"), 1);
      const Tensor x(DType::kF32, {2, 3});
      for (const std::int64_t index : {3, -4, -3, 2}) {
        Tensor indices(graph.type(graph.inputs()[1]).dtype, {2, 2});
        if (type == "i64") indices.MutableValues<std::int64_t>()[2] = index;
        if (type == "i32")
          indices.MutableValues<std::int32_t>()[2] = static_cast<std::int32_t>(index);
        std::string error;
        try {
          (void)executable.Run(std::vector{x, indices});
        } catch (const UserError& outside) {
          error = outside.what();
        }
        const bool inside = -3 <= index && index < 3;
        EXPECT_EQ(error.empty(), inside) << error;
        // The library says it in its own words.
        if (inside || GetParam() == "onnxruntime") continue;
        EXPECT_EQ(error, "node 'picked' (" + op + "): index " + std::to_string(index) +
                             " is outside an axis of 3");
      }
    }
  }
}

/// Every target as it is, and native for less than this machine has: shorter vectors, no products
/// of 8-bit integers.
std::vector<std::string> TargetSpecs() {
  std::vector<std::string> specs = TargetNames();
  specs.insert(specs.end(), {"native:isa=avx2", "native:isa=baseline"});
  return specs;
}

std::string TestName(std::string spec, const std::string& family) {
  std::ranges::replace_if(
      spec, [](char c) { return c == ':' || c == '='; }, '_');
  return spec + "_" + family;
}

std::vector<std::string> FamilyLabels() {
  std::vector<std::string> labels;
  for (const CaseFamily& family : AllFamilies()) labels.push_back(family.label);
  return labels;
}

INSTANTIATE_TEST_SUITE_P(All, TargetOpContract, testing::ValuesIn(TargetSpecs()),
                         [](const auto& test) { return TestName(test.param, "calls"); });

INSTANTIATE_TEST_SUITE_P(All, TargetContract,
                         testing::Combine(testing::ValuesIn(TargetSpecs()),
                                          testing::ValuesIn(FamilyLabels())),
                         [](const auto& test) {
                           return TestName(std::get<0>(test.param), std::get<1>(test.param));
                         });

}  // namespace
}  // namespace msc
