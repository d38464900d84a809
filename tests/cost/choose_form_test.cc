#include "cost/quality/choose_form.h"

#include <cmath>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ir/sample_axes.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"

namespace msc::cost {
namespace {

Tensor Outputs(const Dims& dims, const std::function<double(Rng&, std::int64_t)>& number) {
  Rng rng(1);
  Tensor tensor(DType::kF32, dims);
  std::int64_t i = 0;
  for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(number(rng, i++));
  return tensor;
}

Tensor Normal(const Dims& dims, double scale = 1) {
  return Outputs(dims, [scale](Rng& rng, std::int64_t) { return scale * rng.Normal(); });
}

/// Numbers from 0 to 1: boxes with positive sides, and probabilities.
Tensor Uniform(const Dims& dims) {
  return Outputs(dims, [](Rng& rng, std::int64_t) { return rng.Uniform(); });
}

/// Rows whose `classes` numbers have one that stands out.
Tensor Confident(const Dims& dims, std::int64_t classes) {
  Tensor tensor = Normal(dims);
  Rng rng(2);
  const auto values = tensor.MutableValues<float>();
  for (std::size_t row = 0; row < values.size(); row += static_cast<std::size_t>(classes)) {
    values[row + rng.Below(static_cast<std::uint64_t>(classes))] += 12;
  }
  return tensor;
}

struct Case {
  std::string label;
  std::string body;  ///< of a graph with output %y
  Tensor output;
  std::string form;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.label;
}

class ChosenForm : public testing::TestWithParam<Case> {};

TEST_P(ChosenForm, IsWhatTheOutputHolds) {
  Graph graph = ParseGraph("graph g {\n" + GetParam().body + "\noutput %y\n}");
  InferTypes(graph);
  const OutputForms forms = ChooseForms(graph, {&GetParam().output, 1}, {});
  ASSERT_EQ(forms.size(), 1U);
  EXPECT_EQ(forms[0].name, "y");
  EXPECT_EQ(FormatForm(forms[0].form), GetParam().form);
}

const std::vector<Case> kCases = {
    {"Softmax", "input %x : f32[n,10]\n%y = Softmax(%x)", Normal({8, 10}),
     "probabilities along axis 1"},
    {"SoftmaxBehindTranspose",
     "input %x : f32[n,5,7,4]\n%s = Softmax(%x) {axis = 1}\n%y = Transpose(%s) {perm = [0,2,3,1]}",
     Normal({2, 7, 4, 5}), "probabilities along axis 3"},
    {"SoftmaxBehindReshape",
     "input %x : f32[n,6,4]\nconst %d : i64[4] = [0,2,3,4]\n%s = Softmax(%x)\n"
     "%y = Reshape(%s, %d)",
     Normal({2, 2, 3, 4}), "probabilities along axis 3"},
    {"SoftmaxesJoinedAlongPositions",
     "input %x : f32[n,6,4]\ninput %z : f32[n,3,4]\n%s = Softmax(%x)\n%t = Softmax(%z)\n"
     "%y = Concat(%s, %t) {axis = 1}",
     Normal({2, 9, 4}), "probabilities along axis 2"},
    {"LogSoftmax", "input %x : f32[n,10]\n%y = LogSoftmax(%x)", Normal({8, 10}),
     "logits along axis 1"},
    {"Sigmoid", "input %x : f32[n,1,6,6]\n%y = Sigmoid(%x)", Normal({2, 1, 6, 6}), "binary"},
    {"UnitVectors", "input %x : f32[n,32]\n%r = ReduceL2(%x) {axes = [1]}\n%y = Div(%x, %r)",
     Normal({4, 32}), "embedding"},
    {"YoloHead",
     "input %b : f32[n,4,90]\ninput %c : f32[n,3,90]\n%s = Sigmoid(%c)\n"
     "%y = Concat(%b, %s) {axis = 1}",
     Uniform({2, 7, 90}), "boxes (centre, width, height) along axis 1"},
    {"YoloHeadWithObjectness",
     "input %a : f32[n,90,2]\ninput %b : f32[n,90,2]\ninput %c : f32[n,90,4]\n%s = Sigmoid(%c)\n"
     "%y = Concat(%a, %b, %s) {axis = 2}",
     Uniform({2, 90, 8}), "boxes (centre, width, height, objectness) along axis 2"},
    {"YoloHeadWithObjectnessByItself",
     "input %b : f32[n,4,90]\ninput %o : f32[n,1,90]\ninput %c : f32[n,3,90]\n%p = Sigmoid(%o)\n"
     "%s = Sigmoid(%c)\n%y = Concat(%b, %p, %s) {axis = 1}",
     Uniform({2, 8, 90}), "boxes (centre, width, height, objectness) along axis 1"},
    {"OffsetsBesideSigmoids",
     "input %b : f32[n,4,90]\ninput %c : f32[n,3,90]\n%s = Sigmoid(%c)\n"
     "%y = Concat(%b, %s) {axis = 1}",
     Normal({2, 7, 90}), "regression"},
    {"SeveralHeadsOfSigmoids",
     "input %a : f32[n,4]\ninput %b : f32[n,3]\n%s = Sigmoid(%a)\n%t = Sigmoid(%b)\n"
     "%y = Concat(%s, %t) {axis = 1}",
     Uniform({8, 7}), "binary"},
    {"BoxesThatTheModelSelected", "input %x : f32[n,4,6]\n%y = Neg(%x)",
     Outputs({2, 4, 6},
             [](Rng&, std::int64_t i) {
               const auto row = static_cast<double>(i / 6 % 4);
               const std::vector<double> numbers = {row, 2, row + 3, 5, 0.9 - 0.2 * row, 7};
               return numbers[static_cast<std::size_t>(i % 6)];
             }),
     "boxes, selected by the model"},
    {"SoftmaxOfOneClass",
     "input %x : f32[n,4]\nconst %i : i64[] = [1]\n%s = Softmax(%x)\n"
     "%y = Gather(%s, %i) {axis = 1}",
     Uniform({32}), "binary"},
    {"SoftmaxEnlarged",
     "input %x : f32[n,5,4,4]\nconst %z : f32[4] = [1,1,2,2]\n%s = Softmax(%x) {axis = 1}\n"
     "%y = Resize(%s, _, %z) {mode = \"linear\"}",
     Uniform({2, 5, 8, 8}), "probabilities along axis 1"},
    {"LogOfSoftmax", "input %x : f32[n,10]\n%s = Softmax(%x)\n%y = Log(%s)", Normal({8, 10}),
     "logits along axis 1"},
    {"Classifier", "input %x : f32[n,10]\n%y = Neg(%x)", Confident({64, 10}, 10),
     "logits along axis 1"},
    {"RandomClassifier", "input %x : f32[n,10]\n%y = Neg(%x)", Normal({64, 10}),
     "logits along axis 1"},
    {"HugeLogits", "input %x : f32[n,10]\n%y = Neg(%x)", Normal({64, 10}, 1e30),
     "logits along axis 1"},
    {"FeatureVector", "input %x : f32[n,512]\n%y = Neg(%x)", Normal({32, 512}), "embedding"},
    {"ProbabilitiesOfUnknownOrigin", "input %x : f32[n,4]\n%y = Neg(%x)",
     Outputs({8, 4}, [](Rng&, std::int64_t) { return 0.25; }), "probabilities along axis 1"},
    {"Landmarks", "input %x : f32[n,20]\n%y = Neg(%x)",
     Outputs({32, 20},
             [](Rng& rng, std::int64_t i) {
               return 10.0 * static_cast<double>(i % 20) + rng.Normal();
             }),
     "regression"},
    {"ColumnsOfSeveralUnits", "input %x : f32[n,3]\n%y = Neg(%x)",
     Outputs({32, 3},
             [](Rng& rng, std::int64_t i) { return (i % 3 == 0 ? 1000 : 1) * rng.Normal(); }),
     "regression"},
    {"OneNumber", "input %x : f32[n,1]\n%y = Neg(%x)",
     Outputs({32, 1}, [](Rng& rng, std::int64_t) { return 100 + 20 * rng.Normal(); }),
     "regression"},
    {"OneNumberWithoutItsAxis", "input %x : f32[n]\n%y = Neg(%x)",
     Outputs({32}, [](Rng& rng, std::int64_t) { return 100 + 20 * rng.Normal(); }), "regression"},
    {"OneScoreOfBothSigns", "input %x : f32[n,1]\n%y = Neg(%x)", Normal({64, 1}, 3), "logit"},
    {"Segmentation", "input %x : f32[n,3,8,9]\n%y = Concat(%x, %x) {axis = 1}",
     Normal({4, 6, 8, 9}), "logits along axis 1"},
    {"SegmentationChannelsLast", "input %x : f32[n,5,8,9]\n%y = Transpose(%x) {perm = [0,2,3,1]}",
     Normal({4, 8, 9, 5}), "logits along axis 3"},
    {"Image", "input %x : f32[n,3,8,9]\n%y = Neg(%x)", Normal({4, 3, 8, 9}), "regression"},
    {"ImageOfOtherChannels",
     "input %x : f32[n,1,8,9]\nconst %w : f32[3,1,1,1] = random 1\n"
     "%y = Conv(%x, %w)",
     Outputs({4, 3, 8, 9},
             [](Rng& rng, std::int64_t i) {
               // The three colours of a position differ little.
               return std::sin(static_cast<double>(i % 72)) + 0.1 * rng.Normal();
             }),
     "regression"},
    {"SegmentationOfAsManyClassesAsColours", "input %x : f32[n,3,8,9]\n%y = Neg(%x)",
     Outputs({4, 3, 8, 9},
             [](Rng& rng, std::int64_t i) {
               // One class of each position stands out.
               return 8.0 * (i % 72 % 3 == i / 72 % 3 ? 1 : 0) + rng.Normal();
             }),
     "logits along axis 1"},
    {"ImageCorrected", "input %x : f32[n,3,8,9]\n%h = Tanh(%x)\n%y = Sub(%x, %h)",
     Normal({4, 3, 8, 9}), "regression"},
    {"ImageOfASigmoid", "input %x : f32[n,3,8,9]\n%y = Sigmoid(%x)", Uniform({4, 3, 8, 9}),
     "regression"},
    {"Heatmaps", "input %x : f32[n,3,8,9]\nconst %w : f32[17,3,1,1] = random 1\n%y = Conv(%x, %w)",
     Outputs({4, 17, 8, 9},
             [](Rng& rng, std::int64_t i) { return i % 72 == 40 ? 1 : 0.01 * rng.Normal(); }),
     "regression"},
    {"MoreClassesThanPositions",
     "input %x : f32[n,3,12,12]\nconst %w : f32[40,3,1,1] = random 1\n%y = Conv(%x, %w)",
     Normal({2, 40, 12, 12}, 3), "logits along axis 1"},
    {"SmallMapChannelsLast",
     "input %x : f32[n,3,6,7]\nconst %w : f32[5,3,1,1] = random 1\n%c = Conv(%x, %w)\n"
     "%y = Transpose(%c) {perm = [0,2,3,1]}",
     Normal({4, 6, 7, 5}), "logits along axis 3"},
    {"AnchorsOfARawHead", "input %x : f32[n,3,8,8,9]\n%y = Neg(%x)", Normal({2, 3, 8, 8, 9}, 3),
     "logit"},
    {"ClassesBeforeAxesOfOneEntry", "input %x : f32[n,10,1,1]\n%y = Neg(%x)",
     Normal({32, 10, 1, 1}), "logits along axis 1"},
    {"ClassesBehindAxesOfOneEntry", "input %x : f32[n,1,1,10]\n%y = Neg(%x)",
     Normal({32, 1, 1, 10}), "logits along axis 3"},
    {"FeatureVectorBeforeAxesOfOneEntry", "input %x : f32[n,512,1,1]\n%y = Neg(%x)",
     Normal({32, 512, 1, 1}), "embedding"},
    {"SeriesOfOneNumber", "input %x : f32[n,24,1]\n%y = Neg(%x)",
     Outputs({8, 24, 1}, [](Rng& rng, std::int64_t) { return 20 + rng.Normal(); }), "regression"},
    {"LargeStates", "input %x : f32[n,12,3]\n%y = Neg(%x)", Normal({8, 12, 3}, 100), "series"},
    {"TextOfAConvolution",
     "input %x : f32[n,3,20]\nconst %w : f32[12,3,1] = random 1\n%c = Conv(%x, %w)\n"
     "%y = LogSoftmax(%c) {axis = 1}",
     Outputs({4, 12, 20},
             [](Rng& rng, std::int64_t i) {
               const bool blank = i / 20 % 12 == 11 && i % 2 == 0;
               return blank ? 20 : rng.Normal();
             }),
     "ctc along axis 1, blank 11"},
    {"ClassesOfTokens",
     "input %t : i64[n,20]\ninput %x : f32[n,20,30]\n%z = Cast(%t) {to = 1}\n%y = Softmax(%x)",
     Outputs({4, 20, 30}, [](Rng& rng, std::int64_t i) { return i % 30 == 0 ? 20 : rng.Normal(); }),
     "probabilities along axis 2"},
    {"IntegersAsFloats",
     "input %x : f32[n,12,9]\n%a = ArgMax(%x) {axis = 2}\n%y = Cast(%a) {to = 1}",
     Outputs({8, 12, 1}, [](Rng& rng, std::int64_t) { return static_cast<double>(rng.Below(9)); }),
     "integers"},
    {"CountsOfUnknownOrigin", "input %x : f32[n]\n%y = Neg(%x)",
     Outputs({32}, [](Rng& rng, std::int64_t) { return static_cast<double>(rng.Below(9)); }),
     "integers"},
    {"NoCandidates", "input %x : f32[n,0,6]\n%y = Neg(%x)", Tensor(DType::kF32, {4, 0, 6}),
     "regression"},
    {"Depth", "input %x : f32[n,1,8,9]\n%y = Neg(%x)",
     Outputs({4, 1, 8, 9}, [](Rng& rng, std::int64_t) { return 30 + rng.Normal(); }), "regression"},
    {"States", "input %x : f32[n,12,3]\n%y = Neg(%x)", Normal({8, 12, 3}), "series"},
    {"ClassOfEachStep", "input %x : f32[n,12,9]\n%y = Neg(%x)", Confident({8, 12, 9}, 9),
     "logits along axis 2"},
    {"Text", "input %x : f32[n,20,30]\n%y = Softmax(%x)",
     Outputs({4, 20, 30},
             [](Rng& rng, std::int64_t i) {
               // Every second step is blank, class 0.
               const bool blank = i / 30 % 2 == 0;
               return (i % 30 == 0 && blank) ? 20 : rng.Normal();
             }),
     "ctc along axis 2, blank 0"},
    {"TokensAsIntegers", "input %x : f32[n,12,9]\n%y = ArgMax(%x) {axis = 2}",
     Tensor(DType::kI64, {8, 12, 1}), "integers"},
};

INSTANTIATE_TEST_SUITE_P(All, ChosenForm, testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.label; });

/// Returns the form of the rows of a graph that counts samples as `axis` says.
std::string FormOfRows(const std::string& body, const SampleAxis& axis, const Tensor& rows) {
  Graph graph = ParseGraph("graph g {\n" + body + "\noutput %y\n}");
  InferTypes(graph);
  SetSampleAxis(graph, graph.outputs()[0], axis);
  return FormatForm(ChooseForms(graph, {&rows, 1}, {})[0].form);
}

TEST(ChooseForms, CountsAxesFromThatOfSamples) {
  EXPECT_EQ(FormOfRows("input %x : f32[6,4]\n%y = Softmax(%x)",
                       {.counting = SampleCounting::kWhole}, Uniform({3, 6, 4})),
            "probabilities along axis 2");
  EXPECT_EQ(FormOfRows("input %x : f32[5,7,n]\n%y = Softmax(%x) {axis = 0}", {.axis = 2},
                       Uniform({3, 5, 7})),
            "probabilities along axis 1");
  EXPECT_EQ(FormOfRows("input %x : f32[7,n,5]\n%y = Softmax(%x)", {.axis = 1}, Uniform({3, 7, 5})),
            "probabilities along axis 2");
}

TEST(ChooseForms, LooksAtAHostileGraphInTime) {
  std::string body = "input %x : f32[n,1]\n%v0 = Relu(%x)\n";
  for (int i = 0; i < 60; ++i) {
    const std::string v = "%v" + std::to_string(i);
    body += "%c" + std::to_string(i) + " = Concat(" + v + ", " + v + ") {axis = 0}\n%v" +
            std::to_string(i + 1) + " = Identity(%c" + std::to_string(i) + ")\n";
  }
  EXPECT_EQ(FormOfRows(body + "%y = Sigmoid(%v60)", {}, Uniform({4, 1})), "binary");
  EXPECT_EQ(FormOfRows(body + "%y = Identity(%v60)", {}, Uniform({4, 1})), "regression");
}

TEST(ChooseForms, TakesGivenOnesAndTheHintsOfNames) {
  Graph graph = ParseGraph(R"(graph g {
    input %x : f32[n,10]
    %landmarks = Neg(%x)
    %embedding = Abs(%x)
    %other = Exp(%x)
    output %landmarks
    output %embedding
    output %other
  })");
  InferTypes(graph);
  const std::vector<Tensor> outputs(3, Normal({16, 10}));
  const OutputForms forms = ChooseForms(graph, outputs, {{"other", {.kind = OutputKind::kSeries}}});
  EXPECT_EQ(forms[0].form.kind, OutputKind::kRegression);
  EXPECT_EQ(forms[1].form.kind, OutputKind::kEmbedding);
  EXPECT_EQ(forms[2].form.kind, OutputKind::kSeries);
  try {
    (void)ChooseForms(graph, outputs, {{"mask", {}}});
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "the model has no output 'mask'; it has 'landmarks', 'embedding', 'other'");
  }
}

}  // namespace
}  // namespace msc::cost
