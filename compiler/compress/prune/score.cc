#include "compiler/compress/prune/score.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <Eigen/Core>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/compress/prune/lstm.h"
#include "compiler/ops/eval.h"

namespace msc {
namespace {

constexpr std::array<std::string_view, 7> kNames = {"l1",     "l2",  "fpgm",  "random",
                                                    "energy", "obs", "taylor"};

/// Returns the weights that compute one output channel: along `out_axis` for Conv, Gemm and MatMul;
/// for a ConvTranspose those at the channel's position in its group, over the input channels of
/// that group.
std::vector<float> ChannelWeights(const Tensor& weights, const WeightedLayer& layer,
                                  std::int64_t channel, std::int64_t channels) {
  const Dims& dims = weights.dims();
  const auto values = weights.Values<float>();
  const std::int64_t taps = dims[0] * dims[1] == 0 ? 0 : weights.size() / (dims[0] * dims[1]);
  const std::int64_t group_channels = dims[layer.out_axis];
  const std::int64_t groups = layer.out_axis == 1 ? channels / group_channels : 1;
  // A ConvTranspose has its output channels within a group on axis 1 of its weights, and all input
  // channels on axis 0.
  const std::int64_t group_inputs = dims[layer.in_axis] / (layer.out_axis == 1 ? groups : 1);
  const std::int64_t group = channel / group_channels;
  std::vector<float> made;
  for (std::int64_t in = 0; in < group_inputs; ++in) {
    const std::int64_t row = layer.out_axis == 0 ? channel : group * group_inputs + in;
    const std::int64_t column = layer.out_axis == 0 ? in : channel % group_channels;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      made.push_back(values[static_cast<std::size_t>((row * dims[1] + column) * taps + tap)]);
    }
  }
  return made;
}

/// All weights of the channels of each unit of a group in one layer, one row per unit.
struct UnitRows {
  std::vector<std::size_t> units;
  std::vector<std::vector<float>> rows;
};

UnitRows RowsOf(const Graph& graph, const PruneSpace& space, const PruneGroup& group,
                const WeightedLayer& layer) {
  const auto& units = space.Units(layer.channels, layer.channel_axis);
  const Tensor weights = ToF32(*graph.constant(layer.weight));
  const bool recurrent = graph.node(layer.node).op == "LSTM";
  const Tensor own = recurrent ? ToF32(*graph.constant(layer.channels)) : Tensor();
  std::map<std::size_t, std::vector<float>> rows;
  for (std::size_t channel = 0; channel < units.size(); ++channel) {
    if (units[channel] < 0) continue;
    const auto unit = static_cast<std::size_t>(units[channel]);
    if (unit < group.first_unit || unit >= group.first_unit + group.units) continue;
    const auto place = static_cast<std::int64_t>(channel);
    const std::vector<float> made = recurrent
                                        ? LstmUnitWeights(weights, own, place)
                                        : ChannelWeights(weights, layer, place, std::ssize(units));
    rows[unit].insert(rows[unit].end(), made.begin(), made.end());
  }
  UnitRows result;
  for (auto& [unit, row] : rows) {
    result.units.push_back(unit);
    result.rows.push_back(std::move(row));
  }
  return result;
}

/// Returns for each row the sum of its distances to all rows.
std::vector<double> Distances(const std::vector<std::vector<float>>& rows) {
  std::size_t longest = 0;
  for (const auto& row : rows) longest = std::max(longest, row.size());
  // Rows of units with fewer channels end in zeros, which change no distance between rows of equal
  // length.
  Eigen::MatrixXd all = Eigen::MatrixXd::Zero(std::ssize(rows), static_cast<Eigen::Index>(longest));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      all(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
          static_cast<double>(rows[i][j]);
    }
  }
  const Eigen::MatrixXd products = all * all.transpose();
  std::vector<double> sums(rows.size(), 0.0);
  // A unit near the geometric median of its layer has a small sum of distances: the others can
  // replace it (He et al., 2019, section 3).
  for (Eigen::Index i = 0; i < products.rows(); ++i) {
    for (Eigen::Index j = 0; j < products.cols(); ++j) {
      // By |a - b|^2 = |a|^2 + |b|^2 - 2 a b, which rounding may leave below 0.
      const double square = products(i, i) + products(j, j) - 2 * products(i, j);
      sums[static_cast<std::size_t>(i)] += std::sqrt(std::max(square, 0.0));
    }
  }
  return sums;
}

std::vector<double> Importance(const std::vector<std::vector<float>>& rows, ScoreMethod method) {
  if (method == ScoreMethod::kFpgm) return Distances(rows);
  std::vector<double> scores;
  for (const auto& row : rows) {
    double sum = 0;
    for (const float w : row) {
      const double wide = std::abs(static_cast<double>(w));
      sum += method == ScoreMethod::kL1 ? wide : wide * wide;
    }
    scores.push_back(method == ScoreMethod::kL1 ? sum : std::sqrt(sum));
  }
  return scores;
}

}  // namespace

std::string_view Name(ScoreMethod method) {
  return kNames.at(static_cast<std::size_t>(method));
}

ScoreMethod ParseScoreMethod(std::string_view name) {
  std::string known;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames.at(i) == name) return static_cast<ScoreMethod>(i);
    known += (i > 0 ? ", " : "") + std::string(kNames.at(i));
  }
  throw UserError("unknown score '" + std::string(name) + "'; known: " + known);
}

bool NeedsCalibration(ScoreMethod method) {
  return method == ScoreMethod::kEnergy || method == ScoreMethod::kObs ||
         method == ScoreMethod::kTaylor;
}

UnitScores ScoreWeights(const Graph& graph, const PruneSpace& space, ScoreMethod method,
                        std::uint64_t seed) {
  Check(!NeedsCalibration(method), "scores from weights need no calibration");
  UnitScores scores;
  scores.of_unit.assign(space.units(), 0.0);
  if (method == ScoreMethod::kRandom) {
    Rng rng(seed);
    for (double& score : scores.of_unit) score = rng.Uniform();
    return scores;
  }
  std::map<std::string, WeightedLayer> layers;
  for (const WeightedLayer& layer : FindWeightedLayers(graph)) {
    layers.emplace(graph.node(layer.node).name, layer);
  }
  for (const PruneGroup& group : space.groups()) {
    std::vector<double> times(space.units(), 0.0);
    for (const std::string& name : group.layers) {
      const UnitRows rows = RowsOf(graph, space, group, layers.at(name));
      const std::vector<double> found = Importance(rows.rows, method);
      // Norms grow with the size of a layer's weights, so scores of layers are comparable only
      // relative to their means.
      double mean = 0;
      for (const double score : found) mean += score / static_cast<double>(found.size());
      if (!std::isfinite(mean)) {
        throw UserError("layer '" + name + "' has weights that are not finite");
      }
      for (std::size_t i = 0; i < found.size(); ++i) {
        scores.of_unit[rows.units[i]] += mean > 0 ? found[i] / mean : 1.0;
        times[rows.units[i]] += 1;
      }
    }
    for (std::size_t unit = group.first_unit; unit < group.first_unit + group.units; ++unit) {
      if (times[unit] > 0) scores.of_unit[unit] /= times[unit];
    }
  }
  return scores;
}

}  // namespace msc
