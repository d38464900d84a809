#pragma once

#include <cstddef>
#include <string>

namespace msc::cost {

/// Removes shared memory of finished Open MPI jobs of this user on this machine from `folder`, and
/// returns the number of removed files. A job that was killed leaves one file per rank. A file
/// counts as unused if no process has it open or mapped. If /proc does not show all processes of
/// this user, no file is removed.
std::size_t SweepSegments(const std::string& folder = "/dev/shm");

}  // namespace msc::cost
