#include "compiler/pipeline/export_onnx.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include <nlohmann/json.hpp>

#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/region_precision.h"

namespace msc {
namespace {

/// Returns "1 layer" or "3 layers".
std::string Count(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string IsAre(std::size_t count) {
  return count == 1 ? " is " : " are ";
}

/// Notes on decisions of the strategy that an ONNX file does not hold.
void NoteLost(const Strategy& strategy, const PrecisionByLayer& precisions,
              const ReaderRules& reader, std::vector<std::string>& notes) {
  if (!strategy.partition.empty()) {
    std::set<std::string> targets;
    for (const PartitionRegion& region : strategy.partition) targets.insert(region.target);
    std::string names;
    for (const std::string& target : targets) names += (names.empty() ? "" : ", ") + target;
    notes.push_back("not in the file: the partition (" +
                    Count(strategy.partition.size(), "region") + " on " + names + "); " +
                    std::string(reader.runtime) + " chooses kernels itself");
  }
  if (!strategy.schedules.empty()) {
    notes.push_back("not in the file: the schedules of " +
                    Count(strategy.schedules.size(), "kernel"));
  }
  const auto is_bf16 = [](const auto& layer) { return layer.second == Precision::kBF16; };
  const auto bf16 =
      static_cast<std::size_t>(std::count_if(precisions.begin(), precisions.end(), is_bf16));
  if (bf16 > 0) {
    notes.push_back(Count(bf16, "bf16 layer") + IsAre(bf16) +
                    "written in f32: runtimes lack bf16 kernels on many machines");
  }
}

/// Notes on what the reader's form changes.
void NoteFit(const ReaderFit& fit, const ReaderRules& reader, std::vector<std::string>& notes) {
  const std::string runtime(reader.runtime);
  if (fit.rounded > 0) {
    const auto count = static_cast<std::size_t>(fit.rounded);
    notes.push_back(Count(count, "value") + IsAre(count) + "rounded to 8 bits for " + runtime +
                    " alone, which needs that behind integer convolutions; outputs differ a "
                    "little from those of mscgym");
  }
  if (fit.coarser > 0) {
    const auto count = static_cast<std::size_t>(fit.coarser);
    notes.push_back(Count(count, "value") + (count == 1 ? " has" : " have") +
                    " coarser steps than measured: " + runtime +
                    " takes only i8 with zero point 0");
  }
  constexpr std::size_t kNamed = 3;
  for (std::size_t i = 0; i < std::min(fit.float_layers.size(), kNamed); ++i) {
    notes.push_back("f32 in " + runtime + ": layer " + fit.float_layers[i]);
  }
  if (fit.float_layers.size() > kNamed) {
    notes.push_back("f32 in " + runtime +
                    " for such reasons: " + Count(fit.float_layers.size() - kNamed, "more layer"));
  }
}

std::string ToJson(const std::vector<std::string>& notes) {
  return nlohmann::json(notes).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

ReaderModel ModelForReader(const Graph& canonical, const Strategy& strategy,
                           const ReaderRules& reader) {
  ReaderModel model{.graph = ApplyStrategy(canonical, strategy)};
  const QuantizePlan plan = WithPrecisionsOfRegions(canonical, strategy).quantize;
  const ReaderFit fit = FitToReader(reader, plan.activations, model.graph);
  NoteLost(strategy, plan.layers, reader, model.notes);
  NoteFit(fit, reader, model.notes);
  return model;
}

OnnxFile WriteForReader(const ReaderModel& model, const ReaderRules& reader,
                        std::optional<std::int64_t> opset) {
  Graph graph = model.graph;
  graph.SetMetadata("msc.reader", std::string(reader.name));
  graph.SetMetadata("msc.notes", ToJson(model.notes));  // also over those of an earlier export
  ExportOptions options{.narrow_ends = true};
  options.opset = opset.value_or(reader.least_opset);
  if (opset) return {ExportOnnxBytes(graph, options), *opset};
  return ExportAtOldestSet(graph, options);
}

}  // namespace msc
