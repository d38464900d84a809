#include "compiler/targets/native/view.h"

#include <algorithm>
#include <numeric>

#include "compiler/base/error.h"

namespace msc::native {

bool Halo::Holds(const Halo& other) const {
  if (other.empty()) return true;
  if (fill != other.fill) return false;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    if (begin[i] < other.begin[i] || end[i] < other.end[i]) return false;
  }
  return true;
}

void Halo::Widen(const Halo& other) {
  if (other.empty()) return;
  if (empty()) fill = other.fill;
  if (fill != other.fill) return;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    begin[i] = std::max(begin[i], other.begin[i]);
    end[i] = std::max(end[i], other.end[i]);
  }
}

bool Halo::empty() const {
  const auto zero = [](std::int64_t n) { return n == 0; };
  return std::all_of(begin.begin(), begin.end(), zero) && std::all_of(end.begin(), end.end(), zero);
}

View DenseView(std::size_t buffer, DType dtype, const Dims& dims) {
  View view{.buffer = buffer, .dtype = dtype, .dims = dims, .offset = 0, .halo = Halo(dims.size())};
  view.strides.resize(dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    view.strides[i] = stride;
    stride *= std::max<std::int64_t>(dims[i], 1);
  }
  return view;
}

View Unplaced(DType dtype, const Dims& dims) {
  View view = DenseView(0, dtype, dims);
  view.strides.assign(dims.size(), 0);
  return view;
}

bool IsDense(const View& view) {
  std::int64_t stride = 1;
  for (std::size_t i = view.rank(); i-- > 0;) {
    // The stride of an axis of one entry does not matter.
    if (view.dims[i] != 1 && view.strides[i] != stride) return false;
    stride *= view.dims[i];
  }
  return true;
}

View NewView(DType dtype, const Dims& dims, std::span<const std::size_t> order, const Halo& halo,
             std::int64_t& elements) {
  // An L1 cache of 64 sets of 64 bytes repeats every 4 KiB: entries 1 KiB apart share four of its
  // sets, entries 4 KiB apart a single one.
  constexpr std::int64_t kPixelBytes = 1024;
  constexpr std::int64_t kRowBytes = 4096;
  constexpr std::int64_t kLineBytes = 64;
  View view{.buffer = 0, .dtype = dtype, .dims = dims, .offset = 0, .halo = halo};
  view.strides.resize(dims.size());
  const auto element = static_cast<std::int64_t>(ByteSize(dtype));
  std::int64_t stride = 1;
  bool first = true;
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::size_t axis = order[i];
    const std::int64_t extent = dims[axis] + halo.begin[axis] + halo.end[axis];
    view.strides[axis] = stride;
    view.offset += stride * halo.begin[axis];
    stride *= std::max<std::int64_t>(extent, 1);
    // Applies to pixels, and to rows where windows extend over several rows.
    if (extent > 1 && (first || !halo.empty())) {
      const std::int64_t avoided = first ? kPixelBytes : kRowBytes;
      first = false;
      if (stride * element % avoided == 0) stride += kLineBytes / element;
    }
  }
  elements = stride;
  return view;
}

std::optional<View> Reshape(const View& view, const Dims& dims) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return std::nullopt;
  // Strides of axes with one entry do not matter.
  std::vector<std::size_t> from;
  std::vector<std::size_t> into;
  for (std::size_t i = 0; i < view.rank(); ++i) {
    if (view.dims[i] != 1) from.push_back(i);
  }
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 1) into.push_back(i);
  }
  View to = view;
  to.dims = dims;
  to.strides.assign(dims.size(), 1);
  to.halo = Halo(dims.size());
  // Matches the smallest groups of axes with equally many elements on both sides.
  for (std::size_t f = 0, t = 0; t < into.size();) {
    const std::size_t f_begin = f;
    const std::size_t t_begin = t;
    std::int64_t from_count = view.dims[from.at(f++)];
    std::int64_t to_count = dims[into[t++]];
    while (from_count != to_count) {
      if (from_count < to_count) {
        from_count *= view.dims[from.at(f++)];
      } else {
        to_count *= dims[into.at(t++)];
      }
    }
    for (std::size_t i = f_begin; i + 1 < f; ++i) {
      // Axes can be merged only if they are row-major within each other.
      if (view.strides[from[i]] != view.strides[from[i + 1]] * view.dims[from[i + 1]]) {
        return std::nullopt;
      }
    }
    std::int64_t stride = view.strides[from[f - 1]];
    for (std::size_t i = t; i-- > t_begin;) {
      to.strides[into[i]] = stride;
      stride *= dims[into[i]];
    }
  }
  return to;
}

View Transpose(const View& view, std::span<const std::int64_t> perm) {
  View to = view;
  for (std::size_t i = 0; i < perm.size(); ++i) {
    const auto from = static_cast<std::size_t>(perm[i]);
    to.dims[i] = view.dims[from];
    to.strides[i] = view.strides[from];
    to.halo.begin[i] = view.halo.begin[from];
    to.halo.end[i] = view.halo.end[from];
  }
  return to;
}

View Slice(const View& view, std::size_t axis, std::int64_t begin, std::int64_t count,
           std::int64_t step) {
  View to = view;
  to.offset += begin * view.strides[axis];
  to.dims[axis] = count;
  to.strides[axis] *= step;
  to.halo = Halo(view.rank());
  return to;
}

View Broadcast(const View& view, const Dims& dims) {
  Check(view.rank() <= dims.size(), "a broadcast adds axes");
  View to = view;
  to.dims = dims;
  to.strides.assign(dims.size(), 0);
  to.halo = Halo(dims.size());
  const std::size_t missing = dims.size() - view.rank();
  for (std::size_t i = 0; i < view.rank(); ++i) {
    if (view.dims[i] != 1) to.strides[missing + i] = view.strides[i];
  }
  return to;
}

std::vector<std::size_t> RowMajor(std::size_t rank) {
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<std::size_t> AxisOrder(std::size_t rank) {
  std::vector<std::size_t> order = RowMajor(rank);
  // Axis 1, the channels, moves to the end.
  if (rank >= 4) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

std::vector<std::size_t> AxisOrder(const View& view) {
  std::vector<std::size_t> order = RowMajor(view.rank());
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return view.strides[a] > view.strides[b]; });
  return order;
}

}  // namespace msc::native
