#include "compiler/runtime/threads.h"

#include <algorithm>
#include <cerrno>
#include <string>

#include <omp.h>
#include <sched.h>

#include "compiler/base/error.h"
#include "compiler/runtime/float_mode.h"

namespace msc {
namespace {

// Cores beyond CPU_SETSIZE (1024) would need dynamic sets; they are ignored.
constexpr int kMaxCores = CPU_SETSIZE;

}  // namespace

void UseThreads(int count) {
  if (count < 1) throw UserError("threads must be at least 1, not " + std::to_string(count));
  // Changes the OpenMP setting of the calling thread only. Compare first, as this may be called
  // often.
  if (omp_get_max_threads() != count) omp_set_num_threads(count);
}

void ParallelParts(int threads, std::int64_t count,
                   void (*body)(void* object, std::int64_t begin, std::int64_t end), void* object) {
  const int parts = static_cast<int>(std::min<std::int64_t>(threads, count));
  if (parts <= 1) {
    if (count > 0) body(object, 0, count);
    return;
  }
  // Each thread has a mode of its own, and the threads of the pool serve other callers, too.
  const std::uint32_t mode = FloatMode();
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part) {
    const std::uint32_t before = FloatMode();
    SetFloatMode(mode);
    // These bounds cut `count` into parts that differ by at most one.
    body(object, count * part / parts, count * (part + 1) / parts);
    SetFloatMode(before);
  }
}

std::vector<int> AllowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) {
    throw SystemError("cannot read the cores this process may run on", errno);
  }
  std::vector<int> cores;
  for (int core = 0; core < kMaxCores; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

void PinTo(const std::vector<int>& cores) {
  if (cores.empty()) throw UserError("a process cannot be bound to no core");
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) {
    if (core < 0 || core >= kMaxCores) {
      throw UserError("there is no core " + std::to_string(core));
    }
    CPU_SET(static_cast<std::size_t>(core), &set);
  }
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    throw SystemError("cannot bind this process to the cores asked for", errno);
  }
}

}  // namespace msc
