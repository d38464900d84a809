#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/ir/tensor.h"

namespace msc {

/// Source of input samples for a model. Samples are read on demand, so that a caller can hold one
/// batch at a time. Repeated reads return the same bits. Not thread-safe.
class SampleSource {
 public:
  SampleSource() = default;
  SampleSource(const SampleSource&) = delete;
  SampleSource& operator=(const SampleSource&) = delete;
  virtual ~SampleSource() = default;

  /// Returns the number of samples.
  [[nodiscard]] virtual std::int64_t count() const = 0;
  /// Returns the number of tensors per sample: one for each input of the model.
  [[nodiscard]] virtual std::size_t inputs() const = 0;
  /// Reads samples [first, first + count) of one group: for each input a tensor [count, ...], whose
  /// other dims are those of the group. Throws UserError if the range is not available.
  [[nodiscard]] virtual std::vector<Tensor> Read(std::int64_t first, std::int64_t count) const = 0;
  /// Returns the end of the group of sample `first`. Samples of one size follow each other and are
  /// a group; most sources have a single one.
  [[nodiscard]] virtual std::int64_t GroupEnd(std::int64_t /*first*/) const { return count(); }
};

}  // namespace msc
