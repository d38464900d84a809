#include "cost/learned/region_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "compiler/base/ranks.h"
#include "compiler/ops/op.h"

namespace msc::cost {
namespace {

constexpr std::size_t kLeastModels = 3;
constexpr std::size_t kLeastSamples = 60;
constexpr std::size_t kMostFolds = 5;
constexpr double kLeastCorrelation = 0.9;
constexpr double kCovered = 0.95;

/// Kinds of nodes that are counted; the rest is one kind more.
constexpr std::array<std::string_view, 14> kKinds = {
    "Conv",    "ConvTranspose", "Gemm",    "MatMul",  "Add",         "Mul",
    "Relu",    "Clip",          "Sigmoid", "MaxPool", "AveragePool", "GlobalAveragePool",
    "Softmax", "QuantizeLinear"};

/// Numbers of the layer with most work.
struct LayerShape {
  double flops = 0;
  double kernel = 0;  ///< positions
  double stride = 0;
  double groups = 0;
  double in = 0;  ///< channels
  double out = 0;
  double places = 0;  ///< elements of the output by channels
  double width = 0;   ///< bytes of an element that it reads
};

/// All features but those of the layer, and kinds: see RegionFeatures.
constexpr std::size_t kPlainFeatures = 9;
constexpr std::size_t kLayerFeatures = 8;

double Log(double size) {
  return std::log2(1 + std::max(0.0, size));
}

double Elements(const ValueType& type) {
  const auto dims = type.shape ? StaticDims(*type.shape) : std::nullopt;
  if (!dims) return 0;
  double count = 1;
  for (const std::int64_t dim : *dims) count *= static_cast<double>(dim);
  return count;
}

double BytesOf(const ValueType& type) {
  return Elements(type) * static_cast<double>(ByteSize(type.dtype));
}

double Dim(const ValueType& type, std::size_t axis) {
  const auto dims = type.shape ? StaticDims(*type.shape) : std::nullopt;
  return dims && axis < dims->size() ? static_cast<double>((*dims)[axis]) : 0;
}

LayerShape ShapeOf(const Graph& graph, const Node& node, double flops) {
  LayerShape shape;
  shape.flops = flops;
  if (node.inputs.empty() || node.inputs[0] == kNoValue) return shape;
  if (node.outputs.empty() || node.outputs[0] == kNoValue) return shape;
  const ValueType& read = graph.type(node.inputs[0]);
  const ValueType& made = graph.type(node.outputs[0]);
  shape.kernel = 1;
  for (const std::int64_t size : AttrOr(node, "kernel_shape", std::vector<std::int64_t>())) {
    shape.kernel *= static_cast<double>(size);
  }
  shape.stride = 1;
  for (const std::int64_t size : AttrOr(node, "strides", std::vector<std::int64_t>())) {
    shape.stride *= static_cast<double>(size);
  }
  shape.groups = static_cast<double>(AttrOr(node, "group", std::int64_t{1}));
  shape.in = Dim(read, 1);
  shape.out = Dim(made, 1);
  shape.places = shape.out > 0 ? Elements(made) / shape.out : Elements(made);
  shape.width = static_cast<double>(ByteSize(read.dtype));
  return shape;
}

bool Usable(const CostSample& sample) {
  const auto finite = [](double x) { return std::isfinite(x); };
  return sample.features.size() == RegionFeatureCount() && std::isfinite(sample.micros) &&
         sample.micros > 0 && std::all_of(sample.features.begin(), sample.features.end(), finite);
}

/// The samples of one target.
struct Table {
  std::vector<std::vector<double>> rows;
  std::vector<double> logs;  ///< of the times
  std::vector<std::string> models;
};

/// Predicts each sample by trees that know nothing of its model. `order` numbers the models.
std::vector<double> HeldOut(const Table& table, const std::map<std::string, std::size_t>& order) {
  const std::size_t folds = std::min(kMostFolds, order.size());
  std::vector<double> predicted(table.rows.size());
  for (std::size_t fold = 0; fold < folds; ++fold) {
    Table known;
    const auto held = [&](std::size_t i) { return order.at(table.models[i]) % folds == fold; };
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      if (held(i)) continue;
      known.rows.push_back(table.rows[i]);
      known.logs.push_back(table.logs[i]);
    }
    const BoostedTrees trees(known.rows, known.logs);
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      if (held(i)) predicted[i] = trees.Predict(table.rows[i]);
    }
  }
  return predicted;
}

LearnedError ErrorOf(const Table& table) {
  std::map<std::string, std::size_t> order;
  for (const std::string& model : table.models) order.emplace(model, order.size());
  LearnedError error;
  error.samples = table.rows.size();
  error.models = order.size();
  if (error.models < kLeastModels || error.samples < kLeastSamples) return error;
  const std::vector<double> predicted = HeldOut(table, order);
  std::vector<double> off;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    off.push_back(std::abs(predicted[i] - table.logs[i]));
    error.error += std::abs(std::exp(predicted[i] - table.logs[i]) - 1);
  }
  error.error /= static_cast<double>(predicted.size());
  std::sort(off.begin(), off.end());
  const double at = kCovered * static_cast<double>(off.size());
  error.factor = std::exp(off[std::min(off.size() - 1, static_cast<std::size_t>(std::ceil(at)))]);
  error.correlation = RankCorrelation(predicted, table.logs).value_or(0);
  error.trusted = error.correlation >= kLeastCorrelation;
  return error;
}

}  // namespace

std::size_t RegionFeatureCount() {
  return kPlainFeatures + kLayerFeatures + kKinds.size() + 1;
}

std::vector<double> RegionFeatures(const Graph& region, std::int64_t cold_bytes) {
  double flops = 0;
  double moved = 0;
  double nodes = 0;
  LayerShape most;
  std::array<double, kKinds.size() + 1> kinds{};
  for (const NodeId id : region.order()) {
    const Node& node = region.node(id);
    if (Ops().Find(node.domain, node.op) == nullptr) continue;
    const OpCost cost = CostOf(region, id);
    flops += cost.flops;
    moved += cost.bytes;
    nodes += 1;
    const auto kind = std::find(kKinds.begin(), kKinds.end(), node.op);
    kinds[static_cast<std::size_t>(kind - kKinds.begin())] += 1;
    if (cost.flops > most.flops) most = ShapeOf(region, node, cost.flops);
  }
  double read = 0;
  for (const ValueId id : region.inputs()) read += BytesOf(region.type(id));
  double made = 0;
  for (const ValueId id : region.outputs()) made += BytesOf(region.type(id));
  double weights = 0;
  for (const ValueId id : region.constants()) {
    weights += static_cast<double>(region.constant(id)->bytes());
  }
  std::vector<double> features = {Log(flops),
                                  Log(moved),
                                  Log(read),
                                  Log(made),
                                  Log(weights),
                                  nodes,
                                  Log(static_cast<double>(cold_bytes)),
                                  Log(flops) - Log(moved),
                                  flops > 0 ? most.flops / flops : 0,
                                  Log(most.kernel),
                                  Log(most.stride),
                                  Log(most.groups),
                                  Log(most.in),
                                  Log(most.out),
                                  Log(most.places),
                                  Log(most.groups > 0 ? most.in / most.groups : 0),
                                  most.width};
  features.insert(features.end(), kinds.begin(), kinds.end());
  return features;
}

RegionModel::RegionModel(std::span<const CostSample> samples) {
  std::map<std::string, Table> tables;
  for (const CostSample& sample : samples) {
    if (!Usable(sample)) continue;
    Table& table = tables[sample.target];
    table.rows.push_back(sample.features);
    table.logs.push_back(std::log(sample.micros));
    table.models.push_back(sample.model);
  }
  for (const auto& [target, table] : tables) {
    const LearnedError error = ErrorOf(table);
    errors_.emplace(target, error);
    if (error.trusted) trees_.emplace(target, BoostedTrees(table.rows, table.logs));
  }
}

std::optional<RegionModel::Range> RegionModel::Predict(const std::string& target,
                                                       std::span<const double> features) const {
  const auto it = trees_.find(target);
  if (it == trees_.end()) return std::nullopt;
  const double micros = std::exp(it->second.Predict(features));
  const double factor = errors_.at(target).factor;
  return Range{.low = micros / factor, .high = micros * factor};
}

}  // namespace msc::cost
