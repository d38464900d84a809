#include "compiler/targets/onednn/desc.h"

#include <algorithm>
#include <vector>

#include "compiler/base/error.h"

namespace msc::onednn {
namespace {

// One loop over memory: `extent` iterations with a step of `stride` elements along `dim`.
struct Loop {
  int dim = 0;
  dnnl_dim_t extent = 0;
  dnnl_dim_t stride = 0;
  bool operator==(const Loop&) const = default;
};

// Returns the loops that walk a tensor, outermost first. Drops loops of one iteration and merges
// adjacent loops over one dim, so that equal lists mean equal walks through memory.
std::vector<Loop> LoopsOf(const dnnl_memory_desc_t& desc) {
  const dnnl_blocking_desc_t& blocking = desc.format_desc.blocking;
  std::vector<Loop> loops;
  std::vector<dnnl_dim_t> outer(desc.padded_dims, desc.padded_dims + desc.ndims);
  dnnl_dim_t inner_size = 1;
  for (int i = blocking.inner_nblks - 1; i >= 0; --i) {
    const auto dim = static_cast<int>(blocking.inner_idxs[i]);
    loops.push_back({dim, blocking.inner_blks[i], inner_size});
    inner_size *= blocking.inner_blks[i];
    outer[static_cast<std::size_t>(dim)] /= blocking.inner_blks[i];
  }
  for (int dim = 0; dim < desc.ndims; ++dim) {
    loops.push_back({dim, outer[static_cast<std::size_t>(dim)], blocking.strides[dim]});
  }
  std::erase_if(loops, [](const Loop& loop) { return loop.extent == 1; });
  std::stable_sort(loops.begin(), loops.end(),
                   [](const Loop& a, const Loop& b) { return a.stride > b.stride; });
  std::vector<Loop> merged;
  for (const Loop& loop : loops) {
    if (!merged.empty() && merged.back().dim == loop.dim &&
        merged.back().stride == loop.extent * loop.stride) {
      merged.back() = {loop.dim, merged.back().extent * loop.extent, loop.stride};
    } else {
      merged.push_back(loop);
    }
  }
  return merged;
}

bool IsPlainBlocked(const dnnl_memory_desc_t& desc) {
  return desc.format_kind == dnnl_blocked && desc.extra.flags == 0;
}

// Returns the tags of layouts blocked by channels for ranks 3 to 5; none for other ranks.
std::vector<dnnl::memory::format_tag> BlockedTags(std::size_t rank) {
  using Tag = dnnl::memory::format_tag;
  if (rank == 3) return {Tag::nCw16c, Tag::nCw8c};
  if (rank == 4) return {Tag::nChw16c, Tag::nChw8c};
  if (rank == 5) return {Tag::nCdhw16c, Tag::nCdhw8c};
  return {};
}

}  // namespace

std::optional<Elem> ElemOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return Elem::f32;
    case DType::kBF16:
      return Elem::bf16;
    case DType::kI8:
      return Elem::s8;
    case DType::kU8:
      return Elem::u8;
    default:
      return std::nullopt;
  }
}

bool IsInt8(Elem elem) {
  return elem == Elem::s8 || elem == Elem::u8;
}

std::string PrecisionName(Elem elem) {
  if (IsInt8(elem)) return "int8";
  return elem == Elem::bf16 ? "bf16" : "f32";
}

Desc DenseDesc(const Dims& dims, Elem elem) {
  const Dims shaped = dims.empty() ? Dims{1} : dims;
  Dims strides(shaped.size(), 1);
  for (std::size_t i = shaped.size(); i-- > 1;) strides[i - 1] = strides[i] * shaped[i];
  return {shaped, elem, strides};
}

Desc ChannelsLastDesc(const Dims& dims, Elem elem) {
  Check(dims.size() >= 3, "channels last needs a spatial axis");
  Dims strides(dims.size(), 1);
  std::int64_t stride = dims[1];
  for (std::size_t i = dims.size(); i-- > 2;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  strides[0] = stride;
  return {dims, elem, strides};
}

Desc AnyDesc(const Dims& dims, Elem elem) {
  return {dims, elem, dnnl::memory::format_tag::any};
}

Desc WithElem(const Desc& desc, Elem elem) {
  Desc other = desc;
  other.data.data_type = dnnl::memory::convert_to_c(elem);
  return other;
}

Elem ElemOf(const Desc& desc) {
  return desc.data_type();
}

bool SameBytesElsewhere(const Desc& part, const Desc& b) {
  return IsPlainBlocked(part.data) && IsPlainBlocked(b.data) &&
         part.data.data_type == b.data.data_type && part.dims() == b.dims() &&
         LoopsOf(part.data) == LoopsOf(b.data);
}

bool SameBytes(const Desc& a, const Desc& b) {
  if (a == b) return true;
  return a.data.offset0 == b.data.offset0 && SameBytesElsewhere(a, b);
}

bool SameInnermost(const Desc& a, const Desc& b) {
  if (!IsPlainBlocked(a.data) || !IsPlainBlocked(b.data)) return WithElem(a, ElemOf(b)) == b;
  const std::vector<Loop> in_a = LoopsOf(a.data);
  const std::vector<Loop> in_b = LoopsOf(b.data);
  if (in_a.empty() || in_b.empty()) return true;
  return in_a.back().dim == in_b.back().dim;
}

std::size_t StartOf(const Desc& part) {
  return static_cast<std::size_t>(part.data.offset0) * dnnl::memory::data_type_size(ElemOf(part));
}

Desc LikeDesc(const Desc& model, const Dims& dims, Elem elem) {
  const Dims own = model.dims();
  const Elem from = ElemOf(model);
  if (dims.size() < 3 || SameBytesElsewhere(model, DenseDesc(own, from))) {
    return DenseDesc(dims, elem);
  }
  if (SameBytesElsewhere(model, ChannelsLastDesc(own, from))) return ChannelsLastDesc(dims, elem);
  for (const auto tag : BlockedTags(dims.size())) {
    if (SameBytesElsewhere(model, Desc(own, from, tag))) return {dims, elem, tag};
  }
  return DenseDesc(dims, elem);
}

Desc InnermostDesc(const Dims& dims, const std::vector<std::size_t>& inner, Elem elem) {
  Dims strides(dims.size(), 1);
  std::int64_t stride = 1;
  for (std::size_t i = inner.size(); i-- > 0;) {
    strides[inner[i]] = stride;
    stride *= dims[inner[i]];
  }
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (std::find(inner.begin(), inner.end(), i) != inner.end()) continue;
    strides[i] = stride;
    stride *= dims[i];
  }
  return {dims, elem, strides};
}

Desc InRank(const Desc& desc, std::size_t rank) {
  Dims dims(rank - desc.dims().size(), 1);
  const Dims own = desc.dims();
  dims.insert(dims.end(), own.begin(), own.end());
  return DenseDesc(dims, ElemOf(desc));
}

bool IsDense(const Desc& desc) {
  return SameBytes(desc, DenseDesc(desc.dims(), desc.data_type()));
}

Dims DimsOf(const Graph& graph, ValueId value) {
  const ValueType& type = graph.type(value);
  const std::optional<Dims> dims = type.shape ? StaticDims(*type.shape) : std::nullopt;
  Check(dims.has_value(), "the types of compiled nodes are static");
  return *dims;
}

std::optional<Desc> DenseDescOf(const Graph& graph, ValueId value) {
  const ValueType& type = graph.type(value);
  if (type.container != Container::kTensor || !type.shape) return std::nullopt;
  const std::optional<Dims> dims = StaticDims(*type.shape);
  const std::optional<Elem> elem = ElemOf(type.dtype);
  if (!dims || !elem || dims->size() > 6 || ElementCount(*dims) == 0) return std::nullopt;
  return DenseDesc(*dims, *elem);
}

}  // namespace msc::onednn
