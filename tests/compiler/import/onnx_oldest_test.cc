// Old forms of operators, sets 1 to 6 above all, mean what newer ones say in other words. ONNX
// Runtime takes sets from 7 on, so that the numbers of the newer form are compared.
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/import/onnx/import.h"
#include "compiler/ops/op.h"
#include "tests/compiler/import/imported.h"
#include "tests/compiler/import/onnx_text.h"

namespace msc {
namespace {

struct Pair {
  std::string label;
  std::int64_t set;
  std::string old;  ///< graph with one f32 input
  std::string newer;
  std::int64_t newer_set = 13;
};

void PrintTo(const Pair& pair, std::ostream* out) {
  *out << pair.label;
}

class OnnxOldest : public testing::TestWithParam<Pair> {};

TEST_P(OnnxOldest, MeansWhatTheNewerFormDoes) {
  const Graph old = ImportOnnxBytes(ModelBytes(GetParam().old, GetParam().set));
  const Graph newer = ImportOnnxBytes(ModelBytes(GetParam().newer, GetParam().newer_set));
  EXPECT_EQ(ToString(old.type(old.outputs()[0])), ToString(newer.type(newer.outputs()[0])));
  Rng rng(9);
  Tensor x(DType::kF32, *StaticDims(*old.type(old.inputs()[0]).shape));
  for (float& value : x.MutableValues<float>()) value = static_cast<float>(4 * rng.Normal());
  const Tensor found = Interpret(old, std::vector<Tensor>{x}).at(0);
  const Tensor expected = Interpret(newer, std::vector<Tensor>{x}).at(0);
  ExpectNear(found, expected, 1e-6F);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, OnnxOldest,
    testing::Values(
        Pair{"Cast1", 1, "(float[2,3] x) => (int64[2,3] y) { y = Cast<to = \"INT64\">(x) }",
             "(float[2,3] x) => (int64[2,3] y) { y = Cast<to = 7>(x) }"},
        Pair{"Cast5ToF64", 5, "(float[2,3] x) => (double[2,3] y) { y = Cast<to = \"DOUBLE\">(x) }",
             "(float[2,3] x) => (double[2,3] y) { y = Cast<to = 11>(x) }"},
        Pair{"Concat1", 1, "(float[2,3,1] x) => (float[2,6,1] y) { y = Concat(x, x) }",
             "(float[2,3,1] x) => (float[2,6,1] y) { y = Concat<axis = 1>(x, x) }"},
        Pair{"Tile1", 1,
             R"((float[2,3] x) => (float[2,9] y) {
               n = Constant<value = float {3.0}>() a = Constant<value = float {1.0}>()
               y = Tile(x, n, a) })",
             R"((float[2,3] x) => (float[2,9] y) {
               n = Constant<value = int64[2] {1, 3}>() y = Tile(x, n) })"},
        Pair{
            "Pad1", 1,
            "(float[2,3] x) => (float[3,6] y) { y = Pad<paddings = [0, 1, 1, 2], value = 1.5>(x) }",
            R"((float[2,3] x) => (float[3,6] y) {
               p = Constant<value = int64[4] {0, 1, 1, 2}>() v = Constant<value = float {1.5}>()
               y = Pad(x, p, v) })"},
        Pair{"LpPool1", 1,
             "(float[1,2,4,4] x) => (float[1,2,2,2] y) { y = LpPool<kernel_shape = [2, 2], p = "
             "3.0, strides = [2, 2]>(x) }",
             "(float[1,2,4,4] x) => (float[1,2,2,2] y) { y = LpPool<kernel_shape = [2, 2], p = 3, "
             "strides = [2, 2]>(x) }"},
        Pair{"GlobalLpPool1", 1,
             "(float[1,2,4,4] x) => (float[1,2,1,1] y) { y = GlobalLpPool<p = 1.0>(x) }",
             "(float[1,2,4,4] x) => (float[1,2,1,1] y) { y = GlobalLpPool<p = 1>(x) }"},
        Pair{"Upsample1", 1,
             "(float[1,1,2,3] x) => (float[1,1,4,9] y) { y = Upsample<height_scale = 2.0, "
             "width_scale = 3.0, mode = \"nearest\">(x) }",
             R"((float[1,1,2,3] x) => (float[1,1,4,9] y) {
               s = Constant<value = float[4] {1.0, 1.0, 2.0, 3.0}>() y = Upsample<mode = "nearest">(x, s) })",
             9},
        Pair{"Upsample1Bilinear", 1,
             "(float[1,1,2,3] x) => (float[1,1,4,6] y) { y = Upsample<height_scale = 2.0, "
             "width_scale = 2.0, mode = \"bilinear\">(x) }",
             R"((float[1,1,2,3] x) => (float[1,1,4,6] y) {
               s = Constant<value = float[4] {1.0, 1.0, 2.0, 2.0}>() y = Upsample<mode = "linear">(x, s) })",
             9},
        Pair{"Clip6OfHalf", 10,
             R"((float[2,3] x) => (float16[2,3] y) {
               h = Cast<to = 10>(x) y = Clip<min = -1.0, max = 2.5>(h) })",
             R"((float[2,3] x) => (float16[2,3] y) {
               h = Cast<to = 10>(x) a = Constant<value = float {-1.0}>() b = Constant<value = float {2.5}>()
               l = Cast<to = 10>(a) u = Cast<to = 10>(b) y = Clip(h, l, u) })"},
        Pair{"Pad2OfF64", 10,
             R"((float[2,3] x) => (double[2,5] y) {
               d = Cast<to = 11>(x) y = Pad<pads = [0, 1, 0, 1], value = 2.5>(d) })",
             R"((float[2,3] x) => (double[2,5] y) {
               d = Cast<to = 11>(x) p = Constant<value = int64[4] {0, 1, 0, 1}>()
               v = Constant<value = double {2.5}>() y = Pad(d, p, v) })"},
        Pair{"Pad18WithAxesOfI32", 18,
             R"((float[2,3] x) => (float[2,6] y) {
               p = Constant<value = int64[2] {1, 2}>() a = Constant<value = int32[1] {-1}>()
               y = Pad(x, p, , a) })",
             R"((float[2,3] x) => (float[2,6] y) {
               p = Constant<value = int64[4] {0, 1, 0, 2}>() y = Pad(x, p) })"},
        Pair{"ProductsOfUnsigned", 13,
             R"((float[2,2] x) => (int64[2,2] y) {
               s = Mul(x, x) u = Cast<to = 13>(s) m = MatMul(u, u) y = Cast<to = 7>(m) })",
             R"((float[2,2] x) => (int64[2,2] y) {
               s = Mul(x, x) u = Cast<to = 7>(s) y = MatMul(u, u) })"}),
    [](const auto& param) { return param.param.label; });

TEST(OnnxOldest, RefusesWhatItCannotMean) {
  const auto refusal = [](const std::string& graph) {
    try {
      (void)ImportOnnxBytes(ModelBytes(graph, 1));
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal("(float[2] x) => (float[2] y) { y = Cast<to = \"float\">(x) }"),
            "model: node 0 'Cast_0' (Cast, operator set 1): has no type 'float' to cast to");
  EXPECT_EQ(refusal(R"((float[2] x) => (float[3] y) {
              n = Constant<value = float {1.5}>() a = Constant<value = float {0.0}>()
              y = Tile(x, n, a) })"),
            "model: node 2 'Tile_2' (Tile, operator set 1): tiles must be a whole number");
  EXPECT_EQ(refusal(R"((float[2] x) => (float[3] y) {
              n = Constant<value = float {2.0}>() a = Constant<value = float {1.0}>()
              y = Tile(x, n, a) })"),
            "model: node 2 'Tile_2' (Tile, operator set 1): axis does not fit its input");
  EXPECT_EQ(
      refusal("(float[1,1,4] x) => (float[1,1,1] y) { y = GlobalLpPool<p = 2.5>(x) }"),
      "model: node 0 'GlobalLpPool_0' (GlobalLpPool, operator set 1): p must be a whole number");
}

}  // namespace
}  // namespace msc
