#pragma once

#include <span>

#include "compiler/base/hash.h"
#include "compiler/ir/sample_source.h"

namespace msc {

/// Samples that are in memory, one tensor per input, [N, ...]. The tensors must outlive this
/// object.
class TensorSamples final : public SampleSource {
 public:
  /// UserError if the tensors have different numbers of samples.
  explicit TensorSamples(std::span<const Tensor> tensors);
  [[nodiscard]] std::int64_t count() const override { return count_; }
  [[nodiscard]] std::size_t inputs() const override { return tensors_.size(); }
  [[nodiscard]] std::vector<Tensor> Read(std::int64_t first, std::int64_t count) const override;

 private:
  std::span<const Tensor> tensors_;
  std::int64_t count_ = 0;
};

/// Adds types, dims and values of all samples to `hash`, input by input: the same bytes as the
/// tensors that contain all samples of an input.
void AddSamples(const SampleSource& samples, Sha256& hash);

}  // namespace msc
