#include "gym/app/layer_views.h"

#include <algorithm>
#include <utility>

#include "gym/report/html.h"

namespace msc::gym {
namespace {

std::string Arrow(const std::string& before, const std::string& after) {
  return before + " > " + after;
}

std::string QualityText(const cost::Quality& quality) {
  std::string text = "On " + std::to_string(quality.samples) + " samples: distillation loss " +
                     FormatSignificant(quality.kl, 3) + " nats, same class " +
                     FormatPercent(quality.agreement, 2);
  if (quality.accuracy && quality.reference_accuracy) {
    text += ", accuracy " + FormatPercent(quality.accuracy, 2) + " (before " +
            FormatPercent(quality.reference_accuracy, 2) + ")";
  }
  return text + ".";
}

/// Charts the loss of each layer that was measured alone.
LayerChart SensitivityChart(const std::vector<SensitivityRow>& rows) {
  const auto points = [](const Judged& judged) {
    const auto drop = AccuracyDrop(judged);
    return drop ? FormatFixed(*drop, 2) : std::string("-");
  };
  const auto loss = [](const Judged& judged) {
    return judged.failure.empty() ? FormatSignificant(judged.quality.kl, 3) : judged.failure;
  };
  LayerChart chart{.title = "Sensitivity",
                   .after = "distillation loss in nats with this layer alone quantized",
                   .columns = {"alone: loss", "alone: cosine", "alone: accuracy drop, points",
                               "all others: loss", "all others: accuracy drop, points"}};
  for (const SensitivityRow& row : rows) {
    const bool known = row.alone.failure.empty();
    chart.rows.push_back({.name = row.layer,
                          .after = known ? std::optional(row.alone.quality.kl) : std::nullopt,
                          .cells = {loss(row.alone), known ? FormatFixed(row.alone.cosine, 6) : "-",
                                    points(row.alone), loss(row.without), points(row.without)}});
    chart.rows.back().marked = !known || !row.without.failure.empty();
  }
  return chart;
}

}  // namespace

LayerView ViewOf(const QuantizeReport& report) {
  const bool fitted =
      std::any_of(report.layers.begin(), report.layers.end(),
                  [](const QuantizedLayer& layer) { return layer.error_after.has_value(); });
  LayerChart chart{.title = fitted ? "Error of each layer's outputs" : "Bits of the weights",
                   .before = fitted ? "weights rounded to the nearest" : "32 (f32)",
                   .after = fitted ? "error as a share of the outputs' variance" : "bits",
                   .columns = {"precision", "weight bits", "output error", "runs in"}};
  std::size_t quantized = 0;
  for (const QuantizedLayer& layer : report.layers) {
    if (layer.bits > 0) ++quantized;
    const auto achieved = report.achieved.find(layer.name);
    const double bits = layer.bits > 0 ? static_cast<double>(layer.bits)
                                       : (layer.precision == Precision::kBF16 ? 16.0 : 32.0);
    LayerRow row{.name = layer.name,
                 .before = fitted ? layer.error_before : 32.0,
                 .after = fitted ? layer.error_after : bits,
                 .cells = {std::string(Name(layer.precision)), FormatSignificant(bits, 2),
                           Arrow(FormatSignificant(layer.error_before, 3),
                                 FormatSignificant(layer.error_after, 3)),
                           achieved == report.achieved.end() ? "" : achieved->second}};
    row.marked = achieved != report.achieved.end() && !achieved->second.empty() &&
                 achieved->second != Name(layer.precision);
    chart.rows.push_back(std::move(row));
  }
  LayerView view{.tool = "quantize",
                 .model = report.model,
                 .summary = std::to_string(quantized) + " of " +
                            std::to_string(report.layers.size()) +
                            " layers have quantized weights, for " + report.target + "."};
  if (!report.not_finite.empty()) view.facts.push_back(report.not_finite + ".");
  if (report.quality && report.quality->failure.empty()) {
    view.facts.push_back(QualityText(report.quality->quality) + " Cosine of the outputs " +
                         FormatFixed(report.quality->cosine, 5) + ".");
  }
  if (const auto text = PairsText(report)) view.facts.push_back(*text + ".");
  view.charts.push_back(std::move(chart));
  if (!report.sensitivity) return view;
  view.facts.push_back(SensitivityText(*report.sensitivity) + ".");
  if (const auto ranks = RankSensitivity(*report.sensitivity)) {
    view.facts.push_back("Rank correlation with the accuracy drop of each layer alone: KL " +
                         FormatFixed(ranks->kl, 2) + ", MSE " + FormatFixed(ranks->mse, 2) +
                         ", cosine " + FormatFixed(ranks->cosine, 2) + ".");
  }
  view.charts.push_back(SensitivityChart(report.sensitivity->rows));
  return view;
}

LayerView ViewOf(const PruneReport& report) {
  LayerChart chart{.title = "Multiply-adds of each layer",
                   .before = "before",
                   .after = "after, in millions",
                   .columns = {"channels", "millions of multiply-adds", "score kept",
                               "output error, refitted", "not pruned because"}};
  for (const PrunedLayer& layer : report.layers) {
    const auto& fit = layer.reconstructed;
    chart.rows.push_back(
        {.name = layer.name,
         .before = layer.macs * 1e-6,
         .after = layer.macs_kept * 1e-6,
         .cells = {Arrow(std::to_string(layer.channels), std::to_string(layer.channels_kept)),
                   Arrow(FormatSignificant(layer.macs * 1e-6, 3),
                         FormatSignificant(layer.macs_kept * 1e-6, 3)),
                   FormatPercent(layer.score_kept, 1),
                   fit ? Arrow(FormatSignificant(fit->error_before, 3),
                               FormatSignificant(fit->error_after, 3))
                       : "",
                   layer.fixed_because}});
  }
  const auto share = [](double part, double whole) {
    return FormatPercent(whole > 0 ? part / whole : 1.0, 1);
  };
  LayerView view{.tool = "prune",
                 .model = report.model,
                 .summary = share(report.macs_kept, report.macs) + " of the multiply-adds and " +
                            share(report.bytes_kept, report.bytes) + " of the weights are kept."};
  if (report.quality) view.facts.push_back(QualityText(*report.quality));
  if (report.latency) {
    view.facts.push_back("On " + report.target + " it takes " +
                         FormatPercent(report.latency->ratio, 1) + " of the time before (" +
                         FormatPercent(report.latency->ratio_low, 1) + " to " +
                         FormatPercent(report.latency->ratio_high, 1) + ").");
  }
  view.charts.push_back(std::move(chart));
  return view;
}

LayerView ViewOf(const DistillReport& report) {
  LayerChart chart{
      .title = "Difference of each layer from the teacher",
      .before = "before training",
      .after = "mean square of the difference, divided by that of the teacher's values",
      .columns = {"difference from the teacher"}};
  for (const LearnedLayer& layer : report.layers) {
    chart.rows.push_back(
        {.name = layer.layer,
         .before = layer.before,
         .after = layer.after,
         .cells = {Arrow(FormatSignificant(layer.before, 3), FormatSignificant(layer.after, 3))}});
  }
  LayerView view{.tool = "distill",
                 .model = report.model,
                 .summary = "Trained for " + std::to_string(report.epochs.size()) + " epochs."};
  if (!report.epochs.empty()) {
    view.facts.push_back("Loss " + FormatSignificant(report.epochs.front().loss, 3) +
                         " in the first epoch, " + FormatSignificant(report.epochs.back().loss, 3) +
                         " in the last.");
  }
  if (report.before) view.facts.push_back("Before training. " + QualityText(*report.before));
  if (report.after) view.facts.push_back("After training. " + QualityText(*report.after));
  if (!report.pairs.empty()) view.facts.push_back(report.pairs + ".");
  view.charts.push_back(std::move(chart));
  return view;
}

LayerView ViewOf(const TrackReport& report) {
  LayerView view{
      .tool = "track",
      .model = report.model,
      .summary = "No value is beyond the tolerance.",
      .facts = {"Tolerance: " + FormatSignificant(report.tolerance, 3) + " of a value's range."}};
  for (const cost::StageComparison& stage : report.stages) {
    LayerChart chart{.title = stage.stage + " against " + stage.reference,
                     .after = "largest error of each value, as a share of its range",
                     .columns = {"operator", "largest error", "of range", "noise", "cosine"}};
    for (std::size_t i = 0; i < stage.errors.size(); ++i) {
      const cost::TensorError& error = stage.errors[i];
      LayerRow row{.name = error.name,
                   .after = error.relative,
                   .cells = {error.op, FormatSignificant(error.largest, 3),
                             FormatSignificant(error.relative, 3),
                             FormatSignificant(error.noise, 3), FormatFixed(error.cosine, 6)}};
      row.marked = stage.first == i;
      chart.rows.push_back(std::move(row));
    }
    if (stage.first) {
      view.summary = "The first value beyond the tolerance is marked in each stage.";
      view.facts.push_back(stage.stage + ": first beyond the tolerance is " +
                           stage.errors[*stage.first].name + ".");
    }
    view.charts.push_back(std::move(chart));
  }
  return view;
}

}  // namespace msc::gym
