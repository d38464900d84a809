#pragma once

// Internal to this folder; the only header that includes dnnl.hpp.

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

/// Returns the library's element type; nullopt for types that it does not compute with.
[[nodiscard]] std::optional<Elem> ElemOf(DType dtype);
[[nodiscard]] bool IsInt8(Elem elem);
/// Returns the precision of a step's label: "f32", "bf16" or "int8".
[[nodiscard]] std::string PrecisionName(Elem elem);

/// Returns a row-major desc without gaps. A scalar becomes [1].
[[nodiscard]] Desc DenseDesc(const Dims& dims, Elem elem);
/// Returns a channels-last desc: [N, spatial..., C] in memory, dims in the order of ONNX. Rank >=
/// 3.
[[nodiscard]] Desc ChannelsLastDesc(const Dims& dims, Elem elem);
/// Returns a desc whose layout the primitive chooses.
[[nodiscard]] Desc AnyDesc(const Dims& dims, Elem elem);
/// Returns the same layout with another element type.
[[nodiscard]] Desc WithElem(const Desc& desc, Elem elem);
[[nodiscard]] Elem ElemOf(const Desc& desc);
/// Returns whether two descs describe the same bytes. Strides of dims of size 1 do not matter, nor
/// how blocks are written down.
[[nodiscard]] bool SameBytes(const Desc& a, const Desc& b);
/// Like SameBytes, but ignores where the two begin: `part` may lie inside a larger tensor.
[[nodiscard]] bool SameBytesElsewhere(const Desc& part, const Desc& b);
/// Returns whether both have the same innermost dim, so that a reorder transposes nothing. Both
/// must have the same dims.
[[nodiscard]] bool SameInnermost(const Desc& a, const Desc& b);
/// Returns the byte offset of `part` in the memory of the tensor that it was cut from.
[[nodiscard]] std::size_t StartOf(const Desc& part);
/// Returns a desc of `dims`, of the same rank as `model`, in the same kind of layout (dense,
/// channels last or blocked by channels); dense if `model` has another kind.
[[nodiscard]] Desc LikeDesc(const Desc& model, const Dims& dims, Elem elem);
/// Returns a row-major desc, except that the axes `inner` are innermost, in their order.
[[nodiscard]] Desc InnermostDesc(const Dims& dims, const std::vector<std::size_t>& inner,
                                 Elem elem);
/// Returns the dense desc with leading dims of 1 added up to `rank`.
[[nodiscard]] Desc InRank(const Desc& desc, std::size_t rank);
[[nodiscard]] bool IsDense(const Desc& desc);

/// Returns the dense desc of a value with static dims; nullopt for types that the library does not
/// know, for more than 6 dims and for empty tensors.
[[nodiscard]] std::optional<Desc> DenseDescOf(const Graph& graph, ValueId value);
/// Returns the dims of a value, which must be static.
[[nodiscard]] Dims DimsOf(const Graph& graph, ValueId value);

}  // namespace msc::onednn
