#include "gym/app/test_judge.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/fitting_batch.h"
#include "cost/quality/bind_labels.h"
#include "cost/quality/choose_form.h"
#include "cost/quality/look.h"
#include "cost/quality/quality.h"
#include "gym/app/limits.h"

namespace msc::gym {
namespace {

std::vector<std::string> OutputNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const ValueId id : graph.outputs()) names.push_back(graph.value(id).name);
  return names;
}

/// Returns whether two outputs have rows of one size.
bool SameRows(const Tensor& a, const Tensor& b) {
  return std::equal(a.dims().begin() + 1, a.dims().end(), b.dims().begin() + 1, b.dims().end());
}

/// Returns one tensor for each output, [N, ...], of batches of all outputs; of those whose sizes
/// are those of the first one. Only as many as tell what outputs are, unless `all`: large outputs
/// tell it with fewer samples.
std::vector<Tensor> JoinFirstSize(const KeptBatches& batches, bool all) {
  constexpr std::size_t kEnoughBytes = std::size_t{4} * cost::kMostNumbers;
  std::vector<std::vector<Tensor>> same;
  std::size_t bytes = 0;
  std::int64_t samples = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (!all && (samples >= cost::kMostLookedAt || bytes >= kEnoughBytes)) break;
    std::vector<Tensor> batch = batches.Get(i);
    if (!same.empty() && !std::equal(batch.begin(), batch.end(), same[0].begin(), SameRows)) {
      continue;
    }
    for (const Tensor& output : batch) bytes += output.bytes();
    samples += batch.at(0).dims().at(0);
    same.push_back(std::move(batch));
  }
  return JoinBatches(same);
}

}  // namespace

/// A comparison of another model with the reference, batch by batch in order.
class TestJudge::Comparison {
 public:
  explicit Comparison(const TestJudge& judge) : judge_(judge), meter_(judge.forms_) {}

  void Add(std::vector<Tensor> got) {
    if (!looked_.judged.failure.empty()) return;
    const std::vector<Tensor> wanted = judge_.wanted_.Get(batch_++);
    const std::int64_t rows = wanted.at(0).dims().at(0);
    const cost::LabelRows labels{.labels = judge_.labels_, .first = first_};
    if (const auto failure = meter_.Add(wanted, got, labels)) {
      looked_.judged.failure = failure->detail;
      looked_.inputs = InputsOfRows(judge_.layout_, judge_.test_.source->Read(first_, rows));
      looked_.outputs = std::move(got);
      return;
    }
    first_ += rows;
    if (judge_.metrics_) all_.push_back(std::move(got));
  }

  LookedAt End() {
    if (!looked_.judged.failure.empty()) return std::move(looked_);
    Check(batch_ == judge_.wanted_.size(), "all models run on the same batches");
    looked_.judged.quality = meter_.Total();
    if (judge_.metrics_) {
      looked_.judged.quality.metrics = judge_.metrics_->Measure(JoinBatches(all_));
    }
    return std::move(looked_);
  }

 private:
  const TestJudge& judge_;
  cost::QualityMeter meter_;
  std::size_t batch_ = 0;
  std::int64_t first_ = 0;
  std::vector<std::vector<Tensor>> all_;  ///< for metrics
  LookedAt looked_;
};

TestJudge::TestJudge(TestSamples test, const Graph& before, CalibrationRun run,
                     const TargetRegistry& targets, const JudgeOptions& options)
    : test_(std::move(test)), run_(std::move(run)), targets_(targets) {
  // One size for all models, since their outputs are compared batch by batch.
  constexpr double kMostBytes = 32.0 * (1U << 20U);
  run_.batch = FittingBatch(before, OutputNames(before), *test_.source, 64, kMostBytes);
  layout_ = LayoutOf(before);
  ForEachBatch(before, [&](std::vector<Tensor> outputs) { wanted_.Add(std::move(outputs)); });
  const std::vector<Tensor> wanted = JoinFirstSize(wanted_, !options.metrics.empty());
  forms_ = cost::ChooseForms(before, wanted, options.outputs);
  cost::BoundLabels bound = cost::BindLabels(test_.all_labels, forms_, wanted);
  labels_ = std::move(bound.outputs);
  test_.all_labels = {};
  for (const std::string& note : bound.notes) std::fprintf(stderr, "%s\n", note.c_str());
  if (!options.limits.empty()) {
    std::vector<std::string> losses = cost::LossNames(forms_, wanted, {.labels = labels_});
    for (const auto& metric : options.metrics) losses.push_back(metric.first);
    CheckLimits(options.limits, losses);
  }
  if (options.metrics.empty()) return;
  const std::int64_t count = test_.source->count();
  if (test_.source->GroupEnd(0) < count) {
    throw UserError("--metric needs test samples of one size");
  }
  metrics_ = std::make_unique<TestMetrics>(
      options.metrics,
      cost::SampleSet{.inputs = test_.source->Read(0, count), .labels = test_.labels}, before,
      wanted, run_.threads);
}

void TestJudge::ForEachBatch(const Graph& graph, const Visit& visit) const {
  ++passes_;
  const SampleLayout layout = LayoutOf(graph);
  ObserveValues(graph, OutputNames(graph), *test_.source, run_, targets_,
                [&](std::int64_t /*first*/, std::span<const Tensor> values) {
                  visit(RowsOfOutputs(layout, {values.begin(), values.end()}));
                });
}

cost::Quality TestJudge::Judge(const Graph& after) const {
  const Judged judged = Look(after).judged;
  if (!judged.failure.empty()) throw UserError("the compressed model: " + judged.failure);
  return judged.quality;
}

LookedAt TestJudge::Look(const Graph& after) const {
  Comparison comparison(*this);
  ForEachBatch(after, [&](std::vector<Tensor> outputs) { comparison.Add(std::move(outputs)); });
  return comparison.End();
}

LookedAt TestJudge::Look(const ModelCall& call) const {
  Comparison comparison(*this);
  ++passes_;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const std::int64_t rows = wanted_.Samples(i);
    comparison.Add(
        RowsOfOutputs(layout_, call(InputsOfRows(layout_, test_.source->Read(first, rows)))));
    first += rows;
  }
  return comparison.End();
}

}  // namespace msc::gym
