#include "compiler/ir/sample_axes.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/text.h"

namespace msc {
namespace {

Tensor Counting(const Dims& dims) {
  std::vector<float> values(static_cast<std::size_t>(ElementCount(dims)));
  std::iota(values.begin(), values.end(), 0.0F);
  return Tensor::From<float>(DType::kF32, dims, values);
}

TEST(MoveAxis, KeepsTheOrderOfTheOthers) {
  const Dims dims = {2, 3, 4, 5};
  const Tensor tensor = Counting(dims);
  const auto values = tensor.Values<float>();
  for (std::size_t from = 0; from < 4; ++from) {
    for (std::size_t to = 0; to < 4; ++to) {
      std::vector<std::size_t> axes = {0, 1, 2, 3};
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(from));
      axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(to), from);
      const Tensor moved = MoveAxis(tensor, from, to);
      Dims wanted;
      for (const std::size_t axis : axes) wanted.push_back(dims[axis]);
      ASSERT_EQ(moved.dims(), wanted);
      for (std::size_t i = 0; i < 120; ++i) {
        // The index of element i of the result in the source.
        std::size_t rest = i;
        std::vector<std::size_t> at(4);
        for (std::size_t axis = 4; axis-- > 0;) {
          at[axes[axis]] = rest % static_cast<std::size_t>(wanted[axis]);
          rest /= static_cast<std::size_t>(wanted[axis]);
        }
        const std::size_t source = ((at[0] * 3 + at[1]) * 4 + at[2]) * 5 + at[3];
        EXPECT_EQ(moved.Values<float>()[i], values[source]);
      }
      EXPECT_EQ(MoveAxis(moved, to, from), tensor);
    }
  }
  EXPECT_EQ(MoveAxis(Tensor(DType::kF32, {0, 3}), 0, 1).dims(), (Dims{3, 0}));
}

Graph Net() {
  return ParseGraph(R"(graph net {
    input %x : f32[3,n]
    input %t : f32[]
    input %w : f32[4]
    %y = Add(%x, %t) @add
    output %y
    output %w
  })");
}

TEST(SampleAxes, AreKeptByCopiesAndFilesAndNotByTheHash) {
  Graph graph = Net();
  const std::string hash = GraphHash(graph);
  EXPECT_EQ(SampleAxisOf(graph, graph.inputs()[0]), SampleAxis{});
  SetSampleAxis(graph, graph.inputs()[0], {});
  EXPECT_TRUE(graph.metadata().empty());
  SetSampleAxis(graph, graph.inputs()[0], {.axis = 1});
  SetSampleAxis(graph, graph.inputs()[1], {.counting = SampleCounting::kShared});
  SetSampleAxis(graph, graph.inputs()[2], {.counting = SampleCounting::kWhole});
  SetSampleAxis(graph, graph.outputs()[0], {.axis = 1});
  const Graph again = FromFiles(ToFiles(graph));
  const SampleLayout layout = LayoutOf(again);
  EXPECT_EQ(layout.inputs[0], (SampleAxis{.axis = 1}));
  EXPECT_EQ(ToString(layout.inputs[0]), "along axis 1");
  EXPECT_EQ(ToString(layout.inputs[1]), "the same for all samples");
  EXPECT_EQ(ToString(layout.inputs[2]), "one sample for each call");
  EXPECT_EQ(layout.outputs[0], (SampleAxis{.axis = 1}));
  EXPECT_EQ(layout.outputs[1].counting, SampleCounting::kWhole);  // an input, too
  EXPECT_TRUE(layout.OneByOne());
  EXPECT_EQ(GraphHash(again), hash);
  graph.SetMetadata("samples.x", "beside");
  EXPECT_THROW((void)LayoutOf(graph), UserError);
}

TEST(SampleAxes, MoveRowsIntoAndOutOfACall) {
  SampleLayout layout{.inputs = {{.axis = 1}, {.counting = SampleCounting::kShared}},
                      .outputs = {{.axis = 1}}};
  const std::vector<Tensor> inputs = InputsOfRows(layout, {Counting({2, 3}), Counting({2})});
  EXPECT_EQ(inputs[0], MoveAxis(Counting({2, 3}), 0, 1));
  EXPECT_EQ(inputs[1].dims(), Dims{});
  EXPECT_EQ(inputs[1].Values<float>()[0], 0);
  EXPECT_EQ(RowsOfOutputs(layout, {inputs[0]})[0], Counting({2, 3}));
  EXPECT_THROW((void)RowsOfOutputs(layout, {Counting({2})}), UserError);

  layout = {.inputs = {{.counting = SampleCounting::kWhole}},
            .outputs = {{.counting = SampleCounting::kWhole}}};
  EXPECT_EQ(InputsOfRows(layout, {Counting({1, 4})})[0], Counting({4}));
  EXPECT_THROW((void)InputsOfRows(layout, {Counting({2, 4})}), InternalError);
  EXPECT_EQ(RowsOfOutputs(layout, {Counting({})})[0].dims(), Dims{1});
}

}  // namespace
}  // namespace msc
