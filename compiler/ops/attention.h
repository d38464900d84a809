#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

// msc.Attention (Q, K, V, M?): scaled dot-product attention, including the transposes that move the
// heads into place. FuseOps makes it for targets that support it. All tensors are f32, or all bf16.
//
//   q = Transpose(Q, q_perm)   [batch..., queries, depth]
//   k = Transpose(K, k_perm)   [batch..., keys, depth]
//   v = Transpose(V, v_perm)   [batch..., keys, width]
//   s = scale * q * transpose(k) + M        [batch..., queries, keys]; M broadcasts to it
//   w = softmax(s)                          over the last axis; if zero_nan, NaN becomes 0
//   Y = Transpose(w * v, y_perm)
//
// batch... has any rank, including 0, and is equal in q, k and v. Y has the type of Q. Attributes:
// scale (f32); zero_nan (0 or 1, default 0); q_perm, k_perm, v_perm, y_perm (as in Transpose-13;
// absent or empty means no transpose). A row of s with NaN or +infinity, or of -infinity alone, as
// where M excludes all keys, makes a row of NaN in softmax(s); zero_nan makes these rows of Y 0. A
// target needs no transposed copy: the perms give the strides of its reads and writes. Source:
// Vaswani et al., "Attention Is All You Need" (2017), equation 1.

/// Input positions of msc.Attention.
enum AttentionInput : std::size_t {
  kAttentionQ = 0,
  kAttentionK = 1,
  kAttentionV = 2,
  kAttentionMask = 3,
};

/// Attributes of msc.Attention. Each perm has one entry per axis; without a transpose it is the
/// identity.
struct AttentionAttrs {
  float scale = 1.0F;
  bool zero_nan = false;
  std::vector<std::int64_t> q_perm;
  std::vector<std::int64_t> k_perm;
  std::vector<std::int64_t> v_perm;
  std::vector<std::int64_t> y_perm;
};
/// Reads the attributes. `rank` is the rank of Q. Throws UserError, which names the node, if a perm
/// is not a permutation of the axes.
[[nodiscard]] AttentionAttrs ReadAttentionAttrs(const Node& node, std::size_t rank);

}  // namespace msc
