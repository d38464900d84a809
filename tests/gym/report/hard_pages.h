#pragma once

#include <map>
#include <string>

#include "gym/report/comparison_page.h"
#include "gym/report/layer_page.h"
#include "gym/report/partition_page.h"
#include "tests/gym/report/sample_report.h"

namespace msc::gym {

/// A name as exporters write them: long, and without a place to break.
inline std::string LongName(int number) {
  return "encoder.stages." + std::to_string(number) +
         ".blocks.0.self_attention.output.projection_with_residual/MatMul_quant";
}

/// A report whose texts are long and whose numbers lie far apart: many metrics, long notes, long
/// names, losses over six decades.
inline ReportInput HardReport() {
  ReportInput input = SampleReport();
  input.model = "a_model_with_a_name_that_is_much_longer_than_a_line_of_a_phone_v2_final.onnx";
  for (std::size_t i = 0; i < input.layers.size(); ++i) {
    input.layers[i].name = input.decisions[i].name = LongName(static_cast<int>(i));
    input.layers[i].how = "on native:images=channels_last, range by mse, rounded by gptq";
    input.layers[i].before_ms = 0.4 / static_cast<double>(1 + i);
    input.layers[i].after_ms = 0.1 / static_cast<double>(1 + i);
    input.layers[i].kept = 1 / static_cast<double>(1 + i % 3);
  }
  input.others = {{"edit_distance", "edit distance", "%", 0.0, 2.0},
                  {"relative_error", "relative error", "", 0.0, 0.1},
                  {"weight_bytes", "weights", "MB", 5.21, std::nullopt, false, 1e6}};
  input.final_axes.insert(input.final_axes.end(), input.others.begin(), input.others.end() - 1);
  for (Trial& trial : input.study.trials) {
    if (trial.evaluation.failure) {
      trial.evaluation.failure->detail =
          "the compiler said: " + std::string(140, 'x') + " at " + LongName(3);
      continue;
    }
    const double drop = trial.evaluation.metrics.at("accuracy_drop");
    trial.evaluation.metrics["accuracy_drop"] = std::abs(drop) * std::abs(drop) * std::abs(drop);
    trial.evaluation.metrics["edit_distance"] = 100 * std::exp(-12 * std::abs(drop));
    trial.evaluation.metrics["relative_error"] = 1e-5 * std::exp(8 * std::abs(drop));
    trial.evaluation.metrics["weight_bytes"] = 1.2345e6;
  }
  for (ReportFinalist& finalist : input.finalists) {
    finalist.note =
        "misses edit_distance <= 2, disagreement <= 0.5; edit distance 3.51 \xC2\xB1 0.40 %, "
        "distillation loss 0.0123 \xC2\xB1 0.0004 nats; on samples that no trial saw: edit "
        "distance 3.92 \xC2\xB1 0.61 %; " +
        LongName(2);
    finalist.means.resize(input.final_axes.size(), Measured{0.123456, 0.1, 0.2});
  }
  input.headline.losses = {{"edit distance of output 'softmax_11.tmp_0'", "0.0000123 %",
                            "95 %: 0.0000123 \xC2\xB1 0.0000004 %, limit 2.00 %"},
                           {"disagreement", "100.00 %", "95 %: 100.00 \xC2\xB1 0.00 %"}};
  input.headline.suspicions = {"output '" + LongName(1) + "': its decisions change by 23.60 %"};
  input.headline.guard = "decisions changed 23.6 %, at most 2 %; relative error 0.31, at most 0.1";
  input.headline.compared = {{"Against f32 on onnxruntime:threads=2", "1.07\xC3\x97", "3.12 ms"},
                             {"Against ONNX Runtime, compressed", "1234.07\xC3\x97",
                              "95 % interval 1200.01 to 1300.02; the exported model on ONNX "
                              "Runtime 1.23.2 takes 3.12 ms"}};
  input.headline.rival = "1.07\xC3\x97 as fast as it in ONNX Runtime 1.23.2";
  input.headline.peak_bytes = 12345678;
  input.headline.limits = {{"Latency", "limit 2.5 ms"}};
  // A grey PNG of one pixel.
  const std::string pixel =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg="
      "=";
  for (int i = 0; i < 8; ++i) {
    input.changed.push_back({.name = "sample " + std::to_string(12345 + i),
                             .change = "distillation loss 0.531 nats",
                             .before = i % 2 == 0 ? "7" : "17 4 4 121 9 30 17 4 4 121 9 30 17 4",
                             .after = i % 2 == 0 ? "9" : "17 4 4 121 9 31 17 4 4 121 9 30 17 4",
                             .label = "7",
                             .picture = i % 3 == 0 ? pixel : "",
                             .tokens = i % 3 == 1 ? "101 2023 2003 1037 102" : ""});
  }
  input.shipping = {{"as C++ without dependencies",
                     "mscgym export " + LongName(1) + ".onnx --strategy runs/" + LongName(2) +
                         "/best/strategy.json --to cpp --out model_cpp"}};
  input.files = {{"best/model.onnx", "the compressed model"}, {"results.json", "all results"}};
  input.headline.weight_bytes = 123.4e9;
  input.headline.reference_weight_bytes = 987.6e9;
  input.tasks = {{.worker = 1, .trial = 0, .from = 1, .to = 2, .end = "result"},
                 {.worker = 2, .trial = 5, .from = 1.5, .to = 700, .end = "lost"}};
  input.machine.push_back({"model hash", std::string(64, 'f')});
  input.instead.assign(input.decisions.size(),
                       "<b>f32</b> slower: latency 0.812 against 0.655, " + LongName(7));
  input.commands.push_back({"run the compiled model", "mscgym run " + std::string(200, 'r')});
  return input;
}

inline LayerView HardLayers() {
  LayerView view{.tool = "quantize", .model = LongName(0) + ".onnx", .summary = "47 of 47 layers."};
  LayerChart& chart = view.charts.emplace_back();
  chart.title = "Error of each layer's outputs";
  chart.before = "weights rounded to the nearest";
  chart.after = "error as a share of the outputs' variance";
  chart.columns = {"precision", "weight bits", "output error", "runs in", "not pruned because"};
  for (int i = 0; i < 47; ++i) {
    const double error = std::exp(-0.4 * i);
    chart.rows.push_back({.name = LongName(i),
                          .before = 2 * error,
                          .after = error,
                          .cells = {"int8", "8.0", "0.00001230 > 0.00000123", "int8",
                                    "its channels are added to those of " + LongName(i + 1)},
                          .marked = i == 3});
  }
  LayerChart& sizes = view.charts.emplace_back();
  sizes.title = "Size of the weights";
  sizes.before = "in f32";
  sizes.after = "kB, as quantized";
  sizes.adds = true;
  for (int i = 0; i < 12; ++i) {
    const double size = std::exp(1.5 * i);
    sizes.rows.push_back({.name = LongName(i), .before = 4 * size, .after = size});
  }
  view.facts = {"On 1000 samples: accuracy 91.23 %, was 91.45 %, " + LongName(5) + " (6 samples)."};
  return view;
}

inline PartitionView HardPartition() {
  PartitionView view{.model = LongName(0) + ".onnx",
                     .machine = "Example CPU 3.1 GHz, 2 cores, AVX-512, VNNI",
                     .summary = "4 regions on 3 targets are 1.23x as fast as onednn alone.",
                     .boxes = {},
                     .turns = {{LongName(4), "dense", "native:images=channels_last", 7.25}},
                     .rows = {},
                     .facts = {"2,304 regions were timed in 61 s"}};
  const std::vector<std::string> targets = {"onednn:threads=2,images=channels_last", "native",
                                            "xnnpack"};
  for (std::size_t i = 0; i < 6; ++i) {
    view.boxes.push_back(
        {.target = targets[i % 3],
         .rule = "layer",
         .nodes = {LongName(static_cast<int>(i)) + " (Conv)", "relu (Relu)"},
         .micros = 12345.6 / static_cast<double>(1 + i),
         .alternative = "native",
         .alternative_micros = 23456.7,
         .why = "1.12x as fast as the next, which cannot keep images as they are",
         .reads = i == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{i > 2 ? i - 2 : 0},
         .bytes_out = 4096});
  }
  for (int i = 0; i < 4; ++i) {
    view.rows.push_back({.name = i == 0 ? "plan 1" : "all on onednn:threads=2",
                         .regions = 4,
                         .predicted_micros = 20000.5,
                         .measured_micros = 21000.5,
                         .ratio = 0.81,
                         .ratio_low = 0.80,
                         .ratio_high = 0.82,
                         .note = "",
                         .best = i == 0});
  }
  view.rows.push_back({.name = "all on " + LongName(1),
                       .predicted_micros = std::nullopt,
                       .measured_micros = std::nullopt,
                       .note = "the target has no kernel for '" + LongName(2) + "' (GridSample)"});
  return view;
}

inline ComparisonView HardComparison() {
  ComparisonView view{.model = "net.onnx",
                      .created = "2026-11-23 10:00 UTC",
                      .tool = "mscgym 0.1.0",
                      .metric = "latency relative to the uncompressed model",
                      .constraint = "accuracy_drop <= 0.5"};
  for (int run = 0; run < 6; ++run) {
    ComparedRun& compared = view.runs.emplace_back();
    compared.name = run == 0 ? std::string(90, 'r') : "runs/of_a_long_night/" + LongName(run);
    compared.agent = "tpe";
    compared.env = "Quantize-v0";
    compared.speed_up = Measured{3.5, 3.25, 3.75};
    for (int trial = 0; trial < 40; ++trial) {
      compared.trials.push_back(
          {.seconds = 12.5 * trial, .value = 0.4 + std::exp(-0.1 * trial * (run + 1)) / 2});
    }
  }
  return view;
}

/// Pages that are hard to lay out, by name.
inline std::map<std::string, std::string> HardPages() {
  return {{"report", RenderReport(HardReport())},
          {"layers", RenderLayers(HardLayers())},
          {"partition", RenderPartition(HardPartition())},
          {"comparison", RenderComparison(HardComparison())}};
}

}  // namespace msc::gym
