#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/targets/target.h"

namespace msc {

/// A test of an ONNX backend test tree: a folder GROUP/test_NAME that contains model.onnx and
/// test_data_set_N/{input,output}_I.pb, each a TensorProto, or a SequenceProto
/// or OptionalProto where the graph says so, in the order of the graph.
/// Source: ONNX repository, docs/OnnxBackendTest.md.
struct ConformanceTest {
  std::string group;
  std::string name;
  std::string folder;
};
/// Returns all tests below `root`, sorted by group and name. `root` is a tree, a group or one test.
/// UserError if there is none.
[[nodiscard]] std::vector<ConformanceTest> FindConformanceTests(const std::string& root);

enum class Verdict : std::uint8_t {
  kPassed,
  kFailed,   ///< other outputs, or an error while running
  kSkipped,  ///< an operator, type or form is unsupported, and the model is rejected
};

struct ConformanceResult {
  Verdict verdict = Verdict::kSkipped;
  std::string reason = {};  ///< empty if it passed
  /// Nodes that the reference kernels computed, in the target's place or node by node.
  std::size_t on_reference = 0;
};

/// Tolerances, the same as in ONNX's own runner, in which those of bf16 are wider; strings and
/// integers must be equal.
struct ConformanceOptions {
  double relative = 1e-3;
  double absolute = 1e-7;
};

/// Runs every data set of a test: on `target`, compiled for the shapes of its data, or with the
/// reference kernels node by node if `target` is nullptr. Values other than tensors, and sizes that
/// only a run decides, are left to the interpreter. Does not throw: a bug of the compiler that a
/// test shows is a failure of that test.
[[nodiscard]] ConformanceResult RunConformanceTest(const ConformanceTest& test,
                                                   const Target* target,
                                                   const TargetRegistry& registry,
                                                   const ConformanceOptions& options = {});

/// Returns how `got` differs from `want`; empty if they are equal within tolerance.
[[nodiscard]] std::string CompareTensors(const Tensor& got, const Tensor& want,
                                         const ConformanceOptions& options = {});

}  // namespace msc
