#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/ir/tensor.h"

namespace msc {

/// Samples for a model, read as they are asked for, so that whoever goes over them holds a batch at
/// a time and not all. The same samples are the same bits whenever they are read. One thread at a
/// time.
class SampleSource {
 public:
  SampleSource() = default;
  SampleSource(const SampleSource&) = delete;
  SampleSource& operator=(const SampleSource&) = delete;
  virtual ~SampleSource() = default;

  /// How many samples there are.
  [[nodiscard]] virtual std::int64_t count() const = 0;
  /// Tensors that a sample consists of: one an input of the model.
  [[nodiscard]] virtual std::size_t inputs() const = 0;
  /// Samples [first, first + count): for each input a tensor [count, ...], whose other dims are
  /// always the same. UserError if they are not all there.
  [[nodiscard]] virtual std::vector<Tensor> Read(std::int64_t first, std::int64_t count) const = 0;
};

}  // namespace msc
