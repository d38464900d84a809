#include "cost/partition/region_kernels.h"

#include <exception>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/pipeline/compile.h"

namespace msc::cost {
namespace {

/// Kernels that are compiled together: enough to keep cores busy, few enough to hear of progress.
constexpr std::size_t kAtOnce = 32;

class KernelCompiler {
 public:
  KernelCompiler(std::span<const RegionSource> sources, int threads, const TargetRegistry& targets)
      : sources_(sources), threads_(threads), targets_(targets) {}

  /// False where the target takes no part in this, now and for ever.
  bool Add(const RegionGroup& group, std::size_t runner) {
    const std::string& spec = group.runners[runner].target;
    const RegionSource& source = sources_[static_cast<std::size_t>(group.sources.at(runner))];
    const Target& target = targets_.Get(spec);
    Strategy strategy;
    strategy.target = spec;
    const CompileOptions options{.threads = threads_, .bindings = {}};
    const Lowered lowered = LowerFor(source.Cut(group.nodes, target.ExchangesChannelsLast()),
                                     strategy, targets_, options);
    if (!RefusedNodes(lowered, targets_).empty()) return true;
    Result<kernel::Program> program =
        target.GraphToKernel({&lowered.graph, lowered.graph.order()}, {.threads = threads_});
    if (!program.ok()) return program.failure().kind != FailureKind::kUnsupported;
    std::vector<kernel::KernelFunc>& funcs = waiting_[spec];
    std::move(program.value().funcs.begin(), program.value().funcs.end(),
              std::back_inserter(funcs));
    if (funcs.size() >= kAtOnce) Compile(spec);
    return true;
  }

  void Compile(const std::string& spec) {
    // In the cache is where they are wanted; one that does not compile will be met again.
    (void)targets_.Get(spec).KernelToRuntime(std::exchange(waiting_[spec], {}));
  }

  void CompileRest() {
    for (const auto& [spec, funcs] : std::map(waiting_)) {
      if (!funcs.empty()) Compile(spec);
    }
  }

 private:
  std::span<const RegionSource> sources_;
  int threads_;
  const TargetRegistry& targets_;
  std::map<std::string, std::vector<kernel::KernelFunc>> waiting_;  ///< by target
};

}  // namespace

void CompileKernels(std::span<const RegionSource> sources, std::span<const RegionGroup> groups,
                    int threads, const TargetRegistry& targets,
                    const std::function<void(std::size_t group, std::size_t runner)>& begins) {
  KernelCompiler compiler(sources, threads, targets);
  std::set<std::string> others;  // make no kernels
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (std::size_t k = 0; k < groups[i].runners.size(); ++k) {
      const std::string& spec = groups[i].runners[k].target;
      if (groups[i].nodes.empty() || others.contains(spec)) continue;
      begins(i, k);
      try {
        if (!compiler.Add(groups[i], k)) others.insert(spec);
      } catch (const std::exception&) {
        continue;  // whatever it is, the measuring child reports it
      }
    }
  }
  try {
    compiler.CompileRest();
  } catch (const std::exception&) {
    return;  // likewise
  }
}

}  // namespace msc::cost
