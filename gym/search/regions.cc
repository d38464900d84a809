#include "gym/search/regions.h"

#include <cstdint>
#include <cstdlib>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/runtime/threads.h"
#include "cost/measure/memory.h"

namespace msc::gym {
namespace {

// NOLINTBEGIN(concurrency-mt-unsafe): no thread changes the environment
std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}
// NOLINTEND(concurrency-mt-unsafe)

}  // namespace

std::string RegionFolder(const std::string& given) {
  if (!given.empty()) return given;
  if (const std::string xdg = Environment("XDG_CACHE_HOME"); xdg.starts_with("/")) {
    return xdg + "/mscgym/regions";
  }
  const std::string home = Environment("HOME");
  if (home.starts_with("/")) return home + "/.cache/mscgym/regions";
  throw UserError("no folder to keep costs in: set HOME, or give one by --cache");
}

PartitionRules LoadPartitionRules(const std::string& path) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 20U;
  if (path.empty()) return {};
  return ParsePartitionRules(ReadFile(path, kMaxBytes), "'" + path + "'");
}

std::vector<std::string> CompilerEnvironment() {
  std::vector<std::string> variables;
  for (const char* name : {"HOME", "PATH", "XDG_CACHE_HOME", "MSCGYM_CACHE", "MSCGYM_CXX"}) {
    const std::string value = Environment(name);
    if (!value.empty()) variables.push_back(std::string(name) + "=" + value);
  }
  return variables;
}

cost::RegionMeterOptions RegionMeterFor(const std::string& program, int threads) {
  const std::vector<int> cores = AllowedCores();
  if (threads > std::ssize(cores)) {
    throw UserError(std::to_string(threads) + " threads are more than the " +
                    std::to_string(cores.size()) + " cores of this process");
  }
  cost::RegionMeterOptions meter;
  meter.child = {program, "measure-regions"};
  meter.cores = {cores.begin(), cores.begin() + threads};
  meter.build_cores = cores;
  meter.threads = threads;
  meter.memory_mb = cost::MemoryShareMb(1);
  meter.environment = CompilerEnvironment();
  return meter;
}

cost::RegionCostContext RegionContextFor(const cost::MachineFacts& machine, const Graph& graph,
                                         int threads) {
  return {.cpu = cost::CpuFingerprint(machine),
          .program = MSC_VERSION,
          .threads = threads,
          .timing = cost::QuickTiming(graph)};
}

}  // namespace msc::gym
