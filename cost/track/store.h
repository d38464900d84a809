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

/// Stores values of a model at several stages, by stage and name, up to a number of bytes. It skips
/// and counts values that do not fit. Keeps them in memory, or in a folder as .npy files. Not
/// thread-safe.
class TrackStore {
 public:
  /// Creates `folder` if it is missing; empty = keep values in memory. UserError if the folder is
  /// not empty.
  TrackStore(std::string folder, std::uint64_t most_bytes);

  /// Stores a value, in place of an earlier one of this stage and name; returns false if there was
  /// no room, and the earlier one stays. Numbers of 8 and 16 bits are stored as f32, which is
  /// exact, other types than f32 as f64. SystemError if a file cannot be written.
  bool Put(const std::string& stage, const std::string& name, const Tensor& value);
  /// Returns the value as it was stored, or nothing.
  [[nodiscard]] std::optional<Tensor> Get(const std::string& stage, const std::string& name) const;
  /// Returns the type before storing; kUndefined if the value is not stored.
  [[nodiscard]] DType TypeOf(const std::string& stage, const std::string& name) const;
  /// Returns the names of a stage's values in the order in which they were stored.
  [[nodiscard]] std::vector<std::string> Names(const std::string& stage) const;
  [[nodiscard]] std::int64_t left_out() const { return left_out_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  struct Entry {
    DType dtype = DType::kUndefined;
    std::uint64_t bytes = 0;  ///< of the numbers, as they are stored
    std::string file;         ///< for a store in a folder
    Tensor value;             ///< for a store in memory
  };
  std::string folder_;
  std::uint64_t most_bytes_;
  std::uint64_t bytes_ = 0;
  std::int64_t left_out_ = 0;
  std::map<std::pair<std::string, std::string>, Entry> entries_;
  std::map<std::string, std::vector<std::string>> order_;
};

/// Returns a tensor as f32 or f64, in the form in which TrackStore keeps it. UserError for strings
/// and complex numbers.
[[nodiscard]] Tensor AsNumbers(const Tensor& tensor);

}  // namespace msc::cost
