#include <string>

#include <gtest/gtest.h>

#include "compiler/ir/graph.h"
#include "compiler/passes/passes.h"
#include "tests/compiler/passes/support.h"

namespace msc {
namespace {

using testing::ExpectSound;
using testing::Parse;
using testing::Skeleton;

/// Applies a pass, checks that the graph computes what it did, and returns it as text.
std::string After(bool (*pass)(Graph&), const std::string& text) {
  const Graph before = Parse(text);
  Graph after = before;
  EXPECT_TRUE(pass(after));
  ExpectSound(pass, before);
  return Skeleton(after);
}

void ExpectUnchanged(bool (*pass)(Graph&), const std::string& text) {
  Graph graph = Parse(text);
  const Graph before = graph;
  EXPECT_FALSE(pass(graph));
  EXPECT_EQ(Skeleton(graph), Skeleton(before));
}

TEST(LayListsInRows, KeepsBiasResidualAndActivationWithTheirLayers) {
  EXPECT_EQ(After(LayListsInRows, R"(graph main {
    input %x : f32[2,4,9]
    const %v : f32[4,4,3] = random 1
    const %w : f32[4,2,3] = random 2
    const %b : f32[4,1] = random 3
    const %s : f32[4,1] = random 4
    %a = Conv(%x, %v) @first {pads = [1, 1], kernel_shape = [3]}
    %c = Add(%a, %b) @bias
    %d = PRelu(%c, %s) @act
    %e = Conv(%d, %w) @second {pads = [2, 2], dilations = [2], group = 2}
    %f = Add(%e, %d) @residual
    %y = Relu(%f) @last
    output %y
  })"),
            "x_laid:f32 = Reshape(x:f32, x_dims:i64) @x_laid\n"
            "a:f32 = Conv(x_laid:f32, v_row:f32) @first\n"
            "c:f32 = Add(a:f32, b:f32) @bias\n"
            "d_row:f32 = PRelu(c:f32, s:f32) @act\n"
            "e:f32 = Conv(d_row:f32, w_row:f32) @second\n"
            "f:f32 = Add(e:f32, d_row:f32) @residual\n"
            "y_row:f32 = Relu(f:f32) @last\n"
            "y:f32 = Reshape(y_row:f32, y_dims:i64) @y_laid\n");
}

TEST(LayListsInRows, IncludesPools) {
  EXPECT_EQ(After(LayListsInRows, R"(graph main {
    input %x : f32[1,4,9]
    %a = MaxPool(%x) @max {kernel_shape = [3], strides = [2], pads = [1, 0]}
    %b = AveragePool(%a) @mean {kernel_shape = [2], count_include_pad = 1, pads = [0, 1]}
    %y = GlobalAveragePool(%b) @all
    output %y
  })"),
            "x_laid:f32 = Reshape(x:f32, x_dims:i64) @x_laid\n"
            "a_row:f32 = MaxPool(x_laid:f32) @max\n"
            "b_row:f32 = AveragePool(a_row:f32) @mean\n"
            "y_row:f32 = GlobalAveragePool(b_row:f32) @all\n"
            "y:f32 = Reshape(y_row:f32, y_dims:i64) @y_laid\n");
}

TEST(LayListsInRows, IncludesTransposedConvolutions) {
  EXPECT_EQ(After(LayListsInRows, R"(graph main {
    input %x : f32[1,4,9]
    const %w : f32[4,3,4] = random 1
    %y = ConvTranspose(%x, %w) @up {strides = [2], pads = [1, 0], output_padding = [1]}
    output %y
  })"),
            "x_laid:f32 = Reshape(x:f32, x_dims:i64) @x_laid\n"
            "y_row:f32 = ConvTranspose(x_laid:f32, w_row:f32) @up\n"
            "y:f32 = Reshape(y_row:f32, y_dims:i64) @y_laid\n");
}

TEST(LayListsInRows, ReadsWeightsBehindTheirScales) {
  EXPECT_EQ(After(LayListsInRows, R"(graph main {
    input %x : f32[1,2,9]
    const %w : i8[3,2,3] = random 1
    const %scale : f32[3] = [0.5, 0.25, 1]
    %v = DequantizeLinear(%w, %scale) @widen {axis = 0}
    %y = Conv(%x, %v) @conv
    output %y
  })"),
            "x_laid:f32 = Reshape(x:f32, x_dims:i64) @x_laid\n"
            "v_row:f32 = DequantizeLinear(w_row:i8, scale:f32) @widen_row\n"
            "y_row:f32 = Conv(x_laid:f32, v_row:f32) @conv\n"
            "y:f32 = Reshape(y_row:f32, y_dims:i64) @y_laid\n");
}

TEST(LayListsInRows, LeavesImagesAndOpenSizes) {
  ExpectUnchanged(LayListsInRows, R"(graph main {
    input %x : f32[n,2,9]
    input %i : f32[1,2,9,1]
    const %w : f32[3,2,3] = random 1
    const %v : f32[3,2,3,1] = random 2
    %y = Conv(%x, %w)
    %z = Conv(%i, %v)
    output %y
    output %z
  })");
}

TEST(LayColumnsInRows, TurnsWindowsThatAreOneWide) {
  EXPECT_EQ(After(LayColumnsInRows, R"(graph main {
    input %x : f32[2,2,9,1]
    const %w : f32[3,2,3,1] = random 1
    const %b : f32[1,3,1,1] = random 2
    %a = Conv(%x, %w) @conv {pads = [1, 0, 1, 0], strides = [2, 1]}
    %c = Add(%a, %b) @bias
    %d = Relu(%c) @act
    %y = MaxPool(%d) @pool {kernel_shape = [2, 1]}
    output %y
  })"),
            "x_laid:f32 = Reshape(x:f32, x_dims:i64) @x_laid\n"
            "a:f32 = Conv(x_laid:f32, w_row:f32) @conv\n"
            "c:f32 = Add(a:f32, b:f32) @bias\n"
            "d_row:f32 = Relu(c:f32) @act\n"
            "y_row:f32 = MaxPool(d_row:f32) @pool\n"
            "y:f32 = Reshape(y_row:f32, y_dims:i64) @y_laid\n");
}

TEST(LayColumnsInRows, LeavesWiderWindowsAndRows) {
  ExpectUnchanged(LayColumnsInRows, R"(graph main {
    input %x : f32[1,2,9,1]
    input %r : f32[1,2,1,9]
    const %w : f32[3,2,3,3] = random 1
    const %v : f32[3,2,1,3] = random 2
    %y = Conv(%x, %w) {pads = [0, 1, 0, 1]}
    %z = Conv(%r, %v)
    output %y
    output %z
  })");
}

}  // namespace
}  // namespace msc
