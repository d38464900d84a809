#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "tests/support/random_graph.h"
#include "tests/support/seeds.h"

namespace msc {
namespace {

const std::uint64_t kSeeds = Seeds(400);
const std::uint64_t kMutants = Seeds(1500);

TEST(RandomGraph, IsValidAndUsesEveryAttributeKindAndType) {
  std::vector<std::int64_t> kinds(std::variant_size_v<Attr>);
  std::vector<std::int64_t> dtypes(17);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Graph graph = RandomGraph(seed);
    ASSERT_NO_THROW(Verify(graph)) << "seed " << seed;
    for (const NodeId id : graph.order()) {
      for (const auto& [name, attr] : graph.node(id).attrs) ++kinds.at(attr.index());
    }
    for (const ValueId id : graph.constants()) {
      ++dtypes.at(static_cast<std::size_t>(graph.type(id).dtype));
    }
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) EXPECT_GT(kinds[i], 0) << "attribute kind " << i;
  for (std::size_t i = 1; i < dtypes.size(); ++i) EXPECT_GT(dtypes[i], 0) << "type " << i;
}

TEST(RoundTrip, TextGivesTheSameGraph) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Graph graph = RandomGraph(seed);
    const std::string text = Print(graph);
    const Graph parsed = ParseGraph(text);
    ASSERT_TRUE(SameGraph(parsed, graph)) << "seed " << seed << "\n" << text;
    ASSERT_EQ(Print(parsed), text) << "seed " << seed;
  }
}

TEST(RoundTrip, FilesGiveTheSameGraph) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Graph graph = RandomGraph(seed);
    const GraphFiles files = ToFiles(graph);
    const Graph loaded = FromFiles(files);
    ASSERT_TRUE(SameGraph(loaded, graph)) << "seed " << seed << "\n" << Print(graph);
    ASSERT_EQ(ToFiles(loaded).json, files.json) << "seed " << seed;
    ASSERT_EQ(GraphHash(loaded), GraphHash(graph)) << "seed " << seed;
    TensorDigests digests;
    ASSERT_EQ(ToFiles(graph, digests).json, files.json) << "seed " << seed;
    ASSERT_EQ(GraphHash(graph, digests), GraphHash(graph)) << "seed " << seed;
  }
}

TEST(RoundTrip, SavedFilesGiveTheSameGraph) {
  const std::string folder = testing::TempDir() + "/msc_round_trip_" + std::to_string(::getpid());
  MakeFolders(folder);
  const Graph graph = RandomGraph(7);
  SaveGraph(graph, folder + "/model");
  EXPECT_TRUE(SameGraph(LoadGraph(folder + "/model"), graph));
  std::filesystem::remove_all(folder);
}

TEST(RoundTrip, DifferentGraphsHaveDifferentHashes) {
  for (std::uint64_t seed = 0; seed + 1 < kSeeds; ++seed) {
    const Graph a = RandomGraph(seed);
    const Graph b = RandomGraph(seed + 1);
    if (a.order().empty() && b.order().empty()) continue;  // may differ in the name alone
    ASSERT_NE(GraphHash(a), GraphHash(b)) << "seed " << seed;
  }
}

/// Bad bytes are refused or read as another valid graph; nothing else may happen.
template <class Read>
void ExpectGraphOrUserError(std::uint64_t seed, Read read) {
  try {
    Verify(read());
  } catch (const UserError&) {
  } catch (const std::exception& error) {
    ADD_FAILURE() << "seed " << seed << ": " << error.what();
  }
}

TEST(Mutants, OfTextAreReadOrRefused) {
  for (std::uint64_t seed = 0; seed < kMutants; ++seed) {
    Rng rng(seed);
    const std::string text = Mutated(Print(RandomGraph(seed % 50)), rng);
    ExpectGraphOrUserError(seed, [&] { return ParseGraph(text); });
  }
}

TEST(Mutants, OfJsonAreReadOrRefused) {
  for (std::uint64_t seed = 0; seed < kMutants; ++seed) {
    Rng rng(seed);
    GraphFiles files = ToFiles(RandomGraph(seed % 50));
    files.json = Mutated(std::move(files.json), rng);
    ExpectGraphOrUserError(seed, [&] { return FromFiles(files); });
  }
}

TEST(Mutants, OfWeightsAreRefused) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    GraphFiles files = ToFiles(RandomGraph(seed));
    const std::string weights = Mutated(files.weights, rng);
    if (weights == files.weights) continue;
    files.weights = weights;
    try {
      // A byte of padding between tensors may change: no tensor sees it.
      EXPECT_TRUE(SameGraph(FromFiles(files), RandomGraph(seed))) << "seed " << seed;
    } catch (const UserError&) {
    }
  }
}

}  // namespace
}  // namespace msc
