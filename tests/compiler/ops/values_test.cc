// Operators on sequences, optionals and nested graphs: what ONNX's node tests do not show.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

TensorPtr Floats(std::vector<float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return std::make_shared<const Tensor>(Tensor::From<float>(DType::kF32, {count}, values));
}

RunValue OneInt(std::int64_t value) {
  return RunValueOf(Tensor::From<std::int64_t>(DType::kI64, {}, std::span(&value, 1)));
}

/// Returns the outputs of a graph in text, or the error as a string.
std::string ErrorOf(const std::string& text, const std::vector<RunValue>& inputs) {
  try {
    Graph graph = ParseGraph(text);
    InferTypes(graph);
    (void)InterpretValues(graph, inputs);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

std::string OnSequence(const std::string& statement) {
  return "graph g { input %s : seq(f32[?]) input %i : i64[] " + statement + " output %y }";
}

TEST(Sequences, RefuseWhatDoesNotFit) {
  const RunValue two = SequenceOf(DType::kF32, {Floats({1}), Floats({2, 3})});
  const auto error = [&](const std::string& statement, std::int64_t position) {
    return ErrorOf(OnSequence(statement), {two, OneInt(position)});
  };
  EXPECT_EQ(error("%y = SequenceAt(%s, %i) @at", 2),
            "node 'at' (SequenceAt): position 2 is outside of the sequence of 2");
  EXPECT_EQ(error("%y = SequenceErase(%s, %i) @erase", -3),
            "node 'erase' (SequenceErase): position -3 is outside of the sequence of 2");
  EXPECT_EQ(error("%y = SequenceInsert(%s, %i) @insert", 0),
            "node 'insert' (SequenceInsert): inserts i64 into a sequence of f32");
  EXPECT_EQ(error("%y = Relu(%s) @relu", 0),
            "node 'relu' (Relu): takes tensors, and was given a sequence or an optional");
  EXPECT_EQ(error("%y = SequenceLength(%i) @length", 0),
            "node 'length' (SequenceLength): input 0 must be a sequence");
  EXPECT_EQ(error("%y = ConcatFromSequence(%s) @join {axis = 1}", 0),
            "node 'join' (ConcatFromSequence): axis 1 does not fit rank 1");
}

TEST(Sequences, StackTensorsOfOneShapeOnly) {
  const std::string text = OnSequence("%y = ConcatFromSequence(%s) @join {axis = 0, new_axis = 1}");
  EXPECT_NE(ErrorOf(text, {SequenceOf(DType::kF32, {Floats({1}), Floats({2, 3})}), OneInt(0)}),
            "no error");
  EXPECT_EQ(ErrorOf(text, {SequenceOf(DType::kF32, {Floats({1}), Floats({2})}), OneInt(0)}),
            "no error");
}

TEST(Strings, ChangeTheCaseOfAllAlphabets) {
  Node node{.name = "n", .op = "StringNormalizer"};
  node.attrs["case_change_action"] = std::string("UPPER");
  Tensor words(DType::kString, {3});
  words.mutable_strings() = {"\xC3\xA4rger", "\xD0\xB4\xD0\xB0", "\xFF!"};  // no UTF-8
  const Tensor* input = &words;
  const std::vector<Tensor> made = Ops().Get(node).eval(node, std::span(&input, 1));
  EXPECT_EQ(made[0].strings(),
            (std::vector<std::string>{"\xC3\x84RGER", "\xD0\x94\xD0\x90", "\xFF!"}));
}

TEST(Optionals, ThatHoldNothingAreNotRead) {
  RunValue nothing{.container = Container::kOptional, .dtype = DType::kF32, .present = false};
  const std::string read =
      "graph g { input %o : opt(f32[?]) %y = OptionalGetElement(%o) @get output %y }";
  EXPECT_EQ(ErrorOf(read, {nothing}),
            "node 'get' (OptionalGetElement): reads an optional that holds nothing");
  // An optional input takes what it may hold.
  EXPECT_EQ(ErrorOf(read, {RunValueOf(*Floats({1}))}), "no error");
  EXPECT_EQ(ErrorOf(read, {SequenceOf(DType::kF32, {})}),
            "input 'o' must be opt(f32[?]), not seq(f32[*])");
}

TEST(Loops, RefuseIterationsThatDoNotFitTogether) {
  const std::string text = R"(graph g {
    input %n : i64[]
    const %c : bool[] = [true]
    const %x : f32[1] = [1]
    %y, %all = Loop(%n, %c, %x) @loop {
      body = graph b {
        input %i : i64[] input %go : bool[] input %v : f32[?]
        %w = Concat(%v, %v) {axis = 0} : f32[?]
        output %go, %w, %w
      }
    }
    output %all
  })";
  EXPECT_EQ(ErrorOf(text, {OneInt(1)}), "no error");
  EXPECT_EQ(ErrorOf(text, {OneInt(2)}),
            "node 'loop' (Loop): an iteration gives f32[4], the first gave f32[2]");
  EXPECT_EQ(ErrorOf(text, {OneInt(-1)}), "no error");
}

TEST(Loops, WithoutIterationsHaveOutputsOfTheTypesOfTheirGraph) {
  Graph graph = ParseGraph(R"(graph g {
    input %x : f32[0,3]
    const %s : f32[] = [1]
    %y, %all = Scan(%s, %x) {
      body = graph b {
        input %a : f32[] input %v : f32[3]
        %w = Add(%v, %a) : f32[3]
        output %a, %w
      },
      num_scan_inputs = 1
    }
    output %y, %all
  })");
  const std::vector<Tensor> made =
      Interpret(graph, std::vector<Tensor>{Tensor(DType::kF32, {0, 3})});
  EXPECT_EQ(made[0].size(), 1);
  EXPECT_EQ(made[1].dims(), (Dims{0, 3}));
}

}  // namespace
}  // namespace msc
