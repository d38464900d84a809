#include "compiler/import/onnx/tensor_bytes.h"

#include "compiler/base/error.h"

namespace msc::detail {
namespace {

/// Smaller tensors are copied: the importer itself reads small ones, and a page holds several.
constexpr std::uint64_t kLeastMapped = std::uint64_t{64} << 10U;
constexpr std::uint64_t kAlignment = 64;  // of Tensor

}  // namespace

void TensorBytes::Count(std::uint64_t bytes) {
  // No file needs more, but a function may be called many times, and a sparse tensor be mostly
  // zeros.
  const std::uint64_t limit =
      options_.limits.decoded_factor * model_.size() + options_.limits.decoded_extra;
  copied_ += bytes;
  if (copied_ > limit) {
    throw UserError("the tensors take more than " + std::to_string(limit) +
                    " bytes in all, for a file of " + std::to_string(model_.size()));
  }
}

Tensor TensorBytes::Read(RawPlace place, DType dtype, Dims dims) {
  Count(place.length);
  Tensor tensor(dtype, std::move(dims));
  model_.Read(place.offset, tensor.MutableRaw());
  return tensor;
}

Tensor TensorBytes::ReadExternal(ExternalPlace place, DType dtype, Dims dims) {
  external_ += place.length;
  if (external_ > options_.limits.tensor_bytes) {
    throw UserError("the model takes external data past " +
                    std::to_string(options_.limits.tensor_bytes) + " bytes in all");
  }
  const std::uint64_t offset = place.offset;
  const std::uint64_t length = place.length;
  const ExternalFile file(options_.external_folder, std::move(place));
  const bool may_map = options_.external_data == ExternalStorage::kMapped && dtype != DType::kBool;
  if (may_map && length >= kLeastMapped && offset % kAlignment == 0) {
    const std::shared_ptr<const MappedFile> map = Map(file);
    if (map != nullptr && offset <= map->bytes().size() && length <= map->bytes().size() - offset) {
      const auto bytes =
          map->bytes().subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
      return Tensor::View(dtype, std::move(dims), bytes, map);
    }
  }
  Tensor tensor(dtype, std::move(dims));
  file.Read(tensor.MutableRaw());
  return tensor;
}

std::shared_ptr<const MappedFile> TensorBytes::Map(const ExternalFile& file) {
  std::shared_ptr<const MappedFile>& map = maps_[file.Identity()];
  if (map == nullptr) map = file.Map();
  return map;
}

}  // namespace msc::detail
