// The node tests of ONNX: one operator a model, with inputs and expected outputs.
// Source: Debian package libonnx-testdata (ONNX 1.12, onnx/backend/test/data/node).

#include "compiler/pipeline/conformance.h"

#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

namespace fs = std::filesystem;

/// Returns the tests that are known not to pass, and why.
std::map<std::string, std::string> ExpectedFailures() {
  std::map<std::string, std::string> failures;
  std::istringstream list(ReadFile(MSC_ONNX_FAILURES));
  for (std::string line; std::getline(list, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t space = line.find(' ');
    failures[line.substr(0, space)] = line.substr(space + 1);
  }
  return failures;
}

onnx::ModelProto ReadModel(const fs::path& path) {
  onnx::ModelProto model;
  if (!model.ParseFromString(ReadFile(path.string()))) {
    throw UserError(path.string() + " is no ONNX model");
  }
  return model;
}

/// The operator a model tests; nullopt if it uses one that is not registered.
std::optional<std::string> OperatorOf(const onnx::ModelProto& model) {
  for (const onnx::NodeProto& node : model.graph().node()) {
    const bool imported = node.op_type() == "Constant";
    const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
    if (!imported && Ops().Find(domain, node.op_type()) == nullptr) return std::nullopt;
  }
  return model.graph().node_size() == 1 ? model.graph().node(0).op_type() : "several";
}

TEST(Conformance, PassesTheOnnxNodeTestsOfEveryOperatorItHas) {
  const fs::path root = MSC_ONNX_TEST_DATA;
  if (!fs::exists(root / "node")) GTEST_SKIP() << "libonnx-testdata is not installed";
  const std::map<std::string, std::string> known = ExpectedFailures();
  std::map<std::string, int> passes;
  std::size_t failures = 0;
  for (const ConformanceTest& one : FindConformanceTests((root / "node").string())) {
    const auto op = OperatorOf(ReadModel(fs::path(one.folder) / "model.onnx"));
    if (!op) continue;
    const std::string& test = one.name;
    const std::string wrong = RunConformanceTest(one, nullptr, {}).reason;
    const bool expected = known.contains(test);
    if (wrong.empty()) ++passes[*op];
    failures += wrong.empty() ? 0 : 1;
    if (expected) {
      EXPECT_FALSE(wrong.empty()) << test << " passes now: take it off the list of failures";
    } else {
      EXPECT_TRUE(wrong.empty()) << test << ": " << wrong;
    }
  }
  int total = 0;
  for (const auto& [op, count] : passes) {
    std::cout << op << ": " << count << " passed\n";
    total += count;
  }
  std::cout << total << " passed, " << failures << " failed as expected or not\n";
  EXPECT_GE(total, 900) << "the data of some operators were not found";
}

}  // namespace
}  // namespace msc
