#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/hash.h"
#include "compiler/base/parallel.h"
#include "compiler/ir/element.h"
#include "compiler/ir/hex.h"
#include "compiler/ir/narrow.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/serialize_format.h"

namespace msc {
namespace {

using nlohmann::json;

/// Converts a string to JSON. JSON strings must be UTF-8, but names and attributes may hold any
/// bytes; those become {"hex": ...}.
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

/// Function that returns the JSON reference to a tensor.
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
      written["constants"].push_back(
          {{"name", Text(graph.value(id).name)}, {"tensor", tensor_ref_(*graph.constant(id))}});
    }
    for (const NodeId id : graph.order()) written["nodes"].push_back(WriteNode(graph, id));
    return written;
  }

  // Attributes, by type.
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

/// Returns a copy in which names depend only on the order of nodes and values, but for the values
/// that nested graphs know by their names.
Graph Renamed(const Graph& graph) {
  std::set<std::string> kept;
  for (const NodeId id : graph.order()) {
    for (const ValueId captured : graph.node(id).captures) kept.insert(graph.value(captured).name);
  }
  Graph copy;
  std::map<ValueId, ValueId> copies;
  const auto name_of = [&](ValueId id) {
    if (kept.contains(graph.value(id).name)) return graph.value(id).name;
    std::string name = "v" + std::to_string(copies.size());
    while (kept.contains(name)) name += "_";
    return name;
  };
  for (const ValueId id : graph.inputs()) {
    const std::string name = name_of(id);
    copies[id] = copy.AddInput(name, graph.type(id));
  }
  const auto read = [&](ValueId id) {
    if (id == kNoValue) return id;
    if (const auto it = copies.find(id); it != copies.end()) return it->second;
    const TensorPtr constant = graph.constant(id);
    Check(constant != nullptr, "a graph whose structure counts stands for itself");
    const std::string name = name_of(id);
    return copies[id] = copy.AddConstant(name, constant);
  };
  for (const NodeId id : graph.order()) {
    Node node = graph.node(id);
    node.name = "n" + std::to_string(copy.order().size());
    for (ValueId& input : node.inputs) input = read(input);
    for (ValueId& captured : node.captures) captured = read(captured);
    for (ValueId& output : node.outputs) {
      if (output == kNoValue) continue;
      const std::string name = name_of(output);
      const ValueId of = output;
      output = copies[of] = copy.AddValue(name, graph.type(of));
    }
    copy.AddNode(std::move(node));
  }
  for (const ValueId id : graph.outputs()) copy.AddOutput(read(id));
  return copy;
}

/// Returns whether the value of a scale can affect only results, not speed: lowering tests only
/// whether scales are equal, are 1, or may overflow.
bool IsUsualScale(const Tensor& scale) {
  if (scale.dtype() != DType::kF32) return false;
  const auto values = scale.Values<float>();
  return std::all_of(values.begin(), values.end(), [](float value) {
    return value >= std::numeric_limits<float>::min() &&
           value <= std::numeric_limits<float>::max() / 512.0F && value != 1.0F;
  });
}

/// Numbers the tensors that are read only as scales of QuantizeLinear and DequantizeLinear, in the
/// order in which nodes read them; equal tensors get the same number.
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

/// Collects the tensors of a graph and stores equal ones once.
class TensorTable {
 public:
  /// Passes the bytes of the weights to `append` in order.
  TensorTable(TensorDigests& digests, const detail::AppendWeights& append)
      : digests_(digests), append_(append) {}

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
      append_(std::string(detail::AlignUp(bytes_) - bytes_, '\0'));
      bytes_ = detail::AlignUp(bytes_);
      entry["offset"] = bytes_;
      entry["bytes"] = raw.size();
      entry["sha256"] = digest;
      append_({reinterpret_cast<const char*>(raw.data()), raw.size()});
      bytes_ += raw.size();
    }
    list_.push_back(std::move(entry));
    return it->second;
  }

  [[nodiscard]] json TakeList() { return std::move(list_); }

 private:
  TensorDigests& digests_;
  std::map<std::string, std::size_t> known_;
  json list_ = json::array();
  const detail::AppendWeights& append_;
  std::size_t bytes_ = 0;
};

}  // namespace

/// Computes digests on background threads.
class TensorDigests::Background {
 public:
  explicit Background(std::vector<const Tensor*> tensors)
      : tensors_(std::move(tensors)), digests_(tensors_.size()) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) places_.emplace(tensors_[i], i);
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }

  [[nodiscard]] bool Has(const Tensor& tensor) const { return places_.contains(&tensor); }

  /// Waits until the digest is ready.
  [[nodiscard]] std::string Take(const Tensor& tensor) {
    std::unique_lock lock(mutex_);
    std::string& digest = digests_[places_.at(&tensor)];
    made_.wait(lock, [&] { return !digest.empty() || thrown_; });
    if (thrown_) std::rethrow_exception(thrown_);
    return digest;
  }

 private:
  void Run(const std::stop_token& stop) {
    try {
      ForEachOnThreads(CoreCount(), tensors_.size(), [&](std::size_t i) {
        if (stop.stop_requested()) return;
        std::string digest = TensorDigest(*tensors_[i]);
        const std::scoped_lock lock(mutex_);
        digests_[i] = std::move(digest);
        made_.notify_all();
      });
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      thrown_ = std::current_exception();
      made_.notify_all();
    }
  }

  const std::vector<const Tensor*> tensors_;
  std::map<const Tensor*, std::size_t> places_;
  std::mutex mutex_;
  std::condition_variable made_;
  std::vector<std::string> digests_;  ///< empty until computed
  std::exception_ptr thrown_;
  std::jthread thread_;  // last member: its threads use all the others
};

TensorDigests::TensorDigests() = default;
TensorDigests::~TensorDigests() = default;

void TensorDigests::Add(const Graph& graph) {
  std::vector<const Tensor*> missing;
  std::set<const Tensor*> seen;
  std::size_t bytes = 0;
  for (const ValueId id : graph.constants()) {
    const Tensor* const tensor = graph.constant(id).get();
    const bool begun = known_.contains(tensor) ||
                       std::any_of(begun_.begin(), begun_.end(),
                                   [&](const auto& some) { return some->Has(*tensor); });
    if (begun || !seen.insert(tensor).second) continue;
    missing.push_back(tensor);
    bytes += tensor->bytes();
  }
  constexpr std::size_t kWorthThreads = std::size_t{1} << 18U;
  if (bytes >= kWorthThreads) begun_.push_back(std::make_unique<Background>(std::move(missing)));
}

const std::string& TensorDigests::Of(const Tensor& tensor) {
  if (const auto it = known_.find(&tensor); it != known_.end()) return it->second;
  const auto begun = std::find_if(begun_.begin(), begun_.end(),
                                  [&](const auto& some) { return some->Has(tensor); });
  std::string digest = begun == begun_.end() ? TensorDigest(tensor) : (*begun)->Take(tensor);
  return known_.emplace(&tensor, std::move(digest)).first->second;
}

GraphFiles ToFiles(const Graph& graph) {
  TensorDigests digests;
  return ToFiles(graph, digests);
}

GraphFiles ToFiles(const Graph& graph, TensorDigests& digests) {
  GraphFiles files;
  files.json = detail::WriteGraph(graph, digests,
                                  [&](std::string_view bytes) { files.weights.append(bytes); });
  return files;
}

std::string detail::WriteGraph(const Graph& graph, TensorDigests& digests,
                               const AppendWeights& append) {
  digests.Add(graph);
  TensorTable tensors(digests, append);
  const GraphWriter writer([&](const Tensor& tensor) { return tensors.Add(tensor); },
                           Purpose::kStore);
  json root = {{"format", detail::kGraphFormat}, {"graph", writer.Write(graph)}};
  root["tensors"] = tensors.TakeList();
  return root.dump(1) + "\n";
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
  // Parameters of operators have at most 16 elements: the longest are the bounds of Resize's
  // region.
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
        if (!weights) return type + TensorDigest(tensor);
        return type + (IsNarrow(tensor) ? " narrow" : "");
      },
      Purpose::kHash);
  return Sha256Hex(writer.Write(Renamed(graph)).dump());
}

}  // namespace msc
