#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/targets/options.h"
#include "compiler/targets/register.h"
#include "compiler/targets/target.h"

namespace msc {
namespace {

std::string WhatGetSays(const TargetRegistry& registry, std::string_view name) {
  try {
    (void)registry.Get(name);
  } catch (const UserError& error) {
    return error.what();
  }
  return "nothing";
}

TEST(TargetRegistry, HoldsTheReferenceTarget) {
  TargetRegistry registry;
  RegisterAllTargets(registry);
  EXPECT_EQ(registry.Get("reference").facts().name, "reference");
  EXPECT_EQ(registry.Get("reference").facts().device, "cpu");
}

TEST(TargetRegistry, HoldsOrExplainsOneDnn) {
  TargetRegistry registry;
  RegisterAllTargets(registry);
  EXPECT_NE(registry.kinds().contains("onednn"), registry.absent().contains("onednn"));
}

// A target that shows its options as its version.
struct AbacusOptions {
  std::int64_t rods = 10;
  std::string beads = "wood";
  bool fast = false;
  static void Fields(auto& self, auto& visit) {
    visit("rods", self.rods, "how many", Within{1, 20});
    visit("beads", self.beads, "made of", Within::OneOf({"wood", "bone"}));
    visit("fast", self.fast, "hurry");
  }
};

class Abacus final : public Target {
 public:
  explicit Abacus(const AbacusOptions& options)
      : facts_{.name = "abacus", .device = "hand", .version = ToJsonText(options)} {}

 private:
  [[nodiscard]] const TargetFacts& DoFacts() const noexcept override { return facts_; }
  [[nodiscard]] bool DoSupports(const Graph& /*graph*/, NodeId /*node*/) const override {
    return false;
  }
  [[nodiscard]] std::optional<Failure> DoGraphToRuntime(
      const Region& /*region*/, const TargetOptions& /*options*/,
      ExecutableBuilder& /*builder*/) const override {
    return std::nullopt;
  }
  TargetFacts facts_;
};

std::unique_ptr<Target> MakeAbacus(const AbacusOptions& options) {
  return std::make_unique<Abacus>(options);
}

TargetRegistry WithAbacus() {
  TargetRegistry registry;
  registry.Add(KindOf<AbacusOptions>("abacus", MakeAbacus));
  return registry;
}

TEST(TargetRegistry, GivesOneTargetToEqualOptions) {
  const TargetRegistry registry = WithAbacus();
  const Target& plain = registry.Get("abacus");
  EXPECT_EQ(&registry.Get("abacus:rods=10:fast=false"), &plain);
  EXPECT_EQ(plain.spec(), "abacus");
  const Target& other = registry.Get("abacus:rods=7:beads=bone");
  EXPECT_NE(&other, &plain);
  EXPECT_EQ(&registry.Get("abacus:beads=bone:rods=7"), &other);
  EXPECT_EQ(other.spec(), "abacus:beads=bone:rods=7");
  EXPECT_EQ(other.facts().name, "abacus");
  EXPECT_EQ(other.facts().version, R"({"beads":"bone","fast":false,"rods":7})");
}

TEST(TargetRegistry, NamesTheInstructionSetInVersionsThatDependOnIt) {
  TargetRegistry registry;
  RegisterAllTargets(registry);
  const std::string native = registry.Get("native").facts().version;
  const std::string isa = native.substr(native.find(' '));
  for (const char* name : {"xnnpack", "onnxruntime"}) {
    try {
      const std::string& version = registry.Get(name).facts().version;
      EXPECT_TRUE(version.ends_with(isa) && version.size() > isa.size()) << name << " " << version;
    } catch (const UserError&) {
      continue;  // the contract tests say why it is absent
    }
  }
}

TEST(TargetRegistry, LetsTheOptionThreadsGoBeforeTheCaller) {
  const TargetRegistry registry = WithAbacus();
  const Target& two = registry.Get("abacus:threads=2:fast=true");
  EXPECT_EQ(two.spec(), "abacus:fast=true:threads=2");
  EXPECT_EQ(two.OptionsFor({.threads = 5}).threads, 2);
  EXPECT_EQ(registry.Get("abacus").OptionsFor({.threads = 5}).threads, 5);
}

TEST(TargetRegistry, MakesOneTargetForAllThreadsThatAsk) {
  const TargetRegistry registry = WithAbacus();
  std::vector<const Target*> got(4);
  {
    std::vector<std::jthread> threads;
    for (const Target*& target : got) {
      threads.emplace_back([&] { target = &registry.Get("abacus:rods=3"); });
    }
  }
  for (const Target* target : got) EXPECT_EQ(target, got[0]);
}

TEST(TargetRegistry, RefusesOptionsThatDoNotFit) {
  const TargetRegistry registry = WithAbacus();
  EXPECT_EQ(WhatGetSays(registry, "abacus:wheels=2"),
            "unknown key 'abacus.wheels'; known here: rods, beads, fast");
  EXPECT_EQ(WhatGetSays(registry, "abacus:rods=21"),
            "'abacus.rods' must be between 1 and 20, not 21");
  EXPECT_EQ(WhatGetSays(registry, "abacus:beads=glass"),
            "'abacus.beads' must be one of wood, bone, not \"glass\"");
  EXPECT_EQ(WhatGetSays(registry, "abacus:rods=ten"),
            "option 'abacus:rods' is not valid JSON at line 1, column 2");
  EXPECT_EQ(WhatGetSays(registry, "abacus:threads=0"),
            "'abacus:threads' must be an integer between 1 and 1024, not '0'");
}

TEST(TargetRegistry, RefusesSpecsOfAnotherForm) {
  const TargetRegistry registry = WithAbacus();
  const std::string form = "; the form is name:key=value:key=value";
  EXPECT_EQ(WhatGetSays(registry, ""), "target '': the name is missing" + form);
  EXPECT_EQ(WhatGetSays(registry, "abacus:"), "target 'abacus:': it ends in ':'" + form);
  EXPECT_EQ(WhatGetSays(registry, "abacus:rods"),
            "target 'abacus:rods': 'rods' is not key=value" + form);
  EXPECT_EQ(WhatGetSays(registry, "abacus:rods=1:rods=2"),
            "target 'abacus:rods=1:rods=2': 'rods' is given twice" + form);
}

TEST(TargetRegistry, TellsTheOptionsOfAKind) {
  const TargetRegistry registry = WithAbacus();
  const std::vector<TargetOption>& options = registry.kinds().at("abacus").options;
  ASSERT_EQ(options.size(), 3U);
  EXPECT_EQ(options[1].key, "beads");
  EXPECT_EQ(options[1].otherwise, "wood");
  EXPECT_EQ(options[1].allowed, "one of wood, bone");
}

TEST(TargetRegistry, FindsNothingWhereThereIsNoSuchName) {
  EXPECT_EQ(WithAbacus().Find("npu"), nullptr);
}

TEST(TargetRegistry, SaysWhatThereIsForAnUnknownName) {
  const TargetRegistry registry = WithAbacus();
  EXPECT_EQ(WhatGetSays(registry, "npu"), "unknown target 'npu'; known: abacus");
  EXPECT_EQ(WhatGetSays(registry, "abbacus"), "unknown target 'abbacus'; did you mean 'abacus'?");
}

TEST(TargetRegistry, SaysWhyATargetIsAbsent) {
  TargetRegistry registry;
  registry.AddAbsent("npu", "there is no driver");
  EXPECT_EQ(WhatGetSays(registry, "npu"), "target 'npu' is not in this build: there is no driver");
}

}  // namespace
}  // namespace msc
