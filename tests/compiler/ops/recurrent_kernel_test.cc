// Activations of RNN, whose parameters are listed for those alone that have any.

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ops/op.h"

namespace msc {
namespace {

/// Y [1, D, 1, 1] of one step on x = -1, with weights of 1.
std::vector<float> StepOf(const std::vector<std::string>& activations,
                          const std::vector<float>& alphas, const std::vector<float>& betas = {}) {
  const auto directions = static_cast<std::int64_t>(activations.size());
  Node node;
  node.op = "RNN";
  node.attrs = {{"activations", activations},
                {"activation_alpha", alphas},
                {"activation_beta", betas},
                {"direction", std::string(directions == 2 ? "bidirectional" : "forward")}};
  node.inputs = {ValueId{0}, ValueId{0}, ValueId{0}};
  const Tensor x = Tensor::From<float>(DType::kF32, {1, 1, 1}, std::vector<float>{-1});
  Tensor w(DType::kF32, {directions, 1, 1});
  for (float& value : w.MutableValues<float>()) value = 1;
  const std::vector<const Tensor*> given = {&x, &w, &w};
  const Tensor y = Ops().Get(node).eval(node, given)[0];
  return {y.Values<float>().begin(), y.Values<float>().end()};
}

TEST(Rnn, GivesParametersToTheActivationsThatHaveThem) {
  const std::vector<float> one = StepOf({"Tanh", "LeakyRelu"}, {0.25F});
  EXPECT_FLOAT_EQ(one[0], std::tanh(-1.0F));
  EXPECT_FLOAT_EQ(one[1], -0.25F);
  // The first alpha and beta are Affine's, the second alpha LeakyRelu's.
  const std::vector<float> two = StepOf({"Affine", "LeakyRelu"}, {2, 0.5F}, {0.25F});
  EXPECT_FLOAT_EQ(two[0], -1.75F);
  EXPECT_FLOAT_EQ(two[1], -0.5F);
  const std::vector<float> mixed = StepOf({"Elu", "HardSigmoid"}, {2, 0.25F}, {0.75F});
  EXPECT_FLOAT_EQ(mixed[0], 2 * std::expm1(-1.0F));
  EXPECT_FLOAT_EQ(mixed[1], 0.5F);
}

TEST(Rnn, KnowsActivationsAndTheirDefaultsInAnyCase) {
  EXPECT_FLOAT_EQ(StepOf({"leakyrelu"}, {})[0], -0.01F);
  EXPECT_FLOAT_EQ(StepOf({"HARDSIGMOID"}, {})[0], 0.3F);
  EXPECT_FLOAT_EQ(StepOf({"ScaledTanh"}, {})[0], std::tanh(-1.0F));
  EXPECT_FLOAT_EQ(StepOf({"affine"}, {})[0], -1.0F);
}

}  // namespace
}  // namespace msc
