#include "compiler/pipeline/samples.h"

#include <algorithm>
#include <string>

#include "compiler/base/error.h"
#include "compiler/pipeline/batch.h"

namespace msc {

TensorSamples::TensorSamples(std::span<const Tensor> tensors) : tensors_(tensors) {
  if (tensors_.empty()) return;
  count_ = tensors_[0].dims().empty() ? 0 : tensors_[0].dims()[0];
  for (const Tensor& tensor : tensors_) {
    if (tensor.dims().empty() || tensor.dims()[0] != count_) {
      throw UserError("calibration inputs differ in their number of samples");
    }
  }
}

std::vector<Tensor> TensorSamples::Read(std::int64_t first, std::int64_t count) const {
  std::vector<Tensor> rows;
  for (const Tensor& tensor : tensors_) rows.push_back(Rows(tensor, first, count));
  return rows;
}

void AddSamples(const SampleSource& samples, Sha256& hash) {
  constexpr std::int64_t kAtATime = 32;
  for (std::size_t input = 0; input < samples.inputs(); ++input) {
    std::int64_t first = 0;
    std::int64_t begin = 0;  // of the group
    do {
      const std::int64_t group = samples.count() == 0 ? 0 : samples.GroupEnd(first);
      const std::int64_t part = std::min(kAtATime, group - first);
      const Tensor rows = samples.Read(first, part).at(input);
      if (first == begin) {
        Dims dims = rows.dims();
        dims.at(0) = group - begin;
        hash.Add(std::string(Name(rows.dtype())) + ToString(dims) + "\n");
      }
      hash.Add(rows.Raw());
      first += part;
      if (first == group) begin = group;
    } while (first < samples.count());
  }
}

}  // namespace msc
