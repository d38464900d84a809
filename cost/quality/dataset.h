#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/base/shape.h"
#include "compiler/base/within.h"
#include "compiler/ir/tensor.h"

namespace msc::cost {

/// Where samples come from and how they become what the model takes: (x - mean) / std, where bytes
/// count as x = byte / 255.
struct DataConfig {
  std::string format = "idx";      ///< "idx": IDX, plain or gzip; "npy": NumPy arrays
  std::string images;              ///< file of samples, [N, ...]
  std::string labels;              ///< file of N class numbers; empty where there are none
  std::vector<double> mean = {0};  ///< one, or one a channel (axis 1 of [N, C, ...])
  std::vector<double> std = {1};   ///< likewise
  std::int64_t first = 0;          ///< samples to pass over
  std::int64_t count = 0;          ///< samples to take; 0 = all that follow
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("format", self.format, "form of the files", Within::OneOf({"idx", "npy"}));
    visit("images", self.images, "file of samples");
    visit("labels", self.labels, "file of class numbers; empty = none");
    visit("mean", self.mean, "subtracted, one or one a channel", Within{-1e30, 1e30});
    visit("std", self.std, "divided by, one or one a channel", Within{1e-30, 1e30});
    visit("first", self.first, "samples to pass over", Within{0, 2147483647});
    visit("count", self.count, "samples to take; 0 = all", Within{0, 2147483647});
  }
};

/// Samples a model is judged by.
struct Dataset {
  Tensor inputs;                     ///< f32 [N, ...], N >= 1
  std::vector<std::int32_t> labels;  ///< N class numbers >= 0, or none
  [[nodiscard]] std::int64_t size() const { return inputs.dims().at(0); }
};

/// Reads samples and labels. Each sample gets the dims that `input`, a model's input with the batch
/// outermost, asks for, where the number of elements is the same ([28, 28] becomes [1, 28, 28]).
/// UserError naming the file, or saying how the sizes differ.
[[nodiscard]] Dataset LoadDataset(const DataConfig& config, const Shape& input);

/// Samples [first, first + count) with their labels. UserError if they are not all there.
[[nodiscard]] Dataset Slice(const Dataset& dataset, std::int64_t first, std::int64_t count);

}  // namespace msc::cost
