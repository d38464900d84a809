#include "compiler/pipeline/distill.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/hash.h"
#include "compiler/compress/prune/prune.h"
#include "compiler/compress/quantize/grid.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/ir/serialize.h"
#include "compiler/passes/chain.h"
#include "compiler/passes/rewrite.h"
#include "compiler/pipeline/calibrate.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/fitted.h"

namespace msc {
namespace {

/// Returns the graph without the channels that the strategy removes; other weights are unchanged.
Graph Pruned(const Graph& canonical, const Strategy& strategy) {
  Graph graph = canonical;
  ApplyPrunePlan(strategy.prune, graph);
  return graph;
}

/// Returns a grid with the scale of least squared error for every output channel.
WeightGrid GridFor(const Tensor& weights, std::size_t axis, std::int64_t bits) {
  const auto channels = static_cast<std::size_t>(weights.dims().at(axis));
  const auto inner = static_cast<std::size_t>(
      ElementCount(std::span<const std::int64_t>(weights.dims()).subspan(axis + 1)));
  std::vector<std::vector<float>> rows(channels);
  const auto values = weights.Values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) rows[i / inner % channels].push_back(values[i]);
  WeightGrid grid{bits, {}};
  for (const std::vector<float>& row : rows) {
    grid.scales.push_back(static_cast<double>(BestScale(row, static_cast<int>(bits))));
  }
  return grid;
}

QuantizePlan PlanFor(const Graph& plain, std::int64_t weight_bits, const SampleSource& samples,
                     const CalibrationRun& run, const TargetRegistry& registry) {
  QuantizePlan plan;
  const std::vector<QuantizableLayer> layers = FindQuantizableLayers(plain);
  if (layers.empty()) throw UserError("the student has no layer that can be quantized");
  for (const QuantizableLayer& layer : layers) {
    plan.layers[layer.name] = Precision::kInt8;
    const Node& node = plain.node(plain.FindNode(layer.name));
    if (weight_bits == 8) continue;
    plan.weights[layer.name] =
        GridFor(*plain.constant(node.inputs.at(1)), ChannelAxis(node), weight_bits);
  }
  plan.activations =
      ScalesNeeded(layers, plan.layers,
                   ObserveActivations(plain, samples, run, registry).Scales(CalibrationOptions{}));
  return plan;
}

/// Returns the axis of a value that the plan cuts, and the indices that stay.
std::pair<std::int64_t, std::vector<std::int64_t>> KeptOf(const Graph& canonical,
                                                          const PrunePlan& plan,
                                                          const std::string& name) {
  std::pair<std::int64_t, std::vector<std::int64_t>> found{1, {}};
  const ValueId value = canonical.FindValue(name);
  if (plan.groups.empty() || value == kNoValue) return found;
  const PruneSpace space(canonical);
  const std::vector<bool> kept = KeptUnits(space, plan);
  for (const auto& [place, units] : space.axes()) {
    if (place.first != value) continue;
    std::vector<std::int64_t> indices;
    for (std::size_t i = 0; i < units.size(); ++i) {
      const bool stays = units[i] < 0 || kept[static_cast<std::size_t>(units[i])];
      if (stays) indices.push_back(static_cast<std::int64_t>(i));
    }
    if (indices.size() == units.size()) continue;
    if (!found.second.empty()) {
      throw UserError("the plan cuts two axes of '" + name + "': it cannot be compared");
    }
    found = {static_cast<std::int64_t>(place.second), std::move(indices)};
  }
  return found;
}

/// Returns the values on which alone the rest of the graph depends behind some node: no other value
/// computed before is used later.
std::set<ValueId> Necks(const Graph& graph) {
  const std::vector<NodeId>& order = graph.order();
  std::map<NodeId, std::size_t> position;
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  const auto last_use = [&](ValueId value) {
    if (graph.IsOutput(value)) return order.size();
    std::size_t last = 0;
    for (const Use& use : graph.uses(value)) last = std::max(last, position.at(use.node));
    return last;
  };
  // After node i of the order, values with a later use are alive. If there is one such value,
  // everything behind node i depends on it alone.
  std::set<std::pair<std::size_t, ValueId>> alive;  // sorted by last use
  for (const ValueId input : graph.inputs()) alive.emplace(last_use(input), input);
  std::set<ValueId> necks;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const ValueId value : graph.node(order[i]).outputs) {
      if (value != kNoValue) alive.emplace(last_use(value), value);
    }
    while (!alive.empty() && alive.begin()->first <= i) alive.erase(alive.begin());
    if (alive.size() == 1) necks.insert(alive.begin()->second);
  }
  return necks;
}

DistillFeature Replacing(const QuantizableLayer& layer) {
  DistillFeature feature;
  feature.teacher = feature.student = layer.output;
  feature.replace = true;
  return feature;
}

bool IsComputed(const TrainProgram& program, int slot) {
  return std::any_of(program.ops.begin(), program.ops.end(), [&](const TrainOp& op) {
    return std::find(op.out.begin(), op.out.end(), slot) != op.out.end();
  });
}

}  // namespace

Student MakeStudent(const Graph& canonical, const Strategy& strategy, std::int64_t weight_bits,
                    const SampleSource& samples, const CalibrationRun& run,
                    const TargetRegistry& registry) {
  Student student;
  student.strategy = strategy;
  student.strategy.model_hash = GraphHash(canonical);
  Strategy f32 = strategy;
  f32.quantize = {};
  student.plain = ApplyStrategy(canonical, f32);
  if (weight_bits != 0) {
    student.strategy.quantize = PlanFor(student.plain, weight_bits, samples, run, registry);
  }
  const QuantizePlan& plan = student.strategy.quantize;
  if (plan.layers.empty() && plan.weights.empty()) {
    student.program = MakeTrainProgram(student.plain);
    return student;
  }
  for (const auto& [value, scale] : plan.activations) {
    if (scale.bits == 8) continue;
    throw UserError("'" + value + "' has " + std::to_string(scale.bits) +
                    " bits; students are trained with activations of 8 bits");
  }
  Graph quantized = student.plain;
  ApplyQuantizePlan(plan, quantized);
  const QuantizedFrom from{&student.plain, &plan};
  student.program = MakeTrainProgram(quantized, &from);
  return student;
}

std::vector<DistillFeature> LayerwiseFeatures(const Student& student) {
  std::vector<DistillFeature> features;
  for (const QuantizableLayer& layer : FindQuantizableLayers(student.plain)) {
    if (student.plain.IsOutput(student.plain.FindValue(layer.output))) continue;
    features.push_back(Replacing(layer));
  }
  return features;
}

std::vector<DistillFeature> BlockwiseFeatures(const Student& student) {
  const std::set<ValueId> necks = Necks(student.plain);
  std::vector<DistillFeature> features;
  int layers = 0;  // since the end of the last block
  for (const QuantizableLayer& layer : FindQuantizableLayers(student.plain)) {
    ++layers;
    const ValueId output = student.plain.FindValue(layer.output);
    // A block of a single layer would be one of LayerwiseFeatures.
    if (layers < 2 || !necks.contains(output) || student.plain.IsOutput(output)) continue;
    features.push_back(Replacing(layer));
    layers = 0;
  }
  return features;
}

std::vector<FeatureTerm> MatchFeatures(std::span<const DistillFeature> features,
                                       const Graph& canonical, const Student& student,
                                       const TrainProgram& teacher) {
  std::vector<FeatureTerm> terms;
  for (const DistillFeature& feature : features) {
    FeatureTerm term;
    term.student = SlotOf(student.program, feature.student);
    term.teacher = SlotOf(teacher, feature.teacher);
    for (const auto& [program, slot] :
         {std::pair{&student.program, term.student}, std::pair{&teacher, term.teacher}}) {
      if (IsComputed(*program, slot)) continue;
      throw UserError("'" + feature.student +
                      "' is an input or a weight: nothing is learned there");
    }
    std::tie(term.axis, term.keep) = KeptOf(canonical, student.strategy.prune, feature.student);
    term.attention = feature.attention;
    term.power = feature.power;
    term.weight = feature.weight;
    term.replace = feature.replace;
    terms.push_back(std::move(term));
  }
  return terms;
}

std::string DistillHash(const Graph& teacher, const Student& student, const TrainSettings& settings,
                        std::span<const DistillFeature> features, const OutputForms& forms,
                        const TrainSamples& samples) {
  Sha256 hash;
  hash.Add("msc-distill-1\n" + ToJsonText(settings) + "\n" + GraphHash(teacher) + "\n" +
           GraphHash(student.plain) + "\n" + StrategyHash(student.strategy) + "\n");
  for (const DistillFeature& feature : features) {
    nlohmann::json json = {feature.teacher, feature.student, feature.attention,
                           feature.power,   feature.weight,  feature.replace};
    hash.Add(json.dump() + "\n");
  }
  for (const NamedForm& output : forms) hash.Add(ToJsonText(output) + "\n");
  hash.Add(ToString(samples.inputs->dims()) + "\n");
  hash.Add(samples.inputs->Raw());
  if (settings.hard > 0) hash.Add(std::as_bytes(samples.labels));
  return hash.Hex();
}

Strategy TrainedStrategy(const Graph& canonical, const Student& student, const TrainResult& result,
                         const std::string& hash) {
  Strategy strategy = student.strategy;
  Graph trained = student.plain;
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    const TrainParameter& parameter = student.program.parameters.at(i);
    const std::vector<float>& values = result.values[i];
    for (const auto& [name, input] : parameter.names) {
      switch (parameter.kind) {
        case ParameterKind::kWeight:
          ReplaceConstant(
              trained, trained.FindNode(name), static_cast<std::size_t>(input),
              Tensor::From<float>(DType::kF32, student.program.constants[parameter.constant].dims,
                                  values));
          break;
        case ParameterKind::kWeightStep: {
          WeightGrid& grid = strategy.quantize.weights[name];
          grid.scales.assign(values.begin(), values.end());
          break;
        }
        case ParameterKind::kActivationStep:
          strategy.quantize.activations.at(name).scale = static_cast<double>(values.at(0));
          break;
      }
    }
  }
  strategy.fit = {};
  strategy.fit.samples = hash;
  SetFitted(ChangedConstants(Pruned(canonical, strategy), trained), strategy);
  return strategy;
}

}  // namespace msc
