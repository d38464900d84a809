#include "envs/register.h"

#include "envs/compress/compress_env.h"
#include "envs/distill/distill_env.h"
#include "envs/partition/partition_env.h"
#include "envs/prune/prune_env.h"
#include "envs/quantize/quantize_env.h"
#include "envs/schedule/schedule_env.h"
#include "envs/toy/knapsack.h"
#include "envs/toy/one_max.h"

namespace msc::envs {

void RegisterAll(EnvRegistry& registry) {
  registry.Add({.id = "Compress-v0",
                .summary = "channels of every group and precision of every layer, together with "
                           "further decisions that the config adds; measured",
                .nondeterministic = true},
               [](const EnvContext& context) { return MakeCompressEnv(context); });
  registry.Add({.id = "Distill-v0",
                .summary = "the recipe for training a compressed model to imitate the original; "
                           "trained and measured"},
               [](const EnvContext& context) { return MakeDistillEnv(context); });
  registry.Add({.id = "Partition-v0",
                .summary = "which target runs which node, in regions with known costs; measured",
                .nondeterministic = true},
               [](const EnvContext& context) { return MakePartitionEnv(context); });
  registry.Add(
      {.id = "Prune-v0",
       .summary = "channels to keep of every group of channels that belong together; measured",
       .nondeterministic = true},
      [](const EnvContext& context) { return MakePruneEnv(context); });
  registry.Add({.id = "Quantize-v0",
                .summary = "precision of every layer: f32, bf16 or int8; measured",
                .nondeterministic = true},
               [](const EnvContext& context) { return MakeQuantizeEnv(context); });
  registry.Add({.id = "Schedule-v0",
                .summary = "how every kernel is written: tiles, loop orders, algorithms; measured",
                .nondeterministic = true},
               [](const EnvContext& context) { return MakeScheduleEnv(context); });
  registry.Add(
      {.id = "Toy/MaskedKnapsack-v0",
       .summary =
           "the same as PrecisionKnapsack, but neighbouring layers must not be bf16 and int8",
       .max_steps = static_cast<std::int64_t>(KnapsackLayers().size())},
      [](const EnvContext&) { return MakeMaskedKnapsackEnv(); });
  registry.Add({.id = "Toy/OneMax-v0",
                .summary = "switch on as many of 10 switches as possible; known optimum",
                .max_steps = kOneMaxBits},
               [](const EnvContext&) { return MakeOneMaxEnv(); });
  registry.Add({.id = "Toy/PrecisionKnapsack-v0",
                .summary = "precisions of 6 layers with additive costs; known optimum",
                .max_steps = static_cast<std::int64_t>(KnapsackLayers().size())},
               [](const EnvContext&) { return MakeKnapsackEnv(); });
}

}  // namespace msc::envs
