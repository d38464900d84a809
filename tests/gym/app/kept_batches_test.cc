#include "gym/app/kept_batches.h"

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace msc::gym {
namespace {

std::vector<Tensor> Batch(std::int64_t samples, float first) {
  Tensor scores(DType::kF32, {samples, 3});
  for (float& value : scores.MutableValues<float>()) value = first++;
  Tensor ids(DType::kI64, {samples});
  for (std::int64_t& id : ids.MutableValues<std::int64_t>()) id = samples;
  return {std::move(scores), std::move(ids)};
}

/// What is read back of three batches, in another order.
std::vector<std::vector<Tensor>> ReadBack(std::size_t most) {
  KeptBatches kept(most);
  kept.Add(Batch(4, 1));
  kept.Add(Batch(4, 20));
  kept.Add(Batch(2, 40));
  const KeptBatches moved = std::move(kept);
  return {moved.Get(1), moved.Get(2), moved.Get(0)};
}

TEST(KeptBatches, GivesBackWhatItKeepsInMemoryAndOnDisk) {
  const std::vector<std::vector<Tensor>> wanted = {Batch(4, 20), Batch(2, 40), Batch(4, 1)};
  // One batch of four samples has 4 x 3 x 4 + 4 x 8 = 80 bytes.
  for (const std::size_t most : {0U, 80U, 160U, 1000U}) EXPECT_EQ(ReadBack(most), wanted) << most;
}

TEST(KeptBatches, KnowsItsSamples) {
  KeptBatches kept(100);
  kept.Add(Batch(4, 1));
  kept.Add(Batch(2, 1));
  EXPECT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept.Samples(0), 4);
  EXPECT_EQ(kept.Samples(1), 2);
}

TEST(KeptBatches, KeepsTextsInMemory) {
  Tensor words(DType::kString, {2});
  words.mutable_strings()[0] = "a";
  KeptBatches kept(0);
  kept.Add({words});
  EXPECT_EQ(kept.Get(0), std::vector<Tensor>{words});
}

}  // namespace
}  // namespace msc::gym
