#include "compiler/ir/sample_axes.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "compiler/base/error.h"

namespace msc {
namespace {

constexpr std::string_view kWhole = "whole";
constexpr std::string_view kShared = "shared";

/// Returns a copy with other dims of the same elements, without a copy of these where none change.
Tensor WithDims(Tensor tensor, Dims dims) {
  if (tensor.dims() == dims) return tensor;
  return tensor.Reshaped(std::move(dims));
}

Tensor FirstRow(const Tensor& rows) {
  Dims dims(rows.dims().begin() + 1, rows.dims().end());
  Tensor row(rows.dtype(), std::move(dims));
  if (row.bytes() > 0) std::memcpy(row.MutableRaw().data(), rows.Raw().data(), row.bytes());
  return row;
}

}  // namespace

std::string ToString(const SampleAxis& axis) {
  switch (axis.counting) {
    case SampleCounting::kWhole:
      return "one sample for each call";
    case SampleCounting::kShared:
      return "the same for all samples";
    case SampleCounting::kAlong:
      break;
  }
  return "along axis " + std::to_string(axis.axis);
}

bool SampleLayout::OneByOne() const {
  const auto whole = [](const SampleAxis& axis) { return axis.counting == SampleCounting::kWhole; };
  return std::ranges::any_of(inputs, whole) || std::ranges::any_of(outputs, whole);
}

SampleAxis SampleAxisOf(const Graph& graph, ValueId value) {
  const auto it = graph.metadata().find(std::string(kSampleAxisKey) + graph.value(value).name);
  if (it == graph.metadata().end()) return {};
  const std::string& text = it->second;
  if (text == kWhole) return {.counting = SampleCounting::kWhole};
  if (text == kShared) return {.counting = SampleCounting::kShared};
  SampleAxis along;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), along.axis);
  if (error != std::errc() || end != text.data() + text.size() || along.axis < 0) {
    throw UserError("'" + it->first + "' in the graph's metadata is '" + text +
                    "', which is no axis of samples");
  }
  return along;
}

void SetSampleAxis(Graph& graph, ValueId value, const SampleAxis& axis) {
  // What is the rule needs no entry: most graphs stay as they were.
  if (SampleAxisOf(graph, value) == axis) return;
  graph.SetMetadata(std::string(kSampleAxisKey) + graph.value(value).name,
                    axis.counting == SampleCounting::kWhole    ? std::string(kWhole)
                    : axis.counting == SampleCounting::kShared ? std::string(kShared)
                                                               : std::to_string(axis.axis));
}

SampleLayout LayoutOf(const Graph& graph) {
  SampleLayout layout;
  for (const ValueId id : graph.inputs()) layout.inputs.push_back(SampleAxisOf(graph, id));
  for (const ValueId id : graph.outputs()) layout.outputs.push_back(SampleAxisOf(graph, id));
  return layout;
}

Tensor MoveAxis(const Tensor& tensor, std::size_t from, std::size_t to) {
  const Dims& dims = tensor.dims();
  Check(from < dims.size() && to < dims.size(), "the tensor has both axes");
  if (from == to) return tensor;
  // The axes between both places move by one: the tensor is [outer, a, b, inner] and becomes
  // [outer, b, a, inner].
  const std::size_t low = std::min(from, to);
  const std::size_t high = std::max(from, to);
  const auto product = [](std::span<const std::int64_t> sizes) {
    return static_cast<std::size_t>(
        std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>()));
  };
  const std::span<const std::int64_t> all(dims);
  const std::size_t outer = product(all.first(low));
  const std::size_t middle = product(all.subspan(low, high - low + 1));
  const auto moved = static_cast<std::size_t>(dims[from]);
  const std::size_t others = moved == 0 ? 0 : middle / moved;
  const std::size_t a = from < to ? moved : others;
  const std::size_t b = from < to ? others : moved;
  const std::size_t bytes = product(all.subspan(high + 1)) * ByteSize(tensor.dtype());
  Dims turned = dims;
  const auto first = turned.begin();
  const auto at = [&](std::size_t axis) { return first + static_cast<std::ptrdiff_t>(axis); };
  if (from < to) {
    std::rotate(at(from), at(from + 1), at(to + 1));
  } else {
    std::rotate(at(to), at(from), at(from + 1));
  }
  Tensor out(tensor.dtype(), std::move(turned));
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t i = 0; i < a; ++i) {
      for (std::size_t j = 0; j < b && bytes > 0; ++j) {
        std::memcpy(out.MutableRaw().data() + ((o * b + j) * a + i) * bytes,
                    tensor.Raw().data() + ((o * a + i) * b + j) * bytes, bytes);
      }
    }
  }
  return out;
}

std::vector<Tensor> InputsOfRows(const SampleLayout& layout, std::vector<Tensor> rows) {
  Check(rows.size() == layout.inputs.size(), "every input of the model has rows");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SampleAxis& axis = layout.inputs[i];
    if (axis.counting == SampleCounting::kShared) {
      rows[i] = FirstRow(rows[i]);
    } else if (axis.counting == SampleCounting::kWhole) {
      Check(rows[i].dims().at(0) == 1, "a call takes one sample");
      Dims dims(rows[i].dims().begin() + 1, rows[i].dims().end());
      rows[i] = WithDims(std::move(rows[i]), std::move(dims));
    } else if (axis.axis > 0) {
      rows[i] = MoveAxis(rows[i], 0, static_cast<std::size_t>(axis.axis));
    }
  }
  return rows;
}

std::vector<Tensor> RowsOfOutputs(const SampleLayout& layout, std::vector<Tensor> outputs) {
  Check(outputs.size() == layout.outputs.size(), "every output of the model is there");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const SampleAxis& axis = layout.outputs[i];
    const Dims& dims = outputs[i].dims();
    if (axis.counting == SampleCounting::kWhole) {
      Dims row = {1};
      row.insert(row.end(), dims.begin(), dims.end());
      outputs[i] = WithDims(std::move(outputs[i]), std::move(row));
      continue;
    }
    if (axis.axis >= std::ssize(dims)) {
      throw UserError("output " + std::to_string(i) + " has shape " + ToString(dims) +
                      " and no axis " + std::to_string(axis.axis) + " to count samples along");
    }
    if (axis.axis > 0) outputs[i] = MoveAxis(outputs[i], static_cast<std::size_t>(axis.axis), 0);
  }
  return outputs;
}

}  // namespace msc
