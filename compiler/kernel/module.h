#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "compiler/kernel/call.h"

namespace msc::kernel {

/// Machine code of a kernel. `buffers` has the addresses of its buffers, in order; if the kernel
/// calls functions, the address of its function table follows: one LibraryFunction for each of
/// CalledFunctions. [begin, end) is the range of iterations of its parallel loop, 0 .. 1 if it has
/// none. It accesses only the buffers, and is safe to call on several threads that write different
/// buffers.
using Entry = void (*)(char* const* buffers, long begin, long end);  // NOLINT(google-runtime-int)

/// Loaded machine code of several kernels. Immutable; the code stays loaded until the last copy of
/// this object is destroyed.
class Module {
 public:
  /// Takes the `libraries` that keep the code of `entries` loaded. `tables` has a function table
  /// per kernel, or is empty if no kernel calls a function; these functions must outlive this
  /// object.
  Module(std::vector<std::shared_ptr<void>> libraries, std::vector<Entry> entries,
         std::vector<std::vector<LibraryFunction>> tables = {})
      : libraries_(std::move(libraries)), entries_(std::move(entries)), tables_(std::move(tables)) {
    tables_.resize(entries_.size());
  }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  /// Returns the code of kernel i, in the order of compilation.
  [[nodiscard]] Entry Function(std::size_t i) const { return entries_.at(i); }
  /// Returns the functions that kernel i calls; usually empty.
  [[nodiscard]] const std::vector<LibraryFunction>& Table(std::size_t i) const {
    return tables_.at(i);
  }

 private:
  std::vector<std::shared_ptr<void>> libraries_;
  std::vector<Entry> entries_;
  std::vector<std::vector<LibraryFunction>> tables_;
};

}  // namespace msc::kernel
