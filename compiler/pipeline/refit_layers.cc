#include "compiler/pipeline/refit_layers.h"

#include <algorithm>
#include <set>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/cached_activations.h"
#include "compiler/pipeline/fitting_batch.h"
#include "compiler/pipeline/kept_rows.h"

namespace msc {
namespace {

/// The wanted outputs of some layers.
struct Wanted {
  KeptRows rows;
  std::vector<Dims> dims;  ///< of each layer's outputs, in the last batch
};

std::vector<std::int64_t> Positions(const LayerRefit& refit, const LayerFit& fit, const Dims& y,
                                    std::int64_t first) {
  // The wanted outputs and the inputs of a layer are observed in runs of their own. A seed by layer
  // and batch gives both the same positions.
  return PickPositions(refit.original.node(fit.layer.node), y, refit.positions(fit),
                       MixSeed({refit.seed, fit.number, static_cast<std::uint64_t>(first)}));
}

/// Returns the values of a graph that the layers and what follows them read, and that none of these
/// change.
std::vector<std::string> ValuesInFrontOf(const Graph& graph, std::span<const LayerFit> layers) {
  std::set<NodeId> behind;
  for (const LayerFit& fit : layers) behind.insert(fit.layer.node);
  std::set<ValueId> read;
  std::vector<std::string> names;
  for (const NodeId id : graph.order()) {
    const std::vector<ValueId>& inputs = graph.node(id).inputs;
    const auto is_behind = [&](ValueId value) {
      return value != kNoValue && graph.producer(value) != kNoNode &&
             behind.contains(graph.producer(value));
    };
    if (std::any_of(inputs.begin(), inputs.end(), is_behind)) behind.insert(id);
    if (!behind.contains(id)) continue;
    for (const ValueId value : inputs) {
      const bool counts = value != kNoValue && graph.constant(value) == nullptr;
      if (counts && !is_behind(value) && read.insert(value).second) {
        names.push_back(graph.value(value).name);
      }
    }
  }
  return names;
}

/// Returns about how many bytes the values take over all samples.
double BytesOf(const Graph& graph, std::span<const std::string> names, std::int64_t samples) {
  double bytes = 0;
  for (const std::string& name : names) {
    const ValueType& type = graph.type(graph.FindValue(name));
    auto elements = static_cast<double>(ByteSize(type.dtype));
    if (type.shape) {
      for (const Dim& dim : *type.shape) {
        if (dim.known()) elements *= static_cast<double>(dim.size());
      }
    }
    bytes += elements;
  }
  const std::int64_t calls = samples / FixedBatch(graph).value_or(1);
  return bytes * static_cast<double>(calls);
}

/// Caches what the layers read of a graph, unless that takes more than the run allows.
void CacheInFrontOf(const LayerRefit& refit, std::span<const LayerFit> layers, const Graph& graph,
                    CachedActivations& cached) {
  const std::vector<std::string> names = ValuesInFrontOf(refit.original, layers);
  if (BytesOf(refit.original, names, refit.samples.count()) > refit.run.cached_bytes) return;
  cached.Cache(graph, names);
}

std::vector<std::string> TargetsOf(std::span<const LayerFit> fits) {
  std::vector<std::string> names;
  for (const LayerFit& fit : fits) names.push_back(fit.target);
  return names;
}

void KeepWanted(const LayerRefit& refit, std::span<const LayerFit> fits,
                CachedActivations& original, Wanted& wanted) {
  wanted.rows.Start(fits.size());
  wanted.dims.assign(fits.size(), {});
  const auto observe = [&](std::int64_t first, std::span<const Tensor> values) {
    for (std::size_t i = 0; i < fits.size(); ++i) {
      const Dims& y = wanted.dims[i] = values[i].dims();
      const Node& node = refit.original.node(fits[i].layer.node);
      std::vector<float> rows = OutputRows(node, values[i], Positions(refit, fits[i], y, first));
      wanted.rows.Add(i, refit.wanted(fits[i], std::move(rows)));
    }
  };
  original.Observe(refit.original, TargetsOf(fits), observe);
}

/// Returns the sizes of a layer's output for a batch of its input, which may have fewer samples
/// than the batch of `dims`. Only a Conv certainly has its batch outermost: the batch of an LSTM is
/// its second axis, and that of layers behind it, too.
Dims OutputDims(Dims dims, const Node& layer, const Tensor& x) {
  const auto shared = layer.Is("Conv") ? 1 : std::ssize(dims) - 1;
  std::copy_n(x.dims().begin(), shared, dims.begin());
  return dims;
}

/// `place` is the index of the layer in `wanted`.
std::vector<LinearMoments> Moments(const LayerRefit& refit, const LayerFit& fit,
                                   const Wanted& wanted, std::size_t place,
                                   const ChangedLayer& changed, CachedActivations& cached) {
  const LinearForm& form = changed.form;
  const Node& node = changed.graph.node(changed.layer.node);
  std::vector<LinearMoments> moments;
  for (std::int64_t g = 0; g < form.groups; ++g) {
    moments.emplace_back(form.inputs, form.outputs, refit.run.Cores());
  }
  std::size_t batch = 0;
  const auto observe = [&](std::int64_t first, std::span<const Tensor> values) {
    const Dims y = OutputDims(wanted.dims.at(place), node, values[0]);
    const std::vector<std::int64_t> positions = Positions(refit, fit, y, first);
    const std::vector<float> x = InputRows(changed.graph, changed.layer, values[0], y, positions);
    std::vector<float> target = wanted.rows.Get(place, batch++);
    // The residual is the one that the changed model computes, so that the layer also makes up for
    // the error of the other branch.
    if (values.size() > 1) {
      const std::vector<float> added = OutputRows(node, values[1], positions);
      Check(added.size() == target.size(), "a residual has the shape of its sum");
      for (std::size_t i = 0; i < added.size(); ++i) target[i] -= added[i];
    }
    for (std::int64_t g = 0; g < form.groups; ++g) {
      moments[static_cast<std::size_t>(g)].Add(
          std::ssize(positions), x.data() + g * form.inputs, form.groups * form.inputs,
          target.data() + g * form.outputs, form.groups * form.outputs);
    }
  };
  cached.Observe(changed.observed, changed.inputs, observe);
  return moments;
}

}  // namespace

void RefitLayers(const LayerRefit& refit, std::span<const LayerFit> layers,
                 const std::function<void(double)>& progress) {
  // All runs have the same batches, by which wanted outputs are found again. The first layers have
  // the largest outputs.
  CalibrationRun run = refit.run;
  run.batch = FittingBatch(refit.original,
                           TargetsOf(layers.first(layers.empty() ? 0 : refit.together(layers))),
                           refit.samples, run.batch);
  CachedActivations original(refit.samples, run, refit.registry);
  CachedActivations changed(refit.samples, run, refit.registry);
  Wanted wanted;  // of `kept` layers from `start` on
  std::size_t start = 0;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (i > 0 && i % refit.layers_a_stage == 0) {
      CacheInFrontOf(refit, layers.subspan(i), refit.changed(), changed);
    }
    // Wanted outputs are kept for as many layers as fit in memory, which saves a run over the
    // samples for each layer.
    if (i == start + kept) {
      if (i > 0) CacheInFrontOf(refit, layers.subspan(i), refit.original, original);
      start = i;
      kept = refit.together(layers.subspan(i));
      KeepWanted(refit, layers.subspan(i, kept), original, wanted);
    }
    refit.fit(layers[i], [&](const ChangedLayer& layer) {
      return Moments(refit, layers[i], wanted, i - start, layer, changed);
    });
    if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(layers.size()));
  }
}

std::vector<float> MeanBias(const LinearMoments& moments, std::span<const float> weights) {
  const std::vector<double> x = moments.MeanInput();
  const std::vector<double> y = moments.MeanOutput();
  std::vector<float> bias(y.size());
  for (std::size_t o = 0; o < y.size(); ++o) {
    double made = 0;
    for (std::size_t i = 0; i < x.size(); ++i) made += weights[o * x.size() + i] * x[i];
    bias[o] = static_cast<float>(y[o] - made);
  }
  return bias;
}

}  // namespace msc
