#include "compiler/targets/xnnpack/lowering.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include <pthreadpool.h>

#include "compiler/base/error.h"

namespace msc::xnnpack {
namespace {

/// Returns the library's thread pool of that size, shared by all callers; null for one thread.
/// Pools are never freed, because a step may run until the process ends.
pthreadpool_t PoolOf(int threads) {
  if (threads <= 1) return nullptr;
  static std::mutex mutex;
  static std::map<int, pthreadpool_t> pools;
  const std::scoped_lock lock(mutex);
  pthreadpool_t& pool = pools[threads];
  if (pool == nullptr) pool = pthreadpool_create(static_cast<std::size_t>(threads));
  if (pool == nullptr) throw SystemError("xnnpack: cannot start threads");
  return pool;
}

/// An operator with its buffers. Sets the addresses again when one changed since the last run. The
/// operator stores the addresses beside the packed weights, which should not be packed once per
/// workspace; so one thread at a time runs it.
struct Bound {
  std::mutex mutex;
  Operator op;
  Setup setup;
  std::vector<BufferId> buffers;
  std::vector<float*> addresses;
  pthreadpool_t pool = nullptr;

  void Run(const StepContext& context) {
    const std::scoped_lock lock(mutex);
    bool moved = false;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      auto* const address = reinterpret_cast<float*>(context.At(buffers[i]));
      moved = moved || address != addresses[i];
      addresses[i] = address;
    }
    if (moved && setup(op.get(), addresses, pool) != xnn_status_success) {
      throw SystemError("xnnpack refused to run an operator that it made");
    }
    if (xnn_run_operator(op.get(), pool) != xnn_status_success) {
      throw SystemError("xnnpack failed to run an operator");
    }
  }
};

/// Transposes `from` [rows, columns] into rows [begin, end) of `to` [columns, rows], block by
/// block.
void Turn(const float* from, float* to, std::int64_t rows, std::int64_t columns, std::int64_t begin,
          std::int64_t end) {
  // 16 f32 are a cache line: a block reads and writes whole lines.
  constexpr std::int64_t kBlock = 16;
  for (std::int64_t c0 = begin; c0 < end; c0 += kBlock) {
    for (std::int64_t r0 = 0; r0 < rows; r0 += kBlock) {
      for (std::int64_t c = c0; c < std::min(c0 + kBlock, end); ++c) {
        for (std::int64_t r = r0; r < std::min(r0 + kBlock, rows); ++r) {
          to[c * rows + r] = from[r * columns + c];
        }
      }
    }
  }
}

/// Returns rows and columns of the matrix that a change of layout to `to` transposes in each image.
std::pair<std::int64_t, std::int64_t> MatrixOf(const Dims& dims, Layout to) {
  const std::int64_t plane = dims[2] * dims[3];
  return to == Layout::kChannelsLast ? std::pair(dims[1], plane) : std::pair(plane, dims[1]);
}

/// Arguments of the change of layout of one image, passed through a C callback.
struct ImageTurn {
  const float* from;
  float* to;
  std::int64_t rows;
  std::int64_t columns;
};

/// Changes the layout of all images on the library's own threads: another thread pool would compete
/// with them.
void TurnAll(const Dims& dims, Layout layout, const float* from, float* to, pthreadpool_t pool) {
  constexpr std::size_t kColumnsAtOnce = 64;
  const auto [rows, columns] = MatrixOf(dims, layout);
  for (std::int64_t n = 0; n < dims[0]; ++n) {
    const std::int64_t start = n * rows * columns;
    ImageTurn turn{.from = from + start, .to = to + start, .rows = rows, .columns = columns};
    pthreadpool_parallelize_1d_tile_1d(
        pool,
        [](void* context, std::size_t begin, std::size_t count) {
          const auto& image = *static_cast<const ImageTurn*>(context);
          const auto first = static_cast<std::int64_t>(begin);
          Turn(image.from, image.to, image.rows, image.columns, first,
               first + static_cast<std::int64_t>(count));
        },
        &turn, static_cast<std::size_t>(columns), kColumnsAtOnce, 0);
  }
}

}  // namespace

Lowering::Lowering(const Graph& graph, std::span<const NodeId> nodes) : graph_(graph) {
  for (const NodeId id : nodes) inside_[id] = true;
}

Lowering::Lowering(const Region& region, int threads, ExecutableBuilder& builder)
    : Lowering(*region.graph, region.nodes) {
  builder_ = &builder;
  threads_ = threads;
  for (const NodeId id : region.nodes) {
    const std::string& op = graph_.node(id).op;
    const bool moves = op == "Reshape" || op == "Flatten" || op == "Squeeze" || op == "Unsqueeze" ||
                       op == "Transpose";
    if (!moves) last_ = id;
  }
}

std::optional<Dims> Lowering::DimsOf(ValueId value) const {
  if (value == kNoValue) return std::nullopt;
  const ValueType& type = graph_.type(value);
  if (type.dtype != DType::kF32 || type.container != Container::kTensor || !type.shape) {
    return std::nullopt;
  }
  std::optional<Dims> dims = StaticDims(*type.shape);
  if (dims && ElementCount(*dims) == 0) return std::nullopt;
  return dims;
}

std::uint32_t Lowering::Flags(NodeId node) const {
  return node == last_ ? XNN_FLAG_YIELD_WORKERS : 0;
}

bool Lowering::LeavesRegion(ValueId value) const {
  const std::vector<Use>& uses = graph_.uses(value);
  return graph_.IsOutput(value) || std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
           return !inside_.contains(use.node);
         });
}

/// Returns whether the layout differs from the dense one in memory.
bool Lowering::Turns(ValueId value, Layout layout) const {
  const Dims dims = DimsOf(value).value();
  // With one channel or one pixel, both layouts are the same memory.
  return layout == Layout::kChannelsLast && dims.size() == 4 && dims[1] > 1 &&
         dims[2] * dims[3] > 1;
}

std::optional<std::vector<float>> Lowering::Constant(ValueId value, Layout layout) const {
  const TensorPtr tensor = graph_.constant(value);
  if (!tensor || tensor->dtype() != DType::kF32) return std::nullopt;
  const auto values = tensor->Values<float>();
  std::vector<float> copy(values.begin(), values.end());
  if (DimsOf(value) && Turns(value, layout)) {
    TurnAll(tensor->dims(), layout, values.data(), copy.data(), nullptr);
  }
  return copy;
}

BufferId Lowering::NewBuffer(ValueId like) {
  if (builder_ == nullptr) return {};
  const auto elements = static_cast<std::size_t>(ElementCount(DimsOf(like).value()));
  return builder_->AddBuffer(elements * sizeof(float) + XNN_EXTRA_BYTES);
}

BufferId Lowering::Scratch(ValueId like) {
  return NewBuffer(like);
}

void Lowering::AddTurn(ValueId value, Layout to, BufferId from, BufferId into) {
  if (builder_ == nullptr) return;
  const Dims dims = DimsOf(value).value();
  const bool turns = Turns(value, Layout::kChannelsLast);
  Step step{.name = (turns ? "reorder " : "copy ") + graph_.value(value).name,
            .target = "xnnpack",
            .reads = {from},
            .writes = {into}};
  step.run = [=, pool = PoolOf(threads_)](const StepContext& context) {
    const auto* const source = reinterpret_cast<const float*>(context.At(from));
    auto* const target = reinterpret_cast<float*>(context.At(into));
    if (turns) {
      TurnAll(dims, to, source, target, pool);
    } else {
      std::memcpy(target, source, static_cast<std::size_t>(ElementCount(dims)) * sizeof(float));
    }
  };
  builder_->AddStep(std::move(step));
}

BufferId Lowering::In(ValueId value, Layout layout) {
  if (!Turns(value, layout)) layout = Layout::kDense;
  if (const auto it = places_.find({value, layout}); it != places_.end()) return it->second;
  BufferId& place = places_[{value, layout}];
  if (builder_ == nullptr) return place;
  if (auto constant = Constant(value, layout)) {
    const std::size_t bytes = constant->size() * sizeof(float);
    // The library may read this far past the end of an input.
    constant->resize(constant->size() + XNN_EXTRA_BYTES / sizeof(float));
    auto owner = std::make_shared<const std::vector<float>>(*std::move(constant));
    place = builder_->AddConstant(owner, owner->data(), bytes);
    return place;
  }
  place = NewBuffer(value);
  const Layout other = layout == Layout::kDense ? Layout::kChannelsLast : Layout::kDense;
  // The value was made in the other layout, or comes from the builder, where it is dense.
  const auto made = places_.find({value, other});
  if (made != places_.end()) {
    AddTurn(value, layout, made->second, place);
  } else if (Turns(value, layout)) {
    AddTurn(value, layout, builder_->BufferOf(value), place);
  } else {
    // Buffers of the builder have no padding: the library would read past their end.
    const BufferId from = builder_->BufferOf(value);
    const auto bytes =
        static_cast<std::size_t>(ElementCount(DimsOf(value).value())) * sizeof(float);
    Step step{.name = "copy " + graph_.value(value).name,
              .target = "xnnpack",
              .reads = {from},
              .writes = {place}};
    step.run = [from, into = place, bytes](const StepContext& context) {
      std::memcpy(context.At(into), context.At(from), bytes);
    };
    builder_->AddStep(std::move(step));
  }
  return place;
}

BufferId Lowering::Out(ValueId value, Layout layout) {
  if (!Turns(value, layout)) layout = Layout::kDense;
  const BufferId buffer = NewBuffer(value);
  places_[{value, layout}] = buffer;
  return buffer;
}

void Lowering::Finish(ValueId value) {
  if (builder_ == nullptr || !LeavesRegion(value)) return;
  const BufferId into = builder_->BufferOf(value);
  if (const auto dense = places_.find({value, Layout::kDense}); dense != places_.end()) {
    // The dense buffer may be a view of the larger, padded one.
    builder_->Alias(into, dense->second);
    return;
  }
  AddTurn(value, Layout::kDense, places_.at({value, Layout::kChannelsLast}), into);
}

void Lowering::Add(Operator op, Setup setup, std::vector<BufferId> buffers, NodeId node) {
  if (builder_ == nullptr) return;
  auto bound = std::make_shared<Bound>();
  bound->op = std::move(op);
  bound->setup = std::move(setup);
  bound->addresses.resize(buffers.size(), nullptr);
  bound->buffers = buffers;
  bound->pool = PoolOf(threads_);
  const std::string& name = graph_.node(node).name;
  Step step{.name = name,
            .target = "xnnpack",
            .nodes = {name},
            .precision = "f32",
            .reads = {buffers.begin(), buffers.end() - 1},
            .writes = {buffers.back()}};
  step.run = [bound](const StepContext& context) { bound->Run(context); };
  builder_->AddStep(std::move(step));
}

void Lowering::Same(ValueId value, Layout layout, ValueId of, Layout of_layout) {
  if (!Turns(value, layout)) layout = Layout::kDense;
  places_[{value, layout}] = In(of, of_layout);
}

}  // namespace msc::xnnpack
