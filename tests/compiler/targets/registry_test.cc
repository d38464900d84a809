#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
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
  bool held = false;
  for (const Target* target : registry.All()) held = held || target->facts().name == "onednn";
  EXPECT_NE(held, registry.absent().contains("onednn"));
}

TEST(TargetRegistry, SaysWhatThereIsForAnUnknownName) {
  TargetRegistry registry;
  EXPECT_EQ(WhatGetSays(registry, "npu"), "unknown target 'npu'; known here: ");
}

TEST(TargetRegistry, SaysWhyATargetIsAbsent) {
  TargetRegistry registry;
  registry.AddAbsent("npu", "there is no driver");
  EXPECT_EQ(WhatGetSays(registry, "npu"), "target 'npu' is not in this build: there is no driver");
}

}  // namespace
}  // namespace msc
