#include "compiler/pipeline/batch.h"

#include <cstring>
#include <string>

#include "compiler/base/error.h"
#include "compiler/base/formatted.h"
#include "compiler/ir/sample_axes.h"

namespace msc {
namespace {

/// Returns the rows of all tensors, in order; there is at least one.
Tensor JoinRows(std::span<const Tensor> parts) {
  Check(!parts.empty(), "there is something to join");
  Dims dims = parts[0].dims();
  dims.at(0) = 0;
  for (const Tensor& part : parts) dims[0] += part.dims().at(0);
  Tensor joined(parts[0].dtype(), dims);
  std::size_t at = 0;
  for (const Tensor& part : parts) {
    Check(at + part.bytes() <= joined.bytes(), "parts have rows of one size");
    if (part.bytes() == 0) continue;
    std::memcpy(joined.MutableRaw().data() + at, part.Raw().data(), part.bytes());
    at += part.bytes();
  }
  return joined;
}

/// Returns the dimension that counts samples; nullptr if it is not known that there is one.
const Dim* DimAlong(const ValueType& type, const SampleAxis& along) {
  const bool has = along.counting == SampleCounting::kAlong && type.shape &&
                   along.axis < std::ssize(*type.shape);
  return has ? &(*type.shape)[static_cast<std::size_t>(along.axis)] : nullptr;
}

}  // namespace

Tensor Rows(const Tensor& tensor, std::int64_t first, std::int64_t count) {
  const bool fits = !tensor.dims().empty() && first >= 0 && count >= 0 &&
                    first <= tensor.dims()[0] && count <= tensor.dims()[0] - first;
  if (!fits) {
    throw UserError("samples " + std::to_string(first) + " to " + std::to_string(first + count) +
                    " are not all in a tensor of shape " + ToString(tensor.dims()));
  }
  Dims dims = tensor.dims();
  const std::size_t row_bytes =
      dims[0] == 0 ? 0 : tensor.bytes() / static_cast<std::size_t>(dims[0]);
  dims[0] = count;
  Tensor rows(tensor.dtype(), dims);
  if (rows.bytes() > 0) {
    std::memcpy(rows.MutableRaw().data(),
                tensor.Raw().data() + static_cast<std::size_t>(first) * row_bytes, rows.bytes());
  }
  return rows;
}

std::vector<Tensor> JoinBatches(const std::vector<std::vector<Tensor>>& batches) {
  std::vector<Tensor> joined;
  for (std::size_t i = 0; !batches.empty() && i < batches[0].size(); ++i) {
    std::vector<Tensor> parts;
    for (const std::vector<Tensor>& batch : batches) parts.push_back(batch[i]);
    joined.push_back(JoinRows(parts));
  }
  return joined;
}

std::optional<std::int64_t> FixedBatch(const Graph& graph) {
  if (graph.inputs().empty()) throw UserError("the model has no input");
  if (LayoutOf(graph).OneByOne()) return 1;
  for (const ValueId id : graph.inputs()) {
    const SampleAxis along = SampleAxisOf(graph, id);
    if (along.counting != SampleCounting::kAlong) continue;
    const Dim* dim = DimAlong(graph.type(id), along);
    if (dim == nullptr || !dim->known()) return std::nullopt;
    return dim->size();
  }
  return std::nullopt;
}

std::int64_t BatchSize(const Graph& graph, std::int64_t wanted) {
  return FixedBatch(graph).value_or(wanted);
}

std::int64_t EvenBatch(std::int64_t count, std::int64_t most) {
  if (count <= most) return count;
  // Batches of one size need one executable, and a smaller last batch would need a second one.
  for (std::int64_t batch = most; 2 * batch >= most; --batch) {
    if (count % batch == 0) return batch;
  }
  return most;
}

ShapeBindings BatchBindings(const Graph& graph, std::int64_t batch) {
  ShapeBindings bindings;
  for (const ValueId id : graph.inputs()) {
    const Dim* dim = DimAlong(graph.type(id), SampleAxisOf(graph, id));
    if (dim != nullptr && !dim->symbol().empty()) bindings[dim->symbol()] = batch;
  }
  return bindings;
}

namespace {

/// Returns "1x3xH" for these sizes, and adds the symbols that have none to `open`.
std::string SizesText(const Shape& shape, const ShapeBindings& bindings,
                      std::vector<std::string>& open) {
  std::string sizes;
  for (const Dim& dim : shape) {
    const auto bound = bindings.find(dim.symbol());
    if (!sizes.empty()) sizes += 'x';
    if (dim.known()) {
      sizes += std::to_string(dim.size());
    } else if (bound != bindings.end()) {
      sizes += std::to_string(bound->second);
    } else {
      sizes += dim.symbol();
      open.push_back("'" + dim.symbol() + "'");
    }
  }
  return sizes;
}

}  // namespace

std::string OpenSizesText(const Graph& graph, const ShapeBindings& bindings) {
  std::string text;
  for (const ValueId id : graph.inputs()) {
    const ValueType& type = graph.type(id);
    if (!type.shape) continue;
    std::vector<std::string> open;
    const std::string sizes = SizesText(*type.shape, bindings, open);
    if (open.empty()) continue;
    std::string names = open[0];
    for (std::size_t i = 1; i < open.size(); ++i) {
      names += i + 1 < open.size() ? ", " : " and ";
      names += open[i];
    }
    const std::string& name = graph.value(id).name;
    if (!text.empty()) text += "; ";
    text +=
        Formatted("input '%s' %s leaves %s open; give all of its sizes by --shape %s=%s",
                  name.c_str(), ToString(type).c_str(), names.c_str(), name.c_str(), sizes.c_str());
  }
  return text;
}

ShapeBindings BindingsFor(const Graph& graph, std::span<const Tensor> inputs) {
  ShapeBindings bindings;
  for (std::size_t i = 0; i < inputs.size() && i < graph.inputs().size(); ++i) {
    const auto& shape = graph.type(graph.inputs()[i]).shape;
    if (!shape || shape->size() != inputs[i].dims().size()) continue;
    for (std::size_t axis = 0; axis < shape->size(); ++axis) {
      const Dim& dim = (*shape)[axis];
      if (!dim.known() && !dim.symbol().empty()) bindings[dim.symbol()] = inputs[i].dims()[axis];
    }
  }
  return bindings;
}

}  // namespace msc
