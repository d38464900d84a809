#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/hash.h"
#include "compiler/base/parallel.h"
#include "compiler/ir/element.h"
#include "compiler/ir/hex.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/serialize_format.h"
#include "compiler/ir/verifier.h"

namespace msc {
namespace {

using nlohmann::json;

/// A location in the JSON. It keeps a link to its parent; the path is spelled out only for errors.
class Place {
 public:
  Place(const json& value, const std::string& what) : value_(value), what_(what) {}

  [[noreturn]] void Fail(const std::string& problem) const {
    throw UserError(what_ + ": " + (parent_ == nullptr ? "it" : "'" + Path() + "'") + " " +
                    problem);
  }

  /// Checks that this is an object with the required keys and no others but the optional ones.
  void CheckKeys(std::initializer_list<std::string_view> required,
                 std::initializer_list<std::string_view> optional = {}) const {
    if (!value_.is_object()) Fail("must be an object");
    for (const std::string_view key : required) {
      if (!value_.contains(key)) Fail("has no key '" + std::string(key) + "'");
    }
    for (const auto& [key, item] : value_.items()) {
      const auto same = [&, &name = key](std::string_view known) { return known == name; };
      if (std::none_of(required.begin(), required.end(), same) &&
          std::none_of(optional.begin(), optional.end(), same)) {
        Fail("has the unknown key '" + key + "'");
      }
    }
  }
  [[nodiscard]] bool Has(std::string_view key) const { return value_.contains(key); }
  [[nodiscard]] Place operator[](const char* key) const { return {*this, value_.at(key), key, 0}; }
  [[nodiscard]] Place At(std::size_t index) const {
    return {*this, value_.at(index), nullptr, index};
  }

  [[nodiscard]] std::size_t ListSize() const {
    if (!value_.is_array()) Fail("must be a list");
    return value_.size();
  }
  template <class Visit>
  void ForEach(Visit visit) const {
    const std::size_t size = ListSize();
    for (std::size_t i = 0; i < size; ++i) visit(At(i));
  }
  [[nodiscard]] bool IsNull() const { return value_.is_null(); }
  [[nodiscard]] bool IsNumber() const { return value_.is_number(); }
  [[nodiscard]] std::int64_t Integer() const {
    const bool big =
        value_.is_number_unsigned() && value_.get<std::uint64_t>() > std::uint64_t{INT64_MAX};
    if (!value_.is_number_integer() || big) Fail("must be a 64-bit integer");
    return value_.get<std::int64_t>();
  }
  [[nodiscard]] std::uint64_t Count() const {
    if (Integer() < 0) Fail("must not be negative");
    return static_cast<std::uint64_t>(Integer());
  }
  [[nodiscard]] std::string Word() const {
    if (!value_.is_string()) Fail("must be a text");
    return value_.get<std::string>();
  }
  /// Returns a string, given directly or as {"hex": ...} if it is not UTF-8.
  [[nodiscard]] std::string Text() const {
    if (!value_.is_object()) return Word();
    CheckKeys({"hex"});
    const std::string digits = (*this)["hex"].Word();
    std::string bytes(digits.size() / 2, '\0');
    if (!detail::ReadHex(digits, std::as_writable_bytes(std::span(bytes)))) {
      Fail("must hold pairs of hex digits");
    }
    return bytes;
  }
  [[nodiscard]] float Float() const {
    float value = 0;
    if (!detail::ReadFloat(Word(), value)) Fail("must be a 32-bit float as a text");
    return value;
  }
  /// Calls `action` and reports a UserError of the graph as an error at this location.
  template <class Action>
  // Callers often ignore the ids that the graph returns.
  auto Located(Action action) const {  // NOLINT(modernize-use-nodiscard)
    try {
      return action();
    } catch (const UserError& error) {
      Fail(std::string("is wrong: ") + error.what());
    }
  }

 private:
  Place(const Place& parent, const json& value, const char* key, std::size_t index)
      : value_(value), what_(parent.what_), parent_(&parent), key_(key), index_(index) {}

  [[nodiscard]] std::string Path() const {
    if (parent_ == nullptr) return "";
    const std::string before = parent_->Path();
    if (key_ == nullptr) return before + "[" + std::to_string(index_) + "]";
    return before.empty() ? key_ : before + "." + key_;
  }

  const json& value_;
  const std::string& what_;
  const Place* parent_ = nullptr;
  const char* key_ = nullptr;
  std::size_t index_ = 0;
};

Dims ReadDims(const Place& place) {
  Dims dims;
  place.ForEach([&](const Place& dim) { dims.push_back(dim.Integer()); });
  return dims;
}

DType ReadDType(const Place& place) {
  const auto dtype = ParseDType(place.Word());
  if (!dtype) place.Fail("is no element type");
  return *dtype;
}

/// Reads the list of tensors. Each byte of the weights belongs to at most one tensor, so that a
/// small file cannot request much memory.
class TensorReader {
 public:
  explicit TensorReader(const detail::StoredWeights& weights) : weights_(weights) {}

  std::vector<TensorPtr> ReadAll(const Place& list) {
    std::vector<TensorPtr> tensors;
    list.ForEach([&](const Place& place) {
      const bool strings = place.Has("strings");
      tensors.push_back(
          std::make_shared<const Tensor>(strings ? ReadStrings(place) : ReadNumbers(place)));
      if (strings) return;
      checks_.push_back(
          {.place = place, .tensor = tensors.back(), .digest = place["sha256"].Word()});
    });
    if (end_ != weights_.size) {
      list.Fail("describes " + std::to_string(end_) + " bytes of weights, but there are " +
                std::to_string(weights_.size));
    }
    CheckDigests();
    return tensors;
  }

 private:
  struct Check {
    Place place;
    TensorPtr tensor;
    std::string digest;
    bool same = false;
  };

  void CheckDigests() {
    ForEachOnThreads(CoreCount(), checks_.size(), [&](std::size_t i) {
      Sha256 digest;
      digest.Add(checks_[i].tensor->Raw());
      checks_[i].same = digest.Hex() == checks_[i].digest;
    });
    for (const Check& check : checks_) {
      if (!check.same) check.place.Fail("does not match its weights: the SHA-256 differs");
    }
  }

  static Tensor ReadStrings(const Place& place) {
    place.CheckKeys({"dtype", "dims", "strings"});
    if (ReadDType(place["dtype"]) != DType::kString) place.Fail("has texts but is not of type str");
    const Dims dims = ReadDims(place["dims"]);
    const auto count = place.Located([&] { return ElementCount(dims); });
    const Place texts = place["strings"];
    if (static_cast<std::uint64_t>(count) != texts.ListSize()) {
      texts.Fail("must have " + std::to_string(count) + " texts");
    }
    Tensor tensor(DType::kString, dims);
    for (std::size_t i = 0; i < tensor.strings().size(); ++i) {
      tensor.mutable_strings()[i] = texts.At(i).Text();
    }
    return tensor;
  }

  Tensor ReadNumbers(const Place& place) {
    place.CheckKeys({"dtype", "dims", "offset", "bytes", "sha256"});
    const DType dtype = ReadDType(place["dtype"]);
    if (ByteSize(dtype) == 0) place["dtype"].Fail("is no type of raw weights");
    const Dims dims = ReadDims(place["dims"]);
    const auto count = place.Located([&] { return ElementCount(dims); });
    const std::uint64_t bytes = static_cast<std::uint64_t>(count) * ByteSize(dtype);
    const std::uint64_t offset = detail::AlignUp(end_);
    if (place["offset"].Count() != offset) {
      place["offset"].Fail("must be " + std::to_string(offset));
    }
    if (place["bytes"].Count() != bytes) {
      place["bytes"].Fail("must be " + std::to_string(bytes) + " for " + std::string(Name(dtype)) +
                          ToString(dims));
    }
    if (offset > weights_.size || bytes > weights_.size - offset) {
      place.Fail("reaches beyond the " + std::to_string(weights_.size) + " bytes of weights");
    }
    Tensor tensor(dtype, dims);
    weights_.read(offset, tensor.MutableRaw());
    end_ = offset + bytes;
    return tensor;
  }

  const detail::StoredWeights& weights_;
  std::uint64_t end_ = 0;
  std::vector<Check> checks_;
};

class GraphReader {
 public:
  explicit GraphReader(const std::vector<TensorPtr>& tensors) : tensors_(tensors) {}

  [[nodiscard]] Graph Read(const Place& place, int depth) const {
    if (depth > kMaxGraphDepth) {
      place.Fail("is nested deeper than " + std::to_string(kMaxGraphDepth) + " levels");
    }
    place.CheckKeys({"name", "metadata", "inputs", "captured", "constants", "nodes", "outputs"});
    Graph graph(place["name"].Text());
    place["metadata"].ForEach([&](const Place& pair) {
      if (pair.ListSize() != 2) pair.Fail("must be a pair of key and text");
      graph.SetMetadata(pair.At(0).Text(), pair.At(1).Text());
    });
    place["inputs"].ForEach([&](const Place& input) {
      auto [name, type] = ReadTyped(input);
      input.Located([&, &n = name, &t = type] { return graph.AddInput(n, t); });
    });
    place["captured"].ForEach([&](const Place& captured) {
      auto [name, type] = ReadTyped(captured);
      captured.Located([&, &n = name, &t = type] { return graph.AddCaptured(n, t); });
    });
    place["constants"].ForEach([&](const Place& constant) {
      constant.CheckKeys({"name", "tensor"});
      const TensorPtr tensor = ReadTensor(constant["tensor"]);
      constant.Located([&] { return graph.AddConstant(constant["name"].Text(), tensor); });
    });
    place["nodes"].ForEach([&](const Place& node) { ReadNode(graph, node, depth); });
    place["outputs"].ForEach([&](const Place& output) {
      const ValueId id = FindValue(graph, output);
      if (id == kNoValue) output.Fail("must be the name of a value");
      graph.AddOutput(id);
    });
    return graph;
  }

 private:
  static ValueId FindValue(const Graph& graph, const Place& place) {
    if (place.IsNull()) return kNoValue;
    const ValueId id = graph.FindValue(place.Text());
    if (id == kNoValue) place.Fail("names a value that is not known here");
    return id;
  }

  static std::pair<std::string, ValueType> ReadTyped(const Place& place) {
    place.CheckKeys({"name", "type"});
    const Place type = place["type"];
    type.CheckKeys({"dtype", "shape"}, {"container"});
    ValueType read{.dtype = ReadDType(type["dtype"])};
    if (type.Has("container")) {
      const std::string word = type["container"].Word();
      const auto at = std::find(detail::kContainers.begin(), detail::kContainers.end(), word);
      if (at == detail::kContainers.end()) type["container"].Fail("must be seq, opt or opt_seq");
      read.container = static_cast<Container>(at - detail::kContainers.begin());
    }
    if (type["shape"].IsNull()) return {place["name"].Text(), read};
    read.shape.emplace();
    type["shape"].ForEach([&](const Place& dim) {
      if (dim.IsNull()) {
        read.shape->emplace_back();
      } else if (dim.IsNumber()) {
        read.shape->emplace_back(static_cast<std::int64_t>(dim.Count()));
      } else {
        read.shape->push_back(Dim::Symbol(dim.Text()));
      }
    });
    return {place["name"].Text(), read};
  }

  [[nodiscard]] TensorPtr ReadTensor(const Place& place) const {
    const std::uint64_t index = place.Count();
    if (index >= tensors_.size()) place.Fail("is the number of no tensor");
    return tensors_[index];
  }

  template <class Read>
  static auto ReadList(const Place& place, Read read) {
    std::vector<decltype(read(place))> list;
    place.ForEach([&](const Place& item) { list.push_back(read(item)); });
    return list;
  }

  [[nodiscard]] Attr ReadAttr(const Place& attr, int depth) const {
    attr.CheckKeys({"name", "kind", "value"});
    const Place value = attr["value"];
    const auto tensor = [&](const Place& at) { return ReadTensor(at); };
    const auto graph = [&](const Place& at) -> GraphPtr {
      return std::make_shared<const Graph>(Read(at, depth + 1));
    };
    const std::string kind = attr["kind"].Word();
    if (kind == "int") return value.Integer();
    if (kind == "float") return value.Float();
    if (kind == "string") return value.Text();
    if (kind == "tensor") return tensor(value);
    if (kind == "graph") return graph(value);
    if (kind == "ints") return ReadList(value, [](const Place& at) { return at.Integer(); });
    if (kind == "floats") return ReadList(value, [](const Place& at) { return at.Float(); });
    if (kind == "strings") return ReadList(value, [](const Place& at) { return at.Text(); });
    if (kind == "tensors") return ReadList(value, tensor);
    if (kind == "graphs") return ReadList(value, graph);
    attr["kind"].Fail("is no kind of attribute");
  }

  void ReadNode(Graph& graph, const Place& place, int depth) const {
    place.CheckKeys({"name", "op", "domain", "inputs", "captures", "outputs", "attrs"});
    Node node{
        .name = place["name"].Text(), .op = place["op"].Text(), .domain = place["domain"].Text()};
    if (node.name.empty()) place["name"].Fail("must not be empty");
    place["inputs"].ForEach(
        [&](const Place& input) { node.inputs.push_back(FindValue(graph, input)); });
    place["captures"].ForEach([&](const Place& capture) {
      if (capture.IsNull()) capture.Fail("must be the name of a value");
      node.captures.push_back(FindValue(graph, capture));
    });
    place["attrs"].ForEach([&](const Place& attr) {
      Attr value = ReadAttr(attr, depth);
      const bool is_new = node.attrs.emplace(attr["name"].Text(), std::move(value)).second;
      if (!is_new) attr["name"].Fail("is given twice");
    });
    place["outputs"].ForEach([&](const Place& output) {
      if (output.IsNull()) {
        node.outputs.push_back(kNoValue);
        return;
      }
      auto [name, type] = ReadTyped(output);
      node.outputs.push_back(
          output.Located([&, &n = name, &t = type] { return graph.AddValue(n, t); }));
    });
    place.Located([&] { return graph.AddNode(std::move(node)); });
  }

  const std::vector<TensorPtr>& tensors_;
};

}  // namespace

Graph FromFiles(const GraphFiles& files, const std::string& what) {
  const auto read = [&](std::uint64_t offset, std::span<std::byte> out) {
    std::copy_n(std::as_bytes(std::span(files.weights)).subspan(offset).data(), out.size(),
                out.data());
  };
  return detail::ReadGraph(files.json, {.size = files.weights.size(), .read = read}, what);
}

Graph detail::ReadGraph(const std::string& json_text, const StoredWeights& weights,
                        const std::string& what) {
  const json root = ParseJson(json_text, what);
  const Place place(root, what);
  place.CheckKeys({"format", "graph", "tensors"});
  if (place["format"].Word() != detail::kGraphFormat) {
    place["format"].Fail("must be " + std::string(detail::kGraphFormat));
  }
  const std::vector<TensorPtr> tensors = TensorReader(weights).ReadAll(place["tensors"]);
  Graph graph = GraphReader(tensors).Read(place["graph"], 0);
  try {
    Verify(graph);
  } catch (const UserError& error) {
    throw UserError(what + ": " + error.what());
  }
  return graph;
}

}  // namespace msc
