#include "tests/fuzz/structural_mutants.h"

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "compiler/codegen/onnx/export.h"
#include "compiler/targets/register.h"
#include "tests/fuzz/model_mutants.h"
#include "tests/support/random_model.h"
#include "tests/support/seeds.h"

namespace msc::fuzz {
namespace {

class StructuralMutants : public testing::Test {
 protected:
  StructuralMutants() {
    RegisterAllTargets(registry_);
    for (const auto& [name, kind] : registry_.kinds()) {
      try {
        (void)registry_.Get(name);
        if (name != "onnxruntime") options_.targets.push_back(name);
      } catch (const UserError&) {
        continue;  // the contract tests say why
      }
    }
  }

  void ExpectTakenOrRefused(const ModelMutants& mutants, std::uint64_t seed) {
    const ModelMutant mutant = mutants.Make(seed);
    options_.seed = seed;
    const MutantEnd end = TryMutant(mutant.bytes, registry_, options_);
    EXPECT_EQ(end.finding.value_or("none"), "none") << "mutant " << seed;
    imported_ += end.imported ? 1 : 0;
  }

  TargetRegistry registry_;
  MutantOptions options_;
  int imported_ = 0;
};

TEST_F(StructuralMutants, OfRandomModelsAreTakenOrRefused) {
  for (std::uint64_t model = 0; model < Seeds(48); ++model) {
    SCOPED_TRACE("random model " + std::to_string(model));
    const ModelMutants mutants(ExportOnnxBytes(RandomModel(model)));
    for (std::uint64_t i = 0; i < 20; ++i) ExpectTakenOrRefused(mutants, MixSeed({model, i}));
  }
  EXPECT_GT(imported_, 40);
}

TEST_F(StructuralMutants, OfAModelOfTheRepositoryAreTakenOrRefused) {
  const ModelMutants mutants(ReadFile("experiments/models/fashion_resnet.onnx"));
  options_.all = false;
  for (std::uint64_t i = 0; i < Seeds(120); ++i) ExpectTakenOrRefused(mutants, i);
  EXPECT_GT(imported_, 5);
}

/// What failed once.
TEST_F(StructuralMutants, OfTheCorpusAreTakenOrRefused) {
  for (const auto& entry : std::filesystem::directory_iterator("tests/fuzz/corpus/mutants")) {
    SCOPED_TRACE(entry.path().string());
    const MutantEnd end = TryMutant(ReadFile(entry.path().string()), registry_, options_);
    EXPECT_EQ(end.finding.value_or("none"), "none");
  }
}

TEST(Mutants, AreMadeByEveryKindOfChange) {
  const std::vector<std::string> kinds = ModelChanges();
  std::set<std::string> missing(kinds.begin(), kinds.end());
  EXPECT_EQ(missing.size(), kinds.size()) << "two kinds have one name";
  for (std::uint64_t model = 0; model < 40; ++model) {
    const ModelMutants mutants(ExportOnnxBytes(RandomModel(model)));
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      for (const std::string& change : mutants.Make(MixSeed({model, seed})).changes) {
        missing.erase(change);
      }
    }
  }
  EXPECT_EQ(missing, std::set<std::string>());
}

TEST(Mutants, OfOneSeedAreTheSame) {
  const std::string bytes = ExportOnnxBytes(RandomModel(3));
  const ModelMutants mutants(bytes);
  int changed = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const ModelMutant mutant = mutants.Make(seed);
    EXPECT_EQ(mutant.bytes, ModelMutants(bytes).Make(seed).bytes);
    EXPECT_FALSE(mutant.changes.empty());
    changed += mutant.bytes != bytes ? 1 : 0;
  }
  EXPECT_GT(changed, 150);
}

}  // namespace
}  // namespace msc::fuzz
