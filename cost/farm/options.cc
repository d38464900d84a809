#include "cost/farm/options.h"

#include <charconv>
#include <string_view>
#include <system_error>

#include "compiler/base/error.h"

namespace msc::cost {

void CheckOptions(const FarmOptions& options) {
  if (options.worker_lease_seconds < 2 * options.beat_seconds) {
    throw UserError("'farm.worker_lease_seconds' must be at least twice 'farm.beat_seconds'");
  }
  if (options.coordinator_lease_seconds < 2 * options.ping_seconds) {
    throw UserError("'farm.coordinator_lease_seconds' must be at least twice 'farm.ping_seconds'");
  }
}

bool UnderMpi(const std::function<const char*(const char*)>& environment) {
  // Open MPI's mpirun, and launchers that use PMI or PMIx, such as srun.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"}) {
    if (environment(name) != nullptr) return true;
  }
  return false;
}

int RanksHere(const std::function<const char*(const char*)>& environment) {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    const char* const value = environment(name);
    if (value == nullptr) continue;
    const std::string_view text = value;
    int ranks = 0;
    const auto [end, error] = std::from_chars(text.begin(), text.end(), ranks);
    if (error == std::errc() && end == text.end() && ranks > 0) return ranks;
  }
  return 0;
}

}  // namespace msc::cost
