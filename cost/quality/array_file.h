#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "compiler/ir/sample_source.h"
#include "compiler/ir/tensor.h"

namespace msc::cost {

/// Rows of the outermost dimension: all from `first` on where `count` is 0.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Reads rows of a NumPy array file, versions 1 to 3: numbers of any type and byte order that
/// npy_header.h lists, in C or Fortran order; what is in Fortran order is in memory whole
/// meanwhile, at most 4 GiB. UserError for anything else, a truncated file and rows that are not
/// there. Source: numpy.lib.format.
[[nodiscard]] Tensor ReadNpy(const std::string& path, const RowRange& rows = {});
/// All of it, of any rank: a single number, too.
[[nodiscard]] Tensor ReadNpyArray(const std::string& path);

/// Reads rows of one array of a .npz file, as ReadNpy. `array` is "FILE.npz:NAME"; the name may be
/// left out where the file holds one array. UserError listing the names otherwise.
[[nodiscard]] Tensor ReadNpz(const std::string& array, const RowRange& rows = {});

/// Writes version 1.0, atomically. UserError for bf16 and strings, which NumPy does not have.
void WriteNpy(const std::string& path, const Tensor& tensor);
/// Array and file.
struct NamedArray {
  std::string path;
  const Tensor* tensor = nullptr;
};
/// Each as WriteNpy. Nothing is at any of the paths before all of them could be written.
void WriteNpyFiles(std::span<const NamedArray> arrays);
/// All samples for one input of a model, of which some are in memory at a time.
void WriteNpy(const std::string& path, const SampleSource& samples, std::size_t input = 0);

/// Reads rows of an IDX file of unsigned bytes, plain or gzip: u8 [N, ...]. UserError for another
/// magic number or element type, a file that is shorter or longer than its header says, and rows
/// that are not there. Source: http://yann.lecun.com/exdb/mnist.
[[nodiscard]] Tensor ReadIdx(const std::string& path, const RowRange& rows = {});

/// Of the whole array.
struct ArrayForm {
  DType dtype = DType::kUndefined;
  Dims dims;
};
/// What the header of a file says, if the file can hold so much. `format` is "npy", "npz" or "idx";
/// UserError as the function that reads it.
[[nodiscard]] ArrayForm ReadArrayForm(const std::string& format, const std::string& array);

/// Hears of one row after another, as [1, ...].
using RowVisitor = std::function<void(const Tensor& row)>;
/// Reads rows as ReadNpy, ReadNpz and ReadIdx do, with one of them in memory at a time, but for
/// Fortran order. Damage
/// behind them is found after they were shown.
void VisitRows(const std::string& format, const std::string& array, const RowRange& rows,
               const RowVisitor& visit);

}  // namespace msc::cost
