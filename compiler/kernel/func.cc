#include "compiler/kernel/func.h"

#include <utility>

#include "compiler/base/error.h"

namespace msc::kernel {

std::int64_t KernelFunc::parallel_extent() const {
  if (body.size() != 1) return 1;
  const For* loop = std::get_if<For>(&body[0].node);
  if (loop == nullptr || loop->kind != LoopKind::kParallel) return 1;
  const std::int64_t* extent = AsInt(loop->extent);
  Check(extent != nullptr, "the extent of a parallel loop is constant");
  return *extent;
}

BufferRef KernelBuilder::AddBuffer(Buffer buffer) {
  Check(buffer.elements >= 0, "a buffer has no negative size");
  func_.buffers.push_back(std::move(buffer));
  return {static_cast<std::uint32_t>(func_.buffers.size() - 1)};
}

KernelFunc KernelBuilder::Finish(std::vector<Stmt> body, double flops) && {
  func_.body = std::move(body);
  func_.flops = flops;
  return std::move(func_);
}

}  // namespace msc::kernel
