#pragma once

// Of this folder only.

#include <cstdint>

#include "compiler/targets/blas/plan.h"

namespace msc::blas {

/// Closes rows [begin, end) of C, `columns` wide. `residual` is of C's shape, or nullptr.
void CloseRows(const Closing& closing, const float* residual, std::int64_t columns,
               std::int64_t begin, std::int64_t end, float* c);

}  // namespace msc::blas
