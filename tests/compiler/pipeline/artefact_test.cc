#include "compiler/pipeline/artefact.h"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "tests/support/pipeline.h"

namespace msc {
namespace {

Graph Net() {
  Graph graph = ParseGraph(R"(graph net {
    input %x : f32[batch,4]
    const %w : f32[3,4] = random 1
    const %b : f32[3] = [1, 2, 3]
    %y = Gemm(%x, %w, %b) @fc {transB = 1}
    %z = Relu(%y) @relu
    output %z
  })");
  InferTypes(graph);
  return graph;
}

class Artefacts : public testing::Test {
 protected:
  void SetUp() override {
    RegisterAllTargets(targets_);
    folder_ = testing::TempDir() + "artefact_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    strategy_.target = "reference";
  }

  TargetRegistry targets_;
  std::string folder_;
  Strategy strategy_;
};

TEST_F(Artefacts, ComputeWhatTheModelComputes) {
  const CompileOptions options{.threads = 1, .bindings = {{"batch", 2}}};
  const Graph graph = Net();
  WriteArtefact(folder_, graph, strategy_, targets_, options);
  Result<Artefact> artefact = LoadArtefact(folder_, targets_);
  ASSERT_TRUE(artefact.ok()) << artefact.failure().detail;
  Result<Executable> direct = Compile(graph, strategy_, targets_, options);
  ASSERT_TRUE(direct.ok());
  Tensor input(DType::kF32, {2, 4});
  Rng rng(1);
  for (float& x : input.MutableValues<float>()) x = static_cast<float>(rng.Normal());
  const std::vector<Tensor> inputs = {input};
  EXPECT_EQ(artefact.value().executable.Run(inputs), direct.value().Run(inputs));
}

TEST_F(Artefacts, HaveTheSameBytesWhenWrittenAgain) {
  WriteArtefact(folder_ + "/a", Net(), strategy_, targets_, {});
  WriteArtefact(folder_ + "/b", Net(), strategy_, targets_, {});
  for (const char* file : {"manifest.json", "graph.json", "graph.weights", "strategy.json"}) {
    EXPECT_EQ(ReadFile(folder_ + "/a/" + file), ReadFile(folder_ + "/b/" + file)) << file;
  }
}

TEST_F(Artefacts, WithOneByteChangedAreRefused) {
  WriteArtefact(folder_, Net(), strategy_, targets_, {});
  const std::string path = folder_ + "/graph.weights";
  std::string bytes = ReadFile(path);
  ASSERT_FALSE(bytes.empty());
  bytes[0] = static_cast<char>(bytes[0] ^ 1);
  WriteFileAtomic(path, bytes);
  EXPECT_EQ(Refusal([&] { (void)LoadArtefact(folder_, targets_); }),
            folder_ + "/graph.json: 'tensors[0]' does not match its weights: the SHA-256 differs");
  WriteArtefact(folder_, Net(), strategy_, targets_, {});
  // What lists the digests of weights is listed itself.
  const std::string graph = folder_ + "/graph.json";
  WriteFileAtomic(graph, ReadFile(graph) + " ");
  EXPECT_EQ(Refusal([&] { (void)LoadArtefact(folder_, targets_); }),
            "'" + graph + "' is not the file that '" + folder_ +
                "/manifest.json' lists; compile the model again");
}

TEST_F(Artefacts, OfNoModelAreRefused) {
  WriteArtefact(folder_, Net(), strategy_, targets_, {});
  const std::string path = folder_ + "/manifest.json";
  std::string text = ReadFile(path);
  const std::string entry = "\"model_hash\": \"" + GraphHash(Net()) + "\"";
  ASSERT_NE(text.find(entry), std::string::npos) << text;
  text.replace(text.find(entry), entry.size(), R"("model_hash": "")");
  WriteFileAtomic(path, text);
  EXPECT_EQ(Refusal([&] { (void)LoadArtefact(folder_, targets_); }),
            "'" + path +
                "' does not say of which model it is: its model_hash is empty; compile the "
                "model again");
}

TEST_F(Artefacts, OfOtherVersionsAreRefusedUnlessAllowed) {
  WriteArtefact(folder_, Net(), strategy_, targets_, {});
  const std::string path = folder_ + "/manifest.json";
  const std::string version = targets_.Get("reference").facts().version;
  std::string text = ReadFile(path);
  const std::string entry = "\"reference\": \"" + version + "\"";
  ASSERT_NE(text.find(entry), std::string::npos) << text;
  text.replace(text.find(entry), entry.size(), R"("reference": "abacus 1")");
  WriteFileAtomic(path, text);
  EXPECT_EQ(Refusal([&] { (void)LoadArtefact(folder_, targets_); }),
            "'" + folder_ + "' was compiled with reference abacus 1, and here it is " + version +
                "; compile the model again, or allow other versions (--any-version)");
  EXPECT_TRUE(LoadArtefact(folder_, targets_, OtherVersions::kAllow).ok());
}

TEST_F(Artefacts, OfAnotherInstructionSetAreRefused) {
  strategy_.target = "native";
  const std::string here = targets_.Get("native").facts().version;
  WriteArtefact(folder_, Net(), strategy_, targets_, {});
  ASSERT_TRUE(LoadArtefact(folder_, targets_).ok());
  const std::string there = here == "2 avx2" ? "2 avx512" : "2 avx2";
  const std::string path = folder_ + "/manifest.json";
  std::string text = ReadFile(path);
  const std::string entry = "\"native\": \"" + here + "\"";
  ASSERT_NE(text.find(entry), std::string::npos) << text;
  text.replace(text.find(entry), entry.size(), "\"native\": \"" + there + "\"");
  WriteFileAtomic(path, text);
  EXPECT_EQ(Refusal([&] { (void)LoadArtefact(folder_, targets_); }),
            "'" + folder_ + "' was compiled with native " + there + ", and here it is " + here +
                "; compile the model again, or allow other versions (--any-version)");
}

TEST_F(Artefacts, SayHowManyStepsOnlyConvert) {
  // Images lie channels last between native's layers, and dense outside.
  Graph graph = ParseGraph(R"(graph net {
    input %x : f32[1,8,6,6]
    const %w : f32[8,8,3,3] = random 1
    %a = Conv(%x, %w) @a
    %b = Conv(%a, %w) @b
    output %b
  })");
  InferTypes(graph);
  EXPECT_EQ(WriteArtefact(folder_, graph, strategy_, targets_, {}).conversions, 0)
      << "the reference computes on what it is given";
  strategy_.target = "native";
  const ArtefactManifest manifest = WriteArtefact(folder_, graph, strategy_, targets_, {});
  Result<Artefact> artefact = LoadArtefact(folder_, targets_);
  ASSERT_TRUE(artefact.ok()) << artefact.failure().detail;
  const MemoryUse& memory = artefact.value().executable.memory();
  EXPECT_EQ(static_cast<std::size_t>(manifest.conversions), memory.conversions);
  EXPECT_EQ(static_cast<std::size_t>(manifest.conversion_bytes), memory.conversion_bytes);
  EXPECT_GE(manifest.conversions, 1);
  EXPECT_GE(manifest.conversion_bytes, 8 * 6 * 6 * 4) << "the input is turned";
}

TEST_F(Artefacts, OfAnotherFormAreRefused) {
  WriteArtefact(folder_, Net(), strategy_, targets_, {});
  const std::string path = folder_ + "/manifest.json";
  std::string text = ReadFile(path);
  text.replace(text.find("msc-artefact-2"), 14, "msc-artefact-1");
  WriteFileAtomic(path, text);
  EXPECT_NE(Refusal([&] { (void)LoadArtefact(folder_, targets_); }).find("format"),
            std::string::npos);
}

}  // namespace
}  // namespace msc
