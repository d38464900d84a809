#pragma once

// Of this folder only, and the one header that includes dnnl.hpp.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dnnl.hpp>

#include "compiler/base/dtype.h"
#include "compiler/base/shape.h"
#include "compiler/ir/graph.h"

namespace msc::onednn {

using Desc = dnnl::memory::desc;
using Elem = dnnl::memory::data_type;

/// The library's element type; none for types it does not compute with.
[[nodiscard]] std::optional<Elem> ElemOf(DType dtype);
[[nodiscard]] bool IsInt8(Elem elem);
/// "f32", "bf16", "int8": how steps name what they compute in.
[[nodiscard]] std::string PrecisionName(Elem elem);

/// Row-major, without gaps. A scalar becomes [1].
[[nodiscard]] Desc DenseDesc(const Dims& dims, Elem elem);
/// Channels last: [N, spatial..., C] in memory, dims in the order of ONNX. Rank >= 3.
[[nodiscard]] Desc ChannelsLastDesc(const Dims& dims, Elem elem);
/// Any layout: the primitive chooses.
[[nodiscard]] Desc AnyDesc(const Dims& dims, Elem elem);
/// The same layout for another element type.
[[nodiscard]] Desc WithElem(const Desc& desc, Elem elem);
[[nodiscard]] Elem ElemOf(const Desc& desc);
/// Whether the bytes of one are those of the other: strides of dims of size 1 do not count, nor how
/// blocks are written down.
[[nodiscard]] bool SameBytes(const Desc& a, const Desc& b);
/// As SameBytes, wherever the two begin: `part` may start inside a larger tensor.
[[nodiscard]] bool SameBytesElsewhere(const Desc& part, const Desc& b);
/// Whether the same dim lies innermost in both, so that going from one to the other transposes
/// nothing. The dims are the same.
[[nodiscard]] bool SameInnermost(const Desc& a, const Desc& b);
/// Where `part` begins in the memory of the tensor it was cut from.
[[nodiscard]] std::size_t StartOf(const Desc& part);
/// `dims` of the same rank in the kind of layout `model` is in (dense, channels last, blocked by
/// channels); dense where it is in none of them.
[[nodiscard]] Desc LikeDesc(const Desc& model, const Dims& dims, Elem elem);
/// Row-major but for `inner`: those axes lie innermost, in their order.
[[nodiscard]] Desc InnermostDesc(const Dims& dims, const std::vector<std::size_t>& inner,
                                 Elem elem);
/// Dense, in a higher rank: leading dims of 1 are put in front.
[[nodiscard]] Desc InRank(const Desc& desc, std::size_t rank);
[[nodiscard]] bool IsDense(const Desc& desc);

/// The static dims and type of a value as a dense desc; none for types the library does not know
/// and for empty tensors.
[[nodiscard]] std::optional<Desc> DenseDescOf(const Graph& graph, ValueId value);
/// Static dims of a value.
[[nodiscard]] Dims DimsOf(const Graph& graph, ValueId value);

}  // namespace msc::onednn
