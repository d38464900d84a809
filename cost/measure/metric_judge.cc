#include "cost/measure/metric_judge.h"

#include <cmath>

#include "compiler/base/error.h"

namespace msc::cost {

MetricJudge::MetricJudge(std::map<std::string, Metric> metrics, MetricArrays arrays,
                         MetricHost host)
    : metrics_(std::move(metrics)), arrays_(std::move(arrays)), host_(std::move(host)) {}

const MetricSamples& MetricJudge::SamplesOf(const RowRange& rows) {
  const auto same = [&](const RowRange& other) {
    return other.first == rows.first && other.count == rows.count;
  };
  if (!samples_ || !same(samples_->rows())) {
    samples_.reset();  // first, so that the disk holds only one copy
    samples_.emplace(host_.scratch, arrays_.inputs, arrays_.labels, rows);
  }
  return *samples_;
}

Result<MetricValues> MetricJudge::Run(const std::string& name, const std::string& folder,
                                      const RowRange& rows, const Stop& stop) const {
  return RunMetric(
      {.name = name, .spec = metrics_.at(name).spec, .folder = folder, .samples = rows.count},
      host_, stop);
}

const std::map<std::string, MetricReference>& MetricJudge::MeasureReference() {
  const RowRange all{0, arrays_.samples};
  const MetricFolder folder(host_.scratch, SamplesOf(all), arrays_.reference);
  for (const auto& [name, metric] : metrics_) {
    const auto run = [&, &name = name] {
      Result<MetricValues> values = Run(name, folder.path(), all, {});
      if (values.ok()) return std::move(values).value();
      throw UserError(values.failure().detail + ", of the uncompressed model");
    };
    MetricValues first = run();
    const MetricValues second = run();
    const auto compared = CompareMetric(name, metric.spec, first, second, 0);
    if (!compared.ok()) {
      throw UserError("metric '" + name + "': " + compared.failure().detail +
                      ", of the uncompressed model");
    }
    references_[name] = {.value = first.Mean(),
                         .noise = std::abs(compared.value().loss.value),
                         .whole = first.whole};
    values_[{name, 0, all.count}] = std::move(first);
  }
  return references_;
}

void MetricJudge::UseReference(std::map<std::string, MetricReference> references,
                               const std::map<std::string, std::string>& values) {
  references_ = std::move(references);
  for (const auto& [name, reference] : references_) {
    MetricValues& all = values_[{name, 0, arrays_.samples}];
    all = {{reference.value}, reference.whole};
    if (reference.whole) continue;
    const Tensor read = ReadNpy(values.at(name));
    const auto numbers = read.Values<double>();
    all.values = {numbers.begin(), numbers.end()};
  }
}

const std::vector<double>* MetricJudge::ReferenceValues(const std::string& name) const {
  const auto found = values_.find({name, 0, arrays_.samples});
  return found == values_.end() || found->second.whole ? nullptr : &found->second.values;
}

Result<MetricValues> MetricJudge::ReferenceOf(const std::string& name, const RowRange& rows,
                                              const Stop& stop) {
  const std::tuple key(name, rows.first, rows.count);
  if (const auto known = values_.find(key); known != values_.end()) return known->second;
  const MetricFolder folder(host_.scratch, SamplesOf(rows), arrays_.reference);
  Result<MetricValues> values = Run(name, folder.path(), rows, stop);
  if (values.ok()) values_[key] = values.value();
  return values;
}

Result<std::vector<MetricQuality>> MetricJudge::Judge(const std::vector<ArrayFile>& outputs,
                                                      const RowRange& rows, const Stop& stop) {
  Check(references_.size() == metrics_.size(), "metrics of the uncompressed model are known");
  std::vector<MetricQuality> all;
  const MetricFolder folder(host_.scratch, SamplesOf(rows), outputs);
  for (const auto& [name, metric] : metrics_) {
    const Result<MetricValues> wanted = ReferenceOf(name, rows, stop);
    if (!wanted.ok()) return wanted.failure();
    const Result<MetricValues> got = Run(name, folder.path(), rows, stop);
    if (!got.ok()) return got.failure();
    // A mean over fewer samples is as much noisier as one of independent draws.
    const double noise =
        references_.at(name).noise *
        std::sqrt(static_cast<double>(arrays_.samples) / static_cast<double>(rows.count));
    Result<MetricQuality> compared =
        CompareMetric(name, metric.spec, wanted.value(), got.value(), noise);
    if (!compared.ok()) {
      return Failure{compared.failure().kind,
                     "metric '" + name + "': " + compared.failure().detail};
    }
    all.push_back(std::move(compared).value());
  }
  return all;
}

}  // namespace msc::cost
