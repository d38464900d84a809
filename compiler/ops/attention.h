#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

// msc.Attention (Q, K, V, M?): scaled dot-product attention, with the transposes that bring the
// heads into place. Made by FuseOps for targets that take it; f32 or bf16, all of one type.
//
//   q = Transpose(Q, q_perm)   [batch..., queries, depth]
//   k = Transpose(K, k_perm)   [batch..., keys, depth]
//   v = Transpose(V, v_perm)   [batch..., keys, width]
//   s = scale * q * transpose(k) + M        [batch..., queries, keys]; M broadcasts to it
//   Y = Transpose(softmax(s) * v, y_perm)   softmax over the last axis
//
// batch... is of any rank, 0 too, and the same in q, k and v. Y has the type of Q. Attributes:
// scale (f32), q_perm, k_perm, v_perm, y_perm (as Transpose-13; absent or empty for no transpose).
// A target needs no transposed copy: perms only say with which strides to read and write. Source:
// Vaswani et al., "Attention Is All You Need" (2017), equation 1.

/// Input positions of msc.Attention.
enum AttentionInput : std::size_t {
  kAttentionQ = 0,
  kAttentionK = 1,
  kAttentionV = 2,
  kAttentionMask = 3,
};

/// The attributes, perms completed: one entry an axis, counting up where there is no transpose.
struct AttentionAttrs {
  float scale = 1.0F;
  std::vector<std::int64_t> q_perm;
  std::vector<std::int64_t> k_perm;
  std::vector<std::int64_t> v_perm;
  std::vector<std::int64_t> y_perm;
};
/// `rank` is that of Q. UserError naming the node where a perm does not name every axis once.
[[nodiscard]] AttentionAttrs ReadAttentionAttrs(const Node& node, std::size_t rank);

}  // namespace msc
