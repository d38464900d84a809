// The node tests of ONNX: one operator a model, with inputs and expected outputs.
// Source: Debian package libonnx-testdata (ONNX 1.12, onnx/backend/test/data/node).

#include "compiler/pipeline/conformance.h"

#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

namespace fs = std::filesystem;

/// Tests of supported operators that are known to fail, and why.
const std::map<std::string, std::string>& ExpectedFailures() {
  static const std::map<std::string, std::string> kFailures = {
      {"test_adam_multiple", "the data use an epsilon that the model does not give"},
      {"test_cast_FLOAT_to_BFLOAT16", "the data cut bits off; we round to nearest, ties to even"},
      {"test_castlike_BFLOAT16_to_FLOAT_expanded",
       "the data do not have the shape that the model declares"},
      {"test_castlike_FLOAT_to_BFLOAT16_expanded",
       "the data do not have the shape that the model declares"},
      {"test_castlike_BFLOAT16_to_FLOAT", "the data do not have the shape that the model declares"},
      {"test_castlike_FLOAT_to_BFLOAT16", "the data do not have the shape that the model declares"},
      {"test_resize_downsample_scales_cubic_align_corners",
       "the data divide by the size before it was rounded down, not by the size of the output"},
      {"test_resize_downsample_scales_linear_align_corners",
       "the data divide by the size before it was rounded down, not by the size of the output"},
      {"test_resize_downsample_sizes_nearest_tf_half_pixel_for_nn",
       "set 13 has taken this mode back"},
      {"test_training_dropout", "training is not supported: models are exported for inference"},
      {"test_training_dropout_default",
       "training is not supported: models are exported for inference"},
      {"test_training_dropout_default_mask",
       "training is not supported: models are exported for inference"},
      {"test_training_dropout_mask",
       "training is not supported: models are exported for inference"},
  };
  return kFailures;
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
  std::map<std::string, int> passes;
  std::size_t failures = 0;
  for (const ConformanceTest& one : FindConformanceTests((root / "node").string())) {
    const auto op = OperatorOf(ReadModel(fs::path(one.folder) / "model.onnx"));
    if (!op) continue;
    const std::string& test = one.name;
    const std::string wrong = RunConformanceTest(one, nullptr, {}).reason;
    const bool expected = ExpectedFailures().contains(test);
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
