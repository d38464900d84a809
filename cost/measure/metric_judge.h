#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/base/result.h"
#include "cost/measure/metric_folder.h"
#include "cost/measure/metric_run.h"
#include "cost/model/outcome.h"
#include "cost/samples/array_file.h"

namespace msc::cost {

/// A user's metric of the uncompressed model on all samples.
struct MetricReference {
  double value = 0;
  /// Difference between two calls on the same outputs; 0 unless the metric is random.
  double noise = 0;
  bool whole = false;  ///< whether it is one number for all samples
  bool operator==(const MetricReference&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("value", self.value, "of the uncompressed model");
    visit("noise", self.noise, "difference between two calls");
    visit("whole", self.whole, "whether it is one number for all samples");
  }
};

/// Arrays of the samples and of the uncompressed model's outputs for them.
struct MetricArrays {
  std::vector<ArrayFile> inputs;
  std::optional<ArrayFile> labels;
  std::vector<ArrayFile> reference;
  std::int64_t samples = 0;
};

/// Measures users' metrics of candidates against those of the uncompressed model. For one thread at
/// a time.
class MetricJudge {
 public:
  /// The files must outlive this object, unchanged.
  MetricJudge(std::map<std::string, Metric> metrics, MetricArrays arrays, MetricHost host);

  [[nodiscard]] bool empty() const noexcept { return metrics_.empty(); }

  /// Runs each metric twice on the uncompressed model and all samples. UserError if one fails:
  /// without its value no candidate can be compared.
  const std::map<std::string, MetricReference>& MeasureReference();

  /// Continues with what MeasureReference of another object found; `values` has a file with a
  /// value for each sample, by metric, of those that are not whole.
  void UseReference(std::map<std::string, MetricReference> references,
                    const std::map<std::string, std::string>& values);

  /// Returns the values of each sample that MeasureReference found, nullptr for a metric that is
  /// whole.
  [[nodiscard]] const std::vector<double>* ReferenceValues(const std::string& name) const;

  /// Runs each metric on outputs of a candidate for the samples `rows`; `outputs` are in the order
  /// of MetricArrays::reference. Also runs it on the uncompressed model, once for each range of
  /// samples but all, because values of samples may depend on the other samples that are there.
  /// Returns the first failure of a metric. InternalError unless the metrics of the uncompressed
  /// model are known.
  [[nodiscard]] Result<std::vector<MetricQuality>> Judge(const std::vector<ArrayFile>& outputs,
                                                         const RowRange& rows,
                                                         const std::function<bool()>& stop = {});

 private:
  using Stop = std::function<bool()>;
  /// Returns copies of these samples, made when they are first asked for.
  const MetricSamples& SamplesOf(const RowRange& rows);
  [[nodiscard]] Result<MetricValues> Run(const std::string& name, const std::string& folder,
                                         const RowRange& rows, const Stop& stop) const;
  /// Returns the values of the uncompressed model on these samples.
  [[nodiscard]] Result<MetricValues> ReferenceOf(const std::string& name, const RowRange& rows,
                                                 const Stop& stop);

  std::map<std::string, Metric> metrics_;
  MetricArrays arrays_;
  MetricHost host_;
  std::optional<MetricSamples> samples_;  // those asked for last
  std::map<std::string, MetricReference> references_;
  /// Of the uncompressed model, by metric, first sample and count.
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, MetricValues> values_;
};

}  // namespace msc::cost
