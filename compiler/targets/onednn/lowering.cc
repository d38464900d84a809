#include "compiler/targets/onednn/lowering.h"

#include <algorithm>
#include <span>
#include <utility>

#include "compiler/base/error.h"

namespace msc::onednn {
namespace {

Desc ViewOf(const Tensor& tensor) {
  const std::optional<Elem> elem = ElemOf(tensor.dtype());
  Check(elem.has_value(), "constants are read as types the library knows");
  return DenseDesc(tensor.dims(), *elem);
}

bool ShiftsZeroPoint(const dnnl::primitive_attr& attr) {
  for (const int argument : {DNNL_ARG_FROM, DNNL_ARG_TO}) {
    int mask = 0;
    std::vector<std::int32_t> zero_points;
    attr.get_zero_points(argument, mask, zero_points);
    if (std::any_of(zero_points.begin(), zero_points.end(), [](auto z) { return z != 0; })) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool IsSlow(const dnnl::primitive_desc_base& pd) {
  const std::string_view name = pd.impl_info_str();
  return name.starts_with("ref") || name.starts_with("simple:any");
}

Lowering::Lowering(const Graph& graph, std::span<const NodeId> nodes, const dnnl::engine& engine)
    : graph_(graph), engine_(engine) {
  for (std::size_t i = 0; i < nodes.size(); ++i) position_.emplace(nodes[i], i);
}

Lowering::Lowering(const Region& region, const dnnl::engine& engine, const TargetOptions& options,
                   ExecutableBuilder& builder)
    : Lowering(*region.graph, region.nodes, engine) {
  builder_ = &builder;
  threads_ = options.threads;
  stream_ = std::make_shared<const dnnl::stream>(engine);
}

bool Lowering::LeavesRegion(ValueId value) const {
  if (graph_.IsOutput(value)) return true;
  const std::vector<Use>& uses = graph_.uses(value);
  return std::any_of(uses.begin(), uses.end(),
                     [&](const Use& use) { return !position_.contains(use.node); });
}

// A value that this region does not make is dense, in the buffer that the builder gives.
Lowering::Place& Lowering::At(ValueId value) {
  const auto [it, is_new] = places_.try_emplace(value);
  if (is_new) {
    const std::optional<Desc> desc = DenseDescOf(graph_, value);
    Check(desc.has_value(), "only values of types the library knows are read");
    const BufferId buffer = builder_ != nullptr ? builder_->BufferOf(value) : BufferId{};
    it->second.copies.push_back({*desc, buffer});
    it->second.foreign = true;
  }
  return it->second;
}

Desc Lowering::Here(ValueId value) {
  if (graph_.constant(value)) return ViewOf(*graph_.constant(value));
  return At(value).copies.front().desc;
}

BufferId Lowering::In(ValueId value, const Desc& wanted) {
  if (graph_.constant(value)) {
    return PackedConstant(value, ViewOf(*graph_.constant(value)), wanted);
  }
  Place& place = At(value);
  // Another reader may have asked for this layout.
  for (const Copy& copy : place.copies) {
    if (SameBytes(copy.desc, wanted)) return copy.buffer;
  }
  const Copy& from = place.copies.front();
  const BufferId to = Scratch(wanted);
  const StepLabel label{.name = "reorder " + graph_.value(value).name};
  const bool done = AddReorder({DNNL_ARG_FROM, from.desc, from.buffer}, {DNNL_ARG_TO, wanted, to},
                               NewAttr(), label);
  Check(done, "oneDNN reorders between any two layouts");
  place.copies.push_back({wanted, to});
  return to;
}

BufferId Lowering::PackedConstant(ValueId value, const Desc& source, const Desc& wanted) {
  if (builder_ == nullptr) return {};
  if (SameBytes(source, wanted)) return builder_->BufferOf(value);
  return Pack(*graph_.constant(value), source, wanted);
}

BufferId Lowering::Pack(const Tensor& tensor, const Desc& source, const Desc& wanted) {
  // The library has no const memory, even for memory that it only reads.
  dnnl::memory from(source, engine_, const_cast<std::byte*>(tensor.Raw().data()));
  auto packed =
      std::make_shared<Tensor>(DType::kU8, Dims{static_cast<std::int64_t>(wanted.get_size())});
  dnnl::memory to(wanted, engine_, packed->MutableRaw().data());
  dnnl::stream stream(engine_);
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  return builder_->AddConstant(packed, packed->Raw().data(), packed->bytes());
}

BufferId Lowering::Weights(ValueId value, const Desc& source, const Desc& wanted) {
  if (graph_.constant(value)) return PackedConstant(value, source, wanted);
  const BufferId dense = In(value, *DenseDescOf(graph_, value));
  if (SameBytes(source, wanted)) return dense;
  const BufferId packed = Scratch(wanted);
  const StepLabel label{.name = "reorder " + graph_.value(value).name};
  const bool done =
      AddReorder({DNNL_ARG_FROM, source, dense}, {DNNL_ARG_TO, wanted, packed}, NewAttr(), label);
  Check(done, "oneDNN reorders weights into the layouts it asks for");
  return packed;
}

BufferId Lowering::NewConstant(const Dims& dims, std::span<const float> values) {
  if (builder_ == nullptr) return {};
  auto tensor = std::make_shared<const Tensor>(Tensor::From<float>(DType::kF32, dims, values));
  return builder_->AddConstant(tensor, tensor->Raw().data(), tensor->bytes());
}

BufferId Lowering::NewConstant(const Dims& dims, std::span<const float> values,
                               const Desc& wanted) {
  const Desc dense = DenseDesc(dims, Elem::f32);
  if (builder_ == nullptr || SameBytes(dense, wanted)) return NewConstant(dims, values);
  return Pack(Tensor::From<float>(DType::kF32, dims, values), dense, wanted);
}

BufferId Lowering::Out(ValueId value, const Desc& made) {
  // A dense result that leaves the region goes to its final buffer at once.
  const bool direct = LeavesRegion(value) && IsDense(made);
  BufferId buffer{};
  if (builder_ != nullptr) {
    buffer = direct ? builder_->BufferOf(value) : builder_->AddBuffer(made.get_size());
  }
  places_[value] = {.copies = {{made, buffer}}, .foreign = direct};
  return buffer;
}

BufferId Lowering::OutOver(ValueId value, const Desc& made, BufferId victim) {
  BufferId buffer = victim;
  const bool direct = LeavesRegion(value) && IsDense(made);
  if (builder_ != nullptr && direct) {
    buffer = builder_->BufferOf(value);
    builder_->Alias(buffer, victim);
  }
  places_[value] = {.copies = {{made, buffer}}, .foreign = direct};
  return buffer;
}

void Lowering::Same(ValueId value, ValueId of, const Desc& desc, std::size_t offset) {
  const Place source = At(of);
  BufferId buffer = source.copies.front().buffer;
  if (builder_ != nullptr && (LeavesRegion(value) || offset > 0)) {
    const BufferId part =
        LeavesRegion(value) ? builder_->BufferOf(value) : builder_->AddBuffer(desc.get_size());
    builder_->Alias(part, buffer, offset);
    buffer = part;
  }
  // Two values share this memory, so neither may be overwritten.
  places_[value] = {.copies = {{desc, buffer}}, .foreign = true};
  At(of).foreign = true;
}

bool Lowering::PlaceInside(ValueId value, const Desc& desc, ValueId whole, std::size_t offset) {
  constexpr std::size_t kCacheLine = 64;  // some kernels write whole lines with non-temporal stores
  if (graph_.constant(value) || offset % kCacheLine != 0) return false;
  Place& around = At(whole);
  Place& place = At(value);
  if (place.foreign || !SameBytes(place.copies.front().desc, desc)) return false;
  if (builder_ != nullptr) {
    builder_->Alias(place.copies.front().buffer, around.copies.front().buffer, offset);
  }
  place.foreign = true;
  // Other readers of the part forbid writing over the whole.
  if (graph_.uses(value).size() > 1) around.foreign = true;
  return true;
}

Desc Lowering::AsValue(ValueId value, const Desc& desc) const {
  const Dims dims = DimsOf(graph_, value);
  return desc.dims() == dims ? desc : DenseDesc(dims, ElemOf(desc));
}

std::optional<BufferId> Lowering::Dying(ValueId value, NodeId at, const Desc& wanted) {
  if (graph_.constant(value) || LeavesRegion(value)) return std::nullopt;
  Place& place = At(value);
  if (place.foreign) return std::nullopt;
  std::size_t reads_here = 0;
  for (const Use& use : graph_.uses(value)) {
    // A later node still reads the value.
    if (position_.at(use.node) > position_.at(at)) return std::nullopt;
    if (use.node == at) ++reads_here;
  }
  // A node that reads the value twice would overwrite its other operand.
  if (reads_here != 1) return std::nullopt;
  for (const Copy& copy : place.copies) {
    if (SameBytes(copy.desc, wanted)) return copy.buffer;
  }
  return std::nullopt;
}

void Lowering::Finish(ValueId value) {
  if (!LeavesRegion(value) || IsDense(Here(value)) || builder_ == nullptr) return;
  Place& place = At(value);
  const Desc dense = *DenseDescOf(graph_, value);
  const Copy from = place.copies.front();
  const BufferId to = builder_->BufferOf(value);
  const StepLabel label{.name = "reorder " + graph_.value(value).name};
  const bool done = AddReorder({DNNL_ARG_FROM, from.desc, from.buffer}, {DNNL_ARG_TO, dense, to},
                               NewAttr(), label);
  Check(done, "oneDNN reorders between any two layouts");
  place.copies.push_back({dense, to});
}

BufferId Lowering::Scratch(const Desc& desc) {
  return builder_ != nullptr ? builder_->AddBuffer(desc.get_size()) : BufferId{};
}

bool Lowering::AddReorder(const Argument& from, const Argument& to,
                          const dnnl::primitive_attr& attr, const StepLabel& label) {
  if (ShiftsZeroPoint(attr) && !SameInnermost(from.desc, to.desc)) {
    // oneDNN 2.6 ignores zero points where it transposes (jit:uni, some sizes). A separate step
    // therefore moves the integers.
    const bool widens = IsInt8(ElemOf(from.desc));
    const Desc between =
        widens ? WithElem(to.desc, ElemOf(from.desc)) : WithElem(from.desc, ElemOf(to.desc));
    const BufferId buffer = Scratch(between);
    const StepLabel move{.name = label.name + " move"};
    const dnnl::primitive_attr plain = NewAttr();
    return AddReorder(from, {DNNL_ARG_TO, between, buffer}, widens ? plain : attr,
                      widens ? move : label) &&
           AddReorder({DNNL_ARG_FROM, between, buffer}, to, widens ? attr : plain,
                      widens ? label : move);
  }
  const auto pd = TryMake(
      [&] { return dnnl::reorder::primitive_desc(engine_, from.desc, engine_, to.desc, attr); });
  if (!pd) return false;
  AddPrimitive<dnnl::reorder>(*pd, {from, to}, label);
  return true;
}

void Lowering::AddStep(dnnl::primitive primitive, const std::vector<Argument>& arguments,
                       const StepLabel& label) {
  Step step{.name = label.name,
            .target = "onednn",
            .nodes = label.nodes,
            .precision = label.precision,
            .pool_threads = threads_};
  for (const Argument& argument : arguments) {
    const bool written = argument.index == DNNL_ARG_DST || argument.index == DNNL_ARG_DST_ITER ||
                         argument.index == DNNL_ARG_DST_ITER_C ||
                         argument.index == DNNL_ARG_SCRATCHPAD;
    (written ? step.writes : step.reads).push_back(argument.buffer);
  }
  step.make_run = [primitive = std::move(primitive), arguments, stream = stream_,
                   threads = threads_]() -> Step::Run {
    auto bound = std::make_shared<BoundPrimitive>(primitive, arguments, stream, threads);
    return [bound](const StepContext& context) { bound->Run(context); };
  };
  builder_->AddStep(std::move(step));
}

NodeId Lowering::ReaderAmong(ValueId value, std::span<const std::string_view> ops) const {
  NodeId found = kNoNode;
  std::size_t first = position_.size();
  for (const Use& use : graph_.uses(value)) {
    const auto it = position_.find(use.node);
    if (it == position_.end() || it->second >= first || use.index != 0) continue;
    if (std::find(ops.begin(), ops.end(), graph_.node(use.node).op) == ops.end()) continue;
    first = it->second;
    found = use.node;
  }
  return found;
}

NodeId Lowering::OnlyReader(ValueId value) const {
  const std::vector<Use>& uses = graph_.uses(value);
  if (uses.size() != 1 || LeavesRegion(value)) return kNoNode;
  return uses.front().node;
}

dnnl::primitive_attr Lowering::NewAttr() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

StepLabel Lowering::LabelOf(NodeId id, Elem elem) const {
  return {.name = node(id).name, .nodes = {node(id).name}, .precision = PrecisionName(elem)};
}

}  // namespace msc::onednn
