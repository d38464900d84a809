#include "compiler/targets/onednn/bound_primitive.h"

#include <string>
#include <utility>

#include <dnnl_debug.h>

#include "compiler/base/error.h"
#include "compiler/runtime/threads.h"

namespace msc::onednn {

BoundPrimitive::BoundPrimitive(dnnl::primitive primitive, const std::vector<Argument>& arguments,
                               std::shared_ptr<const dnnl::stream> stream, int threads)
    : primitive_(std::move(primitive)), stream_(std::move(stream)), threads_(threads) {
  const dnnl::engine engine = stream_->get_engine();
  for (const Argument& argument : arguments) {
    memories_.emplace_back(argument.desc, engine, nullptr);
    buffers_.push_back(argument.buffer);
    addresses_.push_back(nullptr);
    arguments_.push_back({argument.index, memories_.back().get()});
  }
}

void BoundPrimitive::Run(const StepContext& context) {
  UseThreads(threads_);
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    void* address = context.At(buffers_[i]);
    if (address == addresses_[i]) continue;
    // Setting the address also zeroes the padding of blocked layouts. Do it here rather than once
    // before all steps: only now does the buffer hold this argument alone.
    const dnnl_status_t set =
        dnnl_memory_set_data_handle_v2(memories_[i].get(), address, stream_->get());
    if (set != dnnl_success) throw SystemError("oneDNN refused the address of a buffer");
    addresses_[i] = address;
  }
  const dnnl_status_t status = dnnl_primitive_execute(
      primitive_.get(), stream_->get(), static_cast<int>(arguments_.size()), arguments_.data());
  if (status != dnnl_success) {
    throw SystemError(std::string("oneDNN failed to run a primitive: ") + dnnl_status2str(status));
  }
}

}  // namespace msc::onednn
