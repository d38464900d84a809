#pragma once

#include <cstddef>
#include <string>

namespace msc::cost {

/// Removes from `folder` the shared memory of Open MPI jobs of this user on this machine that are
/// over, of which a job that is killed leaves a file a rank: those that no process has open or
/// mapped. Returns how many. Where /proc does not tell of all processes of this user, none is
/// removed.
std::size_t SweepSegments(const std::string& folder = "/dev/shm");

}  // namespace msc::cost
