#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compiler/base/file.h"

namespace msc {

/// Rows of outputs of layers, by batch. Stored in a file, since their number grows with the number
/// of samples.
class KeptRows {
 public:
  /// Removes all rows and prepares for `layers` layers.
  void Start(std::size_t layers);
  /// Adds the rows of a layer's next batch.
  void Add(std::size_t layer, std::span<const float> rows);
  [[nodiscard]] std::vector<float> Get(std::size_t layer, std::size_t batch) const;

 private:
  struct Place {
    std::uint64_t offset = 0;
    std::size_t count = 0;
  };
  ScratchFile file_;
  std::uint64_t end_ = 0;
  std::vector<std::vector<Place>> places_;  ///< by layer and batch
};

}  // namespace msc
