#include "cost/partition/region_kernels.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/hash.h"
#include "compiler/kernel/print.h"
#include "compiler/pipeline/compile.h"

namespace msc::cost {
namespace {

/// Kernels to compile together: enough to keep all cores busy, few enough for frequent progress
/// reports.
constexpr std::size_t kAtOnce = 32;

class KernelCompiler {
 public:
  KernelCompiler(std::span<const RegionSource> sources, int threads, const TargetRegistry& targets)
      : sources_(sources), threads_(threads), targets_(targets) {}

  /// Adds the kernels of a runner. Returns false if the target never makes kernels.
  bool Add(const RegionGroup& group, std::size_t runner) {
    const std::string& spec = group.runners[runner].target;
    const RegionSource& source = sources_[static_cast<std::size_t>(group.sources.at(runner))];
    const Target& target = targets_.Get(spec);
    Strategy strategy;
    strategy.target = spec;
    const CompileOptions options{.threads = threads_};
    const Lowered lowered = LowerFor(source.Cut(group.nodes, target.ExchangesChannelsLast()),
                                     strategy, targets_, options);
    if (!RejectedNodes(lowered, targets_).empty()) return true;
    Result<kernel::Program> program =
        target.GraphToKernel({&lowered.graph, lowered.graph.order()}, {.threads = threads_});
    if (!program.ok()) return program.failure().kind != FailureKind::kUnsupported;
    for (kernel::KernelFunc& func : program.value().funcs) {
      // Regions that overlap have kernels in common, which are compiled once.
      func.name.clear();
      if (!seen_.insert(Sha256Hex(spec + '\n' + kernel::Print(func))).second) continue;
      waiting_[spec].push_back(std::move(func));
      ++kernels_;
    }
    return true;
  }

  /// `done` receives the compiled share.
  template <class Done>
  void CompileAll(const Done& done) {
    std::size_t compiled = 0;
    for (auto& [spec, funcs] : waiting_) {
      for (std::size_t first = 0; first < funcs.size(); first += kAtOnce) {
        const std::size_t count = std::min(kAtOnce, funcs.size() - first);
        const auto from = funcs.begin() + static_cast<std::ptrdiff_t>(first);
        std::vector<kernel::KernelFunc> some(
            std::make_move_iterator(from),
            std::make_move_iterator(from + static_cast<std::ptrdiff_t>(count)));
        Compile(targets_.Get(spec), some);
        compiled += count;
        done(static_cast<double>(compiled) / static_cast<double>(kernels_));
      }
    }
  }

 private:
  /// Compiles kernels into the target's cache. The measurement reports kernels that do not compile.
  static void Compile(const Target& target, std::span<const kernel::KernelFunc> funcs) {
    try {
      (void)target.KernelToRuntime(funcs);
    } catch (const std::exception&) {
      return;  // the child that measures reports this
    }
  }

  std::span<const RegionSource> sources_;
  int threads_;
  const TargetRegistry& targets_;
  std::map<std::string, std::vector<kernel::KernelFunc>> waiting_;  ///< by target
  std::set<std::string> seen_;                                      ///< hashes of kernels
  std::size_t kernels_ = 0;
};

}  // namespace

void CompileKernels(std::span<const RegionSource> sources, std::span<const RegionGroup> groups,
                    int threads, const TargetRegistry& targets,
                    const std::function<void(double part)>& heard) {
  KernelCompiler compiler(sources, threads, targets);
  std::set<std::string> others;  // targets that make no kernels
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (std::size_t k = 0; k < groups[i].runners.size(); ++k) {
      const std::string& spec = groups[i].runners[k].target;
      if (groups[i].nodes.empty() || others.contains(spec)) continue;
      heard(0);
      try {
        if (!compiler.Add(groups[i], k)) others.insert(spec);
      } catch (const std::exception&) {
        continue;  // the child that measures reports this
      }
    }
  }
  compiler.CompileAll(heard);
}

}  // namespace msc::cost
