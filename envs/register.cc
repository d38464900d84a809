#include "envs/register.h"

#include "envs/toy/knapsack.h"
#include "envs/toy/one_max.h"

namespace msc::envs {

void RegisterToys(EnvRegistry& registry) {
  registry.Add(
      {.id = "Toy/MaskedKnapsack-v0",
       .summary =
           "the same as PrecisionKnapsack, but neighbouring layers must not be bf16 and int8",
       .max_steps = static_cast<std::int64_t>(KnapsackLayers().size())},
      [] { return MakeMaskedKnapsackEnv(); });
  registry.Add({.id = "Toy/OneMax-v0",
                .summary = "switch on as many of 10 switches as possible; known optimum",
                .max_steps = kOneMaxBits},
               [] { return MakeOneMaxEnv(); });
  registry.Add({.id = "Toy/PrecisionKnapsack-v0",
                .summary = "precisions of 6 layers with additive costs; known optimum",
                .max_steps = static_cast<std::int64_t>(KnapsackLayers().size())},
               [] { return MakeKnapsackEnv(); });
}

}  // namespace msc::envs
