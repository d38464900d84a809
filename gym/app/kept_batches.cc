#include "gym/app/kept_batches.h"

#include <algorithm>
#include <utility>

namespace msc::gym {

void KeptBatches::Add(std::vector<Tensor> batch) {
  std::size_t bytes = 0;
  for (const Tensor& tensor : batch) bytes += tensor.bytes();
  const bool texts = std::any_of(batch.begin(), batch.end(), [](const Tensor& tensor) {
    return tensor.dtype() == DType::kString;
  });
  if (texts || in_memory_ + bytes <= most_) {
    in_memory_ += bytes;
    batches_.push_back({.tensors = std::move(batch), .places = {}});
    return;
  }
  if (file_ == nullptr) file_ = std::make_unique<ScratchFile>();
  Batch kept;
  for (const Tensor& tensor : batch) {
    kept.places.push_back({tensor.dtype(), tensor.dims(), end_});
    const auto raw = tensor.Raw();
    file_->Write(end_, raw);
    end_ += raw.size();
  }
  batches_.push_back(std::move(kept));
}

std::vector<Tensor> KeptBatches::Get(std::size_t batch) const {
  const Batch& kept = batches_.at(batch);
  if (kept.places.empty()) return kept.tensors;
  std::vector<Tensor> tensors;
  for (const Place& place : kept.places) {
    Tensor tensor(place.dtype, place.dims);
    file_->Read(place.offset, tensor.MutableRaw());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::int64_t KeptBatches::Samples(std::size_t batch) const {
  const Batch& kept = batches_.at(batch);
  return (kept.places.empty() ? kept.tensors.at(0).dims() : kept.places.at(0).dims).at(0);
}

}  // namespace msc::gym
