#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/large_memory.h"
#include "compiler/runtime/executable.h"
#include "compiler/runtime/memory_plan.h"

namespace msc {
namespace {

constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
constexpr BufferId kNoBuffer{std::numeric_limits<std::uint32_t>::max()};

std::size_t Index(BufferId id) {
  return static_cast<std::size_t>(id);
}

std::size_t RoundUp(std::size_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

Dims DimsOf(const Graph& graph, ValueId id) {
  const ValueType& type = graph.type(id);
  std::optional<Dims> dims;
  if (type.shape) dims = StaticDims(*type.shape);
  if (!dims || type.container != Container::kTensor) {
    throw UserError("value '" + graph.value(id).name + "' has the type " + ToString(type) +
                    "; to be compiled it must be a tensor of known shape");
  }
  return *dims;
}

}  // namespace

// A buffer is memory of the caller (input, output), of another owner (constant), or of the arena.
struct ExecutableBuilder::Buffer {
  enum class Place : std::uint8_t { kArena, kInput, kConstant, kOutput };
  std::size_t bytes = 0;
  Place place = Place::kArena;
  std::size_t tensor = 0;           // position among inputs, outputs or owners of constants
  const std::byte* data = nullptr;  // for a constant
  std::size_t parent = kNever;      // set by Alias
  std::size_t offset = 0;           // in the parent
  std::size_t first = kNever;  // first and last step that use it or an alias of it; for a root only
  std::size_t last = 0;
};

ExecutableBuilder::ExecutableBuilder(const Graph& graph) : graph_(&graph) {
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    Buffer& buffer = At(BufferOf(graph.inputs()[i]));
    buffer.place = Buffer::Place::kInput;
    buffer.tensor = i;
  }
}

ExecutableBuilder::~ExecutableBuilder() = default;

ExecutableBuilder::Buffer& ExecutableBuilder::At(BufferId id) {
  Check(Index(id) < buffers_.size(), "a BufferId belongs to its builder");
  return buffers_[Index(id)];
}

std::size_t ExecutableBuilder::Root(std::size_t buffer) const {
  while (buffers_[buffer].parent != kNever) buffer = buffers_[buffer].parent;
  return buffer;
}

std::size_t ExecutableBuilder::OffsetInRoot(std::size_t buffer) const {
  std::size_t offset = 0;
  for (; buffers_[buffer].parent != kNever; buffer = buffers_[buffer].parent) {
    offset += buffers_[buffer].offset;
  }
  return offset;
}

BufferId ExecutableBuilder::BufferOf(ValueId value) {
  const auto index = static_cast<std::size_t>(value);
  if (index >= value_buffers_.size()) value_buffers_.resize(index + 1, kNoBuffer);
  if (value_buffers_[index] != kNoBuffer) return value_buffers_[index];
  BufferId id{};
  if (const TensorPtr tensor = graph_->constant(value)) {
    id = AddConstant(tensor, tensor->Raw().data(), tensor->bytes());
  } else {
    const Dims dims = DimsOf(*graph_, value);
    const std::size_t width = ByteSize(graph_->type(value).dtype);
    if (width == 0) {
      throw UserError("value '" + graph_->value(value).name + "' has the type " +
                      ToString(graph_->type(value)) + ", which no buffer can hold");
    }
    id = AddBuffer(static_cast<std::size_t>(ElementCount(dims)) * width);
  }
  value_buffers_[index] = id;
  return id;
}

BufferId ExecutableBuilder::AddBuffer(std::size_t bytes) {
  Check(buffers_.size() < Index(kNoBuffer), "there are fewer buffers than ids");
  const auto id = static_cast<BufferId>(buffers_.size());
  buffers_.push_back({.bytes = bytes});
  return id;
}

BufferId ExecutableBuilder::AddConstant(std::shared_ptr<const void> owner, const void* data,
                                        std::size_t bytes) {
  const BufferId id = AddBuffer(bytes);
  At(id).place = Buffer::Place::kConstant;
  At(id).data = static_cast<const std::byte*>(data);
  At(id).tensor = keep_alive_.size();
  keep_alive_.push_back(std::move(owner));
  return id;
}

void ExecutableBuilder::Alias(BufferId view, BufferId of, std::size_t offset) {
  Check(At(view).bytes <= At(of).bytes && offset <= At(of).bytes - At(view).bytes,
        "a view fits into the buffer it shares");
  const std::size_t child = Root(Index(view));
  const std::size_t root = Root(Index(of));
  if (child == root) return;
  Check(buffers_[child].place == Buffer::Place::kArena, "a view is neither input nor constant");
  // Everything that `view` is a part of comes along, and must fit into the root, too.
  const std::size_t start = OffsetInRoot(Index(of)) + offset;
  const std::size_t inner = OffsetInRoot(Index(view));
  Check(inner <= start && start - inner + buffers_[child].bytes <= buffers_[root].bytes,
        "what a view is a part of fits into the buffer that it shares");
  buffers_[child].parent = root;
  buffers_[child].offset = start - inner;
}

void ExecutableBuilder::AddStep(Step step) {
  Check((step.run != nullptr) != (step.make_run != nullptr),
        "a step has one run for all, or makes one for each workspace");
  step.conditions = conditions_;
  steps_.push_back(std::move(step));
}

// An output is written in place, into the caller's tensor, unless its memory is fixed already.
void ExecutableBuilder::PlaceOutputs(Executable& executable) {
  for (std::size_t i = 0; i < graph_->outputs().size(); ++i) {
    const ValueId value = graph_->outputs()[i];
    const BufferId id = BufferOf(value);
    executable.output_types_.push_back(graph_->type(value));
    executable.output_dims_.push_back(DimsOf(*graph_, value));
    Buffer& root = buffers_[Root(Index(id))];
    // An output cannot replace a buffer that is larger than itself.
    if (root.place == Buffer::Place::kArena && root.bytes == At(id).bytes) {
      root.place = Buffer::Place::kOutput;
      root.tensor = i;
    } else {
      executable.copies_.push_back({.from = id, .output = i, .bytes = At(id).bytes});
      // The copy follows the last step, so the memory lives until then.
      root.first = std::min(root.first, steps_.size());
      root.last = steps_.size();
    }
  }
}

void ExecutableBuilder::PlaceArena(Executable& executable) {
  std::vector<Lifetime> lifetimes;
  std::vector<std::size_t> planned;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const Buffer& buffer = buffers_[i];
    const bool used = buffer.first != kNever;
    if (buffer.parent != kNever || buffer.place != Buffer::Place::kArena || !used) continue;
    lifetimes.push_back(
        {.bytes = RoundUp(buffer.bytes), .first = buffer.first, .last = buffer.last});
    planned.push_back(i);
    executable.memory_.unplanned_bytes += RoundUp(buffer.bytes);
  }
  const MemoryPlan plan = PlanMemory(lifetimes, kArenaAlignment);
  std::vector<std::size_t> offsets(buffers_.size(), kNever);
  executable.memory_.arena_bytes = plan.bytes;
  executable.memory_.arena_lower_bound = MemoryLowerBound(lifetimes);
  for (std::size_t i = 0; i < planned.size(); ++i) offsets[planned[i]] = plan.offsets[i];
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const std::size_t root = Root(i);
    if (offsets[root] == kNever) continue;
    executable.placed_.push_back(
        {.buffer = static_cast<BufferId>(i), .offset = offsets[root] + OffsetInRoot(i)});
  }
}

// Moves constants of programs into one block, in the order in which steps read them. It has few
// pages, and a kernel that prefetches past its last weights prefetches the first of the next
// kernel. Only those that nobody else holds are moved: copies of others would need memory. Large
// ones, which have huge pages of their own, stay, so that at no time there are two of them.
void ExecutableBuilder::JoinConstants(Executable& executable) {
  std::vector<std::size_t> joined;
  std::size_t bytes = 0;
  for (const ConstantGroup& group : constant_groups_) {
    for (const BufferId id : group.constants) {
      const Buffer& buffer = At(id);
      const bool read = buffer.place == Buffer::Place::kConstant && buffer.first != kNever;
      const bool stays =
          buffer.bytes >= kBytesWithOwnHugePages || keep_alive_[buffer.tensor].use_count() != 1;
      if (!read || stays) continue;
      joined.push_back(Index(id));
      bytes += RoundUp(buffer.bytes);
    }
  }
  std::stable_sort(joined.begin(), joined.end(), [&](std::size_t a, std::size_t b) {
    return buffers_[a].first < buffers_[b].first;
  });
  const auto block = std::make_shared<const LargeMemory>(bytes);
  std::byte* to = block->data();
  for (const std::size_t index : joined) {
    Buffer& buffer = buffers_[index];
    std::memcpy(to, buffer.data, buffer.bytes);
    buffer.data = to;
    keep_alive_[buffer.tensor] = block;
    to += RoundUp(buffer.bytes);
  }
  executable.block_ = block;
}

// Places constants, and the buffers that each run binds.
void ExecutableBuilder::PlaceRest(Executable& executable) {
  // Several buffers may show the same constant, which counts once.
  std::set<const std::byte*> counted;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const Buffer& root = buffers_[Root(i)];
    const auto id = static_cast<BufferId>(i);
    switch (root.place) {
      case Buffer::Place::kArena:
        break;
      case Buffer::Place::kConstant:
        // Steps only read constants, as the builder requires.
        executable.addresses_[i] = const_cast<std::byte*>(root.data) + OffsetInRoot(i);
        executable.constants_.push_back({.buffer = id,
                                         .owner = root.tensor,
                                         .offset = OffsetInRoot(i),
                                         .bytes = buffers_[i].bytes});
        if (counted.insert(root.data).second) executable.memory_.constant_bytes += root.bytes;
        break;
      case Buffer::Place::kInput:
        executable.inputs_.push_back(
            {.buffer = id, .tensor = root.tensor, .offset = OffsetInRoot(i)});
        break;
      case Buffer::Place::kOutput:
        executable.outputs_.push_back(
            {.buffer = id, .tensor = root.tensor, .offset = OffsetInRoot(i)});
        break;
    }
  }
}

Executable ExecutableBuilder::Build() && {
  // Alias makes sure that views fit into their root, so the root covers all of them.
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const auto use = [&](BufferId id) {
      Buffer& root = buffers_[Root(Index(id))];
      root.first = std::min(root.first, i);
      root.last = std::max(root.last, i);
    };
    for (const BufferId id : steps_[i].reads) use(id);
    for (const BufferId id : steps_[i].writes) use(id);
    for (const StepCondition& condition : steps_[i].conditions) use(condition.buffer);
  }
  Executable executable;
  for (const Step& step : steps_) {
    executable.pool_threads_ = std::max(executable.pool_threads_, step.pool_threads);
    if (!step.nodes.empty()) continue;
    ++executable.memory_.conversions;
    for (const BufferId id : step.reads) executable.memory_.conversion_bytes += At(id).bytes;
  }
  for (const ValueId input : graph_->inputs()) {
    executable.input_types_.push_back(graph_->type(input));
    executable.input_dims_.push_back(DimsOf(*graph_, input));
  }
  PlaceOutputs(executable);
  JoinConstants(executable);
  executable.addresses_.resize(buffers_.size(), nullptr);
  PlaceArena(executable);
  PlaceRest(executable);
  executable.steps_ = std::move(steps_);
  executable.keep_alive_ = std::move(keep_alive_);
  executable.constant_groups_ = std::move(constant_groups_);
  executable.Prepare();
  return executable;
}

}  // namespace msc
