#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/base/temporary_folder.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"
#include "cost/measure/metric.h"
#include "cost/measure/metric_judge.h"
#include "cost/samples/dataset.h"

namespace msc::gym {

/// Reads "NAME=lower:COMMAND" or "NAME=higher:COMMAND", a metric of which lower or higher values
/// are better. The words of the command are separated by spaces. UserError for other texts and as
/// CheckedMetric.
void ReadMetric(const std::string& text, cost::MetricSpecs& metrics);

/// Measures users' metrics of compressed models on test samples, in temporary files.
class TestMetrics {
 public:
  /// `reference`: the outputs of `graph`, the uncompressed model, for all samples. Runs every
  /// metric twice, prints what it is, and warns if it is random. UserError if one fails.
  TestMetrics(const cost::MetricSpecs& metrics, const cost::SampleSet& samples, const Graph& graph,
              const std::vector<Tensor>& reference, int threads);
  /// Returns the metrics of outputs of another model. UserError if one fails.
  [[nodiscard]] std::vector<cost::MetricQuality> Measure(const std::vector<Tensor>& outputs);

 private:
  TemporaryFolder folder_;
  std::int64_t samples_;
  std::vector<std::string> names_;  // of the outputs
  std::unique_ptr<cost::MetricJudge> judge_;
};

}  // namespace msc::gym
