#include "cost/quality/boxes.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace msc::cost {
namespace {

const OutputForm kCentres{.kind = OutputKind::kBoxes};

TEST(Iou, IsTheSharedPartOfBoth) {
  EXPECT_NEAR(Iou({0, 0, 2, 2}, {1, 0, 3, 2}), 2.0 / 6, 1e-15);
  EXPECT_EQ(Iou({0, 0, 1, 1}, {2, 2, 3, 3}), 0);
  EXPECT_EQ(Iou({0, 0, 0, 0}, {0, 0, 0, 0}), 0);
}

TEST(Boxes, AreReadFromCentresWithTheClassOfTheHighestScore) {
  const Box box = MakeBox(std::vector<double>{10, 20, 4, 6, 0.1, 0.8}, kCentres);
  EXPECT_EQ(box.x0, 8);
  EXPECT_EQ(box.y1, 23);
  EXPECT_EQ(box.label, 1);
  EXPECT_EQ(box.score, 0.8);
}

TEST(Boxes, AreReadFromCornersWithObjectness) {
  OutputForm form = kCentres;
  form.corners = form.objectness = true;
  const Box box = MakeBox(std::vector<double>{1, 2, 3, 4, 0.5, 0.2, 0.6}, form);
  EXPECT_EQ(box.x1, 3);
  EXPECT_NEAR(box.score, 0.3, 1e-15);
}

TEST(Boxes, AreReadFromLogits) {
  OutputForm form = kCentres;
  form.logits = true;
  EXPECT_EQ(MakeBox(std::vector<double>{0, 0, 1, 1, 0}, form).score, 0.5);
  // With a background, they are those before a softmax.
  form.background = 2;
  const Box box = MakeBox(std::vector<double>{0, 0, 1, 1, 1, 3, 3}, form);
  EXPECT_EQ(box.label, 1);
  EXPECT_NEAR(box.score, 1 / (2 + std::exp(-2)), 1e-15);
}

TEST(Boxes, AreReadAsTheModelSelectedThem) {
  OutputForm form = kCentres;
  form.selected = true;
  const Box box = MakeBox(std::vector<double>{1, 2, 3, 4, 0.7, 5}, form);
  EXPECT_EQ(box.x0, 1);
  EXPECT_EQ(box.score, 0.7);
  EXPECT_EQ(box.label, 5);
}

TEST(Boxes, AreSelectedGreedilyWithinAClass) {
  const std::vector<double> candidates = {
      5,    5, 10, 10, 0.9, 0,    // kept
      5.5,  5, 10, 10, 0.8, 0,    // overlaps the first
      5,    5, 10, 10, 0,   0.7,  // of another class
      50,   5, 10, 10, 0.6, 0,    // elsewhere
      90.0, 5, 10, 10, 0.1, 0,    // too low a score
  };
  const std::vector<Box> boxes = SelectBoxes(candidates, 6, kCentres);
  ASSERT_EQ(boxes.size(), 3U);
  EXPECT_EQ(boxes[0].candidate, 0U);
  EXPECT_EQ(boxes[1].candidate, 2U);
  EXPECT_EQ(boxes[2].candidate, 3U);
}

TEST(BoxF1, CountsMatchesOnce) {
  const std::vector<Box> wanted = {{0, 0, 10, 10, 0.9, 0}, {20, 0, 30, 10, 0.8, 0}};
  EXPECT_EQ(BoxF1(wanted, wanted), 1);
  EXPECT_EQ(BoxF1(wanted, {}), 0);
  EXPECT_EQ(BoxF1({}, {}), 1);
  // Both found boxes overlap the first one; one of them matches.
  const std::vector<Box> twice = {{0, 0, 10, 10, 0.9, 0}, {1, 0, 11, 10, 0.8, 0}};
  EXPECT_NEAR(BoxF1(wanted, twice), 0.5, 1e-15);
  const std::vector<Box> other_class = {{0, 0, 10, 10, 0.9, 1}};
  EXPECT_EQ(BoxF1(wanted, other_class), 0);
  // Just under half.
  const std::vector<Box> moved = {{3.4, 0, 13.4, 10, 0.9, 0}};
  EXPECT_EQ(BoxF1(wanted, moved), 0);
}

}  // namespace
}  // namespace msc::cost
