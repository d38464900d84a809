#include "cost/quality/bind_labels.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "tests/support/error_of.h"
#include "tests/support/labels.h"

namespace msc::cost {
namespace {

Tensor Zeros(Dims dims) {
  return Tensor(DType::kF32, std::move(dims));
}

SampleLabels Numbers(LabelForm form, Dims dims, const std::vector<std::vector<float>>& samples) {
  SampleLabels labels{.form = form, .path = "labels.npy", .dims = std::move(dims)};
  for (const std::vector<float>& sample : samples) {
    labels.rows.push_back(labels.size());
    labels.numbers.Append(sample);
  }
  return labels;
}

SampleLabels Texts(const std::vector<std::string>& texts,
                   const std::vector<std::string>& alphabet) {
  SampleLabels labels{.form = LabelForm::kTexts, .path = "lines.txt", .texts = texts};
  for (std::size_t i = 0; i < texts.size(); ++i) labels.rows.push_back(labels.size());
  labels.alphabet = alphabet;
  labels.alphabet_path = "alphabet.txt";
  return labels;
}

/// A sample with one box of a picture of 40 x 20 pixels.
SampleLabels Boxes(BoxUnits units, std::int64_t categories = 2) {
  SampleLabels labels = Numbers(LabelForm::kBoxes, {}, {{4, 5, 8, 10, 1}});
  labels.inputs = {{40, 20}};
  labels.categories = categories;
  labels.units = units;
  return labels;
}

const OutputForms kForms = {{"emb", {.kind = OutputKind::kEmbedding}},
                            {"value", {.kind = OutputKind::kRegression}},
                            {"class", {.kind = OutputKind::kLogits}},
                            {"mask", {.kind = OutputKind::kLogits, .axis = 1}},
                            {"text", {.kind = OutputKind::kCtc, .axis = 2}}};

std::vector<Tensor> Outputs() {
  return {Zeros({2, 8}), Zeros({2, 1}), Zeros({2, 3}), Zeros({2, 3, 2, 2}), Zeros({2, 5, 4})};
}

BoundLabels Bind(const SampleLabels& labels) {
  return BindLabels({labels}, kForms, Outputs());
}

TEST(BindLabels, FindsTheFirstOutputThatCanHaveThem) {
  EXPECT_EQ(Bind(Numbers(LabelForm::kNumbers, {}, {{0.5F}, {2}})).outputs[0].output, "value");
  const BoundLabels maps =
      Bind(Numbers(LabelForm::kIntegers, {2, 2}, {{0, 1, 2, 255}, {0, 0, -1, 1}}));
  EXPECT_EQ(maps.outputs[0].output, "mask");
  EXPECT_EQ(maps.outputs[0].kind, LabelKind::kMaps);
  EXPECT_EQ(maps.outputs[0].numbers.values, (std::vector<float>{0, 1, 2, -1, 0, 0, -1, 1}))
      << "255 and -1 are not labelled";
  EXPECT_EQ(maps.notes, (std::vector<std::string>{"labels 'labels.npy' of output 'mask': maps"}));
  EXPECT_EQ(Bind(Texts({"a", "b"}, {"a", "b", "c"})).outputs[0].output, "text");
}

TEST(BindLabels, GivesTheNamedOutputItsOwn) {
  SampleLabels classes = Numbers(LabelForm::kIntegers, {}, {{2}, {0}});
  EXPECT_EQ(Bind(classes).outputs[0].output, "value") << "whole numbers are values, too";
  classes.output = "class";
  const BoundLabels bound = Bind(classes);
  EXPECT_EQ(bound.outputs[0].output, "class");
  EXPECT_EQ(bound.outputs[0].kind, LabelKind::kClasses);
  EXPECT_EQ(bound.outputs[0].numbers.values, (std::vector<float>{2, 0}));
}

TEST(BindLabels, TakesBitsOfALogitForClassesAndOtherNumbersForValues) {
  const OutputForms forms = {{"y", {.kind = OutputKind::kLogit}}};
  const std::vector<Tensor> outputs = {Zeros({2, 1})};
  const auto kind_of = [&](const SampleLabels& labels) {
    return BindLabels({labels}, forms, outputs).outputs[0].kind;
  };
  EXPECT_EQ(kind_of(Numbers(LabelForm::kNumbers, {}, {{0}, {1}})), LabelKind::kClasses);
  EXPECT_EQ(kind_of(Numbers(LabelForm::kIntegers, {}, {{0}, {1}})), LabelKind::kClasses);
  EXPECT_EQ(kind_of(Numbers(LabelForm::kNumbers, {}, {{0.5F}, {1}})), LabelKind::kValues);
}

TEST(BindLabels, SpellsTexts) {
  const auto spelled = [&](std::int64_t blank, const std::vector<std::string>& alphabet,
                           const std::string& text) {
    const OutputForms forms = {{"y", {.kind = OutputKind::kCtc, .axis = 2, .blank = blank}}};
    return BindLabels({Texts({text}, alphabet)}, forms, std::vector<Tensor>{Zeros({1, 5, 4})})
        .outputs[0]
        .numbers.values;
  };
  using Classes = std::vector<float>;
  EXPECT_EQ(spelled(0, {"a", "b", "c"}, "cab"), (Classes{3, 1, 2})) << "without the blank";
  EXPECT_EQ(spelled(-1, {"a", "b", "c"}, "cab"), (Classes{2, 0, 1})) << "blank at the end";
  EXPECT_EQ(spelled(0, {"-", "a", "b", "c"}, "cab"), (Classes{3, 1, 2})) << "a line for each class";
  EXPECT_EQ(spelled(0, {"a", "b"}, "b a"), (Classes{2, 3, 1})) << "a space that is the last class";
  EXPECT_EQ(spelled(-1, {"a", "b"}, "b a"), (Classes{1, 2, 0}));
  EXPECT_EQ(spelled(0, {"a", "ab", "\xC3\xA4"}, "aba\xC3\xA4"), (Classes{2, 1, 3}))
      << "the longest first";
  EXPECT_EQ(spelled(0, {"a", "b", "c"}, ""), Classes{});
}

TEST(BindLabels, PutsBoxesIntoTheUnitsOfTheOutput) {
  // One candidate: box of corners, two scores.
  const OutputForms forms = {
      {"y", {.kind = OutputKind::kBoxes, .axis = 2, .corners = true, .score = 0.5}}};
  const auto bound = [&](float side, float score, BoxUnits units) {
    const std::vector<float> row = {0, 0, side, side, score, 0};
    const std::vector<Tensor> outputs = {Tensor::From<float>(DType::kF32, {1, 1, 6}, row)};
    return BindLabels({Boxes(units)}, forms, outputs);
  };
  const std::vector<float> pixels = {4, 5, 8, 10, 1};
  const std::vector<float> shares = {0.1F, 0.25F, 0.2F, 0.5F, 1};
  EXPECT_EQ(bound(30, 0.9F, BoxUnits::kAuto).outputs[0].numbers.values, pixels);
  EXPECT_EQ(bound(1, 0.9F, BoxUnits::kAuto).outputs[0].numbers.values, shares);
  EXPECT_EQ(bound(1, 0.9F, BoxUnits::kPixels).outputs[0].numbers.values, pixels);
  EXPECT_EQ(bound(30, 0.9F, BoxUnits::kUnit).outputs[0].numbers.values, shares);
  EXPECT_EQ(bound(1, 0.1F, BoxUnits::kAuto).outputs[0].numbers.values, pixels);
  EXPECT_NE(bound(1, 0.1F, BoxUnits::kAuto)
                .notes[0]
                .find("assumed, as the uncompressed model "
                      "finds no boxes"),
            std::string::npos);
  EXPECT_NE(bound(1, 0.9F, BoxUnits::kAuto).notes[0].find("shares of the input's sides (found"),
            std::string::npos);
}

TEST(BindLabels, LeavesTheBackgroundOutOfTheCategories) {
  const OutputForms forms = {{"y", {.kind = OutputKind::kBoxes, .axis = 2, .background = 0}}};
  const std::vector<Tensor> outputs = {Zeros({1, 1, 7})};
  EXPECT_EQ(BindLabels({Boxes(BoxUnits::kPixels)}, forms, outputs).outputs[0].numbers.values[4], 2);
  EXPECT_EQ(ErrorOf([&] { (void)BindLabels({Boxes(BoxUnits::kPixels, 3)}, forms, outputs); }),
            "'labels.npy' has 3 categories; output 'y' (" + FormatForm(forms[0].form) +
                ") has 2 classes");
}

struct Misfit {
  std::string name;
  SampleLabels labels;
  std::string message;
};
void PrintTo(const Misfit& misfit, std::ostream* out) {
  *out << misfit.name;
}

const std::string kElse =
    ". If an output is something else, say so with --output or 'quality.outputs'";

SampleLabels Of(const std::string& output, SampleLabels labels) {
  labels.output = output;
  return labels;
}

class Misfits : public testing::TestWithParam<Misfit> {};

TEST_P(Misfits, AreNamed) {
  EXPECT_EQ(ErrorOf([] { (void)Bind(GetParam().labels); }), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    BindLabels, Misfits,
    testing::Values(
        Misfit{"NoOutput", Of("none", ClassFile({0, 1})),
               "labels 'labels.npy' are for output 'none', which is none of those that are "
               "compared: 'emb', 'value', 'class', 'mask', 'text'"},
        Misfit{"AnotherKind", Of("emb", ClassFile({0, 1})),
               "labels 'labels.npy', integers [] for each sample, do not fit: output 'emb' "
               "(embedding) takes no labels" +
                   kElse},
        Misfit{"FloatsForClasses", Of("class", Numbers(LabelForm::kNumbers, {}, {{0}, {1}})),
               "labels 'labels.npy', numbers [] for each sample, do not fit: output 'class' "
               "(logits along axis -1) takes one class number for each sample" +
                   kElse},
        Misfit{"MapOfAnotherSize",
               Of("mask", Numbers(LabelForm::kIntegers, {1, 2}, {{0, 1}, {0, 1}})),
               "labels 'labels.npy', integers [1,2] for each sample, do not fit: output 'mask' "
               "(logits along axis 1) takes maps of 4 class numbers, the positions of [3,2,2]" +
                   kElse},
        Misfit{"NoClass", Of("class", ClassFile({0, 3})),
               "'labels.npy' holds 3 in row 1, counted from 0; output 'class' (logits along axis "
               "-1) has 3 classes, 0 to 2"},
        Misfit{"Negative", Of("class", ClassFile({0, -1})),
               "'labels.npy' holds -1 in row 1, counted from 0, which is not a class number"},
        Misfit{"NoClassInAMap",
               Of("mask", Numbers(LabelForm::kIntegers, {2, 2}, {{0, 1, 2, 2}, {0, 7, 0, 0}})),
               "'labels.npy' holds 7 in row 1, counted from 0; output 'mask' (logits along axis 1) "
               "has 3 classes, 0 to 2"},
        Misfit{"Blank", Of("text", Numbers(LabelForm::kIntegers, {2}, {{1, 2}, {0, 3}})),
               "'labels.npy' holds 0 in row 1, counted from 0, which is the blank of output "
               "'text' (ctc along axis 2, blank 0) and stands in no sequence"},
        Misfit{"NoCharacter", Texts({"ab", "b\xC3\xA4"}, {"a", "b", "c"}),
               "'lines.txt', sample 1 (counted from 0) has '\xC3\xA4', which is not in the "
               "alphabet 'alphabet.txt'"},
        Misfit{"Alphabet", Texts({"ab", "b"}, {"a", "b", "c", "d", "e"}),
               "'alphabet.txt' has 5 lines; the output has 4 classes: it needs one line for each, "
               "with or without the blank (class 0), and without a space if that is the last "
               "class"}),
    [](const auto& param) { return param.param.name; });

TEST(BindLabels, RefusesTwoFilesForOneOutput) {
  EXPECT_EQ(
      ErrorOf([] {
        (void)BindLabels(
            {Texts({"a", "b"}, {"a", "b", "c"}), Of("text", Texts({"a", "b"}, {"a", "b", "c"}))},
            kForms, Outputs());
      }),
      "labels 'lines.txt' fit output 'text', which has others; say which output they are for");
}

}  // namespace
}  // namespace msc::cost
