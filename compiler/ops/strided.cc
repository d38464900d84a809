#include "compiler/ops/strided.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "compiler/base/error.h"
#include "compiler/ops/eval.h"

namespace msc {
namespace {

/// Copies elements of a fixed size as bytes.
template <std::size_t kBytes>
void ReadBytes(const Tensor& x, const StridedRead& read, Tensor& y) {
  const std::byte* from = x.Raw().data() + read.offset * static_cast<std::int64_t>(kBytes);
  std::byte* to = y.MutableRaw().data();
  const std::int64_t row = read.dims.empty() ? 1 : read.dims.back();
  const std::int64_t step = read.dims.empty() ? 0 : read.strides.back();
  ForEachRow(read.dims, {read.strides}, [&](std::span<const std::int64_t> at) {
    for (std::int64_t i = 0; i < row; ++i, to += kBytes) {
      std::memcpy(to, from + (at[0] + i * step) * static_cast<std::int64_t>(kBytes), kBytes);
    }
  });
}

void ReadStrings(const Tensor& x, const StridedRead& read, Tensor& y) {
  auto to = y.mutable_strings().begin();
  const std::int64_t row = read.dims.empty() ? 1 : read.dims.back();
  const std::int64_t step = read.dims.empty() ? 0 : read.strides.back();
  ForEachRow(read.dims, {read.strides}, [&](std::span<const std::int64_t> at) {
    for (std::int64_t i = 0; i < row; ++i, ++to) {
      *to = x.strings()[static_cast<std::size_t>(read.offset + at[0] + i * step)];
    }
  });
}

}  // namespace

Tensor ReadStrided(const Tensor& x, const StridedRead& read) {
  Tensor y(x.dtype(), read.dims);
  switch (ByteSize(x.dtype())) {
    case 0:
      ReadStrings(x, read, y);
      break;
    case 1:
      ReadBytes<1>(x, read, y);
      break;
    case 2:
      ReadBytes<2>(x, read, y);
      break;
    case 4:
      ReadBytes<4>(x, read, y);
      break;
    case 8:
      ReadBytes<8>(x, read, y);
      break;
    default:
      ReadBytes<16>(x, read, y);
  }
  return y;
}

void CopyElements(const Tensor& from, Tensor& to, const Block& block) {
  Check(from.dtype() == to.dtype(), "elements are copied to their own type");
  Check(block.from_offset >= 0 && block.from_offset + block.count <= from.size() &&
            block.to_offset >= 0 && block.to_offset + block.count <= to.size(),
        "a block lies inside both tensors");
  if (block.count == 0) return;
  if (from.dtype() == DType::kString) {
    std::copy_n(from.strings().begin() + block.from_offset, block.count,
                to.mutable_strings().begin() + block.to_offset);
    return;
  }
  const auto size = static_cast<std::int64_t>(ByteSize(from.dtype()));
  std::memcpy(to.MutableRaw().data() + block.to_offset * size,
              from.Raw().data() + block.from_offset * size,
              static_cast<std::size_t>(block.count * size));
}

}  // namespace msc
