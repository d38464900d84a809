// Exports for readers: operator sets, properties of the file, and notes on what it does not hold.
#include "compiler/pipeline/export_onnx.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/import/onnx/import.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/compile.h"
#include "tests/support/error_of.h"

namespace msc {
namespace {

Graph Model(const std::string& activation) {
  Graph graph = ParseGraph(R"(graph main {
    input %x : f32[1,4,8,8]
    const %w : f32[6,4,3,3] = random 1
    const %v : f32[6,6,1,1] = random 2
    %c = Conv(%x, %w) @first
    %r = )" + activation + R"((%c) @act
    %y = Conv(%r, %v) @last
    output %y
  })");
  InferTypes(graph);
  Canonicalize(graph);
  return graph;
}

Strategy Int8() {
  Strategy strategy;
  strategy.quantize.layers = {{"first", Precision::kInt8}, {"last", Precision::kInt8}};
  strategy.quantize.activations = {
      {"x", {.dtype = "i8", .scale = 0.03125}},
      {"c", {.dtype = "u8", .scale = 0.0625, .zero_point = 100}},
      {"r", {.dtype = "u8", .scale = 0.0625}},
      {"y", {.dtype = "i8", .scale = 0.125}},
  };
  return strategy;
}

std::string Joined(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += note + "\n";
  return text;
}

TEST(ModelForReader, SaysNothingOfWhatAFileHolds) {
  const ReaderModel model = ModelForReader(Model("Relu"), Int8(), FindReader("any"));
  EXPECT_EQ(Joined(model.notes), "");
}

TEST(ModelForReader, SaysWhatAFileDoesNotHold) {
  Strategy strategy = Int8();
  strategy.quantize.layers["last"] = Precision::kBF16;
  strategy.partition = {{.nodes = {"first"}, .target = "native"},
                        {.nodes = {"last"}, .target = "onednn"}};
  strategy.schedules["first"] = {};
  const ReaderModel model = ModelForReader(Model("Relu"), strategy, FindReader("openvino"));
  EXPECT_EQ(
      Joined(model.notes),
      "not in the file: the partition (2 regions on native, onednn); OpenVINO chooses kernels "
      "itself\n"
      "not in the file: the schedules of 1 kernel\n"
      "1 bf16 layer is written in f32: runtimes lack bf16 kernels on many machines\n");
}

TEST(ModelForReader, SaysWhereNumbersDiffer) {
  const ReaderModel ort = ModelForReader(Model("HardSwish"), Int8(), FindReader("onnxruntime"));
  EXPECT_EQ(
      Joined(ort.notes),
      "2 values are rounded to 8 bits for ONNX Runtime alone, which needs that behind integer "
      "convolutions; outputs differ a little from those of mscgym\n");
  const ReaderModel trt = ModelForReader(Model("HardSwish"), Int8(), FindReader("tensorrt"));
  EXPECT_EQ(Joined(trt.notes),
            "1 value has coarser steps than measured: TensorRT takes only i8 with zero point 0\n");
  Strategy old = Int8();
  old.quantize.activations.erase("c");
  old.quantize.activations.erase("y");
  const ReaderModel f32 = ModelForReader(Model("HardSwish"), old, FindReader("onnxruntime"));
  EXPECT_EQ(Joined(f32.notes),
            "f32 in ONNX Runtime: layer first: the strategy has no scale for 'c'\n"
            "f32 in ONNX Runtime: layer last: the strategy has no scale for 'y'\n");
}

TEST(WriteForReader, UsesTheOldestOperatorSetThatHasTheOperators) {
  const ReaderRules& any = FindReader("any");
  const auto opset = [&](const std::string& activation) {
    return WriteForReader(ModelForReader(Model(activation), Int8(), any), any).opset;
  };
  EXPECT_EQ(opset("Relu"), 13);
  EXPECT_EQ(opset("HardSwish"), 14);
  const ReaderModel model = ModelForReader(Model("HardSwish"), Int8(), any);
  EXPECT_EQ(WriteForReader(model, any, 17).opset, 17);
  EXPECT_NE(ErrorOf([&] { (void)WriteForReader(model, any, 13); }).find("act"), std::string::npos);
}

TEST(WriteForReader, GoesBeyondSet17WhereAnOperatorCameLater) {
  const ReaderRules& any = FindReader("any");
  const auto opset = [&](const std::string& call) {
    Graph graph =
        ParseGraph("graph g {\n input %x : i32[2,3]\n const %a : i64[] = [1]\n %y = " + call +
                   "\n output %y\n}");
    InferTypes(graph);
    return WriteForReader({.graph = graph}, any).opset;
  };
  EXPECT_EQ(opset("BitwiseNot(%x)"), 18);
  EXPECT_EQ(opset("CumProd(%x, %a)"), 26);
}

TEST(WriteForReader, WritesReaderAndNotesAsProperties) {
  const ReaderRules& reader = FindReader("onnxruntime");
  const ReaderModel model = ModelForReader(Model("HardSwish"), Int8(), reader);
  const Graph back = ImportOnnxBytes(WriteForReader(model, reader).bytes);
  EXPECT_EQ(back.metadata().at("msc.reader"), "onnxruntime");
  EXPECT_EQ(back.metadata().at("msc.notes"), "[\"" + model.notes.at(0) + "\"]");
  const Graph plain = ImportOnnxBytes(
      WriteForReader(ModelForReader(Model("Relu"), Int8(), FindReader("any")), FindReader("any"))
          .bytes);
  EXPECT_EQ(plain.metadata().at("msc.notes"), "[]");
}

}  // namespace
}  // namespace msc
