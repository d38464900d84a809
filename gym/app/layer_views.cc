#include "gym/app/layer_views.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cost/model/loss.h"
#include "gym/report/html.h"
#include "gym/search/losses.h"

namespace msc::gym {
namespace {

std::string Arrow(const std::string& before, const std::string& after) {
  return before + " > " + after;
}

std::string FileName(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

std::string OnSamples(const cost::Quality& quality) {
  return "On " + std::to_string(quality.samples) + " samples: " + QualityText(quality) + ".";
}

/// Charts the loss of each layer that was measured alone.
LayerChart SensitivityChart(const std::vector<SensitivityRow>& rows) {
  const std::string main(MainLossOf(rows));
  const auto loss = [](const Judged& judged, std::string_view name) {
    if (!judged.failure.empty()) return judged.failure;
    const auto found = judged.quality.Loss(name);
    return found ? FormatLoss(name, found->value) : std::string("-");
  };
  LayerChart chart{.title = "Sensitivity",
                   .after = cost::TitleOf(main) + " with this layer alone quantized"};
  const std::vector<std::string> names = LossesOf(rows);
  for (const char* who : {"alone: ", "all others: "}) {
    for (const std::string& name : names) chart.columns.push_back(who + cost::TitleOf(name));
  }
  for (const SensitivityRow& row : rows) {
    const auto alone = row.alone.failure.empty() ? row.alone.quality.Loss(main) : std::nullopt;
    LayerRow& shown = chart.rows.emplace_back();
    shown.name = row.layer;
    if (alone) shown.after = alone->value;
    for (const Judged* judged : {&row.alone, &row.without}) {
      for (const std::string& name : names) shown.cells.push_back(loss(*judged, name));
    }
    shown.marked = !row.alone.failure.empty() || !row.without.failure.empty();
  }
  return chart;
}

/// Returns the bits of a layer's weights.
double BitsOf(const QuantizedLayer& layer) {
  if (layer.bits > 0) return static_cast<double>(layer.bits);
  return layer.precision == Precision::kBF16 ? 16 : 32;
}
/// Charts the relative error of each output of each stage; all losses are in the table.
LayerChart OutputsChart(const OutputsReport& outputs) {
  LayerChart chart{.title = "Outputs of each stage against those of the baseline",
                   .after = "relative error",
                   .columns = {"kind"}};
  std::vector<std::string> losses;
  for (const cost::LossInfo& loss : cost::kLosses) {
    const std::string name(loss.name);
    const bool measured = std::ranges::any_of(outputs.stages, [&](const StageOutputs& stage) {
      return stage.judged.quality.Loss(name).has_value();
    });
    if (!measured) continue;
    losses.push_back(name);
    chart.columns.emplace_back(loss.title);
  }
  for (const StageOutputs& stage : outputs.stages) {
    if (!stage.judged.failure.empty()) {
      LayerRow row{.name = stage.stage, .after = {}, .cells = {stage.judged.failure}};
      row.cells.resize(chart.columns.size());
      row.marked = true;
      chart.rows.push_back(std::move(row));
    }
    for (const cost::OutputQuality& output : stage.judged.quality.outputs) {
      LayerRow row{.name = stage.stage + ": " + output.name,
                   .after = {},
                   .cells = {StringForm<OutputKind>::Write(output.kind)}};
      for (const std::string& name : losses) {
        const auto loss = output.losses.find(name);
        row.cells.push_back(loss == output.losses.end() ? "" : FormatLoss(name, loss->second));
      }
      const auto error = output.losses.find(std::string(cost::kRelativeError));
      if (error != output.losses.end()) row.after = error->second.value;
      row.marked = !stage.hold();
      chart.rows.push_back(std::move(row));
    }
  }
  return chart;
}

/// Returns the badge of a result; none if its outputs were not judged and nothing else is wrong.
std::optional<LayerMark> MarkOf(const TrackReport& report) {
  const std::string complaint = TrackComplaint(report);
  if (!complaint.empty()) return LayerMark{.text = complaint, .bad = true};
  if (report.outputs.stages.empty()) return std::nullopt;
  return LayerMark{.text = "outputs hold"};
}

/// Charts the sizes of the weights, before and after, without a table.
LayerChart SizeChart(const QuantizeReport& report) {
  LayerChart chart{.title = "Size of the weights",
                   .before = "in f32",
                   .after = "kB, as quantized",
                   .adds = true};
  for (const QuantizedLayer& layer : report.layers) {
    const auto count = report.weights.find(layer.name);
    if (count == report.weights.end()) continue;
    const double kilobits = static_cast<double>(count->second) * 1e-3;
    chart.rows.push_back(
        {.name = layer.name, .before = kilobits * 32 / 8, .after = kilobits * BitsOf(layer) / 8});
  }
  return chart;
}

/// Lists the layers, with a chart of the error of their outputs if something was fitted to samples.
LayerChart LayersChart(const QuantizeReport& report) {
  const bool fitted =
      std::any_of(report.layers.begin(), report.layers.end(),
                  [](const QuantizedLayer& layer) { return layer.error_after.has_value(); });
  LayerChart chart{.title = fitted ? "Error of each layer's outputs" : "Layers",
                   .before = "weights rounded to the nearest",
                   .after = "error as a share of the outputs' variance",
                   .columns = {"precision", "weight bits", "runs in"}};
  if (fitted) chart.columns.emplace_back("output error");
  for (const QuantizedLayer& layer : report.layers) {
    const auto achieved = report.achieved.find(layer.name);
    LayerRow row{.name = layer.name,
                 .before = layer.error_before,
                 .after = layer.error_after,
                 .cells = {std::string(Name(layer.precision)), FormatSignificant(BitsOf(layer), 2),
                           achieved == report.achieved.end() ? "" : achieved->second}};
    if (fitted) {
      row.cells.push_back(
          Arrow(FormatSignificant(layer.error_before, 3), FormatSignificant(layer.error_after, 3)));
    }
    row.marked = achieved != report.achieved.end() && !achieved->second.empty() &&
                 achieved->second != Name(layer.precision);
    chart.rows.push_back(std::move(row));
  }
  return chart;
}

/// Returns "; their 1.2 MB become 0.31 MB".
std::string SizeText(const LayerChart& sizes) {
  double before = 0;
  double after = 0;
  for (const LayerRow& row : sizes.rows) {
    before += row.before.value_or(0) * 1e3;
    after += row.after.value_or(0) * 1e3;
  }
  return before > 0 ? ": " + FormatBytes(before) + " become " + FormatBytes(after) : "";
}

}  // namespace

LayerView ViewOf(const QuantizeReport& report) {
  const auto quantized = std::count_if(report.layers.begin(), report.layers.end(),
                                       [](const QuantizedLayer& layer) { return layer.bits > 0; });
  LayerChart sizes = SizeChart(report);
  LayerView view{.tool = "quantize",
                 .model = FileName(report.model),
                 .summary = std::to_string(quantized) + " of " +
                            std::to_string(report.layers.size()) +
                            " layers have quantized weights" + SizeText(sizes) + ", for " +
                            report.target + "."};
  if (!report.not_finite.empty()) view.facts.push_back(report.not_finite + ".");
  if (report.ranges) view.facts.push_back(RangesText(*report.ranges) + ".");
  if (report.kept) {
    for (const std::string& line : KeptLines(*report.kept)) view.facts.push_back(line + ".");
  }
  if (report.quality && report.quality->failure.empty()) {
    view.facts.push_back(OnSamples(report.quality->quality));
    for (const std::string& line : OutputLines(report.quality->quality)) {
      view.facts.push_back(line + ".");
    }
  }
  if (const auto text = PairsText(report)) view.facts.push_back(*text + ".");
  view.charts.push_back(std::move(sizes));
  view.charts.push_back(LayersChart(report));
  if (!report.sensitivity) return view;
  view.facts.push_back(SensitivityText(*report.sensitivity) + ".");
  const std::string ranks = RankText(*report.sensitivity);
  if (!ranks.empty()) view.facts.push_back(ranks + ".");
  view.charts.push_back(SensitivityChart(report.sensitivity->rows));
  return view;
}

LayerView ViewOf(const PruneReport& report) {
  const bool counted = report.open_sizes.empty();
  LayerChart chart{.title = counted ? "Multiply-adds of each layer" : "Channels of each layer",
                   .before = "before",
                   .after = counted ? "after, in millions" : "after",
                   .adds = counted,
                   .columns = {"channels", "millions of multiply-adds", "score kept",
                               "output error, refitted", "not pruned because"}};
  for (const PrunedLayer& layer : report.layers) {
    const auto& fit = layer.reconstructed;
    chart.rows.push_back(
        {.name = layer.name,
         .before = counted ? layer.macs * 1e-6 : static_cast<double>(layer.channels),
         .after = counted ? layer.macs_kept * 1e-6 : static_cast<double>(layer.channels_kept),
         .cells = {Arrow(std::to_string(layer.channels), std::to_string(layer.channels_kept)),
                   counted ? Arrow(FormatSignificant(layer.macs * 1e-6, 3),
                                   FormatSignificant(layer.macs_kept * 1e-6, 3))
                           : "",
                   FormatPercent(layer.score_kept, 1),
                   fit ? Arrow(FormatSignificant(fit->error_before, 3),
                               FormatSignificant(fit->error_after, 3))
                       : "",
                   layer.fixed_because}});
  }
  const auto share = [](double part, double whole) {
    return FormatPercent(whole > 0 ? part / whole : 1.0, 1);
  };
  LayerView view{
      .tool = "prune",
      .model = FileName(report.model),
      .summary = (counted ? share(report.macs_kept, report.macs) + " of the multiply-adds and "
                          : std::string()) +
                 share(report.bytes_kept, report.bytes) + " of the weights are kept."};
  if (!counted) view.facts.push_back("Multiply-adds are not counted: " + report.open_sizes + ".");
  if (report.summary.quality) view.facts.push_back(OnSamples(*report.summary.quality));
  view.facts.push_back("Speed: " + SpeedText(report.summary.speed) + ".");
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
                 .model = FileName(report.model),
                 .summary = "Trained for " + std::to_string(report.epochs.size()) + " epochs."};
  if (!report.epochs.empty()) {
    view.facts.push_back("Loss " + FormatSignificant(report.epochs.front().loss, 3) +
                         " in the first epoch, " + FormatSignificant(report.epochs.back().loss, 3) +
                         " in the last.");
  }
  if (report.before) view.facts.push_back("Before training. " + OnSamples(*report.before));
  if (report.after) view.facts.push_back("After training. " + OnSamples(*report.after));
  if (!report.pairs.empty()) view.facts.push_back(report.pairs + ".");
  view.charts.push_back(std::move(chart));
  return view;
}

LayerView ViewOf(const TrackReport& report) {
  LayerView view{
      .tool = "track",
      .model = FileName(report.model),
      .summary = TrackVerdict(report),
      .mark = MarkOf(report),
      .facts = {"Tolerance: " + FormatSignificant(report.tolerance, 3) + " of a value's range."}};
  if (report.random) view.facts.emplace_back(kRandomNote);
  for (const StageOutputs& stage : report.outputs.stages) {
    if (stage.judged.quality.metrics.empty()) continue;
    view.facts.push_back("'" + stage.stage + "': " + QualityText(stage.judged.quality) + ".");
  }
  if (!report.outputs.stages.empty()) view.charts.push_back(OutputsChart(report.outputs));
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
    view.charts.push_back(std::move(chart));
  }
  return view;
}

}  // namespace msc::gym
