#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "compiler/base/dtype.h"
#include "compiler/base/mapped_file.h"
#include "compiler/base/shape.h"
#include "compiler/import/onnx/byte_source.h"
#include "compiler/import/onnx/external_data.h"
#include "compiler/import/onnx/import.h"
#include "compiler/import/onnx/wire_scan.h"
#include "compiler/ir/tensor.h"

namespace msc::detail {

/// Gives the tensors of one model their bytes: those in its file are read into each tensor's own
/// memory; large ones in files of external data are views of these files. Counts them, as several
/// tensors may claim the same bytes.
class TensorBytes {
 public:
  /// `model` and `options` must outlive this.
  TensorBytes(const ByteSource& model, const ImportOptions& options)
      : model_(model), options_(options) {}

  /// Counts bytes of a tensor that takes more memory than the file has of it. Throws UserError for
  /// more bytes in all than a file of this size may take.
  void Count(std::uint64_t bytes);
  /// Reads a tensor that has as many bytes as `place`. Throws UserError for more bytes in all than
  /// a file of this size may take, and if the file has become shorter.
  [[nodiscard]] Tensor Read(RawPlace place, DType dtype, Dims dims);
  /// Does the same for external data; throws UserError also for what ExternalFile refuses, and for
  /// more external bytes in all than the limit of one tensor.
  [[nodiscard]] Tensor ReadExternal(ExternalPlace place, DType dtype, Dims dims);

 private:
  /// Returns null if the file cannot be mapped.
  std::shared_ptr<const MappedFile> Map(const ExternalFile& file);

  const ByteSource& model_;
  const ImportOptions& options_;
  std::uint64_t copied_ = 0;    ///< bytes of the model's file
  std::uint64_t external_ = 0;  ///< bytes of other files
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::shared_ptr<const MappedFile>>
      maps_;  ///< by ExternalFile::Identity
};

/// Options of an import, and the bytes of the model's tensors.
struct SourceOptions : ImportOptions {
  /// Null only for a graph whose tensors have neither raw_data nor external data.
  TensorBytes* bytes = nullptr;
};

}  // namespace msc::detail
