#include "compiler/pipeline/smooth.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "compiler/base/rng.h"
#include "compiler/compress/prune/least_squares.h"
#include "compiler/compress/prune/linear_form.h"
#include "compiler/compress/quantize/grid.h"
#include "compiler/compress/quantize/rescale.h"

namespace msc {
namespace {

constexpr std::size_t kMaxRows = 256;  ///< limit of the rows of inputs that a layer is judged by
constexpr int kAlphas = 11;

/// A layer that reads the value, with rows of its inputs.
struct Reader {
  const ChannelConstant* constant = nullptr;
  WeightedLayer layer;
  LinearForm form;
  std::vector<float> rows = {};  ///< [.., groups * inputs]
  std::size_t input_place = 0;   ///< index among the observed values
  std::size_t output_place = 0;
};

/// A link and what was observed of its value.
struct SmoothCandidate {
  const RescaleLink* link = nullptr;
  std::size_t place = 0;
  std::vector<float> maxima = {};
  bool negative = false;
  std::vector<Reader> readers = {};
};

/// A list of distinct names.
class Names {
 public:
  std::size_t Add(const std::string& name) {
    const auto it = std::find(list_.begin(), list_.end(), name);
    const auto place = static_cast<std::size_t>(it - list_.begin());
    if (place == list_.size()) list_.push_back(name);
    return place;
  }
  [[nodiscard]] const std::vector<std::string>& list() const { return list_; }

 private:
  std::vector<std::string> list_;
};

/// Returns a candidate with the readers whose products can be computed here; there may be none.
SmoothCandidate MakeCandidate(const Graph& graph, const RescaleLink& link,
                              const std::vector<WeightedLayer>& layers, Names& names) {
  SmoothCandidate candidate{.link = &link, .place = names.Add(link.value)};
  candidate.maxima.assign(static_cast<std::size_t>(link.channels), 0.0F);
  for (const ChannelConstant& constant : link.readers) {
    const auto layer = std::find_if(layers.begin(), layers.end(), [&](const WeightedLayer& each) {
      return each.node == constant.node;
    });
    const auto form = layer == layers.end() ? std::nullopt : ReadLinearForm(graph, *layer);
    if (!form) continue;
    Reader reader{.constant = &constant, .layer = *layer, .form = *form};
    const Node& node = graph.node(constant.node);
    reader.input_place = names.Add(graph.value(node.inputs.at(0)).name);
    reader.output_place = names.Add(graph.value(node.outputs.at(0)).name);
    candidate.readers.push_back(std::move(reader));
  }
  return candidate;
}

/// Updates the largest magnitudes of channels, and whether there are negative values.
void See(const Tensor& value, SmoothCandidate& candidate) {
  const Dims& dims = value.dims();
  std::size_t inner = 1;
  for (std::size_t i = candidate.link->axis + 1; i < dims.size(); ++i) {
    inner *= static_cast<std::size_t>(dims[i]);
  }
  const auto values = value.Values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    float& most = candidate.maxima[i / inner % candidate.maxima.size()];
    most = std::max(most, std::abs(values[i]));
    candidate.negative = candidate.negative || values[i] < 0;
  }
}

/// Adds rows of a reader's inputs, up to kMaxRows.
void TakeRows(const Graph& graph, std::span<const Tensor> values, std::uint64_t seed,
              Reader& reader) {
  const auto width = static_cast<std::size_t>(reader.form.groups * reader.form.inputs);
  if (reader.rows.size() >= kMaxRows * width) return;
  const Dims& y = values[reader.output_place].dims();
  // About a sixteenth of the rows come from each batch, so that they come from many samples.
  const auto most = std::max<std::int64_t>(1, static_cast<std::int64_t>(kMaxRows) / 16 / y[0]);
  std::vector<std::int64_t> positions = PickPositions(graph.node(reader.layer.node), y, most, seed);
  positions.resize(std::min(positions.size(), kMaxRows - reader.rows.size() / width));
  const std::vector<float> rows =
      InputRows(graph, reader.layer, values[reader.input_place], y, positions);
  reader.rows.insert(reader.rows.end(), rows.begin(), rows.end());
}

/// Returns the channel of input `i` of group `g`.
std::size_t ChannelOfInput(const Reader& reader, std::int64_t g, std::int64_t i) {
  const LinearForm& form = reader.form;
  const std::int64_t element =
      reader.layer.out_axis == 0 ? g * form.outputs * form.inputs + i : i * form.outputs;
  return static_cast<std::size_t>(reader.constant->channel_of[static_cast<std::size_t>(element)]);
}

struct Bits {
  int x = 8;
  int w = 8;
};

/// Returns the error of the readers if channels are scaled by these exponents.
double ErrorOf(const Graph& graph, const SmoothCandidate& candidate, std::span<const int> exponents,
               const Bits& bits) {
  float range = 0;
  // An activation has one range for all channels, so smoothing gains by lowering the largest of
  // them.
  for (std::size_t c = 0; c < exponents.size(); ++c) {
    range = std::max(range, std::ldexp(candidate.maxima[c], -exponents[c]));
  }
  if (!(range > 0)) return 0;
  double sum = 0;
  for (const Reader& reader : candidate.readers) {
    const LinearForm& form = reader.form;
    const std::vector<float> weights = ReadRows(graph, reader.layer, form);
    const auto inputs = static_cast<std::size_t>(form.inputs);
    const std::size_t part = inputs * static_cast<std::size_t>(form.outputs);
    const std::size_t width = inputs * static_cast<std::size_t>(form.groups);
    for (std::int64_t g = 0; g < form.groups; ++g) {
      std::vector<float> w(
          weights.begin() + static_cast<std::ptrdiff_t>(g) * static_cast<std::ptrdiff_t>(part),
          weights.begin() + static_cast<std::ptrdiff_t>(g + 1) * static_cast<std::ptrdiff_t>(part));
      std::vector<float> x(reader.rows.size() / width * inputs);
      for (std::size_t i = 0; i < inputs; ++i) {
        const int exponent = exponents[ChannelOfInput(reader, g, static_cast<std::int64_t>(i))];
        const float up = std::ldexp(1.0F, exponent);
        const float down = std::ldexp(1.0F, -exponent);
        for (std::size_t o = i; o < w.size(); o += inputs) w[o] *= up;
        for (std::size_t r = 0; r < x.size() / inputs; ++r) {
          x[r * inputs + i] =
              reader.rows[r * width + static_cast<std::size_t>(g) * inputs + i] * down;
        }
      }
      // Values that are never negative are stored unsigned, with twice the levels.
      sum += ProductError({.x = x, .w = w, .inputs = form.inputs}, range,
                          candidate.negative ? LargestLevel(bits.x) : (1 << bits.x) - 1, bits.w) /
             static_cast<double>(form.groups);
    }
  }
  return sum;
}

}  // namespace

std::vector<SmoothedValue> SmoothLayers(const SampleSource& samples, const QuantizeOptions& options,
                                        const CalibrationRun& run, const TargetRegistry& registry,
                                        Graph& graph, const std::function<void(double)>& progress) {
  const std::vector<RescaleLink> links = FindRescaleLinks(graph);
  const std::vector<WeightedLayer> layers = FindWeightedLayers(graph);
  Names names;
  std::vector<SmoothCandidate> candidates;
  for (const RescaleLink& link : links) {
    SmoothCandidate candidate = MakeCandidate(graph, link, layers, names);
    if (!candidate.readers.empty()) candidates.push_back(std::move(candidate));
  }
  if (candidates.empty()) return {};
  ObserveValues(
      graph, names.list(), samples, run, registry,
      [&](std::int64_t first, std::span<const Tensor> values) {
        for (std::size_t i = 0; i < candidates.size(); ++i) {
          See(values[candidates[i].place], candidates[i]);
          const std::uint64_t seed = MixSeed({options.seed, i, static_cast<std::uint64_t>(first)});
          for (Reader& reader : candidates[i].readers) {
            TakeRows(graph, values, seed, reader);
          }
        }
      },
      progress);
  // Each value has its own alpha, the one of least error among a grid.
  std::vector<SmoothedValue> smoothed;
  for (const SmoothCandidate& candidate : candidates) {
    const RescaleLink& link = *candidate.link;
    const std::vector<float> weights = ChannelMaxima(graph, link.readers, link.channels);
    std::vector<int> best(candidate.maxima.size(), 0);
    const Bits bits{static_cast<int>(options.scales.bits), static_cast<int>(options.bits)};
    SmoothedValue result{.value = link.value};
    result.error_before = ErrorOf(graph, candidate, best, bits);
    result.error_after = result.error_before;
    for (int step = 0; step < kAlphas; ++step) {
      const double alpha = step / (kAlphas - 1.0);
      std::vector<int> exponents = SmoothingExponents(candidate.maxima, weights, alpha);
      const double error = ErrorOf(graph, candidate, exponents, bits);
      // If smoothing gains nothing, the value stays as it is.
      if (!(error < result.error_after)) continue;
      result.error_after = error;
      result.alpha = alpha;
      best = std::move(exponents);
    }
    if (result.alpha) RescaleChannels(link, best, graph);
    smoothed.push_back(std::move(result));
  }
  return smoothed;
}

}  // namespace msc
