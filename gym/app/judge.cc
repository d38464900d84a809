#include "gym/app/judge.h"

#include <span>
#include <vector>

#include "compiler/base/error.h"
#include "cost/quality/quality.h"

namespace msc::gym {
namespace {

const Shape& InputShape(const Graph& graph) {
  if (graph.inputs().size() != 1) {
    throw UserError("samples are read for models with one input; this one has " +
                    std::to_string(graph.inputs().size()));
  }
  const auto& shape = graph.type(graph.inputs()[0]).shape;
  if (!shape) throw UserError("the model's input has no known rank");
  return *shape;
}

/// Outputs of a graph over samples, batch by batch.
std::vector<std::vector<Tensor>> Outputs(const Graph& graph, std::span<const Tensor> samples,
                                         const CalibrationRun& run, const TargetRegistry& targets) {
  std::vector<std::string> names;
  for (const ValueId id : graph.outputs()) names.push_back(graph.value(id).name);
  std::vector<std::vector<Tensor>> batches;
  ObserveValues(graph, names, samples, run, targets,
                [&](std::int64_t /*first*/, std::span<const Tensor> values) {
                  batches.emplace_back(values.begin(), values.end());
                });
  return batches;
}

}  // namespace

cost::Dataset LoadSamples(const cost::DataConfig& form, const Graph& graph,
                          const std::string& images, const std::string& labels,
                          std::int64_t count) {
  cost::DataConfig data = form;
  data.images = images;
  data.labels = labels;
  data.count = count;
  return cost::LoadDataset(data, InputShape(graph));
}

cost::Quality CompareOn(const cost::Dataset& test, const Graph& before, const Graph& after,
                        CalibrationRun run, const TargetRegistry& targets) {
  const std::vector<Tensor> samples = {test.inputs};
  // Every sample counts: a batch that divides their number.
  for (run.batch = 64; test.size() % run.batch != 0;) --run.batch;
  const auto want = Outputs(before, samples, run, targets);
  const auto got = Outputs(after, samples, run, targets);
  cost::QualityMeter meter;
  std::size_t first = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto rows = static_cast<std::size_t>(want[i].at(0).dims().at(0));
    std::span<const std::int32_t> labels = test.labels;
    if (!labels.empty()) labels = labels.subspan(first, rows);
    first += rows;
    if (const auto failure = meter.Add(want[i], got[i], labels)) {
      throw UserError("the changed model: " + failure->detail);
    }
  }
  return meter.Total();
}

}  // namespace msc::gym
