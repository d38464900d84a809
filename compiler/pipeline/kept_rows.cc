#include "compiler/pipeline/kept_rows.h"

namespace msc {

void KeptRows::Start(std::size_t layers) {
  places_.assign(layers, {});
  end_ = 0;
}

void KeptRows::Add(std::size_t layer, std::span<const float> rows) {
  places_.at(layer).push_back({end_, rows.size()});
  file_.Write(end_, std::as_bytes(rows));
  end_ += rows.size_bytes();
}

std::vector<float> KeptRows::Get(std::size_t layer, std::size_t batch) const {
  const Place& place = places_.at(layer).at(batch);
  std::vector<float> rows(place.count);
  file_.Read(place.offset, std::as_writable_bytes(std::span(rows)));
  return rows;
}

}  // namespace msc
