#include "gym/app/distill_layers.h"

#include <algorithm>
#include <map>

#include "compiler/compress/quantize/quantize.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/samples.h"

namespace msc::gym {
namespace {

constexpr std::int64_t kMaxSamples = 64;

/// Sums over all batches, for one layer.
struct Sums {
  double missed = 0;
  double whole = 0;
};

using Values = std::map<std::string, std::vector<Tensor>>;  ///< by name, one tensor per batch

Values ValuesOf(const Graph& graph, const std::vector<std::string>& names,
                const SampleSource& samples, const CalibrationRun& run,
                const TargetRegistry& targets) {
  Values values;
  ObserveValues(graph, names, samples, run, targets,
                [&](std::int64_t /*first*/, std::span<const Tensor> seen) {
                  for (std::size_t i = 0; i < names.size(); ++i) {
                    values[names[i]].push_back(seen[i]);
                  }
                });
  return values;
}

/// Compares the student's values with the teacher's: those at `keep` along `axis`, or all if `keep`
/// is empty.
Sums Compare(const Tensor& teacher, const Tensor& student, const FeatureTerm& term) {
  const auto wanted = teacher.Values<float>();
  const auto got = student.Values<float>();
  const Dims& dims = teacher.dims();
  std::int64_t inner = 1;  // contiguous values of one channel
  for (auto i = static_cast<std::size_t>(term.axis) + 1; i < dims.size(); ++i) inner *= dims[i];
  const auto kept = std::ssize(term.keep);
  Sums sums;
  for (std::int64_t i = 0; i < std::ssize(got); ++i) {
    std::int64_t place = i;
    if (kept > 0) {
      const std::int64_t channel = term.keep[static_cast<std::size_t>(i / inner % kept)];
      place = (i / inner / kept * dims[static_cast<std::size_t>(term.axis)] + channel) * inner +
              i % inner;
    }
    const double want = wanted[static_cast<std::size_t>(place)];
    const double off = got[static_cast<std::size_t>(i)] - want;
    sums.missed += off * off;
    sums.whole += want * want;
  }
  return sums;
}

double ShareMissed(const std::vector<Tensor>& teacher, const std::vector<Tensor>& student,
                   const FeatureTerm& term) {
  Sums all;
  for (std::size_t batch = 0; batch < teacher.size(); ++batch) {
    const Sums sums = Compare(teacher[batch], student.at(batch), term);
    all.missed += sums.missed;
    all.whole += sums.whole;
  }
  return all.whole > 0 ? all.missed / all.whole : 0;
}

}  // namespace

std::vector<LearnedLayer> CompareLayers(const LayerComparison& comparison, const Tensor& samples,
                                        const CalibrationRun& run, const TargetRegistry& targets) {
  const auto has = [](const Graph& graph, const std::string& name) {
    return graph.FindValue(name) != kNoValue;
  };
  std::vector<LearnedLayer> layers;
  std::vector<DistillFeature> features;
  std::vector<std::string> names;
  for (const QuantizableLayer& layer : FindQuantizableLayers(comparison.student.plain)) {
    const bool everywhere = has(comparison.teacher, layer.output) &&
                            has(comparison.before, layer.output) &&
                            has(comparison.after, layer.output);
    if (!everywhere || std::find(names.begin(), names.end(), layer.output) != names.end()) continue;
    layers.push_back({.layer = layer.name});
    features.push_back({.teacher = layer.output, .student = layer.output});
    names.push_back(layer.output);
  }
  if (names.empty()) return layers;
  const std::vector<FeatureTerm> terms = MatchFeatures(
      features, comparison.base, comparison.student, MakeTrainProgram(comparison.teacher));
  const std::int64_t count = std::min(kMaxSamples, samples.dims().at(0));
  const std::vector<Tensor> some = {Rows(samples, 0, count)};
  const TensorSamples source(some);
  const Values teacher = ValuesOf(comparison.teacher, names, source, run, targets);
  const Values before = ValuesOf(comparison.before, names, source, run, targets);
  const Values after = ValuesOf(comparison.after, names, source, run, targets);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].before = ShareMissed(teacher.at(names[i]), before.at(names[i]), terms[i]);
    layers[i].after = ShareMissed(teacher.at(names[i]), after.at(names[i]), terms[i]);
  }
  return layers;
}

}  // namespace msc::gym
