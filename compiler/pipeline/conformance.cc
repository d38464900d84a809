#include "compiler/pipeline/conformance.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/import/onnx/import.h"
#include "compiler/ops/eval.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/compile.h"

namespace msc {
namespace {

namespace fs = std::filesystem;

bool IsTest(const fs::path& folder) {
  return fs::is_regular_file(folder / "model.onnx");
}

ConformanceTest TestIn(const fs::path& folder) {
  return {.group = folder.parent_path().filename().string(),
          .name = folder.filename().string(),
          .folder = folder.string()};
}

/// Converts a tensor of the files, which store bf16 as u16 with the same bits.
Tensor AsTyped(Tensor tensor, DType wanted) {
  if (tensor.dtype() != DType::kU16 || wanted != DType::kBF16) return tensor;
  return Tensor::From<std::uint16_t>(wanted, tensor.dims(), tensor.Values<std::uint16_t>());
}

/// Reads the tensors STEM_0.pb, STEM_1.pb ... for `values`.
std::vector<Tensor> ReadTensors(const fs::path& folder, const std::string& stem, const Graph& graph,
                                const std::vector<ValueId>& values) {
  std::vector<Tensor> tensors;
  for (const ValueId value : values) {
    const fs::path path = folder / (stem + "_" + std::to_string(tensors.size()) + ".pb");
    tensors.push_back(AsTyped(ImportOnnxTensor(path.string()), graph.type(value).dtype));
  }
  return tensors;
}

/// Returns the graph with its inputs typed as the data are.
Graph Bound(const Graph& graph, const std::vector<Tensor>& inputs) {
  Graph bound = graph;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ValueType type = bound.type(bound.inputs()[i]);
    type.dtype = inputs[i].dtype();
    type.shape = ToShape(inputs[i].dims());
    bound.SetType(bound.inputs()[i], std::move(type));
  }
  InferTypes(bound);
  Canonicalize(bound);
  return bound;
}

/// Thrown while a test is prepared: the test is not supported.
struct NotTaken {
  std::string why;
};

std::vector<Tensor> RunOn(const Target& target, const TargetRegistry& registry, const Graph& graph,
                          const std::vector<Tensor>& inputs) {
  const auto compiled = [&]() -> Result<Executable> {
    try {
      const Graph lowered = Lower(Bound(graph, inputs), target, {});
      return BuildExecutable(lowered, target, registry, {});
    } catch (const UserError& error) {
      throw NotTaken{error.what()};
    }
  };
  Result<Executable> built = compiled();
  if (!built.ok()) throw NotTaken{built.failure().detail};
  return std::move(built).value().Run(inputs);
}

std::string RunDataSet(const fs::path& data, const Graph& graph, const Target* target,
                       const TargetRegistry& registry, const ConformanceOptions& options) {
  std::vector<Tensor> inputs;
  std::vector<Tensor> want;
  try {
    inputs = ReadTensors(data, "input", graph, graph.inputs());
    want = ReadTensors(data, "output", graph, graph.outputs());
  } catch (const UserError& error) {
    throw NotTaken{error.what()};
  }
  const std::vector<Tensor> got =
      target == nullptr ? Interpret(graph, inputs) : RunOn(*target, registry, graph, inputs);
  if (got.size() != want.size()) return "another number of outputs";
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::string wrong = CompareTensors(got[i], want[i], options);
    if (!wrong.empty()) return "output " + std::to_string(i) + ": " + wrong;
  }
  return "";
}

}  // namespace

std::vector<ConformanceTest> FindConformanceTests(const std::string& root) {
  std::vector<ConformanceTest> tests;
  const fs::path base = fs::path(root).lexically_normal();
  std::error_code error;
  if (!fs::is_directory(base, error)) throw UserError("'" + root + "' is no folder");
  if (IsTest(base)) return {TestIn(base)};
  for (const auto& entry : fs::directory_iterator(base)) {
    if (!entry.is_directory()) continue;
    if (IsTest(entry.path())) {
      tests.push_back(TestIn(entry.path()));
      continue;
    }
    for (const auto& inner : fs::directory_iterator(entry.path())) {
      if (inner.is_directory() && IsTest(inner.path())) tests.push_back(TestIn(inner.path()));
    }
  }
  if (tests.empty()) throw UserError("'" + root + "' holds no test folder with a model.onnx");
  std::sort(tests.begin(), tests.end(), [](const ConformanceTest& a, const ConformanceTest& b) {
    return std::pair(a.group, a.name) < std::pair(b.group, b.name);
  });
  return tests;
}

std::string CompareTensors(const Tensor& got, const Tensor& want,
                           const ConformanceOptions& options) {
  if (got.dtype() != want.dtype() || got.dims() != want.dims()) {
    return std::string(Name(got.dtype())) + ToString(got.dims()) + " instead of " +
           std::string(Name(want.dtype())) + ToString(want.dims());
  }
  if (want.dtype() == DType::kString) {
    return got.strings() == want.strings() ? "" : "other strings";
  }
  for (std::int64_t i = 0; i < want.size(); ++i) {
    const double a = NumberAt(got, i);
    const double b = NumberAt(want, i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    // numpy.testing.assert_allclose, which ONNX's own runner of these tests uses, compares in this
    // way.
    if (IsFloat(want.dtype()) &&
        std::abs(a - b) <= options.absolute + options.relative * std::abs(b)) {
      continue;
    }
    return "element " + std::to_string(i) + " is " + std::to_string(a) + " instead of " +
           std::to_string(b);
  }
  return "";
}

ConformanceResult RunConformanceTest(const ConformanceTest& test, const Target* target,
                                     const TargetRegistry& registry,
                                     const ConformanceOptions& options) {
  const fs::path folder = test.folder;
  try {
    const auto read_model = [&] {
      try {
        return ImportOnnx((folder / "model.onnx").string());
      } catch (const UserError& error) {
        throw NotTaken{error.what()};
      }
    };
    const Graph graph = read_model();
    int sets = 0;
    for (; fs::is_directory(folder / ("test_data_set_" + std::to_string(sets))); ++sets) {
      const std::string wrong = RunDataSet(folder / ("test_data_set_" + std::to_string(sets)),
                                           graph, target, registry, options);
      if (!wrong.empty()) return {.verdict = Verdict::kFailed, .reason = wrong};
    }
    if (sets == 0) return {.verdict = Verdict::kSkipped, .reason = "has no data"};
    return {.verdict = Verdict::kPassed};
  } catch (const NotTaken& refused) {
    return {.verdict = Verdict::kSkipped, .reason = refused.why};
  } catch (const UserError& error) {
    return {.verdict = Verdict::kFailed, .reason = error.what()};
  }
}

}  // namespace msc
