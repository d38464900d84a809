#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/dtype.h"
#include "compiler/ir/tensor.h"

namespace msc::cost {

/// Values of a model at several stages, by stage and name, within a number of bytes: what would
/// go beyond is left out and counted. In memory, or in a folder as .npy files that numpy reads.
/// Not thread-safe.
class TrackStore {
 public:
  /// `folder` is made where it is not there; empty = in memory. UserError if it holds anything.
  TrackStore(std::string folder, std::uint64_t most_bytes);

  /// False if there was no room. Numbers of 8 and 16 bits are kept as f32, exactly, others that
  /// are not f32 as f64. SystemError if a file cannot be written.
  bool Put(const std::string& stage, const std::string& name, const Tensor& value);
  /// As it was kept; nothing where it was not.
  [[nodiscard]] std::optional<Tensor> Get(const std::string& stage, const std::string& name) const;
  /// Its type before; kUndefined where it was not kept.
  [[nodiscard]] DType TypeOf(const std::string& stage, const std::string& name) const;
  /// Names of a stage in the order in which they came.
  [[nodiscard]] std::vector<std::string> Names(const std::string& stage) const;
  [[nodiscard]] std::int64_t left_out() const { return left_out_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  struct Entry {
    DType dtype = DType::kUndefined;
    std::string file;  ///< of a store in a folder
    Tensor value;      ///< of one in memory
  };
  std::string folder_;
  std::uint64_t most_bytes_;
  std::uint64_t bytes_ = 0;
  std::int64_t left_out_ = 0;
  std::map<std::pair<std::string, std::string>, Entry> entries_;
  std::map<std::string, std::vector<std::string>> order_;
};

/// Every number of a tensor as f32 or f64, as TrackStore keeps it. UserError for texts and complex
/// numbers.
[[nodiscard]] Tensor AsNumbers(const Tensor& tensor);

}  // namespace msc::cost
