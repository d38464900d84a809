#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <malloc.h>

#include "compiler/base/rng.h"
#include "compiler/ir/sample_source.h"

namespace msc {

/// Normally distributed samples for one input, generated on demand. Records the largest number of
/// samples read at once and how the memory in use grew between reads.
class CountingSamples final : public SampleSource {
 public:
  CountingSamples(std::int64_t count, Dims sample) : count_(count), sample_(std::move(sample)) {}
  [[nodiscard]] std::int64_t count() const override { return count_; }
  [[nodiscard]] std::size_t inputs() const override { return 1; }
  [[nodiscard]] std::vector<Tensor> Read(std::int64_t first, std::int64_t count) const override {
    const std::size_t used = BytesInUse();
    if (most_ == 0) start_ = used;
    most_ = std::max(most_, count);
    grown_ = std::max(grown_, used - std::min(used, start_));
    Dims dims = {count};
    dims.insert(dims.end(), sample_.begin(), sample_.end());
    std::vector<Tensor> read;
    const auto values = read.emplace_back(DType::kF32, std::move(dims)).MutableValues<float>();
    const std::size_t size =
        values.size() / static_cast<std::size_t>(std::max<std::int64_t>(count, 1));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i % size == 0) rng_ = Rng(static_cast<std::uint64_t>(first) + i / size);
      values[i] = static_cast<float>(rng_.Normal());
    }
    return read;
  }
  [[nodiscard]] std::int64_t most() const { return most_; }
  /// Returns the most bytes in use at a read beyond those at the first read. Always 0 under
  /// sanitizers, which have a heap of their own.
  [[nodiscard]] std::size_t grown() const { return grown_; }

 private:
  static std::size_t BytesInUse() {
    const auto info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
  }

  std::int64_t count_;
  Dims sample_;
  mutable std::int64_t most_ = 0;
  mutable std::size_t start_ = 0;
  mutable std::size_t grown_ = 0;
  mutable Rng rng_{0};
};

}  // namespace msc
