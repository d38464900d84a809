#include "gym/search/kernels.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/ir/serialize.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/schedule.h"

namespace msc::gym {
namespace {

/// The selected kernels, with the hash of their model.
struct KernelsFile {
  std::string format = "msc-kernels-1";
  std::string model_hash;
  std::vector<ScheduledKernel> kernels;
  static void Fields(auto& self, auto& visit) {
    visit("format", self.format, "version of this file's form", Within::OneOf({"msc-kernels-1"}));
    visit("model_hash", self.model_hash, "hash of the canonical graph");
    visit("kernels", self.kernels, "kernels with their schedules");
  }
};

std::vector<ScheduledKernel> KernelsOf(const SearchConfig& config, const Prepared& prepared,
                                       Strategy strategy, std::int64_t batch) {
  strategy.model_hash.clear();  // hashing all weights for every strategy would be slow
  const CompileOptions options{.threads = config.threads,
                               .bindings = BatchBindings(*prepared.graph, batch)};
  return FindKernels(
      LowerFor(ApplyStrategy(*prepared.graph, strategy), strategy, prepared.targets, options),
      prepared.targets);
}

/// Returns a strategy with every layer on one target, in `precision` if the layer allows it, else
/// f32.
Strategy Uniform(const Graph& graph, const std::map<std::string, TensorScale>& scales,
                 const std::string& target, Precision precision) {
  Strategy strategy;
  strategy.target = target;
  const std::vector<QuantizableLayer> layers = FindQuantizableLayers(graph);
  for (const QuantizableLayer& layer : layers) {
    const auto& allowed = layer.allowed;
    const bool can = std::find(allowed.begin(), allowed.end(), precision) != allowed.end();
    strategy.quantize.layers[layer.name] = can ? precision : Precision::kF32;
  }
  strategy.quantize.activations = ScalesNeeded(layers, strategy.quantize.layers, scales);
  return strategy;
}

/// Schedules of each layer, one list per target and precision. AddWishes appends the lists of
/// `kernels`.
using Wishes = std::map<std::string, std::vector<std::vector<KernelSchedule>>>;
void AddWishes(const std::vector<ScheduledKernel>& kernels, Wishes& wishes) {
  for (const ScheduledKernel& kernel : kernels) {
    for (const std::string& layer : kernel.layers) wishes[layer].push_back(kernel.choices);
  }
}

/// Interleaves the lists without duplicates, up to `most` schedules. Skips the first of each list,
/// the target's own choice.
std::vector<KernelSchedule> Merged(const std::vector<std::vector<KernelSchedule>>& lists,
                                   std::size_t most) {
  std::vector<KernelSchedule> merged;
  std::size_t longest = 0;
  for (const auto& list : lists) longest = std::max(longest, list.size());
  for (std::size_t i = 1; i < longest; ++i) {
    for (const auto& list : lists) {
      if (i >= list.size() || merged.size() == most) continue;
      if (std::find(merged.begin(), merged.end(), list[i]) == merged.end()) {
        merged.push_back(list[i]);
      }
    }
  }
  return merged;
}

std::vector<ScheduledKernel> KernelsOfAnyTarget(const SearchConfig& config,
                                                const Prepared& prepared,
                                                const std::map<std::string, TensorScale>& scales) {
  const auto& compress = config.section<envs::CompressConfig>();
  std::vector<std::string> targets = {config.target};
  targets.insert(targets.end(), compress.targets.begin(), compress.targets.end());
  Wishes wishes;
  std::vector<ScheduledKernel> kernels;  // kernels of the first target that has some
  for (const std::string& target : targets) {
    for (const Precision precision : {Precision::kF32, Precision::kInt8}) {
      std::vector<ScheduledKernel> found =
          KernelsOf(config, prepared, Uniform(*prepared.graph, scales, target, precision), 1);
      AddWishes(found, wishes);
      if (kernels.empty()) kernels = std::move(found);
    }
  }
  std::stable_sort(
      kernels.begin(), kernels.end(),
      [](const ScheduledKernel& a, const ScheduledKernel& b) { return a.flops > b.flops; });
  std::vector<ScheduledKernel> chosen;
  for (ScheduledKernel& kernel : kernels) {
    if (chosen.size() == static_cast<std::size_t>(compress.schedules)) break;
    // Only layers of the canonical graph are decisions.
    std::erase_if(kernel.layers, [&](const std::string& layer) {
      return prepared.graph->FindNode(layer) == kNoNode;
    });
    if (kernel.layers.empty()) continue;
    const auto most = static_cast<std::size_t>(config.section<ScheduleConfig>().choices) - 1;
    kernel.choices.resize(1);
    for (KernelSchedule& schedule : Merged(wishes.at(kernel.layers.front()), most)) {
      kernel.choices.push_back(std::move(schedule));
    }
    if (kernel.choices.size() > 1) chosen.push_back(std::move(kernel));
  }
  return chosen;
}

/// Returns the kernels in the file, or those that `find` returns, which it writes there.
SharedKernels ReadOrFind(const Graph& graph, const std::string& path,
                         const std::function<std::vector<ScheduledKernel>()>& find) {
  KernelsFile file;
  const std::string hash = GraphHash(graph);
  if (std::filesystem::exists(path)) {
    file = FromJsonText<KernelsFile>(ReadFile(path), "'" + path + "'");
    if (file.model_hash != hash) {
      throw UserError("'" + path + "' was made for another model; choose another --out");
    }
  } else {
    file.model_hash = hash;
    file.kernels = find();
    WriteFileAtomic(path, ToJsonText(file, 1) + "\n");
  }
  return std::make_shared<const std::vector<ScheduledKernel>>(std::move(file.kernels));
}

}  // namespace

SharedKernels FindStartKernels(const SearchConfig& config, const Prepared& prepared,
                               const std::string& path) {
  return ReadOrFind(*prepared.graph, path, [&] {
    std::vector<ScheduledKernel> kernels =
        KernelsOf(config, prepared, StartOf(config, prepared), 1);
    const auto most = static_cast<std::size_t>(config.section<ScheduleConfig>().choices);
    for (ScheduledKernel& kernel : kernels) {
      if (kernel.choices.size() > most) kernel.choices.resize(most);
    }
    return kernels;
  });
}

SharedKernels FindJointKernels(const SearchConfig& config, const Prepared& prepared,
                               const std::map<std::string, TensorScale>& scales,
                               const std::string& path) {
  return ReadOrFind(*prepared.graph, path,
                    [&] { return KernelsOfAnyTarget(config, prepared, scales); });
}

std::function<std::vector<ScheduledKernel>(const Strategy&)> KernelFinder(
    const SearchConfig& config, const Prepared& prepared) {
  return [config, &prepared](const Strategy& strategy) {
    std::vector<ScheduledKernel> kernels = KernelsOf(config, prepared, strategy, 1);
    std::map<std::string, std::vector<KernelSchedule>> judged;
    const std::int64_t batch = BatchSize(*prepared.graph, config.quality.batch);
    for (const ScheduledKernel& kernel : KernelsOf(config, prepared, strategy, batch)) {
      for (const std::string& layer : kernel.layers) judged[layer] = kernel.choices;
    }
    for (ScheduledKernel& kernel : kernels) {
      const std::vector<KernelSchedule>& both = judged[kernel.layers.front()];
      std::erase_if(kernel.choices, [&](const KernelSchedule& schedule) {
        return schedule != kernel.choices.front() &&
               std::find(both.begin(), both.end(), schedule) == both.end();
      });
    }
    return kernels;
  };
}

}  // namespace msc::gym
