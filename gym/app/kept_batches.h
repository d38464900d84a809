#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/base/file.h"
#include "compiler/ir/tensor.h"

namespace msc::gym {

/// Outputs of a model for all samples, batch by batch. Batches beyond `most` bytes are in a file
/// (ScratchFile), since outputs such as masks may take more memory than everything else. Movable.
/// Several threads may read while none adds.
class KeptBatches {
 public:
  explicit KeptBatches(std::size_t most = std::size_t{8} << 20U) : most_(most) {}
  /// Adds the next batch. SystemError if the file cannot be written.
  void Add(std::vector<Tensor> batch);
  [[nodiscard]] std::size_t size() const { return batches_.size(); }
  [[nodiscard]] std::vector<Tensor> Get(std::size_t batch) const;
  /// Returns the first size of the first tensor of a batch.
  [[nodiscard]] std::int64_t Samples(std::size_t batch) const;

 private:
  struct Place {
    DType dtype = DType::kUndefined;
    Dims dims;
    std::uint64_t offset = 0;
  };
  struct Batch {
    std::vector<Tensor> tensors;  ///< empty if they are in the file
    std::vector<Place> places;
  };

  std::size_t most_;
  std::size_t in_memory_ = 0;
  std::vector<Batch> batches_;
  std::unique_ptr<ScratchFile> file_;  ///< nullptr while all are in memory
  std::uint64_t end_ = 0;              ///< of the file
};

}  // namespace msc::gym
