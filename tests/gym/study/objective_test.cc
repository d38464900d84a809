#include "gym/study/objective.h"

#include <gtest/gtest.h>

#include "compiler/base/error.h"

namespace msc::gym {
namespace {

template <class F>
std::string ErrorOf(F&& f) {
  try {
    f();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Violation, IsTheSumOfRelativeExcesses) {
  const Objective objective{{"time"}, {{"drop", 0.5}, {"bytes", 100}, {"time", 10}}};
  const Evaluation evaluation{{{"drop", 0.75}, {"bytes", 150}, {"time", 9}}, {}, ""};
  EXPECT_DOUBLE_EQ(Violation(objective, evaluation), 0.5 + 0.5);
}

TEST(Violation, IsZeroAtTheLimitItself) {
  const Objective objective{{"time"}, {{"drop", 0.003}}};
  EXPECT_EQ(Violation(objective, {{{"drop", 0.003}}, {}, ""}), 0.0);
}

TEST(Violation, OfALimitOfZeroIsFiniteAndPositive) {
  const Objective objective{{"time"}, {{"drop", 0}}};
  EXPECT_DOUBLE_EQ(Violation(objective, {{{"drop", 2e-9}}, {}, ""}), 2.0);
}

TEST(Violation, RefusesAMetricThatWasNotMeasured) {
  const Objective objective{{"time"}, {{"drop", 0}}};
  EXPECT_EQ(ErrorOf([&] {
              (void)Violation(objective, {{{"kl", 1}, {"time", 2}}, {}, ""});
            }),
            "no metric 'drop'; measured: kl, time");
}

TEST(ObjectiveValues, AreInTheOrderOfTheObjective) {
  const Evaluation evaluation{{{"a", 1}, {"b", 2}, {"c", 3}}, {}, ""};
  EXPECT_EQ(ObjectiveValues({{"c", "a"}, {}}, evaluation), (std::vector<double>{3, 1}));
}

TEST(ConstraintValues, AreSignedAndRelativeToTheLimit) {
  const Objective objective{{"time"}, {{"drop", 0.5}, {"bytes", 100}}};
  EXPECT_EQ(ConstraintValues(objective, {{{"drop", 0.75}, {"bytes", 50}}, {}, ""}),
            (std::vector<double>{0.5, -0.5}));
}

}  // namespace
}  // namespace msc::gym
