#include "compiler/targets/native/loop_nest.h"

#include <algorithm>

#include "compiler/base/error.h"
#include "compiler/targets/native/lowering.h"

namespace msc::native {

using kernel::Access;
using kernel::Type;

int WholeLanes(const VectorUnit& unit, DType dtype) {
  return std::max(1, unit.lanes * 4 / static_cast<int>(ByteSize(dtype)));
}

std::vector<View> JoinAxes(std::span<const View> views) {
  const std::vector<std::size_t> order = AxisOrder(views.front());
  std::vector<View> joined;
  for (const View& view : views) {
    View ordered = view;
    ordered.dims.clear();
    ordered.strides.clear();
    ordered.halo = Halo();
    joined.push_back(std::move(ordered));
  }
  for (const std::size_t axis : order) {
    const std::int64_t extent = views.front().dims[axis];
    if (extent == 1) continue;
    // An axis joins the one outside it if, in every view, a step outside is a pass over the axis.
    bool join = !joined.front().dims.empty();
    for (std::size_t v = 0; v < views.size() && join; ++v) {
      join = joined[v].strides.back() == views[v].strides[axis] * extent;
    }
    for (std::size_t v = 0; v < views.size(); ++v) {
      Dims& dims = joined[v].dims;
      if (join) {
        dims.back() *= extent;
        joined[v].strides.back() = views[v].strides[axis];
      } else {
        dims.push_back(extent);
        joined[v].strides.push_back(views[v].strides[axis]);
      }
    }
  }
  for (View& view : joined) {
    if (view.dims.empty()) {
      view.dims.push_back(1);
      view.strides.push_back(1);
    }
    view.halo = Halo(view.rank());
  }
  return joined;
}

Expr LoadAt(KernelWriter& writer, const View& view, const Place& place) {
  const kernel::BufferRef buffer = writer.Use(view, Access::kRead);
  const Expr index = KernelWriter::IndexOf(view, place.at);
  const std::int64_t stride = view.strides[place.axis];
  if (place.lanes == 1) return kernel::Load(buffer, index, {view.dtype, 1});
  if (stride == 0) {
    return kernel::Broadcast(kernel::Load(buffer, index, {view.dtype, 1}), place.lanes);
  }
  Check(stride == 1, "vectors run along an axis of stride 1");
  return kernel::Load(buffer, index, {view.dtype, place.lanes}, place.valid);
}

void StoreAt(KernelWriter& writer, const View& view, const Place& place, Expr value, Body& body) {
  const bool one = place.lanes == 1 || view.dims[place.axis] == 1;
  Check(one || view.strides[place.axis] == 1, "vectors run along an axis of stride 1");
  const kernel::BufferRef buffer = writer.Use(view, Access::kWrite);
  body.push_back({kernel::Store{.buffer = buffer,
                                .index = KernelWriter::IndexOf(view, place.at),
                                .value = std::move(value),
                                .valid = place.lanes == 1 ? 0 : place.valid}});
}

void Lowering::AddCopy(const View& from, const View& to, Label label) {
  const std::vector<View> views = JoinAxes(std::vector{to, from});
  KernelWriter writer = Writer("copy");
  const std::int64_t from_stride = views[1].strides.back();
  const bool vectors = views[0].strides.back() == 1 && (from_stride == 1 || from_stride == 0);
  const int lanes = vectors ? WholeLanes(unit_, to.dtype) : 1;
  Body body = LoopOver(writer, views[0].dims, lanes, [&](const Place& place, Body& inner) {
    StoreAt(writer, views[0], place, LoadAt(writer, views[1], place), inner);
  });
  AddCall(std::move(writer), std::move(body), 0, std::move(label));
}

void Lowering::FillHalo(const View& view, const std::string& name) {
  if (view.halo.empty()) return;
  KernelWriter writer = Writer("halo");
  Body body;
  // Fills slabs before and after each axis, from the outermost axis inwards. A slab spans the halo
  // of the axes that follow.
  View box = view;
  for (const std::size_t axis : AxisOrder(view)) {
    for (const bool behind : {false, true}) {
      const std::int64_t width = behind ? view.halo.end[axis] : view.halo.begin[axis];
      if (width == 0) continue;
      View slab = box;
      slab.dims[axis] = width;
      slab.offset += (behind ? view.dims[axis] : -width) * view.strides[axis];
      for (std::size_t other = 0; other < view.rank(); ++other) {
        // Axes that follow are spanned with their halo.
        if (other == axis || box.halo.begin[other] + box.halo.end[other] == 0) continue;
        slab.dims[other] += box.halo.begin[other] + box.halo.end[other];
        slab.offset -= box.halo.begin[other] * view.strides[other];
      }
      slab.halo = Halo(view.rank());
      const View joined = JoinAxes(std::vector{slab}).front();
      const int lanes = joined.strides.back() == 1 ? WholeLanes(unit_, view.dtype) : 1;
      const auto filling = [&](int count) {
        const Type type{view.dtype, count};
        return IsInteger(view.dtype) ? kernel::Int(view.halo.fill, type)
                                     : kernel::Cast(kernel::Float(0, count), type);
      };
      // Serial, because a parallel loop would have to be the only outermost statement.
      Body loop = LoopOver(
          writer, joined.dims, lanes,
          [&](const Place& place, Body& inner) {
            StoreAt(writer, joined, place, filling(place.lanes), inner);
          },
          kernel::LoopKind::kSerial);
      for (kernel::Stmt& stmt : loop) body.push_back(std::move(stmt));
    }
    box.halo.begin[axis] = 0;
    box.halo.end[axis] = 0;
  }
  AddCall(std::move(writer), std::move(body), 0, {.name = name});
}

}  // namespace msc::native
