#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/targets/onednn/epilogue.h"
#include "compiler/targets/onednn/linear.h"
#include "compiler/targets/onednn/rules.h"

namespace msc::onednn {
namespace {

using dnnl::algorithm;
using dnnl::binary;

struct Binary {
  algorithm kind = algorithm::binary_add;
  FusedAttrs attrs = {};
  std::size_t full = 0;  // the input with the shape of the output; the other one is broadcast
  Desc a;                // dense desc of the full input
  Desc b;                // dense desc of the other input, in the rank of the output
  Desc y;
};

std::optional<algorithm> AlgorithmOf(std::string_view op) {
  static const std::map<std::string_view, algorithm> algorithms = {
      {"Add", algorithm::binary_add}, {"Div", algorithm::binary_div},
      {"Max", algorithm::binary_max}, {"Min", algorithm::binary_min},
      {"Mul", algorithm::binary_mul}, {"Sub", algorithm::binary_sub}};
  const auto it = algorithms.find(op);
  if (it == algorithms.end()) return std::nullopt;
  return it->second;
}

bool Commutes(algorithm kind) {
  return kind != algorithm::binary_sub && kind != algorithm::binary_div;
}

/// Returns whether zero points must be subtracted before the operation. In a sum they amount to a
/// constant shift of the result.
bool NeedsShiftedOperands(const Binary& binary) {
  const bool zero_points = (IsInt8(ElemOf(binary.a)) && binary.attrs.x.zero_point != 0) ||
                           (IsInt8(ElemOf(binary.b)) && binary.attrs.r.zero_point != 0);
  return zero_points && binary.kind != algorithm::binary_add;
}

std::optional<Binary> ReadBinary(const Lowering& lowering, NodeId id) {
  const Graph& graph = lowering.graph();
  const Node& node = lowering.node(id);
  const bool fused = node.domain == "msc";
  const auto kind = AlgorithmOf(fused ? AttrOr(node, "op", std::string()) : node.op);
  if (!kind || node.inputs.size() != 2) return std::nullopt;
  const auto a = DenseDescOf(graph, node.inputs[0]);
  const auto b = DenseDescOf(graph, node.inputs[1]);
  const auto y = DenseDescOf(graph, node.outputs[0]);
  if (!a || !b || !y || (graph.constant(node.inputs[0]) && graph.constant(node.inputs[1]))) {
    return std::nullopt;
  }
  if (!fused && (IsInt8(ElemOf(*a)) || IsInt8(ElemOf(*b)))) return std::nullopt;
  const std::size_t rank = y->dims().size();
  if (a->dims().size() > rank || b->dims().size() > rank) return std::nullopt;
  Binary read{.kind = *kind, .full = 0, .a = InRank(*a, rank), .b = InRank(*b, rank), .y = *y};
  if (fused) read.attrs = ReadFusedAttrs(node);
  if (read.a.dims() != y->dims()) {
    if (!Commutes(*kind) || read.b.dims() != y->dims()) return std::nullopt;
    std::swap(read.a, read.b);
    std::swap(read.attrs.x, read.attrs.r);
    read.full = 1;
  }
  return read;
}

// Returns attributes that compute with real numbers: operand a stands for sa (a - za), and so on.
// The zero points of a sum become one shift after it. Returns nullopt if oneDNN cannot apply them.
std::optional<dnnl::primitive_attr> AttrOf(const Binary& binary, const Followers& followers) {
  dnnl::primitive_attr attr = Lowering::NewAttr();
  const FusedAttrs& attrs = binary.attrs;
  const bool int_a = IsInt8(ElemOf(binary.a));
  const bool int_b = IsInt8(ElemOf(binary.b));
  const float a = int_a ? attrs.x.scale : 1.0F;
  const float b = int_b ? attrs.r.scale : 1.0F;
  const float unit = IsInt8(ElemOf(binary.y)) ? attrs.y.scale : 1.0F;
  const float inner = CommutesWithScale(attrs.activation) ? unit : 1.0F;
  const bool product = binary.kind == algorithm::binary_mul;
  // A product needs only one factor for both scales; a sum needs one for each operand.
  const float scale_a = product ? a * b / inner : a / inner;
  const float scale_b = product ? 1.0F : b / inner;
  if (scale_a != 1.0F) attr.set_scales(DNNL_ARG_SRC_0, 0, {scale_a});
  if (scale_b != 1.0F) attr.set_scales(DNNL_ARG_SRC_1, 0, {scale_b});
  dnnl::post_ops post_ops;
  float shift = -((int_a ? a * static_cast<float>(attrs.x.zero_point) : 0.0F) +
                  (int_b ? b * static_cast<float>(attrs.r.zero_point) : 0.0F)) /
                inner;
  float zero = IsInt8(ElemOf(binary.y)) ? static_cast<float>(attrs.y.zero_point) : 0.0F;
  // oneDNN 2.6 computes wrong results if one primitive has two linear functions.
  if (attrs.activation.op.empty()) shift += std::exchange(zero, 0.0F);
  const bool has_linear = shift != 0.0F || attrs.activation.op == "HardSigmoid";
  if ((has_linear && zero != 0.0F) || (shift != 0.0F && attrs.activation.op == "HardSigmoid")) {
    return std::nullopt;
  }
  if (shift != 0.0F) post_ops.append_eltwise(1.0F, algorithm::eltwise_linear, 1.0F, shift);
  if (!AppendActivation(attrs.activation, 1.0F / unit, post_ops)) return std::nullopt;
  if (zero != 0.0F) post_ops.append_eltwise(1.0F, algorithm::eltwise_linear, 1.0F, zero);
  for (const Function& f : followers.functions) {
    post_ops.append_eltwise(1.0F, f.kind, f.alpha, f.beta);
  }
  attr.set_post_ops(post_ops);
  return attr;
}

// Returns the layout of the broadcast operand beside a full operand in layout `a`.
Desc Beside(const Binary& binary, const Desc& a) {
  const Elem elem = ElemOf(binary.b);
  if (binary.b.dims() == binary.a.dims()) return WithElem(a, elem);
  // In a blocked layout, oneDNN 2.6 takes a single number for the first channel's only.
  if (ElementCount(binary.b.dims()) == 1) return DenseDesc(binary.b.dims(), elem);
  return LikeDesc(a, binary.b.dims(), elem);
}

// Returns whether the other operand has the full shape, one element, or one element per channel.
// Otherwise, oneDNN 2.6 computes wrong results in layouts with innermost channels if the operand is
// repeated along channels.
bool AnyLayoutDoes(const Binary& binary) {
  const Dims b = binary.b.dims();
  if (b == binary.a.dims()) return true;
  for (std::size_t axis = 0; axis < b.size(); ++axis) {
    if (axis != 1 && b[axis] != 1) return false;
  }
  return true;
}

bool IsPadded(const Desc& desc) {
  const int rank = desc.data.ndims;
  return !std::equal(desc.data.dims, desc.data.dims + rank, desc.data.padded_dims);
}

std::optional<binary::primitive_desc> Choose(const Lowering& lowering, const Binary& read,
                                             const dnnl::primitive_attr& attr,
                                             const std::vector<Desc>& layouts) {
  return FirstFast(layouts, [&](const Desc& layout) {
    const binary::desc desc(read.kind, layout, Beside(read, layout),
                            WithElem(layout, ElemOf(read.y)));
    return binary::primitive_desc(desc, attr, lowering.engine());
  });
}

/// Returns the layouts of the full operand, whose value is `a`, to try, best first.
std::vector<Desc> LayoutsOf(Lowering& lowering, const Binary& read,
                            const dnnl::primitive_attr& attr, ValueId a) {
  std::vector<Desc> layouts;
  const bool a_is_constant = lowering.graph().constant(a) != nullptr;
  if (AnyLayoutDoes(read)) {
    // With post-ops, oneDNN 2.6 writes nothing if the channels do not fill their last block.
    const bool plain = attr.get_post_ops().len() == 0;
    if (!a_is_constant && lowering.Here(a).dims() == read.a.dims() &&
        (plain || !IsPadded(lowering.Here(a)))) {
      layouts.push_back(lowering.Here(a));
    }
    if (read.a.dims().size() >= 3) {
      layouts.push_back(ChannelsLastDesc(read.a.dims(), ElemOf(read.a)));
    }
  }
  layouts.push_back(read.a);
  return layouts;
}

/// As Choose, with both operands widened to f32 first. Widening keeps the integer values, but for
/// zero points that are subtracted, so the scales stay the same. oneDNN 2.6 is faster this way if
/// an 8-bit operand has one number per channel.
std::optional<binary::primitive_desc> ChooseWide(const Lowering& lowering, Binary read,
                                                 const dnnl::primitive_attr& attr,
                                                 std::vector<Desc> layouts) {
  read.a = WithElem(read.a, Elem::f32);
  read.b = WithElem(read.b, Elem::f32);
  for (Desc& layout : layouts) layout = WithElem(layout, Elem::f32);
  return Choose(lowering, read, attr, layouts);
}

// Lowers a number minus a tensor, and other nodes that only a linear function can compute.
bool LowerLinear(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Graph& graph = lowering.graph();
  const ValueId x = graph.constant(node.inputs[0]) ? node.inputs[1] : node.inputs[0];
  const ValueId y = node.outputs[0];
  const auto function = LinearOf(graph, node, x);
  const auto dense = DenseDescOf(graph, x);
  if (!function || !dense || ElemOf(*dense) != Elem::f32 || graph.constant(x)) return false;
  if (DimsOf(graph, x) != DimsOf(graph, y)) return false;
  const Desc here = lowering.Here(x);
  const BufferId from = lowering.In(x, here);
  const auto victim = lowering.Dying(x, id, here);
  const BufferId to = victim ? lowering.OutOver(y, here, *victim) : lowering.Out(y, here);
  if (!AddElementwise(lowering, {*function}, here, from, to, lowering.LabelOf(id, Elem::f32))) {
    return false;
  }
  lowering.Finish(y);
  return true;
}

}  // namespace

bool LowerBinary(Lowering& lowering, NodeId id) {
  auto read = ReadBinary(lowering, id);
  if (!read) return LowerLinear(lowering, id);
  const Node& node = lowering.node(id);
  // What is subtracted from the operands before the primitive reads them.
  const bool shifted = NeedsShiftedOperands(*read);
  const std::int64_t zero_a = shifted ? std::exchange(read->attrs.x.zero_point, 0) : 0;
  const std::int64_t zero_b = shifted ? std::exchange(read->attrs.r.zero_point, 0) : 0;
  Followers followers{.output = node.outputs[0]};
  if (node.domain != "msc") followers = FollowersOf(lowering, node.outputs[0], {});
  const auto attr = AttrOf(*read, followers);
  if (!attr) return false;
  const ValueId a = node.inputs[read->full];
  const ValueId b = node.inputs[1 - read->full];

  const std::vector<Desc> layouts = LayoutsOf(lowering, *read, *attr, a);
  auto pd = shifted ? std::nullopt : Choose(lowering, *read, *attr, layouts);
  if (!pd || IsSlow(*pd)) {
    auto wide = ChooseWide(lowering, *read, *attr, layouts);
    if (wide && (shifted || !IsSlow(*wide))) pd = std::move(wide);
  }
  if (!pd) return false;
  const auto as_is = [&](ValueId value, const Desc& wanted) {
    const Desc own = *DenseDescOf(lowering.graph(), value);
    // A value of lower rank gets leading dims of 1.
    if (own.dims().size() != wanted.dims().size()) {
      return lowering.Weights(value, InRank(own, wanted.dims().size()), wanted);
    }
    return lowering.In(value, wanted);
  };
  bool done = true;
  // Places an operand, widened if the primitive takes f32.
  const auto in = [&](ValueId value, const Desc& wanted, std::int64_t zero) {
    const Elem own = ElemOf(*DenseDescOf(lowering.graph(), value));
    if (!IsInt8(own) || IsInt8(ElemOf(wanted))) return as_is(value, wanted);
    const Desc narrow = WithElem(wanted, own);
    const BufferId from = as_is(value, narrow);
    const BufferId to = lowering.Scratch(wanted);
    StepLabel label = lowering.LabelOf(id, own);
    done = lowering.AddReorder({DNNL_ARG_FROM, narrow, from}, {DNNL_ARG_TO, wanted, to},
                               ScalingAttr(1.0F, zero, 0), label) &&
           done;
    return to;
  };
  const BufferId from_a = in(a, pd->src0_desc(), zero_a);
  const BufferId from_b = in(b, pd->src1_desc(), zero_b);
  if (!done) return false;
  const auto victim =
      ElemOf(read->y) == ElemOf(read->a) ? lowering.Dying(a, id, pd->dst_desc()) : std::nullopt;
  const ValueId y = followers.output;
  for (const NodeId follower : followers.nodes) lowering.Absorb(follower);
  const BufferId to =
      victim ? lowering.OutOver(y, pd->dst_desc(), *victim) : lowering.Out(y, pd->dst_desc());
  StepLabel label = lowering.LabelOf(id, ElemOf(read->a));
  for (const NodeId follower : followers.nodes) label.nodes.push_back(lowering.node(follower).name);
  lowering.AddPrimitive<binary>(*pd,
                                {{DNNL_ARG_SRC_0, pd->src0_desc(), from_a},
                                 {DNNL_ARG_SRC_1, pd->src1_desc(), from_b},
                                 {DNNL_ARG_DST, pd->dst_desc(), to}},
                                label);
  lowering.Finish(y);
  return true;
}

}  // namespace msc::onednn
