#include <filesystem>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "compiler/base/file.h"
#include "tests/fuzz/targets.h"
#include "tests/support/random_graph.h"

namespace msc::fuzz {

void PrintTo(const Target& target, std::ostream* out) {
  *out << target.name;
}

namespace {

/// What fuzzing found once, and some good inputs: replayed whole, cut short, and damaged.
class Replay : public testing::TestWithParam<Target> {};

TEST_P(Replay, ReadsOrRefusesTheCorpus) {
  int files = 0;
  Rng rng(1);
  const std::string folder = "tests/fuzz/corpus/" + std::string(GetParam().name);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().string());
    const std::string bytes = ReadFile(entry.path().string());
    EXPECT_NO_THROW(GetParam().run(bytes));
    for (int i = 0; i < 50; ++i) {
      EXPECT_NO_THROW(GetParam().run(bytes.substr(0, rng.Below(bytes.size() + 1))));
      EXPECT_NO_THROW(GetParam().run(Mutated(bytes, rng)));
    }
    ++files;
  }
  EXPECT_GT(files, 0) << "no corpus in " << folder;
}

INSTANTIATE_TEST_SUITE_P(Corpus, Replay, testing::ValuesIn(AllTargets()),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace msc::fuzz
