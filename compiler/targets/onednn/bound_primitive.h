#pragma once

// Internal to this folder: includes dnnl.hpp through desc.h.

#include <memory>
#include <vector>

#include "compiler/runtime/executable.h"
#include "compiler/targets/onednn/desc.h"

namespace msc::onednn {

/// One argument of a primitive: its DNNL_ARG_... index, layout and buffer.
struct Argument {
  int index = 0;
  Desc desc;
  BufferId buffer{};
};

/// A primitive with its arguments, made once per workspace of an executable. All workspaces share
/// the primitive and the stream, which is safe because the caller provides the scratch space. A run
/// sets only the addresses that changed since the last run (those of graph inputs and outputs),
/// calls the library and allocates nothing itself. Not thread-safe.
class BoundPrimitive {
 public:
  /// `threads` must be the thread count in use when the primitive was made, for which oneDNN sized
  /// its scratch space and split its work.
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
