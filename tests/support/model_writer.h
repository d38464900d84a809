#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/rng.h"
#include "compiler/ir/graph.h"
#include "compiler/ops/op.h"

namespace msc {

using Ints = std::vector<std::int64_t>;

/// A graph that grows by one f32 operator at a time, with the random numbers for its choices.
class ModelWriter {
 public:
  explicit ModelWriter(std::uint64_t seed) : rng_(seed), graph_("random") {}

  [[nodiscard]] Graph& graph() { return graph_; }
  /// Returns the values that operators can read: inputs and results, the newest last.
  [[nodiscard]] std::vector<ValueId>& live() { return live_; }

  /// Returns a random number in [least, most].
  std::int64_t From(std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(rng_.Below(static_cast<std::uint64_t>(most - least + 1)));
  }
  bool OneIn(std::int64_t n) { return From(1, n) == 1; }
  template <class T>
  T Of(const std::vector<T>& list) {
    return list[rng_.Below(list.size())];
  }
  double Uniform() { return rng_.Uniform(); }
  void Shuffle(Ints& list) {
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[rng_.Below(i)]);
  }

  [[nodiscard]] Dims DimsOf(ValueId value) const { return *StaticDims(*graph_.type(value).shape); }

  /// Adds a constant of normally distributed values around `middle`, with standard deviation
  /// `scale`.
  ValueId Constant(const Dims& dims, double scale, double middle = 0) {
    Tensor tensor(DType::kF32, dims);
    for (float& x : tensor.MutableValues<float>()) {
      x = static_cast<float>(middle + scale * rng_.Normal());
    }
    return graph_.AddConstant(graph_.FreeValueName("w"), std::move(tensor));
  }
  /// Adds a constant of values between 0.5 and 1.5.
  ValueId Positive(const Dims& dims) {
    Tensor tensor(DType::kF32, dims);
    for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(0.5 + rng_.Uniform());
    return graph_.AddConstant(graph_.FreeValueName("v"), std::move(tensor));
  }
  ValueId Integers(const Ints& list) {
    Tensor tensor(DType::kI64, {std::ssize(list)});
    std::ranges::copy(list, tensor.MutableValues<std::int64_t>().begin());
    return graph_.AddConstant(graph_.FreeValueName("i"), std::move(tensor));
  }
  ValueId Scalar(double x) {
    Tensor tensor(DType::kF32, {});
    tensor.MutableValues<float>()[0] = static_cast<float>(x);
    return graph_.AddConstant(graph_.FreeValueName("s"), std::move(tensor));
  }

  /// Adds an operator. The first `absent` of its outputs are left out.
  void Add(const std::string& op, std::vector<ValueId> inputs, AttrMap attrs = {},
           std::size_t outputs = 1, std::size_t absent = 0) {
    Node node;
    node.name = graph_.FreeNodeName(op);
    node.op = op;
    node.inputs = std::move(inputs);
    node.attrs = std::move(attrs);
    std::vector<ValueId> made;
    for (std::size_t i = absent; i < outputs; ++i) {
      made.push_back(graph_.AddValue(graph_.FreeValueName("x"), ValueType{}));
    }
    node.outputs.assign(absent, kNoValue);
    node.outputs.insert(node.outputs.end(), made.begin(), made.end());
    InferNodeTypes(graph_, graph_.AddNode(std::move(node)));
    live_.insert(live_.end(), made.begin(), made.end());
  }
  /// Adds an operator and returns its output.
  ValueId Result(const std::string& op, std::vector<ValueId> inputs, AttrMap attrs = {}) {
    Add(op, std::move(inputs), std::move(attrs));
    return live_.back();
  }

 private:
  Rng rng_;
  Graph graph_;
  std::vector<ValueId> live_;
};

}  // namespace msc
