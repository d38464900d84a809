#include "compiler/targets/onednn/linear.h"

#include "compiler/targets/onednn/epilogue.h"

namespace msc::onednn {
namespace {

using dnnl::algorithm;

std::optional<float> ScalarOf(const Graph& graph, ValueId value) {
  const auto values = ConstantFloats(graph, value);
  if (!values || values->size() != 1) return std::nullopt;
  return values->front();
}

}  // namespace

std::optional<Function> LinearOf(const Graph& graph, const Node& node, ValueId value) {
  if (!node.domain.empty() || node.inputs.size() != 2) return std::nullopt;
  const bool first = node.inputs[0] == value;
  const auto c = ScalarOf(graph, node.inputs[first ? 1 : 0]);
  if (!c) return std::nullopt;
  if (node.op == "Add") return Function{algorithm::eltwise_linear, 1.0F, *c};
  if (node.op == "Mul") return Function{algorithm::eltwise_linear, *c, 0.0F};
  if (node.op == "Sub" && first) return Function{algorithm::eltwise_linear, 1.0F, -*c};
  if (node.op == "Sub") return Function{algorithm::eltwise_linear, -1.0F, *c};
  // The product with the inverse may differ from the quotient in its last bits.
  if (node.op == "Div" && first && *c != 0.0F) {
    return Function{algorithm::eltwise_linear, 1.0F / *c, 0.0F};
  }
  return std::nullopt;
}

}  // namespace msc::onednn
