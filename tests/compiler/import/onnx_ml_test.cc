// Linear operators of the domain ai.onnx.ml: what they become, that ONNX Runtime sees no
// difference, and what is refused.
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "benchmarks/peers/ort_session.h"
#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/import/onnx/import.h"
#include "compiler/ops/op.h"
#include "tests/compiler/import/imported.h"
#include "tests/compiler/import/onnx_text.h"

namespace msc {
namespace {

std::string MlModel(const std::string& graph) {
  onnx::ModelProto model = ModelFromText(graph, 17);
  auto* domain = model.add_opset_import();
  domain->set_domain("ai.onnx.ml");
  domain->set_version(3);
  return BytesOf(model);
}

struct Case {
  std::string label;
  std::string graph;
  std::string ops;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.label;
}

class OnnxMl : public testing::TestWithParam<Case> {};

TEST_P(OnnxMl, BecomesOperatorsOfOnnx) {
  EXPECT_EQ(OpsOf(ImportOnnxBytes(MlModel(GetParam().graph))), GetParam().ops);
}

TEST_P(OnnxMl, MeansTheSameToOnnxRuntime) {
  if (const std::string absence = OrtAbsence(); !absence.empty()) GTEST_SKIP() << absence;
  const std::string bytes = MlModel(GetParam().graph);
  const Graph graph = ImportOnnxBytes(bytes);
  std::vector<Tensor> inputs;
  Rng rng(9);
  for (const ValueId input : graph.inputs()) {
    const ValueType& type = graph.type(input);
    inputs.emplace_back(type.dtype, *StaticDims(*type.shape));
    for (std::int64_t i = 0; i < inputs.back().size(); ++i) {
      const double number = rng.Normal();
      if (type.dtype == DType::kI64) {
        inputs.back().MutableValues<std::int64_t>()[static_cast<std::size_t>(i)] =
            static_cast<std::int64_t>(4 * number);
      } else {
        inputs.back().MutableValues<float>()[static_cast<std::size_t>(i)] =
            i < 3 ? 0.0F : static_cast<float>(number);
      }
    }
  }
  const std::vector<Tensor> expected = OrtSession(bytes, 1).Run(inputs);
  const std::vector<Tensor> found = Interpret(graph, inputs);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) ExpectNear(found[i], expected[i], 1e-5F);
}

std::vector<Case> Cases() {
  const std::string classifier =
      "ai.onnx.ml.LinearClassifier<classlabels_ints = [4, 7, 9], coefficients = [1.0, 2.0, -1.0, "
      "0.5, 0.0, 1.0, -2.0, 0.25, 1.5], intercepts = [0.1, 0.2, -0.3]";
  const std::string regressor = "ai.onnx.ml.LinearRegressor<coefficients = [1.0, 2.0, -1.0";
  return {
      {"Scaler",
       R"((float[4,3] x) => (float[4,3] y) {
            y = ai.onnx.ml.Scaler<offset = [0.5, 1.0, -1.0], scale = [2.0, 0.1, 3.0]>(x) })",
       "Sub Mul"},
      {"ScalerOfIntegers",
       R"((int64[4,3] x) => (float[4,3] y) {
            y = ai.onnx.ml.Scaler<offset = [0.5], scale = [2.0]>(x) })",
       "Cast Sub Mul"},
      {"Regressor",
       "(float[4,3] x) => (float[4,1] y) { y = " + regressor + "], intercepts = [0.5]>(x) }",
       "Gemm Identity"},
      {"RegressorOfTwoTargets",
       "(float[4,3] x) => (float[4,2] y) { y = " + regressor +
           ", 0.5, 1.0, 2.0], targets = 2, post_transform = \"LOGISTIC\">(x) }",
       "Gemm Sigmoid"},
      {"Classifier",
       "(float[4,3] x) => (int64[4] l, float[4,3] y) { l, y = " + classifier + ">(x) }",
       "Gemm Identity ArgMax Gather"},
      {"ClassifierWithProbabilities",
       "(float[4,3] x) => (int64[4] l, float[4,3] y) { l, y = " + classifier +
           ", post_transform = \"SOFTMAX\">(x) }",
       "Gemm Softmax ArgMax Gather"},
      {"ClassifierOfIntegers",
       "(int64[4,3] x) => (int64[4] l, float[4,3] y) { l, y = " + classifier +
           ", post_transform = \"LOGISTIC\">(x) }",
       "Cast Gemm Sigmoid ArgMax Gather"},
      {"NormalizerByTheGreatest",
       R"((float[4,3] x) => (float[4,3] y) { y = ai.onnx.ml.Normalizer<norm = "MAX">(x) })",
       "ReduceMax Equal Where Div"},
      {"NormalizerByTheSum",
       R"((float[4,3] x) => (float[4,3] y) { y = ai.onnx.ml.Normalizer<norm = "L1">(x) })",
       "ReduceL1 Equal Where Div"},
      {"NormalizerByTheLength",
       R"((float[4,3] x) => (float[4,3] y) { y = ai.onnx.ml.Normalizer<norm = "L2">(x) })",
       "ReduceL2 Equal Where Div"},
  };
}

INSTANTIATE_TEST_SUITE_P(Forms, OnnxMl, testing::ValuesIn(Cases()),
                         [](const auto& param) { return param.param.label; });

std::string RefusalOf(const std::string& graph) {
  try {
    (void)ImportOnnxBytes(MlModel(graph));
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(OnnxMlRefuses, WhatItCannotRead) {
  EXPECT_EQ(RefusalOf("(float[4,3] x) => (float[4,3] y) { y = ai.onnx.ml.Scaler<offset = [0.5]>(x) "
                      "}"),
            "model: node 0 'Scaler_0' (ai.onnx.ml.Scaler, operator set 17): needs attributes "
            "'offset' and "
            "'scale'");
  EXPECT_EQ(RefusalOf("(float[4,3] x) => (float[4,1] y) { y = "
                      "ai.onnx.ml.LinearRegressor<coefficients = [1.0, 2.0, 3.0], post_transform = "
                      "\"PROBIT\">(x) }"),
            "model: node 0 'LinearRegressor_0' (ai.onnx.ml.LinearRegressor, operator set 17): "
            "post_transform 'PROBIT'; NONE, LOGISTIC and SOFTMAX are read");
  EXPECT_EQ(
      RefusalOf("(float[4,3] x) => (float[4,1] y) { y = "
                "ai.onnx.ml.LinearRegressor<coefficients = [1.0, 2.0, 3.0], targets = 2>(x) "
                "}"),
      "model: node 0 'LinearRegressor_0' (ai.onnx.ml.LinearRegressor, operator set 17): has not as "
      "many coefficients for each of 2 outputs");
  EXPECT_EQ(
      RefusalOf("(float[4,3] x) => (int64[4] l, float[4,2] y) { l, y = "
                "ai.onnx.ml.LinearClassifier<classlabels_ints = [0, 1], coefficients = [1.0, "
                "2.0, 3.0], intercepts = [0.5]>(x) }"),
      "model: node 0 'LinearClassifier_0' (ai.onnx.ml.LinearClassifier, operator set 17): has one "
      "row of coefficients for two classes; export both rows");
}

}  // namespace
}  // namespace msc
