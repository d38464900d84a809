#include "gym/app/test_metrics.h"

#include <cstdio>
#include <filesystem>
#include <sstream>
#include <utility>

#include "compiler/base/error.h"
#include "cost/measure/metric_run.h"

namespace msc::gym {
namespace {

constexpr const char* kPrefix = "mscgym-test-";

std::string TemporaryParent() {
  std::string parent = std::filesystem::temp_directory_path().string();
  SweepTemporaryFolders(parent, kPrefix);  // left by processes that were killed
  return parent;
}

/// Writes arrays as NumPy files.
std::vector<cost::ArrayFile> Written(const std::string& stem, const std::vector<std::string>& names,
                                     const std::vector<Tensor>& tensors) {
  std::vector<cost::ArrayFile> files;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    files.push_back({.name = names.at(i), .path = stem + std::to_string(i) + ".npy"});
    cost::WriteNpy(files.back().path, tensors[i]);
  }
  return files;
}

std::vector<std::string> NamesOf(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<std::string> names;
  for (const ValueId id : values) names.push_back(graph.value(id).name);
  return names;
}

}  // namespace

void ReadMetric(const std::string& text, cost::MetricSpecs& metrics) {
  const std::size_t equals = text.find('=');
  const std::size_t colon = text.find(':', equals);
  if (equals == std::string::npos || colon == std::string::npos) {
    throw UserError("--metric '" + text + "' must be NAME=lower:COMMAND or NAME=higher:COMMAND");
  }
  cost::MetricSpec spec{.better = text.substr(equals + 1, colon - equals - 1)};
  if (spec.better != "lower" && spec.better != "higher") {
    throw UserError("--metric '" + text + "': '" + spec.better +
                    "' must be lower or higher, whichever is better");
  }
  std::istringstream words(text.substr(colon + 1));
  for (std::string word; words >> word;) spec.command.push_back(word);
  cost::ResolveFiles(".", spec);
  const std::string name = text.substr(0, equals);
  (void)cost::CheckedMetric(name, spec);
  metrics[name] = std::move(spec);
}

TestMetrics::TestMetrics(const cost::MetricSpecs& metrics, const cost::SampleSet& samples,
                         const Graph& graph, const std::vector<Tensor>& reference, int threads)
    : folder_(TemporaryParent(), kPrefix),
      samples_(samples.size()),
      names_(NamesOf(graph, graph.outputs())) {
  cost::MetricArrays arrays{
      .inputs = Written(folder_.path() + "/input_", NamesOf(graph, graph.inputs()), samples.inputs),
      .labels = {},
      .reference = Written(folder_.path() + "/reference_", names_, reference),
      .samples = samples_};
  if (!samples.labels.empty()) {
    arrays.labels = {.name = "labels", .path = folder_.path() + "/labels.npy"};
    cost::WriteNpy(arrays.labels->path,
                   Tensor::From<std::int32_t>(DType::kI32, {samples_}, samples.labels));
  }
  std::map<std::string, cost::Metric> checked;
  for (const auto& [name, spec] : metrics) {
    checked.emplace(name, cost::CheckedMetric(name, spec));
    std::fprintf(stderr, "running metric %s\n", cost::DescribeMetric(name, spec).c_str());
  }
  judge_ = std::make_unique<cost::MetricJudge>(
      std::move(checked), std::move(arrays),
      cost::MetricHost{.scratch = folder_.path(), .environment = cost::MetricEnvironment(threads)});
  for (const auto& [name, found] : judge_->MeasureReference()) {
    if (found.noise == 0) continue;
    std::fprintf(stderr,
                 "warning: metric '%s' is random: two calls on the same outputs differ by %.3g\n",
                 name.c_str(), found.noise);
  }
}

std::vector<cost::MetricQuality> TestMetrics::Measure(const std::vector<Tensor>& outputs) {
  const auto files = Written(folder_.path() + "/output_", names_, outputs);
  auto measured = judge_->Judge(files, {0, samples_});
  if (!measured.ok()) throw UserError(measured.failure().detail);
  return std::move(measured).value();
}

}  // namespace msc::gym
