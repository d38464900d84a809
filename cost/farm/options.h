#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "compiler/base/within.h"

namespace msc::cost {

/// When the ranks of a farm give each other up. The leases must be several times the intervals, and
/// a worker must hold on for longer than the coordinator takes to notice that it is gone.
struct FarmOptions {
  double beat_seconds = 0.3;              ///< between two signs of life of a worker
  double ping_seconds = 0.4;              ///< between two of the coordinator
  double worker_lease_seconds = 10;       ///< silence after which a worker is lost
  double coordinator_lease_seconds = 20;  ///< silence after which a worker gives up
  double stop_seconds = 5;                ///< for a running evaluation to end when told to
  std::int64_t max_attempts = 3;          ///< workers lost over one candidate before it fails
  bool operator==(const FarmOptions&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("beat_seconds", self.beat_seconds, "between two signs of life of a worker",
          Within{0.001, 60});
    visit("ping_seconds", self.ping_seconds, "between two signs of life of the coordinator",
          Within{0.001, 60});
    visit("worker_lease_seconds", self.worker_lease_seconds,
          "silence after which a worker counts as lost", Within{0.01, 3600});
    visit("coordinator_lease_seconds", self.coordinator_lease_seconds,
          "silence of the coordinator after which a worker exits", Within{0.01, 3600});
    visit("stop_seconds", self.stop_seconds, "for a running evaluation to end when told to",
          Within{0, 3600});
    visit("max_attempts", self.max_attempts, "workers lost over one candidate before it fails",
          Within{1, 100});
  }
};

/// UserError unless each lease is at least twice the interval it watches.
void CheckOptions(const FarmOptions& options);

/// Whether a launcher started this process as a rank of an MPI job. `environment` answers as
/// std::getenv does: it is for the program to look there, not for a library.
[[nodiscard]] bool UnderMpi(const std::function<const char*(const char*)>& environment);
/// Ranks of that job on this machine; 0 where the launcher does not say.
[[nodiscard]] int RanksHere(const std::function<const char*(const char*)>& environment);

}  // namespace msc::cost
