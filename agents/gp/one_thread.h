#pragma once

#include <omp.h>

namespace msc::agents {

/// Restricts a BLAS that is built on OpenMP to the calling thread for the lifetime of this object:
/// matrices are small, results must not depend on the number of cores, and idle threads that spin
/// would disturb measurements.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread() { omp_set_num_threads(before_); }

 private:
  int before_;
};

}  // namespace msc::agents
