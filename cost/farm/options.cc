#include "cost/farm/options.h"

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
  // Open MPI's mpirun; launchers that speak PMI or PMIx, such as srun.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"}) {
    if (environment(name) != nullptr) return true;
  }
  return false;
}

}  // namespace msc::cost
