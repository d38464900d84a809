#include "compiler/pipeline/taylor.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/compress/distill/trainer.h"
#include "compiler/pipeline/batch.h"

namespace msc {
namespace {

/// Weights of the program that read units.
struct Reader {
  std::size_t parameter = 0;
  std::int64_t channels = 1;  ///< size of the axis that reads units
  std::int64_t inner = 1;     ///< consecutive weights that belong to one of its indices
  double share = 1;           ///< share of the gradient, if several layers read the weights
  std::vector<std::int32_t> units;
};

std::vector<Reader> FindReaders(const Graph& graph, const PruneSpace& space,
                                const TrainProgram& program) {
  std::vector<Reader> readers;
  for (const WeightedLayer& layer : FindWeightedLayers(graph)) {
    const auto& units = space.Units(layer.weight, layer.in_axis);
    if (units.empty()) continue;
    const std::pair<std::string, std::int64_t> place = {graph.node(layer.node).name, 1};
    for (std::size_t i = 0; i < program.parameters.size(); ++i) {
      const auto& names = program.parameters[i].names;
      if (std::find(names.begin(), names.end(), place) == names.end()) continue;
      const Dims& dims = program.constants[program.parameters[i].constant].dims;
      Reader reader{.parameter = i, .channels = dims.at(layer.in_axis), .units = units};
      // Weights that several layers share have one gradient, the sum over all uses, of which each
      // use counts an equal part.
      reader.share = 1 / static_cast<double>(names.size());
      for (std::size_t axis = layer.in_axis + 1; axis < dims.size(); ++axis) {
        reader.inner *= dims[axis];
      }
      readers.push_back(std::move(reader));
    }
  }
  return readers;
}

/// Gives groups with units that no reader has the scores of their weights.
void ScoreUnread(const Graph& canonical, const PruneSpace& space,
                 const std::vector<Reader>& readers, std::uint64_t seed, UnitScores& scores) {
  std::vector<bool> read(space.units(), false);
  for (const Reader& reader : readers) {
    for (const std::int32_t unit : reader.units) {
      if (unit >= 0) read[static_cast<std::size_t>(unit)] = true;
    }
  }
  for (const PruneGroup& group : space.groups()) {
    const auto first = static_cast<std::ptrdiff_t>(group.first_unit);
    const auto count = static_cast<std::ptrdiff_t>(group.units);
    if (std::all_of(read.begin() + first, read.begin() + first + count,
                    [](bool is_read) { return is_read; })) {
      continue;
    }
    const UnitScores by_weights = ScoreWeights(canonical, space, ScoreMethod::kL2, seed);
    std::copy_n(by_weights.of_unit.begin() + first, count, scores.of_unit.begin() + first);
    scores.by_weights.push_back(group.name);
  }
}

}  // namespace

UnitScores ScoreByGradients(const Graph& canonical, const PruneSpace& space,
                            const SampleSource& samples, const PruneCalibration& options,
                            const std::function<void(double)>& progress) {
  if (samples.inputs() != 1) throw UserError("samples are read for models with one input");
  const TrainProgram program = MakeTrainProgram(canonical);
  const std::vector<Reader> readers = FindReaders(canonical, space, program);
  const std::int64_t count = samples.count();
  if (samples.GroupEnd(0) != count) {
    throw UserError("samples have different sizes; gradients need samples of one size");
  }
  const std::optional<std::int64_t> fixed = FixedBatch(canonical);
  const std::int64_t batch = std::min(fixed.value_or(EvenBatch(count, options.run.batch)), count);
  const bool labelled = !options.labels.empty();
  if (batch < 1 || (labelled && std::ssize(options.labels) != count)) {
    throw UserError("there are " + std::to_string(options.labels.size()) + " labels for " +
                    std::to_string(count) + " samples");
  }
  UnitScores scores{.of_unit = std::vector<double>(space.units(), 0.0), .are_errors = true};
  // A model with a fixed batch cannot take an incomplete batch.
  const std::int64_t end = fixed ? count / batch * batch : count;
  for (std::int64_t first = 0; first < end; first += batch) {
    const std::int64_t size = std::min(batch, end - first);
    const auto labels = labelled ? options.labels.subspan(static_cast<std::size_t>(first),
                                                          static_cast<std::size_t>(size))
                                 : std::span<const std::int32_t>();
    const std::vector<Tensor> inputs = samples.Read(first, size);
    const auto gradients = Gradients({.program = &program,
                                      .forms = options.forms,
                                      .inputs = inputs.data(),
                                      .labels = labels,
                                      .seed = options.seed + static_cast<std::uint64_t>(first),
                                      .threads = options.run.threads});
    std::vector<double> change(space.units(), 0.0);
    for (const Reader& reader : readers) {
      const auto& weights = program.constants[program.parameters[reader.parameter].constant].values;
      const std::vector<float>& slope = gradients[reader.parameter];
      for (std::size_t i = 0; i < weights.size(); ++i) {
        const auto channel = static_cast<std::int64_t>(i) / reader.inner % reader.channels;
        const std::int32_t unit = reader.units[static_cast<std::size_t>(channel)];
        if (unit < 0) continue;
        // The product with the gradient is the first-order change of the loss if the weight becomes
        // 0.
        change[static_cast<std::size_t>(unit)] +=
            reader.share * static_cast<double>(weights[i]) * slope[i];
      }
    }
    for (std::size_t unit = 0; unit < change.size(); ++unit) {
      // Changes are squared by batch, as changes of opposite signs in two batches must not cancel.
      if (!std::isfinite(change[unit])) throw UserError("a gradient is not finite");
      const double share = static_cast<double>(size) / static_cast<double>(end);
      scores.of_unit[unit] += change[unit] * change[unit] * share;
    }
    if (progress) progress(static_cast<double>(first + size) / static_cast<double>(end));
  }
  ScoreUnread(canonical, space, readers, options.seed, scores);
  return scores;
}

}  // namespace msc
