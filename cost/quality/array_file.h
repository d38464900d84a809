#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/tensor.h"

namespace msc::cost {

/// Rows of the outermost dimension: all from `first` on where `count` is 0.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Reads rows of a NumPy array file, versions 1 to 3: C order, little-endian f4, f8, i4, i8 or u1.
/// UserError for anything else, a truncated file and rows that are not there.
/// Source: numpy.lib.format.
[[nodiscard]] Tensor ReadNpy(const std::string& path, const RowRange& rows = {});

/// Reads rows of one array of a .npz file, as ReadNpy. `array` is "FILE.npz:NAME"; the name may be
/// left out where the file holds one array. UserError listing the names otherwise.
[[nodiscard]] Tensor ReadNpz(const std::string& array, const RowRange& rows = {});

/// Dims of the whole array, without reading it.
[[nodiscard]] Dims NpyDims(const std::string& path);

/// Writes version 1.0, atomically. Types as ReadNpy.
void WriteNpy(const std::string& path, const Tensor& tensor);

/// Reads rows of an IDX file of unsigned bytes, plain or gzip: u8 [N, ...]. UserError for another
/// magic number or element type, a file that is shorter or longer than its header says, and rows
/// that are not there. Source: http://yann.lecun.com/exdb/mnist.
[[nodiscard]] Tensor ReadIdx(const std::string& path, const RowRange& rows = {});

}  // namespace msc::cost
