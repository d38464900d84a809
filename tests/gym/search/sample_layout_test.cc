#include "gym/search/sample_layout.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/batch.h"
#include "cost/samples/array_file.h"

namespace msc::gym {
namespace {

std::string Npy(const std::string& name, const Dims& dims) {
  const std::string folder = testing::TempDir() + "sample_layout/" +
                             testing::UnitTest::GetInstance()->current_test_info()->name();
  MakeFolders(folder);
  const std::string path = folder + "/" + name;
  cost::WriteNpy(path, Tensor(DType::kF32, dims));
  return path;
}

Graph Net(const std::string& body) {
  Graph graph = ParseGraph("graph net {\n" + body + "}");
  InferTypes(graph);
  return graph;
}

/// The lines of the layout, joined.
std::string Decided(Graph& graph, const std::vector<cost::DataConfig>& data) {
  DecideSampleLayout(graph, data);
  std::string text;
  for (const std::string& line : LayoutLines(graph)) text += (text.empty() ? "" : "; ") + line;
  return text;
}

cost::DataConfig From(const std::string& path) {
  cost::DataConfig data;
  data.images = path;
  return data;
}

TEST(SampleLayout, FollowsTheBatchToTheOutputs) {
  // y counts along axis 0, z along axis 1, s not at all.
  Graph graph = Net(R"(
    input %x : f32[n,4]
    %y = Relu(%x) @relu
    %z = Transpose(%x) @turn {perm = [1, 0]}
    %s = ReduceMean(%x) @mean {axes = [0], keepdims = 0}
    output %y
    output %z
)");
  const cost::DataConfig data = From(Npy("x.npy", {6, 4}));
  EXPECT_EQ(Decided(graph, {data}), "output 'z': samples along axis 1");
  EXPECT_EQ(FixedBatch(graph), std::nullopt);
  graph.SetOutputs({graph.FindValue("y"), graph.FindValue("s")});
  EXPECT_EQ(Decided(graph, {data}), "output 's': one sample for each call");
  EXPECT_EQ(FixedBatch(graph), 1);
}

TEST(SampleLayout, GivesWholeSamplesOneCallEach) {
  Graph graph = Net(R"(
    input %x : f32[4]
    %y = Relu(%x) @relu
    output %y
)");
  EXPECT_EQ(Decided(graph, {From(Npy("x.npy", {6, 4}))}),
            "input 'x': one sample for each call; output 'y': one sample for each call");
  EXPECT_EQ(FixedBatch(graph), 1);
}

TEST(SampleLayout, TakesTheAxesThatTheUserNames) {
  Graph graph = Net(R"(
    input %x : f32[3,n,4]
    %y = Relu(%x) @relu
    output %y
)");
  cost::DataConfig data = From(Npy("x.npy", {6, 3, 4}));
  data.batch_axis = {{"x", 1}};
  EXPECT_EQ(Decided(graph, {data}),
            "input 'x': samples along axis 1; output 'y': samples along axis 1");
  EXPECT_EQ(BatchBindings(graph, 5).at("n"), 5);
  data.batch_axis = {{"x", 1}, {"y", -1}};
  EXPECT_EQ(Decided(graph, {data}),
            "input 'x': samples along axis 1; output 'y': one sample for each call");
}

TEST(SampleLayout, RefusesSetsThatContradictEachOther) {
  Graph graph = Net(R"(
    input %x : f32[4]
    %y = Relu(%x) @relu
    output %y
)");
  const std::string flat = Npy("flat.npy", {4});
  try {
    DecideSampleLayout(graph,
                       std::vector<cost::DataConfig>{From(Npy("x.npy", {6, 4})), From(flat)});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()),
              "input 'x': one sample for each call in one set of samples and along axis "
              "0 in '" +
                  flat + "'; name its axis with --batch-axis (in a config, 'batch_axis'), or none");
  }
}

}  // namespace
}  // namespace msc::gym
