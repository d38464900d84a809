#include "cost/quality/find_boxes.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/base/string_form.h"
#include "compiler/ir/sample_axes.h"
#include "cost/model/loss.h"
#include "cost/quality/quality.h"

namespace msc::cost {
namespace {

constexpr std::int64_t kSamples = 6;
constexpr std::int64_t kBoxes = 40;

Tensor Uniform(const Dims& dims, std::uint64_t seed, double scale = 1) {
  Tensor tensor(DType::kF32, dims);
  Rng rng(seed);
  for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(scale * rng.Uniform());
  return tensor;
}

/// Boxes by their corners in an image of 100 pixels.
Tensor Corners(std::uint64_t seed) {
  Tensor boxes = Uniform({kSamples, kBoxes, 4}, seed, 50);
  const auto values = boxes.MutableValues<float>();
  for (std::size_t i = 0; i < values.size(); i += 4) {
    values[i + 2] += values[i] + 1;
    values[i + 3] += values[i + 1] + 1;
  }
  return boxes;
}

/// Probabilities of three classes, of which the first is the most likely one of most boxes.
Tensor WithBackground(std::uint64_t seed) {
  Tensor scores = Uniform({kSamples, kBoxes, 3}, seed);
  const auto values = scores.MutableValues<float>();
  for (std::size_t i = 0; i < values.size(); i += 3) {
    values[i] += i % 4 == 0 ? 0.0F : 2.0F;
    const float sum = values[i] + values[i + 1] + values[i + 2];
    for (std::size_t c = 0; c < 3; ++c) values[i + c] /= sum;
  }
  return scores;
}

/// Scores that fall within each sample.
Tensor Sorted(std::uint64_t seed) {
  Tensor scores = Uniform({kSamples, kBoxes}, seed);
  const auto values = scores.MutableValues<float>();
  for (auto at = values.begin(); at != values.end(); at += kBoxes) {
    std::sort(at, at + kBoxes, std::greater<>());
  }
  return scores;
}

Tensor Classes(DType dtype) {
  Tensor classes(dtype, {kSamples, kBoxes});
  for (std::int64_t i = 0; i < classes.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (dtype == DType::kI64) {
      classes.MutableValues<std::int64_t>()[at] = i % 5;
    } else {
      classes.MutableValues<float>()[at] = static_cast<float>(i % 5);
    }
  }
  return classes;
}

/// Returns the form that is found for the first of these outputs.
std::string Found(const std::vector<Tensor>& outputs,
                  const std::map<std::string, OutputForm>& given = {}) {
  const std::vector<std::string> names = {"boxes", "conf", "labels"};
  OutputForms forms;
  for (std::size_t i = 0; i < outputs.size(); ++i) forms.push_back({names.at(i), {}});
  for (NamedForm& output : forms) {
    if (given.contains(output.name)) output.form = given.at(output.name);
  }
  FindBoxes(outputs, given, forms);
  return FormatForm(forms[0].form);
}

TEST(FindBoxes, FindsTheScoresOfEachClass) {
  EXPECT_EQ(Found({Corners(1), Uniform({kSamples, kBoxes, 7}, 2)}),
            "boxes (x0, y0, x1, y1) along axis 2, scores in 'conf'");
}

TEST(FindBoxes, FindsTheBackgroundOfASoftmax) {
  EXPECT_EQ(Found({Corners(1), WithBackground(2)}),
            "boxes (x0, y0, x1, y1) along axis 2, scores in 'conf', background 0");
}

TEST(FindBoxes, FindsScoresWhoseClassesComeFirst) {
  EXPECT_EQ(Found({Corners(1), Uniform({kSamples, 7, kBoxes}, 2)}),
            "boxes (x0, y0, x1, y1) along axis 2, scores in 'conf'");
}

/// Returns the form of boxes with scores in an output of this name.
OutputForm WithScores(const std::string& name, const Tensor& scores) {
  OutputForms forms = {{"boxes", {}}, {name, {}}};
  FindBoxes(std::vector<Tensor>{Corners(1), scores}, {}, forms);
  return forms[0].form;
}

TEST(FindBoxes, TakesScoresBeforeASigmoidOrSoftmaxByTheirName) {
  Tensor scores = Uniform({kSamples, kBoxes, 3}, 2, 8);
  for (float& x : scores.MutableValues<float>()) x -= 9;
  EXPECT_EQ(WithScores("state", scores).kind, OutputKind::kRegression);
  const OutputForm sigmoid = WithScores("pred_logits", scores);
  EXPECT_EQ(sigmoid.scores, "pred_logits");
  EXPECT_TRUE(sigmoid.logits);
  EXPECT_EQ(sigmoid.background, -1) << "all are negative where there is nothing";
  const auto values = scores.MutableValues<float>();
  for (std::size_t i = 2; i < values.size(); i += 3) values[i] = 5;
  EXPECT_EQ(WithScores("pred_logits", scores).background, 2);
}

TEST(FindBoxes, TakesBoxesThatAreNoCornersForCentresAndSides) {
  EXPECT_EQ(Found({Uniform({kSamples, kBoxes, 4}, 1, 100), Uniform({kSamples, kBoxes, 7}, 2)}),
            "boxes (centre, width, height) along axis 2, scores in 'conf'");
}

TEST(FindBoxes, FindsBoxesThatTheModelSelected) {
  for (const DType dtype : {DType::kI64, DType::kF32}) {
    EXPECT_EQ(Found({Corners(1), Sorted(2), Classes(dtype)}),
              "boxes, selected by the model, scores in 'conf', classes in 'labels'");
  }
  EXPECT_EQ(Found({Corners(1), Sorted(2)}), "boxes, selected by the model, scores in 'conf'");
}

TEST(FindBoxes, LeavesOffsetsAndOutputsWithOtherRowsAlone) {
  Tensor offsets = Corners(1);
  for (float& x : offsets.MutableValues<float>()) x -= 40;
  for (std::size_t i = 3; i < offsets.Values<float>().size(); i += 8) {
    offsets.MutableValues<float>()[i] = -60;
  }
  EXPECT_EQ(Found({offsets, Uniform({kSamples, kBoxes, 7}, 2)}), "regression");
  EXPECT_EQ(Found({Corners(1), Uniform({kSamples, kBoxes + 1, 7}, 2)}), "regression");
  EXPECT_EQ(Found({Corners(1), Uniform({kSamples, kBoxes, 7}, 2, 2)}), "regression");
}

TEST(FindBoxes, KeepsFormsThatAreGiven) {
  const std::vector<Tensor> outputs = {Corners(1), Uniform({kSamples, kBoxes, 7}, 2)};
  EXPECT_EQ(Found(outputs, {{"boxes", {.kind = OutputKind::kSeries}}}), "series");
  EXPECT_EQ(Found(outputs, {{"conf", {.kind = OutputKind::kBinary}}}), "regression");
}

TEST(CheckBoxes, RejectsScoresThatAreNoOtherOutput) {
  for (const std::string scores : {"boxes", "none"}) {
    const OutputForms forms = {{"boxes", {.kind = OutputKind::kBoxes, .scores = scores}}};
    try {
      CheckBoxes(forms);
      FAIL() << "no error";
    } catch (const UserError& error) {
      EXPECT_EQ(error.what(), "output 'boxes' cannot have its scores or classes in '" + scores +
                                  "'; name another output of the model");
    }
  }
}

/// Returns [N, boxes, 4 + n] of boxes and scores.
Tensor Beside(const Tensor& boxes, const Tensor& scores) {
  const std::int64_t n = scores.size() / (kSamples * kBoxes);
  Tensor joined(DType::kF32, {kSamples, kBoxes, 4 + n});
  auto* to = joined.MutableValues<float>().data();
  for (std::int64_t i = 0; i < kSamples * kBoxes; ++i) {
    to = std::copy_n(boxes.Values<float>().data() + 4 * i, 4, to);
    to = std::copy_n(scores.Values<float>().data() + n * i, n, to);
  }
  return joined;
}

Tensor Disturbed(const Tensor& tensor, double by) {
  Tensor disturbed = tensor;
  Rng rng(5);
  for (float& x : disturbed.MutableValues<float>()) x += static_cast<float>(by * rng.Normal());
  return disturbed;
}

Quality Compare(const OutputForms& forms, const std::vector<Tensor>& p,
                const std::vector<Tensor>& q) {
  QualityMeter meter(forms);
  EXPECT_FALSE(meter.Add(p, q, {}));
  return meter.Total();
}

TEST(JoinedBoxes, AreComparedLikeBoxesWithTheirScores) {
  const Tensor boxes = Corners(1);
  const Tensor scores = Uniform({kSamples, kBoxes, 7}, 2);
  const Tensor other_boxes = Disturbed(boxes, 4);
  const Tensor other_scores = Disturbed(scores, 0.05);
  const OutputForm alone{.kind = OutputKind::kBoxes, .axis = 2, .corners = true};
  OutputForm apart = alone;
  apart.scores = "conf";
  const Quality joined = Compare({{"boxes", apart}, {"conf", {.kind = OutputKind::kBinary}}},
                                 {boxes, scores}, {other_boxes, other_scores});
  const Quality whole =
      Compare({{"boxes", alone}}, {Beside(boxes, scores)}, {Beside(other_boxes, other_scores)});
  EXPECT_EQ(joined, whole);
  EXPECT_GT(whole.Loss(kBoxLoss).value().value, 5);
}

TEST(JoinedBoxes, MayHaveTheClassesFirst) {
  const Tensor boxes = Corners(1);
  const Tensor scores = Uniform({kSamples, kBoxes, 7}, 2);
  const auto turned = [](const Tensor& tensor) { return MoveAxis(tensor, 2, 1); };
  const Tensor other = Disturbed(scores, 0.1);
  const OutputForms forms = {
      {"boxes", {.kind = OutputKind::kBoxes, .axis = 2, .corners = true, .scores = "conf"}},
      {"conf", {}}};
  const Quality quality = Compare(forms, {boxes, scores}, {boxes, other});
  EXPECT_EQ(Compare(forms, {boxes, turned(scores)}, {boxes, turned(other)}), quality);
  EXPECT_GT(quality.Loss(kBoxLoss).value().value, 1);
}

TEST(JoinedBoxes, OfTheBackgroundDoNotCount) {
  const Tensor boxes = Corners(1);
  const Tensor scores = WithBackground(2);
  Tensor moved = boxes;
  // Boxes move where the background is most likely and the other classes stay below 0.25.
  const auto p = scores.Values<float>();
  for (std::size_t i = 0; i < p.size() / 3; ++i) {
    if (std::max(p[3 * i + 1], p[3 * i + 2]) >= 0.25F) continue;
    for (std::size_t c = 0; c < 4; ++c) moved.MutableValues<float>()[4 * i + c] += 500;
  }
  ASSERT_NE(moved, boxes);
  OutputForm form{.kind = OutputKind::kBoxes, .axis = 2, .corners = true, .scores = "conf"};
  const auto loss = [&] {
    return Compare({{"boxes", form}, {"conf", {}}}, {boxes, scores}, {moved, scores})
        .Loss(kBoxLoss)
        .value()
        .value;
  };
  EXPECT_GT(loss(), 1);
  form.background = 0;
  EXPECT_EQ(loss(), 0);
}

TEST(JoinedBoxes, MayComeInAnotherOrder) {
  const Tensor boxes = Corners(1);
  const Tensor scores = Sorted(2);
  const Tensor classes = Classes(DType::kF32);
  const auto reversed = [](const Tensor& tensor) {
    Tensor other = tensor;
    const std::int64_t n = tensor.size() / (kSamples * kBoxes);
    for (std::int64_t s = 0; s < kSamples; ++s) {
      for (std::int64_t b = 0; b < kBoxes; ++b) {
        std::copy_n(tensor.Values<float>().data() + (s * kBoxes + b) * n, n,
                    other.MutableValues<float>().data() + (s * kBoxes + kBoxes - 1 - b) * n);
      }
    }
    return other;
  };
  const OutputForm form{.kind = OutputKind::kBoxes,
                        .corners = true,
                        .selected = true,
                        .scores = "conf",
                        .classes = "labels"};
  const Quality quality =
      Compare({{"boxes", form}, {"conf", {}}, {"labels", {}}}, {boxes, scores, classes},
              {reversed(boxes), reversed(scores), reversed(classes)});
  ASSERT_EQ(quality.outputs.size(), 1U);
  EXPECT_EQ(quality.Loss(kBoxLoss).value().value, 0);
}

}  // namespace
}  // namespace msc::cost
