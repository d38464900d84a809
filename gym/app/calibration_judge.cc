#include "gym/app/calibration_judge.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/compile.h"
#include "cost/model/loss.h"
#include "gym/search/losses.h"

namespace msc::gym {
namespace {

/// Of these, the first that outputs have is the fine loss.
constexpr std::array kFineLosses = {cost::kDistillLoss, cost::kRelativeError, cost::kDisagreement};

/// The first samples of a source, which must outlive it.
class FirstSamples final : public SampleSource {
 public:
  FirstSamples(const SampleSource& source, std::int64_t count) : source_(source), count_(count) {}
  [[nodiscard]] std::int64_t count() const override { return count_; }
  [[nodiscard]] std::size_t inputs() const override { return source_.inputs(); }
  [[nodiscard]] std::vector<Tensor> Read(std::int64_t first, std::int64_t count) const override {
    return source_.Read(first, count);
  }
  [[nodiscard]] std::int64_t GroupEnd(std::int64_t first) const override {
    return std::min(source_.GroupEnd(first), count_);
  }

 private:
  const SampleSource& source_;
  std::int64_t count_;
};

TestJudge MakeJudge(const CalibrationJudgeInput& input, std::int64_t most) {
  const std::int64_t count =
      std::min(input.samples->count(), std::max(most, FixedBatch(*input.graph).value_or(1)));
  return {{.source = std::make_shared<FirstSamples>(*input.samples, count)},
          *input.graph,
          input.run,
          *input.targets,
          {.outputs = input.outputs, .metrics = {}, .guard = {}}};
}

}  // namespace

CalibrationJudge::CalibrationJudge(CalibrationJudgeInput input, std::int64_t most)
    : input_(std::move(input)), judge_(MakeJudge(input_, most)) {}

Judged CalibrationJudge::Judge(const Strategy& strategy) const {
  try {
    return judge_.Look(ApplyStrategy(*input_.graph, strategy)).judged;
  } catch (const UserError& error) {  // such as a target without a kernel for this mix
    return {.failure = error.what()};
  }
}

double FineLoss(const Judged& judged) {
  if (!judged.failure.empty()) return std::numeric_limits<double>::infinity();
  for (const auto name : kFineLosses) {
    if (const auto loss = judged.quality.Loss(name)) return loss->value;
  }
  return 0;
}

std::string FineLossText(const Judged& judged) {
  if (!judged.failure.empty()) return "failed: " + judged.failure;
  for (const auto name : kFineLosses) {
    if (const auto loss = judged.quality.Loss(name)) {
      return cost::TitleOf(name) + " " + FormatLoss(name, loss->value);
    }
  }
  return "no loss";
}

}  // namespace msc::gym
