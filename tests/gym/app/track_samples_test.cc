#include "gym/app/track_samples.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/compile.h"
#include "cost/samples/array_file.h"
#include "tests/support/pipeline.h"

namespace msc::gym {
namespace {

Graph Net(const std::string& inputs, const std::string& sum) {
  Graph graph = ParseGraph("graph net {\n" + inputs + " %y = " + sum + " @sum\n output %y\n}");
  InferTypes(graph);
  return graph;
}

TrackSamples Open(Graph graph, const TrackSampleOptions& options, std::int64_t batch) {
  PlaceTrackSamples(graph, options);
  return OpenTrackSamples(options, graph,
                          BindSizes(graph, {.bindings = BatchBindings(graph, batch)}));
}

/// Writes 0, 1, 2, ... to a file and returns its path.
std::string Counted(const std::string& name, const Dims& dims) {
  Tensor tensor(DType::kF32, dims);
  const auto values = tensor.MutableValues<float>();
  std::iota(values.begin(), values.end(), 0.0F);
  std::string path = testing::TempDir() + name;
  cost::WriteNpy(path, tensor);
  return path;
}

TEST(TrackSamples, AreAsManyRandomOnesAsFillCalls) {
  const Graph net = Net(" input %x : f32[n,3]\n", "Relu(%x)");
  const TrackSamples some = Open(net, {.random = 1}, 3);
  EXPECT_EQ(some.source->count(), 9) << "at least 8";
  ASSERT_EQ(some.first_call.size(), 1U);
  EXPECT_EQ(some.first_call[0], Rows(RandomTensor({9, 3}, 1), 0, 3));
  TrackSampleOptions two{.random = 1};
  two.samples = 2;
  EXPECT_EQ(Open(net, two, 1).source->count(), 2);
  EXPECT_EQ(Refusal([&] { (void)Open(net, two, 4); }),
            "a call takes 4 samples, but there are only 2; give more, or compile for a smaller "
            "--batch");
}

TEST(TrackSamples, AreTheRowsOfTheFiles) {
  const Graph net = Net(" input %x : f32[n,3]\n input %s : f32[]\n", "Mul(%x, %s)");
  TrackSampleOptions options;
  options.inputs = {Counted("track_rows.npy", {5, 3}), Counted("track_scalar.npy", {1})};
  const Tensor scalar = cost::ReadNpy(options.inputs[1]).Reshaped({});
  const TrackSamples all = Open(net, options, 2);
  EXPECT_EQ(all.source->count(), 5);
  ASSERT_EQ(all.first_call.size(), 2U);
  EXPECT_EQ(all.first_call[0].dims(), (Dims{2, 3}));
  EXPECT_EQ(all.first_call[1], scalar);
  EXPECT_EQ(all.source->Read(3, 1)[0].Values<float>()[0], 9);
  options.samples = 3;
  EXPECT_EQ(Open(net, options, 1).source->count(), 3);
}

TEST(TrackSamples, AreASingleCallIfTheFilesDoNotCountAlike) {
  const Graph net = Net(" input %x : f32[n,3]\n input %z : f32[1,3]\n", "Add(%x, %z)");
  TrackSampleOptions options;
  options.inputs = {Counted("track_x.npy", {4, 3}), Counted("track_z.npy", {1, 3})};
  const TrackSamples one = Open(net, options, 4);
  EXPECT_EQ(one.source, nullptr);
  ASSERT_EQ(one.first_call.size(), 2U);
  EXPECT_EQ(one.first_call[0].dims(), (Dims{4, 3}));
}

TEST(TrackSamples, ComeFromOneSource) {
  const Graph net = Net(" input %x : f32[n,3]\n", "Relu(%x)");
  TrackSampleOptions both{.random = 1};
  both.inputs = {"x.npy"};
  for (const TrackSampleOptions& wrong : {TrackSampleOptions{}, both}) {
    EXPECT_EQ(Refusal([&] { (void)Open(net, wrong, 1); }),
              "give one of --input, --data and --random");
  }
}

}  // namespace
}  // namespace msc::gym
