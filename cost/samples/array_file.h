#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "compiler/ir/sample_source.h"
#include "compiler/ir/tensor.h"

namespace msc::cost {

/// Range of rows along the outermost dimension; `count` 0 means all rows from `first` on.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Reads rows of a NumPy array file, versions 1 to 3, in C or Fortran order, of all types and byte
/// orders that npy_header.h lists. An array in Fortran order is held in memory as a whole while it
/// is read, at most 4 GiB. UserError for any other file, a truncated file and missing rows.
/// Source: numpy.lib.format.
[[nodiscard]] Tensor ReadNpy(const std::string& path, const RowRange& rows = {});
/// Reads the whole array, of any rank including 0.
[[nodiscard]] Tensor ReadNpyArray(const std::string& path);
/// Reads the whole array of a file of `format`, "npy" or "npz", like ReadNpyArray.
[[nodiscard]] Tensor ReadArray(const std::string& format, const std::string& array);

/// Reads rows of one array of a .npz file, like ReadNpy. `array` is "FILE.npz:NAME"; the name is
/// optional if the file holds one array. UserError listing the names if there is no such array.
[[nodiscard]] Tensor ReadNpz(const std::string& array, const RowRange& rows = {});

/// Writes a file of version 1.0, atomically. UserError for bf16 and strings, which NumPy lacks.
void WriteNpy(const std::string& path, const Tensor& tensor);
/// A tensor and the file to write it to.
struct NamedArray {
  std::string path;
  const Tensor* tensor = nullptr;
};
/// Writes each tensor like WriteNpy. No file appears before the contents of all are written.
void WriteNpyFiles(std::span<const NamedArray> arrays);
/// Writes all samples of one input of a model, with only some of them in memory at a time.
/// InternalError if there are none.
void WriteNpy(const std::string& path, const SampleSource& samples, std::size_t input = 0);

/// Writes a NumPy file of rows that come in pieces, whose number is not known before the end. The
/// file is not a valid array before Finish. For files that only this program's run needs: writing
/// is not atomic.
class NpyWriter {
 public:
  /// SystemError if the file cannot be written.
  explicit NpyWriter(std::string path);
  /// Appends [n, ...], of the same type and row dims in every call. UserError as WriteNpy,
  /// SystemError if the disk is full.
  void Append(const Tensor& rows);
  /// Completes the header. InternalError if nothing was appended.
  void Finish();

 private:
  void Write(std::string_view bytes);
  std::string path_;
  std::ofstream file_;
  DType dtype_ = DType::kUndefined;
  Dims dims_;
};
/// Writes some rows of an array file into another, with few of them in memory. The count of `rows`
/// must not be 0. UserError as ReadNpy.
void CopyNpyRows(const std::string& from, const RowRange& rows, const std::string& to);

/// Reads rows of an IDX file of unsigned bytes, plain or gzip, as u8 [N, ...]. UserError for
/// another magic number or element type, a file that is shorter or longer than its header says, and
/// missing rows.
/// Source: http://yann.lecun.com/exdb/mnist.
[[nodiscard]] Tensor ReadIdx(const std::string& path, const RowRange& rows = {});

/// Element type and dims of a whole array, of any rank including 0.
struct ArrayForm {
  DType dtype = DType::kUndefined;
  Dims dims;
};
/// Returns what the header of a file says, after checking that the file is large enough for it.
/// `format` is "npy", "npz" or "idx". UserError like the function that reads that format.
[[nodiscard]] ArrayForm ReadArrayForm(const std::string& format, const std::string& array);

/// Receives one row after another, as [1, ...].
using RowVisitor = std::function<void(const Tensor& row)>;
/// Reads rows like ReadNpy, ReadNpz and ReadIdx, with one row in memory at a time (all of them for
/// Fortran order). Damage behind the rows is found only after `visit` received them.
void VisitRows(const std::string& format, const std::string& array, const RowRange& rows,
               const RowVisitor& visit);

}  // namespace msc::cost
