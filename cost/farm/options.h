#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "compiler/base/within.h"

namespace msc::cost {

/// Intervals and leases of a farm's ranks. A lease must be several times the interval of the
/// messages that renew it. The coordinator's lease should be longer than a worker's, so that the
/// coordinator notices a lost worker before that worker exits.
struct FarmOptions {
  double beat_seconds = 0.3;              ///< between two signs of life of a worker
  double ping_seconds = 0.4;              ///< between two signs of life of the coordinator
  double worker_lease_seconds = 10;       ///< silence after which a worker is lost
  double coordinator_lease_seconds = 20;  ///< silence after which a worker exits
  double stop_seconds = 5;        ///< time for a running evaluation to end when told to stop
  std::int64_t max_attempts = 3;  ///< attempts lost on one candidate before it fails
  bool operator==(const FarmOptions&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("beat_seconds", self.beat_seconds, "seconds between two signs of life of a worker",
          Within{0.001, 60});
    visit("ping_seconds", self.ping_seconds, "seconds between two signs of life of the coordinator",
          Within{0.001, 60});
    visit("worker_lease_seconds", self.worker_lease_seconds,
          "seconds of silence after which a worker counts as lost", Within{0.01, 3600});
    visit("coordinator_lease_seconds", self.coordinator_lease_seconds,
          "seconds of silence of the coordinator after which a worker exits", Within{0.01, 3600});
    visit("stop_seconds", self.stop_seconds,
          "seconds that a running evaluation has to stop on request", Within{0, 3600});
    visit("max_attempts", self.max_attempts,
          "number of workers lost on one candidate before it fails", Within{1, 100});
  }
};

/// Throws UserError unless each lease is at least twice its interval.
void CheckOptions(const FarmOptions& options);

/// Returns whether a launcher started this process as a rank of an MPI job. `environment` behaves
/// like std::getenv; only the program may read the environment, not a library.
[[nodiscard]] bool UnderMpi(const std::function<const char*(const char*)>& environment);
/// Returns the number of ranks of that job on this machine; 0 if the launcher does not say.
[[nodiscard]] int RanksHere(const std::function<const char*(const char*)>& environment);

}  // namespace msc::cost
