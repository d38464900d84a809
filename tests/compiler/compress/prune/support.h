#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/rng.h"
#include "compiler/compress/prune/prune.h"
#include "compiler/ops/fused.h"
#include "compiler/ops/op.h"
#include "tests/compiler/passes/support.h"

namespace msc::testing {

/// Conv (one or two spatial axes), Gemm and MatMul that add product after product in the order of
/// the weights, from +0 on. A product with a zero then changes no bit of a sum, wherever it stands.
inline std::vector<Tensor> SequentialConv(const Node& node, std::span<const Tensor* const> in) {
  const Tensor& x = *in[0];
  const Tensor& w = *in[1];
  std::vector<Tensor> made = Ops().Get(node).eval(node, in);  // for the shape
  Tensor& y = made[0];
  const auto size = [](const Tensor& t, std::size_t axis) {
    return axis < t.dims().size() ? t.dims()[axis] : 1;
  };
  const Window window = ReadWindow(node, Dims(x.dims().begin() + 2, x.dims().end()),
                                   Dims(w.dims().begin() + 2, w.dims().end()));
  const auto at = [](const std::vector<std::int64_t>& list, std::size_t i, std::int64_t otherwise) {
    return i < list.size() ? list[i] : otherwise;
  };
  const std::int64_t per_group = size(y, 1) / window.group;
  const auto xs = x.Values<float>();
  const auto ws = w.Values<float>();
  const auto ys = y.MutableValues<float>();
  std::size_t out = 0;
  for (std::int64_t n = 0; n < size(y, 0); ++n)
    for (std::int64_t o = 0; o < size(y, 1); ++o)
      for (std::int64_t h = 0; h < size(y, 2); ++h)
        for (std::int64_t v = 0; v < size(y, 3); ++v) {
          float sum = 0;
          for (std::int64_t c = 0; c < size(w, 1); ++c)
            for (std::int64_t i = 0; i < size(w, 2); ++i)
              for (std::int64_t j = 0; j < size(w, 3); ++j) {
                const std::int64_t row = h * at(window.strides, 0, 1) +
                                         i * at(window.dilations, 0, 1) -
                                         at(window.pads_begin, 0, 0);
                const std::int64_t column = v * at(window.strides, 1, 1) +
                                            j * at(window.dilations, 1, 1) -
                                            at(window.pads_begin, 1, 0);
                if (row < 0 || row >= size(x, 2) || column < 0 || column >= size(x, 3)) continue;
                const std::int64_t channel = o / per_group * size(w, 1) + c;
                const std::int64_t from =
                    ((n * size(x, 1) + channel) * size(x, 2) + row) * size(x, 3) + column;
                const std::int64_t weight =
                    ((o * size(w, 1) + c) * size(w, 2) + i) * size(w, 3) + j;
                sum += xs[static_cast<std::size_t>(from)] * ws[static_cast<std::size_t>(weight)];
              }
          if (in.size() > 2 && in[2] != nullptr)
            sum += in[2]->Values<float>()[static_cast<std::size_t>(o)];
          ys[out++] = sum;
        }
  return made;
}

/// Gemm with alpha = beta = 1 and MatMul.
inline std::vector<Tensor> SequentialProduct(const Node& node, std::span<const Tensor* const> in) {
  std::vector<Tensor> made = Ops().Get(node).eval(node, in);
  Tensor& y = made[0];
  const Tensor& a = *in[0];
  const Tensor& b = *in[1];
  const bool a_turned = AttrOr(node, "transA", std::int64_t{0}) != 0;
  const bool b_turned = AttrOr(node, "transB", std::int64_t{0}) != 0;
  const auto rank = y.dims().size();
  const std::int64_t m = y.dims()[rank - 2];
  const std::int64_t n = y.dims()[rank - 1];
  const std::int64_t k = a.dims()[a_turned ? a.dims().size() - 2 : a.dims().size() - 1];
  const std::int64_t batch = y.size() / std::max<std::int64_t>(m * n, 1);
  const std::int64_t a_batch = a.size() / std::max<std::int64_t>(m * k, 1);
  const std::int64_t b_batch = b.size() / std::max<std::int64_t>(k * n, 1);
  const auto as = a.Values<float>();
  const auto bs = b.Values<float>();
  const auto ys = y.MutableValues<float>();
  for (std::int64_t s = 0; s < batch; ++s)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (std::int64_t p = 0; p < k; ++p) {
          const std::int64_t left = s % a_batch * m * k + (a_turned ? p * m + i : i * k + p);
          const std::int64_t right = s % b_batch * k * n + (b_turned ? j * k + p : p * n + j);
          sum += as[static_cast<std::size_t>(left)] * bs[static_cast<std::size_t>(right)];
        }
        if (in.size() > 2 && in[2] != nullptr) {
          sum += in[2]->Values<float>()[static_cast<std::size_t>(j % in[2]->size())];
        }
        ys[static_cast<std::size_t>((s * m + i) * n + j)] = sum;
      }
  return made;
}

/// All operators, those that sum products sequentially.
inline const OpRegistry& SequentialOps() {
  static const OpRegistry kOps = [] {
    OpRegistry ops;
    for (const OpDef* op : Ops().All()) {
      OpDef copy = *op;
      if (copy.domain.empty() && copy.name == "Conv") copy.eval = SequentialConv;
      if (copy.domain.empty() && (copy.name == "Gemm" || copy.name == "MatMul")) {
        copy.eval = SequentialProduct;
      }
      ops.Add(std::move(copy));
    }
    return ops;
  }();
  return kOps;
}

/// Keeps a random part of about `share` of the groups.
inline PrunePlan RandomPlan(const PruneSpace& space, Rng& rng, double share = 0.7) {
  PrunePlan plan;
  for (const PruneGroup& group : space.groups()) {
    if (rng.Uniform() > share) continue;
    const double density = 0.2 + 0.7 * rng.Uniform();
    PruneChoice choice{.units = static_cast<std::int64_t>(group.units), .keep = {}};
    for (std::int64_t unit = 0; unit < choice.units; ++unit) {
      if (rng.Uniform() < density) choice.keep.push_back(unit);
    }
    if (choice.keep.empty()) {
      choice.keep.push_back(static_cast<std::int64_t>(rng.Below(group.units)));
    }
    plan.groups[group.name] = std::move(choice);
  }
  return plan;
}

/// One line a group: "conv1: 8 units of 1 [conv1 conv2]"; then "fc fixed: REASON".
inline std::string Describe(const Graph& graph) {
  const PruneSpace space(graph);
  std::string text;
  for (const PruneGroup& group : space.groups()) {
    text += group.name + ": " + std::to_string(group.units) + " units of " +
            std::to_string(group.unit_channels) + " [";
    for (const std::string& layer : group.layers) {
      text += (layer == group.layers.front() ? "" : " ") + layer;
    }
    text += "]\n";
  }
  for (const FixedLayer& layer : space.fixed()) {
    text += layer.layer + " fixed: " + layer.reason + "\n";
  }
  return text;
}

/// Whether masked and shrunken graph give the same outputs for random inputs, bit for bit.
inline ::testing::AssertionResult MaskedEqualsShrunk(const Graph& graph, const PrunePlan& plan,
                                                     std::uint64_t seed, std::int64_t batch = 2) {
  Graph masked = graph;
  MaskPrunePlan(plan, masked);
  Verify(masked);
  Graph shrunk = graph;
  ApplyPrunePlan(plan, shrunk);
  for (const NodeId id : shrunk.order()) CheckNode(shrunk, id);
  const std::vector<Tensor> inputs = RandomInputs(graph, seed, batch);
  const std::vector<Tensor> want = Interpret(masked, inputs, {}, SequentialOps());
  const std::vector<Tensor> got = Interpret(shrunk, inputs, {}, SequentialOps());
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (want[i] == got[i]) continue;
    return ::testing::AssertionFailure()
           << "output " << i << " differs; shrunken graph:\n"
           << Print(shrunk, {.inline_elements = 8, .large = LargeConstants::kElide});
  }
  return ::testing::AssertionSuccess();
}

}  // namespace msc::testing
