#pragma once

// Of this folder only: brings dnnl.hpp (by desc.h).

#include <memory>
#include <vector>

#include "compiler/runtime/executable.h"
#include "compiler/targets/onednn/desc.h"

namespace msc::onednn {

/// One argument of a primitive: which (DNNL_ARG_...), in which layout, where.
struct Argument {
  int index = 0;
  Desc desc;
  BufferId buffer{};
};

/// A primitive with its arguments, made once for each workspace of an executable; the primitive and
/// the stream are shared by all of them, which the library allows as scratch space is the caller's.
/// A run sets only the addresses that changed since the last one (those of graph inputs and
/// outputs) and calls the library; it allocates nothing itself. Not thread-safe.
class BoundPrimitive {
 public:
  /// `threads` is the count that was in force when the primitive was made: its scratch space and
  /// its split of the work are sized for it.
  BoundPrimitive(dnnl::primitive primitive, const std::vector<Argument>& arguments,
                 std::shared_ptr<const dnnl::stream> stream, int threads);
  void Run(const StepContext& context);

 private:
  dnnl::primitive primitive_;
  std::shared_ptr<const dnnl::stream> stream_;
  int threads_;
  std::vector<dnnl::memory> memories_;
  std::vector<BufferId> buffers_;
  std::vector<void*> addresses_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace msc::onednn
