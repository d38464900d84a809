#include "compiler/pipeline/conformance.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/import/onnx/import.h"
#include "compiler/ops/eval.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/partly_compiled.h"

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

/// Thrown while a test is prepared: the test is not supported.
struct NotTaken {
  std::string why;
};

/// Converts a tensor of the files, which store bf16 as u16 with the same bits.
RunValue AsTyped(RunValue value, DType wanted) {
  const Tensor* tensor = TensorIn(value);
  if (tensor == nullptr || tensor->dtype() != DType::kU16 || wanted != DType::kBF16) return value;
  return RunValueOf(
      Tensor::From<std::uint16_t>(wanted, tensor->dims(), tensor->Values<std::uint16_t>()));
}

/// Reads the files STEM_0.pb, STEM_1.pb ... for `values`.
std::vector<RunValue> ReadValues(const fs::path& folder, const std::string& stem,
                                 const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<RunValue> read;
  for (const ValueId value : values) {
    const fs::path path = folder / (stem + "_" + std::to_string(read.size()) + ".pb");
    const ValueType& type = graph.type(value);
    read.push_back(AsTyped(ImportOnnxValue(path.string(), type), type.dtype));
  }
  return read;
}

/// Returns the tensors; nothing if a value is no tensor.
std::optional<std::vector<Tensor>> TensorsOf(const std::vector<RunValue>& values) {
  std::vector<Tensor> tensors;
  for (const RunValue& value : values) {
    if (value.container != Container::kTensor) return std::nullopt;
    tensors.push_back(*value.tensors.front());
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

/// Outputs, and the nodes that the reference kernels computed.
struct Ran {
  std::vector<RunValue> outputs;
  std::size_t on_reference = 0;
};

Ran Interpreted(const Graph& graph, const std::vector<RunValue>& inputs) {
  return {InterpretValues(graph, inputs), graph.order().size()};
}

std::size_t ReferenceNodes(const Executable& executable) {
  std::size_t nodes = 0;
  for (const Step& step : executable.steps()) {
    if (step.target == "reference") nodes += step.nodes.size();
  }
  return nodes;
}

template <class Make>
auto BuiltOrNotTaken(const Make& make) {
  const auto built = [&] {
    try {
      return make();
    } catch (const UserError& error) {
      throw NotTaken{error.what()};
    }
  };
  auto result = built();
  if (!result.ok()) throw NotTaken{result.failure().detail};
  return std::move(result).value();
}

Ran RunOn(const Target& target, const TargetRegistry& registry, const Graph& graph,
          const std::vector<RunValue>& values) {
  const auto inputs = TensorsOf(values);
  if (!inputs) return Interpreted(graph, values);
  const Graph bound = Bound(graph, *inputs);
  if (FirstDecidedInRun(bound)) {
    Strategy strategy;
    strategy.target = target.spec();
    const PartlyCompiled model =
        BuiltOrNotTaken([&] { return PartlyCompiled::Build(bound, strategy, registry, {}); });
    return {model.Run(*inputs), model.interpreted_nodes()};
  }
  const Executable executable = BuiltOrNotTaken(
      [&] { return BuildExecutable(Lower(bound, target, {}), target, registry, {}); });
  Ran ran{.outputs = {}, .on_reference = ReferenceNodes(executable)};
  for (Tensor& tensor : executable.Run(*inputs)) {
    ran.outputs.push_back(RunValueOf(std::move(tensor)));
  }
  return ran;
}

/// Returns how two values differ; empty if they are equal within tolerance.
std::string CompareValues(const RunValue& got, const RunValue& want,
                          const ConformanceOptions& options) {
  if (got.container != want.container || got.present != want.present ||
      got.tensors.size() != want.tensors.size()) {
    const auto text = [](const RunValue& value) {
      return value.present ? ToString(TypeOf(value)) + " with " +
                                 std::to_string(value.tensors.size()) + " tensors"
                           : "an empty " + ToString(TypeOf(value));
    };
    return text(got) + " instead of " + text(want);
  }
  for (std::size_t i = 0; i < got.tensors.size(); ++i) {
    std::string wrong = CompareTensors(*got.tensors[i], *want.tensors[i], options);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

/// Returns what is wrong; empty if nothing is. Adds to `on_reference`.
std::string RunDataSet(const fs::path& data, const Graph& graph, const Target* target,
                       const TargetRegistry& registry, const ConformanceOptions& options,
                       std::size_t& on_reference) {
  std::vector<RunValue> inputs;
  std::vector<RunValue> want;
  try {
    inputs = ReadValues(data, "input", graph, graph.inputs());
    want = ReadValues(data, "output", graph, graph.outputs());
  } catch (const UserError& error) {
    throw NotTaken{error.what()};
  }
  const Ran ran =
      target == nullptr ? Interpreted(graph, inputs) : RunOn(*target, registry, graph, inputs);
  on_reference += ran.on_reference;
  const std::vector<RunValue>& got = ran.outputs;
  if (got.size() != want.size()) return "another number of outputs";
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::string wrong = CompareValues(got[i], want[i], options);
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
  // ONNX's runner allows an output in bf16 two units in the last place.
  constexpr double kRelativeOfBF16 = 1.0 / 64;
  const double relative =
      want.dtype() == DType::kBF16 ? std::max(options.relative, kRelativeOfBF16) : options.relative;
  for (std::int64_t i = 0; i < want.size(); ++i) {
    const double a = NumberAt(got, i);
    const double b = NumberAt(want, i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    // numpy.testing.assert_allclose, which ONNX's own runner of these tests uses, compares in this
    // way.
    if (IsFloat(want.dtype()) && std::abs(a - b) <= options.absolute + relative * std::abs(b)) {
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
    std::size_t on_reference = 0;
    for (; fs::is_directory(folder / ("test_data_set_" + std::to_string(sets))); ++sets) {
      const std::string wrong = RunDataSet(folder / ("test_data_set_" + std::to_string(sets)),
                                           graph, target, registry, options, on_reference);
      if (!wrong.empty()) {
        return {.verdict = Verdict::kFailed, .reason = wrong, .on_reference = on_reference};
      }
    }
    if (sets == 0) return {.verdict = Verdict::kSkipped, .reason = "has no data"};
    return {.verdict = Verdict::kPassed, .on_reference = on_reference};
  } catch (const NotTaken& refused) {
    return {.verdict = Verdict::kSkipped, .reason = refused.why};
  } catch (const UserError& error) {
    return {.verdict = Verdict::kFailed, .reason = error.what()};
  } catch (const InternalError& error) {
    // One test that shows a bug of the compiler says nothing about the others.
    return {.verdict = Verdict::kFailed, .reason = std::string("a bug: ") + error.what()};
  }
}

}  // namespace msc
