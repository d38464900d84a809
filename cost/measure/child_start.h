#pragma once

#include <sys/types.h>

#include "cost/measure/child.h"

namespace msc::cost {

/// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  [[nodiscard]] int get() const noexcept { return fd_; }
  void Close();

 private:
  int fd_ = -1;
};

/// A running child and this process's ends of its pipes, both non-blocking.
struct StartedChild {
  pid_t pid = -1;
  Descriptor record;
  Descriptor errors;
};

/// Forks, applies the command's limits and cores to the child, and executes the program. Returns
/// when the program has started. SystemError naming the program and the failed step.
[[nodiscard]] StartedChild StartChild(const ChildCommand& command);

}  // namespace msc::cost
