#include "compiler/import/onnx/small_values.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "compiler/base/error.h"

namespace msc::detail {
namespace {

constexpr std::int64_t kMostElements = 4096;

/// Returns what Shape gives for a type; nothing if a size is open.
TensorPtr SizesOf(const Node& node, const ValueType& type) {
  if (!type.shape) return nullptr;
  const auto rank = static_cast<std::int64_t>(type.shape->size());
  const auto bound = [&](const char* name, std::int64_t otherwise) {
    const auto it = node.attrs.find(name);
    const auto* given = it == node.attrs.end() ? nullptr : std::get_if<std::int64_t>(&it->second);
    const std::int64_t at = given == nullptr ? otherwise : *given;
    return std::clamp(at < 0 ? at + rank : at, std::int64_t{0}, rank);
  };
  std::vector<std::int64_t> sizes;
  const std::int64_t end = bound("end", rank);
  for (std::int64_t i = bound("start", 0); i < end; ++i) {
    const Dim& dim = (*type.shape)[static_cast<std::size_t>(i)];
    if (!dim.known()) return nullptr;
    sizes.push_back(dim.size());
  }
  const auto count = static_cast<std::int64_t>(sizes.size());
  return std::make_shared<const Tensor>(Tensor::From<std::int64_t>(DType::kI64, {count}, sizes));
}

/// Returns what Size gives for a type; nothing if a size is open.
TensorPtr ElementsOf(const ValueType& type) {
  if (!type.shape) return nullptr;
  std::int64_t count = 1;
  for (const Dim& dim : *type.shape) {
    if (!dim.known() || __builtin_mul_overflow(count, dim.size(), &count)) return nullptr;
  }
  return std::make_shared<const Tensor>(
      Tensor::From<std::int64_t>(DType::kI64, {}, std::span<const std::int64_t>(&count, 1)));
}

}  // namespace

TensorPtr SmallValues::Find(ValueId id) const {
  if (id == kNoValue) return nullptr;
  const auto it = values_.find(id);
  return it == values_.end() ? graph_.constant(id) : it->second;
}

bool SmallValues::IsSmall(ValueId id) const {
  const ValueType& type = graph_.type(id);
  if (!type.shape || type.dtype == DType::kUndefined) return false;
  std::int64_t elements = 1;
  for (const Dim& dim : *type.shape) {
    if (!dim.known() || dim.size() > kMostElements) return false;
    elements *= dim.size();
    if (elements > kMostElements) return false;
  }
  return true;
}

void SmallValues::Add(NodeId id, const OpRegistry& ops) {
  const Node& node = graph_.node(id);
  if (node.op == "Size" && node.inputs.size() == 1) {
    if (TensorPtr count = ElementsOf(graph_.type(node.inputs[0]))) {
      values_[node.outputs.at(0)] = std::move(count);
    }
    return;
  }
  if (node.op == "Shape" && node.inputs.size() == 1) {
    if (TensorPtr sizes = SizesOf(node, graph_.type(node.inputs[0]))) {
      values_[node.outputs.at(0)] = std::move(sizes);
    }
    return;
  }
  std::vector<TensorPtr> known;
  std::vector<const Tensor*> inputs;
  for (const ValueId input : node.inputs) {
    TensorPtr value = Find(input);
    if (input != kNoValue && (value == nullptr || value->size() > kMostElements)) return;
    inputs.push_back(value.get());
    known.push_back(std::move(value));
  }
  for (const ValueId output : node.outputs) {
    if (output != kNoValue && !IsSmall(output)) return;
  }
  try {
    std::vector<Tensor> outputs = ops.Get(node).eval(node, inputs);
    for (std::size_t i = 0; i < node.outputs.size() && i < outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue) continue;
      values_[node.outputs[i]] = std::make_shared<const Tensor>(std::move(outputs[i]));
    }
  } catch (const UserError&) {
    // What cannot be computed is not known; the run says why.
  }
}

}  // namespace msc::detail
