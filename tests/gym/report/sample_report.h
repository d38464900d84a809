#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "compiler/base/rng.h"
#include "gym/report/report.h"
#include "gym/study/trial.h"

namespace msc::gym {

/// A study of a made-up network as a search might have left it: baselines, random trials, some that
/// miss the constraint, some that failed, a Pareto set, finalists.
inline ReportInput SampleReport(std::uint64_t trials = 120) {
  constexpr std::array<const char*, 3> kPrecisions = {"f32", "bf16", "int8"};
  constexpr std::array<double, 3> kSpeed = {1.0, 0.62, 0.38};
  ReportInput input;
  input.model = "fashion_resnet.onnx";
  input.created = "2026-03-01 12:00 UTC";
  input.tool = "mscgym 0.1.0";
  input.latency = {"latency_ratio", "latency relative to f32", "", 1.0, std::nullopt};
  input.latency.inverse = "speed";
  input.quality = {"accuracy_drop", "accuracy drop", "points", 0.0, 0.3};
  input.sensitivity = "KL divergence in nats if this layer alone runs in int8";

  Rng rng(5);
  double total = 0;
  std::vector<double> sensitivity;
  const std::array<const char*, 4> kOps = {"Conv", "Conv depthwise", "Conv", "Gemm"};
  for (int i = 0; i < 18; ++i) {
    ReportLayer& layer = input.layers.emplace_back();
    layer.op = i == 17 ? kOps[3] : kOps[static_cast<std::size_t>(i % 3)];
    layer.name =
        i == 17 ? "/head/Gemm"
                : "/stage" + std::to_string(i / 6) + "/block" + std::to_string(i % 6) + "/Conv";
    const int size = 28 >> (i / 6);
    layer.shape = "1x" + std::to_string(32 << (i / 6)) + "x" + std::to_string(size) + "x" +
                  std::to_string(size);
    layer.latency_share = 0.2 + rng.Uniform();
    layer.sensitivity = std::exp(3 * rng.Normal() - 7);
    total += *layer.latency_share;
    sensitivity.push_back(0.012 + 0.6 * std::pow(rng.Uniform(), 6));
    input.decisions.push_back({layer.name, {kPrecisions.begin(), kPrecisions.end()}});
  }
  for (ReportLayer& layer : input.layers) layer.latency_share = *layer.latency_share / total;

  const Objective objective = {{"latency_ratio", "accuracy_drop"}, {{"accuracy_drop", 0.3}}};
  for (std::uint64_t number = 0; number < trials; ++number) {
    Trial& trial = input.study.trials.emplace_back();
    trial.number = number;
    trial.source = number < 3 ? std::string("anchor:") + kPrecisions[number] : "evolutionary";
    trial.seconds = 0.8 + rng.Uniform();
    double latency = 0.06;
    double drop = 0.02 * rng.Normal();
    const double greed =
        static_cast<double>(number) / static_cast<double>(trials) * 0.75 + 0.2 * rng.Uniform();
    for (std::size_t i = 0; i < input.layers.size(); ++i) {
      const bool cheap = sensitivity[i] < 0.1;
      const auto pick =
          static_cast<std::int32_t>(rng.Uniform() < greed ? (cheap ? 2 : 1) : rng.Below(3));
      const auto choice = number < 3 ? static_cast<std::int32_t>(number) : pick;
      trial.assignment.push_back(choice);
      latency += 0.94 * *input.layers[i].latency_share * kSpeed[static_cast<std::size_t>(choice)];
      drop += choice == 2 ? sensitivity[i] : choice == 1 ? sensitivity[i] * 0.04 : 0;
    }
    if (number == 0) {
      latency = 1;
      drop = 0;
    }
    if (number > 3 && rng.Uniform() < 0.06) {
      trial.evaluation.failure =
          number % 2 == 0 ? Failure{FailureKind::kTimeout, "no answer within 20 s"}
                          : Failure{FailureKind::kWrongOutput, "largest difference 3.1 > 0.05"};
    } else {
      trial.evaluation.metrics = {{"latency_ratio", latency}, {"accuracy_drop", drop}};
    }
  }
  for (const Trial& trial : input.study.trials) {
    input.feasible.push_back(IsFeasible(objective, trial));
    const auto estimate = [&](const char* metric) -> std::optional<double> {
      const auto it = trial.evaluation.metrics.find(metric);
      if (it == trial.evaluation.metrics.end()) return std::nullopt;
      return it->second * (1 + 0.1 * rng.Normal());
    };
    input.estimated_latency.push_back(estimate("latency_ratio"));
    input.estimated_quality.push_back(estimate("accuracy_drop"));
  }
  input.study.best = BestOf(objective, input.study.trials);
  input.study.pareto = ParetoOf(objective, input.study.trials);
  input.sources = SharesOf(objective, input.study.trials);

  input.alone.assign(input.decisions.size(), std::nullopt);
  for (std::size_t i = 0; i < sensitivity.size(); ++i) input.alone[i] = sensitivity[i];
  const Trial& best = input.study.trials[input.study.best.value()];
  input.winner = best.number;
  const double ratio = best.evaluation.metrics.at("latency_ratio");
  for (std::size_t i = 0; i < input.layers.size(); ++i) {
    input.layers[i].chosen = kPrecisions[static_cast<std::size_t>(best.assignment[i])];
    input.layers[i].achieved = i == 4 ? "f32" : input.layers[i].chosen;
  }
  for (const ReportLayer& layer : input.layers) {
    const double ms = 3.9 * *layer.latency_share;
    const std::string& precision = layer.achieved;
    input.steps_before.push_back({layer.name, "onednn", "f32", layer.name, ms});
    if (precision != "f32") input.steps_after.push_back({"reorder", "onednn", "", "", 0.01});
    const double speed = precision == "int8" ? kSpeed[2] : precision == "bf16" ? kSpeed[1] : 1;
    input.steps_after.push_back({layer.name, "onednn", precision, layer.name, speed * ms});
  }
  const std::string label = "trial " + std::to_string(best.number);
  const Measured speed_up{1 / ratio, 0.985 / ratio, 1.02 / ratio};
  input.headline = {.configuration = label,
                    .speed_up = speed_up,
                    .latency_ms = 3.912 * ratio,
                    .reference_ms = 3.912,
                    .accuracy = 0.9312,
                    .reference_accuracy = 0.9331,
                    .weight_bytes = 1.43e6,
                    .reference_weight_bytes = 5.21e6,
                    .constraint = "accuracy_drop \xE2\x89\xA4 0.3 points",
                    .constraint_met = true};
  const auto drop = [](double points) {
    return std::vector<std::optional<Measured>>{Measured{points, points, points}};
  };
  input.final_axes = {input.quality};
  input.finalists = {
      {label, speed_up, 3.912 * ratio, 1.43e6, true, "", {}, drop(0.19)},
      {"trial 77", Measured{2.02, 1.97, 2.06}, 1.94, 1.71e6, true, "", {}, drop(0.11)},
      {"all int8",
       Measured{2.41, 2.38, 2.47},
       1.62,
       1.32e6,
       false,
       "misses the constraint",
       {},
       drop(1.92)},
      {"all bf16", Measured{1.52, 1.49, 1.55}, 2.57, 2.61e6, true, "", {}, drop(0.02)},
      {"ONNX Runtime f32",
       Measured{0.99, 0.96, 1.02},
       3.95,
       5.21e6,
       true,
       "difference not significant",
       {},
       drop(0.0)},
  };
  input.machine = {{"CPU", "Example CPU 3.1 GHz, 2 cores, AVX-512, VNNI"},
                   {"threads", "1, pinned to core 1"},
                   {"oneDNN", "2.6.3"},
                   {"model", "sha256 3f1c9a\xE2\x80\xA6"},
                   {"protocol", "30 rounds, interleaved with the uncompressed model"}};
  input.config =
      "{\n  \"model\": \"fashion_resnet.onnx\",\n  \"study\": {\"trials\": 120, \"seed\": 1}\n}";
  input.commands = {{"The same search again", "mscgym search config.json --seed 1 --trials 120"},
                    {"The best configuration without searching",
                     "mscgym compile fashion_resnet.onnx --strategy best/strategy.json"}};
  return input;
}

/// A search of recipes that tried every one of three decisions: more epochs cost steps and lower
/// the loss.
inline ReportInput SampleRecipes() {
  ReportInput input;
  input.subject = ReportSubject::kRecipe;
  input.model = "net.onnx";
  input.latency = {.metric = "distill_loss", .title = "distillation loss", .unit = "nats"};
  input.quality = {.metric = "train_steps", .title = "training steps", .counts = true};
  input.decisions = {{"training epochs", {"1 epoch", "2 epochs", "4 epochs", "8 epochs"}},
                     {"learning rate", {"rate 0.0001", "rate 0.001", "rate 1"}},
                     {"rate schedule", {"constant schedule", "cosine schedule"}}};
  const Objective objective = {{"distill_loss", "train_steps"}, {}};
  for (std::int32_t i = 0; i < 24; ++i) {
    Trial& trial = input.study.trials.emplace_back();
    trial.number = static_cast<std::uint64_t>(i);
    trial.source = i == 0 ? "anchor:short" : "random";
    trial.assignment = {i % 4, i / 4 % 3, i / 12};
    if (trial.assignment[1] == 2) {
      trial.evaluation.failure = Failure{FailureKind::kWrongOutput, "the loss is not finite"};
    } else {
      const double loss = 0.001234 + 0.001 * (3 - trial.assignment[0]) +
                          0.0005 * (1 - trial.assignment[1]) + 0.00002 * (1 - trial.assignment[2]);
      const double steps = 20 << trial.assignment[0];
      trial.evaluation.metrics = {{"distill_loss", loss}, {"train_steps", steps}};
    }
    input.feasible.push_back(IsFeasible(objective, trial));
  }
  input.study.best = BestOf(objective, input.study.trials);
  input.study.pareto = ParetoOf(objective, input.study.trials);
  input.winner = input.study.trials[input.study.best.value()].number;
  input.headline.configuration = "trial " + std::to_string(*input.winner);
  return input;
}

}  // namespace msc::gym
