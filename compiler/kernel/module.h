#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "compiler/kernel/call.h"

namespace msc::kernel {

/// A kernel as machine code. Takes the addresses of its buffers, in their order, and the range of
/// iterations of its parallel loop, 0 .. 1 where there is none. Behind the addresses stands that of
/// a table of functions where the kernel calls any: one LibraryFunction for each of
/// CalledFunctions. Touches only the buffers; safe to call on several threads where those they
/// write differ.
using Entry = void (*)(char* const* buffers, long begin, long end);  // NOLINT(google-runtime-int)

/// Kernels as machine code, loaded. The code stays as long as one copy of this does. Immutable.
class Module {
 public:
  /// `libraries` keep the code of `entries` loaded. `tables` are those of functions, one a kernel,
  /// or none where no kernel calls a function; those stay loaded whatever becomes of this.
  Module(std::vector<std::shared_ptr<void>> libraries, std::vector<Entry> entries,
         std::vector<std::vector<LibraryFunction>> tables = {})
      : libraries_(std::move(libraries)), entries_(std::move(entries)), tables_(std::move(tables)) {
    tables_.resize(entries_.size());
  }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  /// The code of kernel i, in the order of the kernels it was made from.
  [[nodiscard]] Entry Function(std::size_t i) const { return entries_.at(i); }
  /// The functions that it calls; empty for most.
  [[nodiscard]] const std::vector<LibraryFunction>& Table(std::size_t i) const {
    return tables_.at(i);
  }

 private:
  std::vector<std::shared_ptr<void>> libraries_;
  std::vector<Entry> entries_;
  std::vector<std::vector<LibraryFunction>> tables_;
};

}  // namespace msc::kernel
