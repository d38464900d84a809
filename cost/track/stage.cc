#include "cost/track/stage.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/ops/op.h"

namespace msc::cost {
namespace {

bool IsNumber(const ValueType& type) {
  return type.container == Container::kTensor && type.dtype != DType::kUndefined &&
         type.dtype != DType::kString && type.dtype != DType::kC64 && type.dtype != DType::kC128;
}

double At(const Tensor& numbers, std::size_t i) {
  return numbers.dtype() == DType::kF64 ? numbers.Values<double>()[i]
                                        : static_cast<double>(numbers.Values<float>()[i]);
}

std::string OpOf(const Graph& graph, const std::string& name) {
  const NodeId id = graph.producer(graph.FindValue(name));
  if (id == kNoNode) return "input";
  const Node& node = graph.node(id);
  return node.domain.empty() ? node.op : node.domain + "." + node.op;
}

}  // namespace

TrackStage BaselineStage(const Graph& canonical, const CompileOptions& options) {
  return {"baseline", {BindSizes(canonical, options), "", {}}, 1};
}

TrackStage OptimizedStage(const Graph& canonical, const Strategy& strategy,
                          const CompileOptions& options) {
  return {"optimized", {BindSizes(ApplyStrategy(canonical, strategy), options), "", {}}, 1};
}

TrackStage CompiledStage(const Graph& canonical, const Strategy& strategy,
                         const TargetRegistry& registry, const CompileOptions& options) {
  return {strategy.target,
          LowerFor(ApplyStrategy(canonical, strategy), strategy, registry, options),
          options.threads};
}

std::vector<std::string> TrackedValues(const TrackStage& stage) {
  const Graph& graph = stage.model.graph;
  std::vector<std::string> names;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.outputs.empty() || node.outputs[0] == kNoValue) continue;
    if (IsNumber(graph.type(node.outputs[0]))) names.push_back(graph.value(node.outputs[0]).name);
  }
  return names;
}

void CollectValues(const TrackStage& stage, std::span<const std::string> names,
                   std::span<const Tensor> inputs, const TargetRegistry& registry,
                   const std::function<void(const std::string& name, const Tensor& value)>& visit) {
  const Graph& graph = stage.model.graph;
  for (const std::string& name : names) {
    if (graph.FindValue(name) == kNoValue) {
      throw UserError("stage " + stage.name + " has no value '" + name + "'");
    }
  }
  if (!stage.compiled()) {
    const std::set<std::string> wanted(names.begin(), names.end());
    (void)Interpret(graph, inputs, [&](ValueId id, const Tensor& value) {
      const std::string& name = graph.value(id).name;
      if (wanted.contains(name)) visit(name, value);
    });
    return;
  }
  Lowered tapped = stage.model;
  std::vector<ValueId> outputs;
  for (const std::string& name : names) outputs.push_back(tapped.graph.FindValue(name));
  // The model's own outputs remain outputs, because fusion and memory depend on them.
  for (const ValueId id : graph.outputs()) {
    if (std::find(outputs.begin(), outputs.end(), id) == outputs.end()) outputs.push_back(id);
  }
  tapped.graph.SetOutputs(outputs);
  Result<Executable> built = BuildExecutable(tapped, registry, {.threads = stage.threads});
  if (!built.ok()) {
    throw UserError("stage " + stage.name + " cannot be compiled: " + built.failure().detail);
  }
  const std::vector<Tensor> values = built.value().Run(inputs);
  for (std::size_t i = 0; i < names.size(); ++i) visit(names[i], values.at(i));
}

TensorError CompareNumbers(const Tensor& wanted, const Tensor& got) {
  const Tensor numbers = AsNumbers(got);
  Check(wanted.dims() == numbers.dims(), "values that are compared have equal dims");
  TensorError error;
  error.dims = wanted.dims();
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  double square = 0;
  double wanted_square = 0;
  double got_square = 0;
  double product = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(wanted.size()); ++i) {
    const double w = At(wanted, i);
    const double g = At(numbers, i);
    if (!std::isfinite(w) || !std::isfinite(g)) {
      const bool same = w == g || (std::isnan(w) && std::isnan(g));
      if (!same) ++error.not_finite;
      continue;
    }
    low = std::min(low, w);
    high = std::max(high, w);
    error.largest = std::max(error.largest, std::abs(g - w));
    square += (g - w) * (g - w);
    wanted_square += w * w;
    got_square += g * g;
    product += w * g;
  }
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (error.not_finite > 0) {
    error.largest = error.relative = error.noise = kInfinite;
    return error;
  }
  if (error.largest > 0) {
    // A constant reference has no range, so its magnitude replaces it.
    const double range = high > low ? high - low : std::abs(high);
    error.relative = range > 0 ? error.largest / range : kInfinite;
    error.noise = wanted_square > 0 ? std::sqrt(square / wanted_square) : kInfinite;
    // Two roots, because the product of the squares could overflow. Rounding can leave [-1, 1].
    const double sizes = std::sqrt(wanted_square) * std::sqrt(got_square);
    error.cosine = sizes > 0 ? std::clamp(product / sizes, -1.0, 1.0) : 0;
  }
  return error;
}

StageComparison CompareStage(const TrackStage& stage, const std::string& reference,
                             std::span<const std::string> names, std::span<const Tensor> inputs,
                             double tolerance, const TargetRegistry& registry, TrackStore& store) {
  std::vector<std::string> wanted(names.begin(), names.end());
  if (wanted.empty()) {
    wanted = TrackedValues(stage);
  } else {
    std::erase_if(wanted, [&](const std::string& name) {
      return stage.model.graph.FindValue(name) == kNoValue;
    });
  }
  StageComparison comparison;
  comparison.stage = stage.name;
  comparison.reference = reference;
  CollectValues(stage, wanted, inputs, registry, [&](const std::string& name, const Tensor& value) {
    (void)store.Put(stage.name, name, value);
    const auto before = store.Get(reference, name);
    if (!before || reference == stage.name) return;
    if (store.TypeOf(reference, name) != value.dtype() ||
        (before->dims() != value.dims() && !(value.dims().empty() && before->size() == 1))) {
      comparison.other_shapes.push_back(name);
      return;
    }
    TensorError error = CompareNumbers(before->Reshaped(value.dims()), value);
    error.name = name;
    error.op = OpOf(stage.model.graph, name);
    if (!comparison.first && error.relative > tolerance)
      comparison.first = comparison.errors.size();
    comparison.errors.push_back(std::move(error));
  });
  return comparison;
}

}  // namespace msc::cost
