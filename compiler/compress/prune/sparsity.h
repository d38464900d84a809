#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/compress/prune/least_squares.h"

namespace msc {

// Zeros among the weights of a layer whose shape stays as it is. Dense kernels multiply by them as
// by anything else; they are worth something to files that are compressed and to machines that skip
// them, as some GPUs do with 2:4.

struct SparsityPattern {
  double density = 1.0;   ///< unstructured: share of a layer's weights that stay, in (0, 1)
  std::int64_t keep = 0;  ///< N of N:M: of every M inputs in a row N stay; 0 = unstructured
  std::int64_t of = 0;    ///< M; inputs in a row are channels that a kernel reads at one tap
};
/// "2:4", or a share such as "0.5". UserError for anything else.
[[nodiscard]] SparsityPattern ParseSparsity(std::string_view text);

/// Whether the layer's inputs can be counted off so: N:M needs a multiple of M channels a group.
[[nodiscard]] bool Fits(const SparsityPattern& pattern, const LinearForm& form);

/// Rows [outputs, inputs] of one group of a layer with zeros put in, by the matrix `gram` of the
/// inputs' second moments, [inputs, inputs], symmetric: one input after the other, those that cost
/// least go, and the rows' weights behind them make up for the error. Whichever of that and of
/// keeping the largest weights misses less of |W x|^2 is taken, row by row. Unstructured zeros are
/// spread evenly over stretches of 128 inputs, not over rows. Source: Frantar and Alistarh 2023
/// (arXiv 2301.00774), algorithm 1.
[[nodiscard]] std::vector<float> SparsifyRows(std::span<const float> rows, const LinearForm& form,
                                              const SparsityPattern& pattern,
                                              std::span<const double> gram);

/// Share of values that are 0.
[[nodiscard]] double ZeroShare(std::span<const float> values);

}  // namespace msc
