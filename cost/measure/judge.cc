#include "cost/measure/judge.h"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/ops/eval.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/batch.h"
#include "cost/measure/ending.h"
#include "cost/model/closeness.h"

namespace msc::cost {
namespace {

/// Returns the largest relative error that the strategy's precisions allow. Returns nothing for
/// 8-bit integers and pruned channels: their error is part of what the search optimises.
std::optional<double> Tolerance(const Strategy& strategy, const EvaluationSettings& settings) {
  if (!strategy.prune.groups.empty()) return std::nullopt;
  double tolerance = settings.f32_tolerance;
  for (const auto& [layer, precision] : strategy.quantize.layers) {
    switch (precision) {
      case Precision::kF32:
        break;
      case Precision::kBF16:
        tolerance = settings.bf16_tolerance;
        break;
      case Precision::kInt8:
        return std::nullopt;
    }
  }
  return tolerance;
}

/// Compares the numbers of one value in both models over all batches.
class Pair {
 public:
  void Add(const Tensor& wanted, const Tensor& got) {
    if (wanted.dtype() != got.dtype() || wanted.dims() != got.dims()) {
      fits_ = false;
      return;
    }
    for (std::int64_t i = 0; i < wanted.size(); ++i) {
      const double want = NumberAt(wanted, i);
      const double have = NumberAt(got, i);
      closeness_.Add(want, have);
      wanted_.Add(want);
      got_.Add(have);
    }
  }
  [[nodiscard]] double RangeOfWanted() const { return wanted_.Size(); }
  [[nodiscard]] bool IsClose(double tolerance) const {
    return fits_ && closeness_.Error() <= tolerance;
  }
  [[nodiscard]] bool IsFinite() const { return fits_ && closeness_.apart() == 0; }
  [[nodiscard]] bool Constant() const { return wanted_.Size() > 0 && got_.Size() == 0; }

 private:
  struct Range {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    void Add(double number) {
      low = std::min(low, number);
      high = std::max(high, number);
    }
    [[nodiscard]] double Size() const { return low < high ? high - low : 0; }
  };
  Closeness closeness_;
  Range wanted_;
  Range got_;
  bool fits_ = true;
};

/// A model with additional outputs: the values in front of its end.
class Tapped {
 public:
  static Result<Tapped> Make(const DecisionQuestion& question, const Ending& ending,
                             const Strategy& strategy) {
    auto built = BuildCandidate(ending.whole, strategy, *question.targets,
                                {question.folder->settings.threads, question.built->batch});
    if (!built.ok()) return built.failure();
    return Tapped(std::move(built).value(), ending.decided_at);
  }

  /// Returns the values that decisions depend on, in the order of Ending::decided.
  std::vector<Tensor> Run(std::span<const Tensor> inputs) {
    std::vector<Tensor> all = built_.executable.Run(inputs);
    std::vector<Tensor> values;
    values.reserve(positions_.size());
    for (const std::size_t at : positions_) values.push_back(all.at(at));
    return values;
  }

 private:
  Tapped(BuiltCandidate built, std::vector<std::size_t> positions)
      : built_(std::move(built)), positions_(std::move(positions)) {}
  BuiltCandidate built_;
  std::vector<std::size_t> positions_;
};

class SecondLook {
 public:
  SecondLook(const DecisionQuestion& question, const Ending& ending, Tapped reference,
             Tapped candidate)
      : question_(question),
        ending_(ending),
        reference_(std::move(reference)),
        candidate_(std::move(candidate)),
        decided_(ending.decided.size()),
        outputs_(ending.positions.size()) {}

  void Add(std::span<const Tensor> inputs) {
    const std::vector<Tensor> wanted = reference_.Run(inputs);
    const std::vector<Tensor> got = candidate_.Run(inputs);
    for (std::size_t i = 0; i < decided_.size(); ++i) decided_[i].Add(wanted[i], got[i]);
    const std::vector<Tensor> outputs = question_.built->executable.Run(inputs);
    const std::vector<Tensor> follow = Interpret(ending_.rest, InputsOfRest(inputs, got));
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      outputs_[i].Add(follow.at(i), outputs.at(ending_.positions[i]));
    }
  }

  [[nodiscard]] bool Excuses() const {
    const EvaluationSettings& settings = question_.folder->settings;
    const auto tolerance = Tolerance(*question_.strategy, settings);
    double range = 0;
    for (const Pair& value : decided_) {
      if (!value.IsFinite() || value.Constant()) return false;
      if (tolerance && !value.IsClose(*tolerance)) return false;
      range = std::max(range, value.RangeOfWanted());
    }
    // The candidate with additional outputs may round differently from the judged one. A
    // probability changes by at most half of the change of its logits.
    constexpr double kMostOfRounding = 0.25;
    const double rounding = std::min(settings.f32_tolerance * range / 2, kMostOfRounding);
    const double allowed = std::max(tolerance.value_or(settings.bf16_tolerance), rounding);
    return std::all_of(outputs_.begin(), outputs_.end(),
                       [&](const Pair& output) { return output.IsClose(allowed); });
  }

 private:
  [[nodiscard]] std::vector<Tensor> InputsOfRest(std::span<const Tensor> inputs,
                                                 const std::vector<Tensor>& decided) const {
    std::map<std::string, const Tensor*> by_name;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      by_name[question_.graph->value(question_.graph->inputs()[i]).name] = &inputs[i];
    }
    for (std::size_t i = 0; i < decided.size(); ++i) by_name[ending_.decided[i]] = &decided[i];
    std::vector<Tensor> values;
    values.reserve(ending_.rest.inputs().size());
    for (const ValueId input : ending_.rest.inputs()) {
      values.push_back(*by_name.at(ending_.rest.value(input).name));
    }
    return values;
  }

  const DecisionQuestion& question_;
  const Ending& ending_;
  Tapped reference_;
  Tapped candidate_;
  std::vector<Pair> decided_;
  std::vector<Pair> outputs_;
};

bool Excused(const DecisionQuestion& question) {
  const std::int64_t batch = question.built->batch;
  const auto ending =
      FindEnding(*question.graph, {.threads = question.folder->settings.threads,
                                   .bindings = BatchBindings(*question.graph, batch)});
  if (!ending) return false;
  Strategy uncompressed;
  uncompressed.target = question.folder->settings.target;
  auto reference = Tapped::Make(question, *ending, uncompressed);
  auto candidate = Tapped::Make(question, *ending, *question.strategy);
  if (!reference.ok() || !candidate.ok()) return false;
  SecondLook look(question, *ending, std::move(reference).value(), std::move(candidate).value());
  const std::vector<Tensor> inputs = LoadInputs(*question.folder, question.rows);
  const std::int64_t samples = inputs.at(0).dims().at(0);
  for (std::int64_t first = 0; first < samples; first += batch) {
    std::vector<Tensor> rows;
    rows.reserve(inputs.size());
    for (const Tensor& input : inputs) rows.push_back(TakeBatch(input, first, batch));
    look.Add(InputsOfRows(question.built->layout, std::move(rows)));
  }
  return look.Excuses();
}

}  // namespace

std::optional<Failure> JudgeOutputs(const QualityMeter& meter, const Strategy& strategy,
                                    const EvaluationSettings& settings) {
  if (meter.Constant()) return Failure{FailureKind::kWrongOutput, "an output never changes"};
  const auto tolerance = Tolerance(strategy, settings);
  const double error = meter.LargestError();
  if (tolerance && !(error <= *tolerance)) {
    return Failure{FailureKind::kWrongOutput, "an output is off by " + std::to_string(error) +
                                                  " of its range; its precision allows " +
                                                  std::to_string(*tolerance)};
  }
  return std::nullopt;
}

std::optional<Failure> JudgeDecisions(const DecisionQuestion& question, const Failure& failure) {
  // A strategy with regions or schedules for the graph without additional outputs cannot be built
  // with them. The first verdict then holds.
  try {
    if (Excused(question)) return std::nullopt;
  } catch (const UserError&) {
    return failure;
  }
  return failure;
}

}  // namespace msc::cost
