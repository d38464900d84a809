#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/hash.h"
#include "compiler/base/parallel.h"
#include "compiler/ir/element.h"
#include "compiler/ir/hex.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/serialize_format.h"

namespace msc {
namespace {

using nlohmann::json;

/// JSON strings are UTF-8; names and attributes may hold any bytes.
json Text(const std::string& text) {
  json value = text;
  try {
    (void)value.dump();
    return value;
  } catch (const json::type_error&) {
    return {{"hex", detail::HexOf(std::as_bytes(std::span(text)))}};
  }
}

json TypeJson(const ValueType& type) {
  json written = {{"dtype", Name(type.dtype)}, {"shape", nullptr}};
  if (type.shape) {
    json& dims = written["shape"] = json::array();
    for (const Dim& dim : *type.shape) {
      if (dim.known()) {
        dims.push_back(dim.size());
      } else {
        dims.push_back(dim.symbol().empty() ? json() : Text(dim.symbol()));
      }
    }
  }
  if (!type.layout.empty()) written["layout"] = Text(type.layout);
  if (type.container != Container::kTensor) {
    written["container"] = detail::kContainers.at(static_cast<std::size_t>(type.container));
  }
  return written;
}

std::string TensorDigest(const Tensor& tensor) {
  Sha256 hash;
  if (tensor.dtype() == DType::kString) {
    for (const std::string& text : tensor.strings()) {
      hash.Add(std::to_string(text.size()) + ":");
      hash.Add(text);
    }
  } else {
    hash.Add(tensor.Raw());
  }
  return hash.Hex();
}

/// How a graph's JSON names a tensor.
using TensorRef = std::function<json(const Tensor&)>;

enum class Purpose : std::uint8_t { kStore, kHash };

class GraphWriter {
 public:
  GraphWriter(TensorRef tensor_ref, Purpose purpose)
      : tensor_ref_(std::move(tensor_ref)), purpose_(purpose) {}

  [[nodiscard]] json Write(const Graph& graph) const {
    json written = {{"inputs", json::array()},
                    {"captured", json::array()},
                    {"constants", json::array()},
                    {"nodes", json::array()},
                    {"outputs", Names(graph, graph.outputs())}};
    if (purpose_ == Purpose::kStore) {
      written["name"] = Text(graph.name());
      json& metadata = written["metadata"] = json::array();
      for (const auto& [key, value] : graph.metadata()) {
        metadata.push_back({Text(key), Text(value)});
      }
    }
    for (const ValueId id : graph.inputs()) written["inputs"].push_back(Typed(graph, id));
    for (const ValueId id : graph.captured()) written["captured"].push_back(Typed(graph, id));
    std::vector<ValueId> constants = graph.constants();
    if (purpose_ == Purpose::kHash) {
      std::sort(constants.begin(), constants.end(),
                [&](ValueId a, ValueId b) { return graph.value(a).name < graph.value(b).name; });
    }
    for (const ValueId id : constants) {
      json constant = {{"name", Text(graph.value(id).name)},
                       {"tensor", tensor_ref_(*graph.constant(id))}};
      if (!graph.type(id).layout.empty()) constant["layout"] = Text(graph.type(id).layout);
      written["constants"].push_back(std::move(constant));
    }
    for (const NodeId id : graph.order()) written["nodes"].push_back(WriteNode(graph, id));
    return written;
  }

  // Attributes, by kind.
  json operator()(std::int64_t value) const { return value; }
  json operator()(float value) const { return detail::FloatText(value); }
  json operator()(const std::string& value) const { return Text(value); }
  json operator()(const TensorPtr& tensor) const {
    Check(tensor != nullptr, "a stored graph is verified");
    return tensor_ref_(*tensor);
  }
  json operator()(const GraphPtr& graph) const {
    Check(graph != nullptr, "a stored graph is verified");
    return Write(*graph);
  }
  template <class T>
  json operator()(const std::vector<T>& list) const {
    json written = json::array();
    for (const T& item : list) written.push_back((*this)(item));
    return written;
  }

 private:
  static json Names(const Graph& graph, const std::vector<ValueId>& ids) {
    json names = json::array();
    for (const ValueId id : ids) {
      names.push_back(id == kNoValue ? json() : Text(graph.value(id).name));
    }
    return names;
  }

  static json Typed(const Graph& graph, ValueId id) {
    if (id == kNoValue) return nullptr;
    return {{"name", Text(graph.value(id).name)}, {"type", TypeJson(graph.type(id))}};
  }

  [[nodiscard]] json WriteNode(const Graph& graph, NodeId id) const {
    const Node& node = graph.node(id);
    json written = {{"name", Text(node.name)},
                    {"op", Text(node.op)},
                    {"domain", Text(node.domain)},
                    {"inputs", Names(graph, node.inputs)},
                    {"captures", Names(graph, node.captures)},
                    {"outputs", json::array()},
                    {"attrs", json::array()}};
    for (const ValueId output : node.outputs) written["outputs"].push_back(Typed(graph, output));
    for (const auto& [name, attr] : node.attrs) {
      written["attrs"].push_back({{"name", Text(name)},
                                  {"kind", detail::kAttrKinds.at(attr.index())},
                                  {"value", std::visit(*this, attr)}});
    }
    return written;
  }

  TensorRef tensor_ref_;
  Purpose purpose_;
};

/// A copy whose names tell the order of things and nothing else.
Graph Renamed(const Graph& graph) {
  Graph copy;
  std::map<ValueId, ValueId> copies;
  const auto next = [&] { return "v" + std::to_string(copies.size()); };
  for (const ValueId id : graph.inputs()) {
    const std::string name = next();
    copies[id] = copy.AddInput(name, graph.type(id));
  }
  const auto read = [&](ValueId id) {
    if (id == kNoValue) return id;
    if (const auto it = copies.find(id); it != copies.end()) return it->second;
    const TensorPtr constant = graph.constant(id);
    Check(constant != nullptr, "a graph whose structure counts stands for itself");
    const std::string name = next();
    return copies[id] = copy.AddConstant(name, constant, graph.type(id).layout);
  };
  for (const NodeId id : graph.order()) {
    Node node = graph.node(id);
    node.name = "n" + std::to_string(copy.order().size());
    Check(node.captures.empty(), "no nested graph knows a value by its name");
    for (ValueId& input : node.inputs) input = read(input);
    for (ValueId& output : node.outputs) {
      if (output == kNoValue) continue;
      const std::string name = next();
      const ValueId of = output;
      output = copies[of] = copy.AddValue(name, graph.type(of));
    }
    copy.AddNode(std::move(node));
  }
  for (const ValueId id : graph.outputs()) copy.AddOutput(read(id));
  return copy;
}

/// Whether a scale's value changes no more than results: lowering asks whether scales are equal, or
/// 1, or whether they might overflow.
bool IsUsualScale(const Tensor& scale) {
  if (scale.dtype() != DType::kF32) return false;
  const auto values = scale.Values<float>();
  return std::all_of(values.begin(), values.end(), [](float value) {
    return value >= std::numeric_limits<float>::min() &&
           value <= std::numeric_limits<float>::max() / 512.0F && value != 1.0F;
  });
}

/// Numbers of the tensors that are read as scales of QuantizeLinear and DequantizeLinear alone, in
/// the order in which nodes name them: equal ones have the same number.
std::map<const Tensor*, std::size_t> NumberScales(const Graph& graph) {
  constexpr std::size_t kScale = 1;
  std::map<const Tensor*, std::size_t> numbers;
  std::map<std::string, std::size_t> known;
  std::set<const Tensor*> others;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const bool narrows = node.Is("QuantizeLinear") || node.Is("DequantizeLinear");
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue) continue;
      const TensorPtr tensor = graph.constant(node.inputs[i]);
      if (tensor == nullptr) continue;
      if (narrows && i == kScale && IsUsualScale(*tensor)) {
        const std::string value = ToString(tensor->dims()) + TensorDigest(*tensor);
        numbers.emplace(tensor.get(), known.emplace(value, known.size()).first->second);
      } else {
        others.insert(tensor.get());
      }
    }
  }
  for (const ValueId id : graph.outputs()) others.insert(graph.constant(id).get());
  for (const Tensor* tensor : others) numbers.erase(tensor);
  return numbers;
}

/// Collects tensors, equal ones once.
class TensorTable {
 public:
  explicit TensorTable(TensorDigests& digests) : digests_(digests) {}

  std::size_t Add(const Tensor& tensor) {
    const std::string& digest = digests_.Of(tensor);
    const auto [it, is_new] = known_.emplace(
        std::string(Name(tensor.dtype())) + ToString(tensor.dims()) + digest, list_.size());
    if (!is_new) return it->second;
    json entry = {{"dtype", Name(tensor.dtype())}, {"dims", tensor.dims()}};
    if (tensor.dtype() == DType::kString) {
      json& strings = entry["strings"] = json::array();
      for (const std::string& text : tensor.strings()) strings.push_back(Text(text));
    } else {
      const auto raw = tensor.Raw();
      weights_.resize(detail::AlignUp(weights_.size()), '\0');
      entry["offset"] = weights_.size();
      entry["bytes"] = raw.size();
      entry["sha256"] = digest;
      weights_.append(reinterpret_cast<const char*>(raw.data()), raw.size());
    }
    list_.push_back(std::move(entry));
    return it->second;
  }

  [[nodiscard]] json TakeList() { return std::move(list_); }
  [[nodiscard]] std::string TakeWeights() { return std::move(weights_); }

 private:
  TensorDigests& digests_;
  std::map<std::string, std::size_t> known_;
  json list_ = json::array();
  std::string weights_;
};

}  // namespace

void TensorDigests::Add(const Graph& graph) {
  std::vector<std::pair<const Tensor*, std::string>> missing;
  std::set<const Tensor*> seen;
  for (const ValueId id : graph.constants()) {
    const Tensor* const tensor = graph.constant(id).get();
    if (!known_.contains(tensor) && seen.insert(tensor).second) missing.emplace_back(tensor, "");
  }
  std::stable_sort(missing.begin(), missing.end(), [](const auto& a, const auto& b) {
    return a.first->bytes() > b.first->bytes();
  });
  ForEachOnThreads(CoreCount(), missing.size(),
                   [&](std::size_t i) { missing[i].second = TensorDigest(*missing[i].first); });
  for (auto& [tensor, digest] : missing) known_.emplace(tensor, std::move(digest));
}

const std::string& TensorDigests::Of(const Tensor& tensor) {
  const auto [it, is_new] = known_.try_emplace(&tensor);
  if (is_new) it->second = TensorDigest(tensor);
  return it->second;
}

GraphFiles ToFiles(const Graph& graph) {
  TensorDigests digests;
  return ToFiles(graph, digests);
}

GraphFiles ToFiles(const Graph& graph, TensorDigests& digests) {
  digests.Add(graph);
  TensorTable tensors(digests);
  const GraphWriter writer([&](const Tensor& tensor) { return tensors.Add(tensor); },
                           Purpose::kStore);
  json root = {{"format", detail::kGraphFormat}, {"graph", writer.Write(graph)}};
  root["tensors"] = tensors.TakeList();
  return {.json = root.dump(1) + "\n", .weights = tensors.TakeWeights()};
}

std::string GraphHash(const Graph& graph) {
  TensorDigests digests;
  return GraphHash(graph, digests);
}

std::string GraphHash(const Graph& graph, TensorDigests& digests) {
  digests.Add(graph);
  const GraphWriter writer(
      [&](const Tensor& tensor) {
        return std::string(Name(tensor.dtype())) + ToString(tensor.dims()) + digests.Of(tensor);
      },
      Purpose::kHash);
  return Sha256Hex(writer.Write(graph).dump());
}

std::string StructureHash(const Graph& graph) {
  // Parameters of operators are shorter: the longest are the bounds of Resize's region.
  constexpr std::int64_t kWeights = 16;
  const std::map<const Tensor*, std::size_t> scales = NumberScales(graph);
  const GraphWriter writer(
      [&](const Tensor& tensor) {
        const DType dtype = tensor.dtype();
        const bool weights = ElementCount(tensor.dims()) > kWeights && dtype != DType::kI64 &&
                             dtype != DType::kBool && dtype != DType::kString;
        const std::string type = std::string(Name(dtype)) + ToString(tensor.dims());
        if (const auto it = scales.find(&tensor); it != scales.end()) {
          return type + " scale " + std::to_string(it->second);
        }
        return type + (weights ? "" : TensorDigest(tensor));
      },
      Purpose::kHash);
  return Sha256Hex(writer.Write(Renamed(graph)).dump());
}

}  // namespace msc
