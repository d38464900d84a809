#include "tests/support/random_graph.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace msc {
namespace {

constexpr int kDTypes = 17;

bool Chance(Rng& rng, double probability) {
  return rng.Uniform() < probability;
}

DType RandomDType(Rng& rng) {
  return static_cast<DType>(1 + rng.Below(kDTypes - 1));
}

Dims RandomDims(Rng& rng) {
  Dims dims(rng.Below(4));
  for (auto& dim : dims) dim = static_cast<std::int64_t>(rng.Below(5));
  return dims;
}

TensorPtr RandomTensorPtr(Rng& rng) {
  // Sometimes exceeds the number of elements that are printed inline.
  Dims dims = Chance(rng, 0.1) ? Dims{5, 20} : RandomDims(rng);
  return std::make_shared<const Tensor>(RandomTensor(RandomDType(rng), std::move(dims), rng));
}

float RandomFloat(Rng& rng) {
  constexpr std::array<float, 6> kOdd = {0.0F, -0.0F, 1.0F, 1e-45F, 3.4028235e38F, 0.1F};
  if (Chance(rng, 0.3)) return kOdd.at(rng.Below(kOdd.size()));
  return std::bit_cast<float>(static_cast<std::uint32_t>(rng.Below(std::uint64_t{1} << 32U)));
}

std::int64_t RandomInteger(Rng& rng) {
  if (Chance(rng, 0.7)) return static_cast<std::int64_t>(rng.Below(20)) - 10;
  return std::bit_cast<std::int64_t>(rng.Below(~std::uint64_t{0}));
}

ValueType RandomType(Rng& rng) {
  ValueType type;
  type.dtype = static_cast<DType>(rng.Below(kDTypes));
  type.container = Chance(rng, 0.8) ? Container::kTensor : static_cast<Container>(rng.Below(4));
  if (Chance(rng, 0.2)) return type;
  type.shape.emplace();
  for (std::uint64_t i = rng.Below(5); i > 0; --i) {
    const std::uint64_t kind = rng.Below(4);
    if (kind == 0) {
      type.shape->push_back(Dim::Symbol(RandomText(rng)));
    } else if (kind == 1) {
      type.shape->emplace_back();
    } else {
      type.shape->emplace_back(static_cast<std::int64_t>(rng.Below(1000)));
    }
  }
  return type;
}

template <class Make>
auto RandomList(Rng& rng, Make make) {
  std::vector<decltype(make())> list;
  for (std::uint64_t i = rng.Below(4); i > 0; --i) list.push_back(make());
  return list;
}

class Maker {
 public:
  Maker(Rng& rng, int depth) : rng_(rng), depth_(depth) {}

  Graph Make(const std::vector<Value>& outer) {
    Graph graph(RandomText(rng_));
    if (depth_ == 0) {
      for (std::uint64_t i = rng_.Below(3); i > 0; --i) {
        graph.SetMetadata(RandomText(rng_), RandomText(rng_));
      }
    }
    for (const Value& value : outer) readable_.push_back(graph.AddCaptured(value.name, value.type));
    for (std::uint64_t i = rng_.Below(3); i > 0; --i) {
      readable_.push_back(graph.AddInput(NewName(graph), RandomType(rng_)));
    }
    for (std::uint64_t i = rng_.Below(6); i > 0; --i) {
      readable_.push_back(graph.AddConstant(NewName(graph), RandomTensorPtr(rng_)));
    }
    for (std::uint64_t i = rng_.Below(8); i > 0; --i) AddNode(graph);
    if (!readable_.empty()) {
      for (std::uint64_t i = rng_.Below(4); i > 0; --i) graph.AddOutput(AnyValue());
    }
    return graph;
  }

 private:
  std::string NewName(const Graph& graph) { return graph.FreeValueName(RandomText(rng_)); }
  ValueId AnyValue() { return readable_[rng_.Below(readable_.size())]; }

  void AddNode(Graph& graph) {
    Node node;
    node.name = graph.FreeNodeName(RandomText(rng_));
    node.op = "Op" + RandomText(rng_);
    if (Chance(rng_, 0.3)) node.domain = Chance(rng_, 0.5) ? "com.microsoft" : RandomText(rng_);
    for (std::uint64_t i = rng_.Below(4); i > 0; --i) {
      node.inputs.push_back(readable_.empty() || Chance(rng_, 0.2) ? kNoValue : AnyValue());
    }
    for (std::uint64_t i = rng_.Below(4); i > 0 && !readable_.empty(); --i) {
      const ValueId id = AnyValue();
      const bool known =
          std::find(node.captures.begin(), node.captures.end(), id) != node.captures.end();
      if (!known) node.captures.push_back(id);
    }
    for (std::uint64_t i = rng_.Below(5); i > 0; --i) {
      node.attrs.insert_or_assign("a" + RandomText(rng_), RandomAttr(graph, node));
    }
    for (std::uint64_t i = rng_.Below(4); i > 0; --i) {
      const ValueType type = Chance(rng_, 0.3) ? ValueType{} : RandomType(rng_);
      node.outputs.push_back(Chance(rng_, 0.2) ? kNoValue : graph.AddValue(NewName(graph), type));
    }
    const auto outputs = node.outputs;
    graph.AddNode(std::move(node));
    std::copy_if(outputs.begin(), outputs.end(), std::back_inserter(readable_),
                 [](ValueId id) { return id != kNoValue; });
  }

  GraphPtr Nested(const Graph& graph, const Node& node) {
    std::vector<Value> captured;
    for (const ValueId id : node.captures) {
      if (Chance(rng_, 0.7)) captured.push_back(graph.value(id));
    }
    return std::make_shared<const Graph>(Maker(rng_, depth_ + 1).Make(captured));
  }

  Attr RandomAttr(const Graph& graph, const Node& node) {
    const auto tensor = [&] { return RandomTensorPtr(rng_); };
    // Nested graphs become rarer with depth, so that graphs stay small.
    const bool may_nest = depth_ < 3 && Chance(rng_, 0.4);
    switch (rng_.Below(may_nest ? 10 : 8)) {
      case 0:
        return RandomInteger(rng_);
      case 1:
        return RandomFloat(rng_);
      case 2:
        return RandomText(rng_);
      case 3:
        return RandomList(rng_, [&] { return RandomInteger(rng_); });
      case 4:
        return RandomList(rng_, [&] { return RandomFloat(rng_); });
      case 5:
        return RandomList(rng_, [&] { return RandomText(rng_); });
      case 6:
        return tensor();
      case 7:
        return RandomList(rng_, tensor);
      case 8:
        return Nested(graph, node);
      default:
        return RandomList(rng_, [&] { return Nested(graph, node); });
    }
  }

  Rng& rng_;
  int depth_;
  std::vector<ValueId> readable_;
};

}  // namespace

std::string RandomText(Rng& rng) {
  constexpr std::array<std::string_view, 12> kTexts = {"x",
                                                       "weight",
                                                       "/layer1/conv1/Conv_output_0",
                                                       "a.b-c$d",
                                                       "two words",
                                                       "quote\"back\\slash",
                                                       "line\nbreak\ttab",
                                                       "7",
                                                       "_",
                                                       "gr\xc3\xbc\xc3\x9f",
                                                       "\xff\xfe bytes",
                                                       "?"};
  if (Chance(rng, 0.8)) return std::string(kTexts.at(rng.Below(kTexts.size())));
  std::string text(1 + rng.Below(6), '\0');
  for (char& c : text) c = static_cast<char>(rng.Below(256));
  return text;
}

Tensor RandomTensor(DType dtype, Dims dims, Rng& rng) {
  Tensor tensor(dtype, std::move(dims));
  for (std::string& text : tensor.mutable_strings()) {
    if (Chance(rng, 0.8)) text = RandomText(rng);
  }
  for (std::byte& byte : tensor.MutableRaw()) byte = static_cast<std::byte>(rng.Below(256));
  return tensor;
}

Graph RandomGraph(std::uint64_t seed) {
  Rng rng(MixSeed({seed}));
  return Maker(rng, 0).Make({});
}

std::string Mutated(std::string text, Rng& rng) {
  for (std::uint64_t i = 1 + rng.Below(4); i > 0 && !text.empty(); --i) {
    const std::size_t at = rng.Below(text.size());
    switch (rng.Below(5)) {
      case 0:
        text[at] = static_cast<char>(rng.Below(256));
        break;
      case 1:
        text.erase(at, 1 + rng.Below(8));
        break;
      case 2:
        text.insert(at, text.substr(at, 1 + rng.Below(40)));
        break;
      case 3:
        text.insert(at, 1, "0{}[](),:%@\"-"[rng.Below(13)]);
        break;
      default:
        if (Chance(rng, 0.2)) text.resize(at);
    }
  }
  return text;
}

}  // namespace msc
