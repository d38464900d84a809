#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/compress/prune/linear_form.h"

namespace msc {

// Zeros among the weights of a layer whose shape stays. Dense kernels multiply by them as by any
// other weight. They help files that are compressed and machines that skip zeros, as some GPUs do
// with 2:4.

/// Which weights stay.
struct SparsityPattern {
  double density = 1.0;   ///< unstructured: share of a layer's weights that stays, in (0, 1)
  std::int64_t keep = 0;  ///< N of N:M: of every M consecutive inputs N stay; 0 = unstructured
  std::int64_t of = 0;    ///< M; consecutive inputs are channels at one tap of a kernel
};
/// Parses "2:4", or a share such as "0.5". UserError for anything else.
[[nodiscard]] SparsityPattern ParseSparsity(std::string_view text);

/// Returns whether the pattern fits the layer: N:M needs a multiple of M channels in each group.
[[nodiscard]] bool PatternFits(const SparsityPattern& pattern, const LinearForm& form);

/// Returns the rows [outputs, inputs] of one group of a layer with zeros. `gram` is the matrix of
/// the inputs' second moments, [inputs, inputs], symmetric. Goes through the inputs: the weights
/// that cost least become zero, and the weights of later inputs in the same row compensate for the
/// error. Compares the result with keeping the largest weights, and takes the one with the smaller
/// error in W x; row by row for N:M, for all rows together if unstructured. Unstructured zeros are
/// spread evenly over stretches of 128 inputs, but not over rows.
/// The result is the same for any number of threads.
/// Source: Frantar and Alistarh 2023 (arXiv 2301.00774), algorithm 1.
[[nodiscard]] std::vector<float> SparsifyRows(std::span<const float> rows, const LinearForm& form,
                                              const SparsityPattern& pattern,
                                              std::span<const double> gram, int threads = 1);

/// Returns the share of values that are 0.
[[nodiscard]] double ZeroShare(std::span<const float> values);

}  // namespace msc
