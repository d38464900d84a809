#include "compiler/pipeline/choose_target.h"

#include <memory>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/codegen/cpp/isa.h"
#include "compiler/runtime/executable.h"
#include "tests/support/pipeline.h"

namespace msc {
namespace {

/// Supports nothing, as a library without 8-bit kernels: "reference" takes its layers.
class Refusing final : public Target {
  [[nodiscard]] const TargetFacts& DoFacts() const noexcept override { return facts_; }
  [[nodiscard]] bool DoSupports(const Graph& /*graph*/, NodeId /*node*/) const override {
    return false;
  }
  TargetFacts facts_{.name = "onednn", .device = "cpu", .version = "0"};
};

std::unique_ptr<Target> MakeRefusing() {
  return std::make_unique<Refusing>();
}

std::unique_ptr<Target> MakeMissing() {
  throw UserError("not on this machine");
}

enum class Others { kAll, kReference };

/// Returns the targets of this build with another `onednn`.
TargetRegistry With(std::unique_ptr<Target> (*onednn)(), Others others) {
  const TargetRegistry all = Targets();
  TargetRegistry some;
  for (const auto& [name, kind] : all.kinds()) {
    if (name == "reference" || (others == Others::kAll && name != "onednn")) some.Add(kind);
  }
  some.Add("onednn", onednn);
  return some;
}

TEST(ChooseTarget, TakesTheOneThatComputesEightBitsOnThisCpu) {
  const TargetRegistry targets = Targets();
  const bool there = !targets.absent().contains("onednn");
  EXPECT_EQ(ChooseTarget(targets), there && DetectIsa().vnni ? "onednn" : "native");
}

TEST(ChooseTarget, PassesOverATargetThatLeavesTheLayerToReference) {
  EXPECT_EQ(ChooseTarget(With(MakeRefusing, Others::kAll)), "native");
  EXPECT_EQ(ChooseTarget(With(MakeMissing, Others::kAll)), "native");
}

TEST(ChooseTarget, TakesTheFirstIfNoneComputesEightBits) {
  EXPECT_EQ(ChooseTarget(With(MakeRefusing, Others::kReference)), "onednn");
  EXPECT_EQ(ChooseTarget(With(MakeMissing, Others::kReference)), "reference");
}

}  // namespace
}  // namespace msc
