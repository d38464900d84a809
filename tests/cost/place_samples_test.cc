#include "cost/samples/place_samples.h"

#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "cost/samples/array_file.h"
#include "cost/samples/dataset.h"
#include "tests/support/error_of.h"

namespace msc::cost {
namespace {

std::string Folder() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string folder = testing::TempDir() + "place_samples/" + test->name();
  MakeFolders(folder);
  return folder + "/";
}

std::vector<float> Counting(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

std::string Npy(const std::string& name, const Dims& dims) {
  const std::string path = Folder() + name;
  WriteNpy(path, Tensor::From<float>(DType::kF32, dims, Counting(ElementCount(dims))));
  return path;
}

const Dim kOpen = Dim::Symbol("n");

std::string Placed(const DataConfig& config, const std::vector<InputForm>& inputs) {
  std::string text;
  for (const SampleAxis& axis : PlaceSamples(config, inputs)) {
    text += (text.empty() ? "" : "; ") + ToString(axis);
  }
  return text;
}

InputForm Input(const std::string& name, const Shape& shape, DType dtype = DType::kF32) {
  return {.name = name, .dtype = dtype, .shape = shape};
}

TEST(PlaceSamples, FindsTheAxisFromTheShapesOfSamples) {
  const DataConfig config{.images = Npy("x.npy", {5, 12})};
  EXPECT_EQ(Placed(config, {Input("x", {kOpen, 12})}), "along axis 0");
  EXPECT_EQ(Placed(config, {Input("x", {1, 12})}), "along axis 0");
  EXPECT_EQ(Placed(config, {Input("x", {1, 3, 4})}), "along axis 0");
  EXPECT_EQ(Placed(config, {Input("x", {12})}), "one sample for each call");
  EXPECT_EQ(Placed(config, {Input("x", {3, 4})}), "one sample for each call");
  DataConfig given = config;
  given.batch_axis = {{"x", 1}};
  EXPECT_EQ(Placed(given, {Input("x", {12, kOpen})}), "along axis 1");
  given.batch_axis = {{"x", -1}};
  EXPECT_EQ(Placed(given, {Input("x", {1, 12})}), "one sample for each call");
  EXPECT_EQ(Placed({.images = Npy("scalars.npy", {5})}, {Input("t", {})}),
            "one sample for each call");
}

TEST(PlaceSamples, ReadsSamplesWithTheirAxis) {
  DataConfig config{.images = Npy("x.npy", {5, 12})};
  InputForm whole = Input("x", {12});
  whole.axis = {.counting = SampleCounting::kWhole};
  EXPECT_EQ(DatasetSamples(config, std::vector{whole}).Read(1, 2)[0].dims(), (Dims{2, 12}));
  InputForm second = Input("x", {12, kOpen});
  second.axis = {.axis = 1};
  EXPECT_EQ(DatasetSamples(config, std::vector{second}).Read(1, 2)[0].dims(), (Dims{2, 12}));
  InputForm none = Input("x", {});
  EXPECT_NE(ErrorOf([&] {
              return DatasetSamples(config, std::vector{none}).count();
            }).find("--batch-axis x=none"),
            std::string::npos);
}

TEST(PlaceSamples, FillsConstants) {
  DataConfig config{.images = Npy("x.npy", {5, 4}), .constants = {{"t", 0.5}, {"rate", 16000}}};
  std::vector<InputForm> inputs = {Input("x", {kOpen, 4}), Input("t", {}),
                                   Input("rate", {kOpen, 2}, DType::kI64)};
  EXPECT_EQ(Placed(config, inputs), "along axis 0; the same for all samples; along axis 0");
  inputs[1].axis = {.counting = SampleCounting::kShared};
  const DatasetSamples samples(config, inputs);
  const std::vector<Tensor> read = samples.Read(2, 2);
  EXPECT_EQ(read[0].Values<float>()[0], 8.0F);
  EXPECT_EQ(read[1], Tensor::From<float>(DType::kF32, {2}, std::vector<float>{0.5, 0.5}));
  EXPECT_EQ(read[2],
            Tensor::From<std::int64_t>(DType::kI64, {2, 2}, std::vector<std::int64_t>(4, 16000)));
  config.constants["rate"] = 0.5;
  EXPECT_EQ(ErrorOf([&] { return DatasetSamples(config, inputs).count(); }),
            "'constants' gives 0.500000 to the input 'rate' of i64");
  config.constants = {{"t", 0.5}, {"rate", 1}, {"other", 1}};
  EXPECT_EQ(ErrorOf([&] { return DatasetSamples(config, inputs).count(); }),
            "'constants' names the input 'other', which the model does not have");
}

TEST(PlaceSamples, GroupsTheSamplesOfAFolderBySize) {
  const std::string folder = Folder() + "set/";
  for (const char* name : {"a", "b"}) MakeFolders(folder + name);
  const auto write = [&](const std::string& name, std::int64_t size, float first) {
    WriteNpy(folder + name,
             Tensor::From<float>(DType::kF32, {1, size},
                                 std::vector<float>(static_cast<std::size_t>(size), first)));
  };
  write("a/0.npy", 3, 0);
  write("a/1.npy", 2, 1);
  write("a/2.npy", 3, 2);
  write("b/3.npy", 2, 3);
  const DataConfig config{.images = folder, .labels = "folders"};
  const std::vector<InputForm> inputs = {Input("x", {kOpen, Dim::Symbol("s")})};
  EXPECT_EQ(Placed(config, inputs), "along axis 0");
  const DatasetSamples samples(config, inputs);
  EXPECT_EQ(samples.count(), 4);
  EXPECT_EQ(samples.GroupEnd(0), 2);
  EXPECT_EQ(samples.GroupEnd(1), 2);
  EXPECT_EQ(samples.GroupEnd(2), 4);
  EXPECT_EQ(samples.Read(0, 2)[0],
            Tensor::From<float>(DType::kF32, {2, 3}, std::vector<float>{0, 0, 0, 2, 2, 2}));
  EXPECT_EQ(samples.Read(2, 2)[0],
            Tensor::From<float>(DType::kF32, {2, 2}, std::vector<float>{1, 1, 3, 3}));
  EXPECT_EQ(samples.labels(), (std::vector<std::int32_t>{0, 0, 0, 1}));
  EXPECT_EQ(ErrorOf([&] { return samples.Read(1, 2); }), "samples 1 to 2 have different sizes");
  EXPECT_NE(ErrorOf([&] { return LoadSampleSet(config, inputs); }).find("have different sizes"),
            std::string::npos);
  const std::vector<InputSummary> summary = samples.Summary();
  EXPECT_EQ(summary[0].sizes, (std::vector<Dims>{{2}, {3}}));
  EXPECT_EQ(summary[0].values.high(), 3);
}

TEST(PlaceSamples, TellsWhatSamplesLookLike) {
  const DataConfig config{.images = Npy("x.npy", {4, 5})};
  const DatasetSamples samples(config, std::vector{Input("x", {kOpen, 5})});
  const ValueStatistics values = samples.Summary().at(0).values;
  // The numbers are 0 to 19.
  EXPECT_EQ(values.low(), 0);
  EXPECT_EQ(values.high(), 19);
  EXPECT_DOUBLE_EQ(values.mean(), 9.5);
  EXPECT_DOUBLE_EQ(values.deviation(), std::sqrt((20.0 * 20.0 - 1) / 12));
  EXPECT_DOUBLE_EQ(values.zeros(), 0.05);
  EXPECT_EQ(WarningsOf(samples.Summary()), std::vector<std::string>());
}

TEST(PlaceSamples, WarnsOfSamplesThatSayNothing) {
  const auto warning = [](const std::vector<float>& numbers, std::int64_t samples) {
    const std::string path = Folder() + "x.npy";
    const auto each = std::ssize(numbers) / samples;
    WriteNpy(path, Tensor::From<float>(DType::kF32, {samples, each}, numbers));
    const DatasetSamples read({.images = path}, std::vector{Input("x", {kOpen, Dim(each)})});
    const std::vector<std::string> warnings = WarningsOf(read.Summary());
    return warnings.empty() ? std::string() : warnings[0];
  };
  EXPECT_EQ(warning({3, 3, 3, 3}, 2), "input 'x': every number of all samples is 3");
  EXPECT_EQ(warning({1, 2, 1, 2}, 2), "input 'x': all 2 samples are the same");
  EXPECT_EQ(warning({1, 2, 5, 5}, 2), "input 'x': 1 of 2 samples hold a single number each");
  std::vector<float> sparse(4000);
  sparse[0] = sparse[2000] = 1;
  sparse[7] = 2;
  EXPECT_EQ(warning(sparse, 2), "input 'x': at least 99.85 % of the numbers are 0");
  EXPECT_EQ(warning({1, 2, 3, 4}, 2), "");
}

TEST(PlaceSamples, NamesTheSampleThatIsNotFinite) {
  std::vector<float> numbers = Counting(20);
  numbers[13] = NAN;
  const std::string path = Folder() + "x.npy";
  WriteNpy(path, Tensor::From<float>(DType::kF32, {5, 4}, numbers));
  DataConfig config{.images = path};
  const std::vector<InputForm> inputs = {Input("x", {kOpen, 4})};
  const std::string wanted =
      "'" + path + "' (sample 3, counted from 0) holds a number that is not finite";
  EXPECT_EQ(ErrorOf([&] { return DatasetSamples(config, inputs).count(); }), wanted);
  config.first = 2;
  EXPECT_EQ(ErrorOf([&] { return DatasetSamples(config, inputs).count(); }), wanted);
  config.first = 0;
  config.shuffle = 5;
  EXPECT_EQ(ErrorOf([&] { return DatasetSamples(config, inputs).count(); }), wanted);
}

TEST(PlaceSamples, NormalisesByChannelOfEitherOrder) {
  const std::string folder = Folder() + "images/";
  MakeFolders(folder);
  std::ofstream(folder + "a.ppm", std::ios::binary)
      << "P6 1 2 255 " << std::string("\x0A\x14\x1E\x28\x32\x3C");
  DataConfig config{.images = folder, .scale = 1, .mean = {10, 20, 30}, .std = {1, 2, 5}};
  const auto values = [&](const Shape& shape) {
    const Tensor read = DatasetSamples(config, std::vector{Input("x", shape)}).Read(0, 1)[0];
    const auto all = read.Values<float>();
    return std::vector<float>(all.begin(), all.end());
  };
  EXPECT_EQ(values({kOpen, 3, 2, 1}), (std::vector<float>{0, 30, 0, 15, 0, 6}));
  EXPECT_EQ(values({kOpen, 2, 1, 3}), (std::vector<float>{0, 0, 0, 30, 15, 6}));
  config.image.bgr = true;
  EXPECT_EQ(values({kOpen, 2, 1, 3}), (std::vector<float>{20, 0, -4, 50, 15, 2}));
  config.mean = {0};
  config.std = {1};
  config.image.bgr = false;
  // 0.299, 0.587 and 0.114 of 10, 20, 30 and of 40, 50, 60.
  EXPECT_EQ(values({kOpen, 2, 1}), (std::vector<float>{18, 48}));
  config.scale = 0;
  EXPECT_EQ(values({kOpen, 2, 1})[0], 18.0F / 255.0F);
  const Tensor bytes =
      DatasetSamples(config, std::vector{Input("x", {kOpen, 2, 1, 3}, DType::kU8)}).Read(0, 1)[0];
  EXPECT_EQ(bytes.Values<std::uint8_t>()[3], 40);
}

}  // namespace
}  // namespace msc::cost
