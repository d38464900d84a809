#include "compiler/compress/prune/lstm.h"

#include "compiler/ops/lstm.h"

namespace msc {

void RelateLstm(NodeAxes& node) {
  const auto made = [&](std::size_t output) {
    return output < node.outputs() && node.node().outputs[output] != kNoValue;
  };
  const Axis hidden = node.In(kLstmR, 2);
  const Axis batch = node.In(kLstmX, 1);
  // Axis 1 of these tensors consists of one block of the hidden size for each gate.
  for (const std::size_t i : {kLstmW, kLstmR, kLstmB, kLstmP}) {
    if (!node.Has(i)) continue;
    const Axis whole = node.In(i, 1);
    // The gates are an axis of their own that stays whole, so that only the hidden unit is cut, in
    // all gates.
    const Axis blocks = node.AddAxis(hidden.size > 0 ? whole.size / hidden.size : 0);
    node.Fix(blocks, "has all its gates");
    node.AddProduct(whole, {blocks, hidden}, AxisClasses::Prefer::kLargest);
    node.Fix(node.In(i, 0), "has all its directions");
  }
  node.Unite(node.In(kLstmX, 2), node.In(kLstmW, 2));
  node.Fix(node.In(kLstmX, 0), "takes one step after the other");
  if (node.Has(kLstmLengths)) node.Unite(node.In(kLstmLengths, 0), batch);
  for (const std::size_t i : {kLstmH, kLstmC}) {
    if (!node.Has(i)) continue;
    node.Fix(node.In(i, 0), "has all its directions");
    node.Unite(node.In(i, 1), batch);
    node.Unite(node.In(i, 2), hidden);
  }
  for (std::size_t output = 0; output < 3; ++output) {
    if (!made(output)) continue;
    const std::size_t first = output == 0 ? 1 : 0;
    if (output == 0) node.Fix(node.Out(0), "takes one step after the other");
    node.Fix(node.Out(first, output), "has all its directions");
    node.Unite(node.Out(first + 1, output), batch);
    node.Unite(node.Out(first + 2, output), hidden);
  }
}

std::vector<float> LstmUnitWeights(const Tensor& w, const Tensor& r, std::int64_t unit) {
  std::vector<float> made;
  const std::int64_t hidden = r.dims()[2];
  for (const Tensor* tensor : {&w, &r}) {
    const std::int64_t columns = tensor->dims()[2];
    const auto values = tensor->Values<float>();
    for (std::int64_t row = unit; row < tensor->dims()[0] * tensor->dims()[1]; row += hidden) {
      const auto from = values.subspan(static_cast<std::size_t>(row * columns),
                                       static_cast<std::size_t>(columns));
      made.insert(made.end(), from.begin(), from.end());
    }
  }
  return made;
}

}  // namespace msc
