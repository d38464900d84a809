#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/targets/target.h"

namespace msc {

/// One test of an ONNX backend test tree: a folder GROUP/test_NAME that holds model.onnx and
/// test_data_set_N/{input,output}_I.pb, a TensorProto each, in the order of the graph.
/// Source: ONNX repository, docs/OnnxBackendTest.md.
struct ConformanceTest {
  std::string group;
  std::string name;
  std::string folder;
};
/// All tests below `root` by group, then name: `root` is a tree, a group or one test. UserError if
/// there is none.
[[nodiscard]] std::vector<ConformanceTest> FindConformanceTests(const std::string& root);

enum class Verdict : std::uint8_t {
  kPassed,
  kFailed,   ///< other outputs, or an error while it ran
  kSkipped,  ///< not taken: an operator, a type or a form that is not supported, and is refused
};

struct ConformanceResult {
  Verdict verdict = Verdict::kSkipped;
  std::string reason;  ///< empty if it passed
};

/// Tolerances as in ONNX's own runner; strings and integers must be equal.
struct ConformanceOptions {
  double relative = 1e-3;
  double absolute = 1e-7;
};

/// Runs every data set of a test: on `target`, compiled for the shapes of its data, or with the
/// reference kernels node by node where `target` is nullptr. Throws only InternalError.
[[nodiscard]] ConformanceResult RunConformanceTest(const ConformanceTest& test,
                                                   const Target* target,
                                                   const TargetRegistry& registry,
                                                   const ConformanceOptions& options = {});

/// What is wrong with `got`, or nothing.
[[nodiscard]] std::string CompareTensors(const Tensor& got, const Tensor& want,
                                         const ConformanceOptions& options = {});

}  // namespace msc
