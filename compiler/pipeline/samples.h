#pragma once

#include <span>

#include "compiler/base/hash.h"
#include "compiler/ir/sample_source.h"

namespace msc {

/// Samples that are in memory already, one tensor an input, [N, ...]. The tensors outlive it.
class TensorSamples final : public SampleSource {
 public:
  /// UserError where their numbers of samples differ.
  explicit TensorSamples(std::span<const Tensor> tensors);
  [[nodiscard]] std::int64_t count() const override { return count_; }
  [[nodiscard]] std::size_t inputs() const override { return tensors_.size(); }
  [[nodiscard]] std::vector<Tensor> Read(std::int64_t first, std::int64_t count) const override;

 private:
  std::span<const Tensor> tensors_;
  std::int64_t count_ = 0;
};

/// Adds types, dims and values of all samples, input by input: what the tensors that hold them
/// whole would add, one after another.
void AddSamples(const SampleSource& samples, Sha256& hash);

}  // namespace msc
