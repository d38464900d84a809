#include "compiler/targets/native/lowering.h"

#include <algorithm>
#include <utility>

namespace msc::native {

using kernel::ProgramBuffer;

namespace {

/// Returns the size of private memory. Kernels read bytes in groups of four, the last of which may
/// extend past the end.
std::size_t PrivateBytes(DType dtype, std::int64_t elements) {
  // A group of four starts at an existing entry, so it reads at most three past the end.
  constexpr std::size_t kSlack = 16;
  const std::size_t size = ByteSize(dtype);
  return static_cast<std::size_t>(elements) * size + (size == 1 ? kSlack : 0);
}

}  // namespace

Lowering::Lowering(const Graph& graph, std::span<const NodeId> nodes, const VectorUnit& unit,
                   int threads, bool check_only)
    : graph_(graph),
      unit_(unit),
      threads_(threads),
      check_only_(check_only),
      inside_(nodes.begin(), nodes.end()) {}

bool Lowering::LeavesRegion(ValueId value) const {
  if (graph_.IsOutput(value)) return true;
  const std::vector<Use>& uses = graph_.uses(value);
  return std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return !Inside(use.node); });
}

Dims Lowering::DimsOf(ValueId value) const {
  if (const TensorPtr tensor = graph_.constant(value)) return tensor->dims();
  return *StaticDims(*graph_.type(value).shape);
}

std::size_t Lowering::AddBuffer(ProgramBuffer buffer) {
  program_.buffers.push_back(std::move(buffer));
  return program_.buffers.size() - 1;
}

View Lowering::Where(ValueId value) {
  const auto found = views_.find(value);
  if (found != views_.end()) return found->second;
  const Dims dims = DimsOf(value);
  const DType dtype = graph_.type(value).dtype;
  const std::size_t bytes = static_cast<std::size_t>(ElementCount(dims)) * ByteSize(dtype);
  ProgramBuffer buffer{.kind = ProgramBuffer::Kind::kValue, .value = value, .bytes = bytes};
  if (TensorPtr tensor = graph_.constant(value)) {
    buffer.kind = ProgramBuffer::Kind::kConstant;
    buffer.constant = std::move(tensor);
  }
  View view = DenseView(AddBuffer(std::move(buffer)), dtype, dims);
  Put(value, view);
  return view;
}

View Lowering::WhereUnit(ValueId value, std::size_t axis, const Halo& halo) {
  View view = Where(value);
  const auto fits = [&](const View& v) { return v.IsUnit(axis) && v.halo.Holds(halo); };
  if (fits(view)) return view;
  for (const View& copy : copies_[value]) {
    if (fits(copy)) return copy;
  }
  // Makes the unit axis innermost and keeps the order of the others.
  std::vector<std::size_t> order = AxisOrder(view);
  order.erase(std::find(order.begin(), order.end(), axis));
  order.push_back(axis);
  View to = NewPrivate(view.dtype, view.dims, order, halo);
  const std::string name = "reorder " + graph_.value(value).name;
  FillHalo(to, name);
  AddCopy(view, to, {.name = name});
  copies_[value].push_back(to);
  return to;
}

View Lowering::WhereDense(ValueId value) {
  View view = Where(value);
  if (IsDense(view)) return view;
  for (const View& copy : copies_[value]) {
    if (IsDense(copy)) return copy;
  }
  View to = DenseView(0, view.dtype, view.dims);
  to.buffer = AddBuffer({.kind = ProgramBuffer::Kind::kPrivate,
                         .bytes = PrivateBytes(view.dtype, ElementCount(view.dims))});
  AddCopy(view, to, {.name = "reorder " + graph_.value(value).name});
  copies_[value].push_back(to);
  return to;
}

View Lowering::NewPrivate(DType dtype, const Dims& dims, std::span<const std::size_t> order,
                          const Halo& halo) {
  std::int64_t elements = 0;
  View view = NewView(dtype, dims, order, halo, elements);
  view.buffer =
      AddBuffer({.kind = ProgramBuffer::Kind::kPrivate, .bytes = PrivateBytes(dtype, elements)});
  return view;
}

View Lowering::Out(ValueId value, std::span<const std::size_t> order) {
  const auto found = views_.find(value);
  if (found != views_.end()) return found->second;
  const Dims dims = DimsOf(value);
  const DType dtype = graph_.type(value).dtype;
  const auto part = parts_.find(value);
  View view;
  if (part != parts_.end()) {
    // The parts of one value come from different kernels and share one layout.
    const View whole = Out(part->second.whole, AxisOrder(dims.size()));
    const std::size_t axis = part->second.axis;
    const Halo halo = whole.halo;
    view = Slice(whole, axis, part->second.begin, dims[axis]);
    view.halo = halo;
    // Along this axis, the neighbours are the other parts.
    view.halo.begin[axis] = 0;
    view.halo.end[axis] = 0;
  } else {
    const auto wanted = halos_.find(value);
    const Halo halo = wanted != halos_.end() ? wanted->second : Halo(dims.size());
    std::int64_t elements = 0;
    view = NewView(dtype, dims, order, halo, elements);
    if (halo.empty() && IsDense(view) && LeavesRegion(value)) {
      view = DenseView(
          AddBuffer({.kind = ProgramBuffer::Kind::kValue,
                     .value = value,
                     .bytes = static_cast<std::size_t>(ElementCount(dims)) * ByteSize(dtype)}),
          dtype, dims);
    } else {
      view.buffer = AddBuffer(
          {.kind = ProgramBuffer::Kind::kPrivate, .bytes = PrivateBytes(dtype, elements)});
      FillHalo(view, "halo " + graph_.value(value).name);
    }
  }
  Put(value, view);
  return view;
}

void Lowering::Put(ValueId value, View view) {
  placed_in_[view.buffer].push_back(value);
  views_.insert_or_assign(value, std::move(view));
}

const View* Lowering::Placed(ValueId value) const {
  const auto found = views_.find(value);
  return found == views_.end() ? nullptr : &found->second;
}

std::vector<ValueId> Lowering::ValuesIn(std::size_t buffer) const {
  const auto found = placed_in_.find(buffer);
  if (found == placed_in_.end()) return {};
  std::vector<ValueId> values = found->second;
  std::erase_if(values, [&](ValueId value) {
    const View* const view = Placed(value);
    return view == nullptr || view->buffer != buffer;
  });
  return values;
}

bool Lowering::MayLieAt(ValueId value, const View& view) const {
  if (views_.contains(value) || parts_.contains(value) || LeavesRegion(value)) return false;
  if (program_.buffers[view.buffer].kind != ProgramBuffer::Kind::kPrivate) return false;
  const auto wanted = halos_.find(value);
  return graph_.type(value).dtype == view.dtype &&
         (wanted == halos_.end() || view.halo.Holds(wanted->second));
}

void Lowering::PlaceAnew(ValueId value) {
  views_.erase(value);
  parts_.erase(value);
  halos_.erase(value);
}

void Lowering::Alias(ValueId value, View view) {
  Put(value, std::move(view));
}

void Lowering::Finish(ValueId value) {
  if (!LeavesRegion(value)) return;
  const View view = Where(value);
  const ProgramBuffer& buffer = program_.buffers[view.buffer];
  if (buffer.kind == ProgramBuffer::Kind::kValue && buffer.value == value) return;
  const Dims dims = DimsOf(value);
  View to = DenseView(0, view.dtype, dims);
  to.buffer =
      AddBuffer({.kind = ProgramBuffer::Kind::kValue,
                 .value = value,
                 .bytes = static_cast<std::size_t>(ElementCount(dims)) * ByteSize(view.dtype)});
  AddCopy(view, to, {.name = "reorder " + graph_.value(value).name});
}

void Lowering::WantHalo(ValueId value, const Halo& halo) {
  const auto [it, is_new] = halos_.try_emplace(value, halo);
  if (!is_new) it->second.Widen(halo);
}

void Lowering::Plan(ValueId value, ValueId whole, std::size_t axis, std::int64_t begin) {
  parts_.emplace(value, Part{whole, axis, begin});
}

bool Lowering::HasSlack(const View& view) const {
  return program_.buffers[view.buffer].kind == ProgramBuffer::Kind::kPrivate;
}

View Lowering::Constant(DType dtype, std::int64_t count, const std::function<void(Tensor&)>& make) {
  const std::size_t bytes = static_cast<std::size_t>(count) * ByteSize(dtype);
  ProgramBuffer buffer{.kind = ProgramBuffer::Kind::kConstant, .bytes = bytes};
  if (!check_only_) {
    Tensor tensor(dtype, {count});
    make(tensor);
    buffer.constant = std::make_shared<const Tensor>(std::move(tensor));
  }
  return DenseView(AddBuffer(std::move(buffer)), dtype, {count});
}

View Lowering::Scratch(DType dtype, std::int64_t count) {
  const std::size_t bytes = PrivateBytes(dtype, count);
  return DenseView(AddBuffer({.kind = ProgramBuffer::Kind::kPrivate, .bytes = bytes}), dtype,
                   {count});
}

void Lowering::AddCall(KernelWriter&& writer, Body body, double flops, Label label) {
  if (body.empty()) return;
  kernel::ProgramCall call{.func = program_.funcs.size(),
                           .buffers = writer.buffers(),
                           .name = std::move(label.name),
                           .nodes = std::move(label.nodes),
                           .precision = std::move(label.precision)};
  program_.funcs.push_back(std::move(writer).Finish(std::move(body), flops));
  program_.calls.push_back(std::move(call));
}

void Lowering::CheckIndices(const View& indices, std::int64_t size, const Node& node) {
  Check(IsDense(indices), "indices that are checked lie side by side");
  program_.calls.back().checks.push_back({.buffer = indices.buffer,
                                          .dtype = indices.dtype,
                                          .first = indices.offset,
                                          .count = ElementCount(indices.dims),
                                          .size = size,
                                          .node = node.name,
                                          .op = node.op});
}

Label Lowering::LabelOf(std::span<const NodeId> nodes, std::string precision) const {
  Label label{.precision = std::move(precision)};
  for (const NodeId id : nodes) {
    const std::string& name = graph_.node(id).name;
    label.name += (label.name.empty() ? "" : "+") + name;
    label.nodes.push_back(name);
  }
  return label;
}

}  // namespace msc::native
