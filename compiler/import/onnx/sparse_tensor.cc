#include "compiler/import/onnx/sparse_tensor.h"

#include <cstring>
#include <utility>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/base/error.h"
#include "compiler/import/onnx/tensor_proto.h"

namespace msc::detail {
namespace {

[[noreturn]] void Reject(const std::string& what, const std::string& why) {
  throw UserError(what + " " + why);
}

/// Returns the sizes, after checking them as those of any tensor.
Dims DimsOf(const onnx::SparseTensorProto& proto, const std::string& what,
            const ImportLimits& limits) {
  if (static_cast<std::uint64_t>(proto.dims_size()) > limits.rank) {
    Reject(what, "has " + std::to_string(proto.dims_size()) + " dimensions; at most " +
                     std::to_string(limits.rank) + " are read");
  }
  Dims dims;
  std::int64_t elements = 1;
  for (const std::int64_t dim : proto.dims()) {
    if (dim < 0) Reject(what, "has a negative size " + std::to_string(dim));
    const bool large = dim > limits.dim || __builtin_mul_overflow(elements, dim, &elements) ||
                       elements > limits.elements;
    if (large) Reject(what, "is too large: size " + std::to_string(dim));
    dims.push_back(dim);
  }
  return dims;
}

/// Returns the positions of the values in the whole tensor.
std::vector<std::int64_t> PositionsOf(const Tensor& indices, const Dims& dims, std::int64_t count,
                                      const std::string& what) {
  const auto rank = std::ssize(dims);
  const bool linear = indices.dims() == Dims{count};
  if (indices.dtype() != DType::kI64 || !(linear || indices.dims() == Dims{count, rank})) {
    Reject(what, "needs indices of type i64 and shape [" + std::to_string(count) + "] or [" +
                     std::to_string(count) + "," + std::to_string(rank) + "]");
  }
  const auto given = indices.Values<std::int64_t>();
  const std::int64_t elements = ElementCount(dims);
  std::vector<std::int64_t> positions;
  positions.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t position = 0;
    for (std::int64_t axis = 0; axis < (linear ? 1 : rank); ++axis) {
      const std::int64_t size = linear ? elements : dims[static_cast<std::size_t>(axis)];
      const std::int64_t index = given[static_cast<std::size_t>(i * (linear ? 1 : rank) + axis)];
      if (index < 0 || index >= size) {
        Reject(what,
               "has index " + std::to_string(index) + " where there are " + std::to_string(size));
      }
      position = position * size + index;
    }
    if (!positions.empty() && position <= positions.back()) {
      Reject(what, "has indices that do not increase");
    }
    positions.push_back(position);
  }
  return positions;
}

}  // namespace

Tensor ReadSparseTensor(const onnx::SparseTensorProto& proto, const std::string& what,
                        const SourceOptions& options) {
  Dims dims = DimsOf(proto, what, options.limits);
  const Tensor values = ReadTensorProto(proto.values(), what + ": its values", options);
  const Tensor indices = ReadTensorProto(proto.indices(), what + ": its indices", options);
  if (values.dims().size() != 1) Reject(what, "needs a list of values");
  const auto positions = PositionsOf(indices, dims, values.size(), what);
  const auto elements = static_cast<std::uint64_t>(ElementCount(dims));
  const std::uint64_t bytes = elements * ByteSize(values.dtype());
  if (bytes > options.limits.tensor_bytes) {
    Reject(what, "is too large: " + std::to_string(bytes) + " bytes");
  }
  Check(options.bytes != nullptr, "the bytes of a model's tensors are known");
  options.bytes->Count(bytes);
  Tensor tensor(values.dtype(), std::move(dims));
  if (values.dtype() == DType::kString) {
    for (std::size_t i = 0; i < positions.size(); ++i) {
      tensor.mutable_strings()[static_cast<std::size_t>(positions[i])] = values.strings()[i];
    }
    return tensor;
  }
  const std::size_t size = ByteSize(values.dtype());
  const auto from = values.Raw();
  const auto to = tensor.MutableRaw();
  std::memset(to.data(), 0, to.size());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    std::memcpy(to.data() + static_cast<std::size_t>(positions[i]) * size, from.data() + i * size,
                size);
  }
  return tensor;
}

}  // namespace msc::detail
