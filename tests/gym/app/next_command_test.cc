#include "gym/app/next_command.h"

#include <gtest/gtest.h>

#include "gym/search/registries.h"

namespace msc::gym {
namespace {

const std::vector<std::string> kWords = {"mscgym", "prune", "a b/net.onnx", "--density", "0.5"};

std::string Next(Written written) {
  written.model = "a b/net.onnx";
  written.target = "native:isa=avx2";
  return NextCommand(written, kWords, MakeTargets());
}

TEST(NextCommand, WritesWhatWasNotWritten) {
  EXPECT_EQ(Next({}), "mscgym prune 'a b/net.onnx' --density 0.5 --out net_prune.onnx");
}

TEST(NextCommand, ExportsAStrategy) {
  EXPECT_EQ(Next({.shapes = {"x=1x3x8x8"}, .plan = "out/half.json"}),
            "mscgym export 'a b/net.onnx' --shape x=1x3x8x8 --strategy out/half.json --for "
            "onnxruntime --out out/half.onnx");
}

TEST(NextCommand, CompilesWhatWasExported) {
  EXPECT_EQ(Next({.onnx = "half.onnx", .plan = "out/it's.json", .threads = 2}),
            R"(mscgym compile 'a b/net.onnx' --strategy 'out/it'\''s.json' --out )"
            R"('out/it'\''s_artefact' --threads 2)");
}

TEST(NextCommand, TimesAFileAlone) {
  EXPECT_EQ(Next({.onnx = "half.onnx"}), "mscgym bench half.onnx --targets native:isa=avx2");
}

TEST(NextCommand, LooksForAnotherTargetForWhatIsSlower) {
  const std::string next = Next({.onnx = "half.onnx", .plan = "half.json", .slower = true});
  EXPECT_TRUE(next.starts_with("mscgym bench 'a b/net.onnx' --targets ")) << next;
  EXPECT_TRUE(next.ends_with(" --strategy half.json")) << next;
  EXPECT_NE(next.find("native"), std::string::npos);
  EXPECT_EQ(next.find("reference"), std::string::npos);
}

}  // namespace
}  // namespace msc::gym
