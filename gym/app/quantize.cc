#include "compiler/pipeline/quantize.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/parallel.h"
#include "compiler/codegen/cpp/isa.h"
#include "compiler/ir/sample_axes.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/choose_target.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/tool_rules.h"
#include "cost/track/finite.h"
#include "gym/app/command.h"
#include "gym/app/float_ends.h"
#include "gym/app/layer_views.h"
#include "gym/app/layer_weights.h"
#include "gym/app/not_finite.h"
#include "gym/app/options.h"
#include "gym/app/quality_print.h"
#include "gym/app/quantize_defaults.h"
#include "gym/app/quantize_methods.h"
#include "gym/app/quantize_print.h"
#include "gym/app/rules.h"
#include "gym/app/samples.h"
#include "gym/app/scale_table.h"
#include "gym/app/summary.h"
#include "gym/app/test_judge.h"
#include "gym/console/progress_line.h"
#include "gym/search/model.h"
#include "gym/search/registries.h"

namespace msc::gym {
namespace {

/// Says that a method is chosen by what each loses.
constexpr std::string_view kAuto = "auto";
/// How much finer a zero point that nobody asked for must make the steps. Some runtimes pay for it.
constexpr double kClearlyFiner = 1.1;

struct Options {
  std::string model;
  std::vector<std::string> shapes;
  std::string strategy;
  QuantizeOptions quantize;
  std::string method = std::string(kAuto);  ///< of ranges; kAuto = choose one
  std::string rounding;                     ///< of weights, or kAuto; empty: see MayFitWeights
  bool symmetric = false;                   ///< no zero points; see MayShift
  std::vector<std::string> layers;          ///< as NAME=PRECISION or NAME=BITS
  std::string rules;
  std::string keep_f32;  ///< "auto", "enough" or "none"; empty: auto if bits are 7 or 8
  CalibrationRun run;    ///< as it is deployed
  bool threads_given = false;
  CalibrationRun fitting;  ///< that decides and fits; see SetFitting
  SampleOptions samples;
  SpeedOptions speed;
  std::string out;
  std::string reader = "any";
  std::string save_plan;
  std::string sensitivity;
  std::string scale_table;
  std::string page;
  bool json = false;
};

void ReadLayers(const std::vector<std::string>& texts, QuantizeOptions& options) {
  for (const std::string& text : texts) {
    const std::size_t at = text.rfind('=');
    const std::string word = at == std::string::npos ? "" : text.substr(at + 1);
    const std::string name = text.substr(0, at);
    if (word == "f32" || word == "bf16" || word == "int8") {
      options.layers[name] = ParsePrecision(word);
    } else if (word.size() == 1 && word[0] >= '2' && word[0] <= '8') {
      options.layer_bits[name] = word[0] - '0';
    } else {
      throw UserError("'" + text +
                      "': write --layer NAME=PRECISION (f32, bf16, int8) or NAME=BITS (2 to 8)");
    }
  }
}

/// Work of a run below which more threads cost more than they gain.
constexpr double kFlopsForThreads = 1e8;

/// Sets the run that decides and fits: it has all cores unless a number of threads is given. Calls
/// side by side come first: threads of one call meet after every layer, and wait for each other
/// busily, which takes many times as long beside other programs.
void SetFitting(Options& options, const Graph& graph, const std::vector<Tensor>& inputs) {
  options.fitting = options.run;
  if (options.threads_given || FindEnds(graph, inputs).flops < kFlopsForThreads) return;
  options.fitting.threads = std::max(1, CoreCount() / options.fitting.CallsAtOnce());
}

/// Compiles the quantized model for the sizes of these inputs.
Executable Build(const Options& options, const Graph& graph, const QuantizedModel& model,
                 const std::vector<Tensor>& inputs, const TargetRegistry& targets) {
  Result<Executable> built =
      Compile(graph, model.strategy, targets,
              {.threads = options.run.threads, .bindings = BindingsFor(graph, inputs)});
  if (!built.ok()) {
    throw UserError("the quantized model does not compile: " + built.failure().detail);
  }
  return std::move(built).value();
}

std::map<std::string, std::string> Achieved(const Executable& executable,
                                            const QuantizedModel& model,
                                            const TargetRegistry& targets) {
  std::map<std::string, std::string> achieved;
  const std::string& kind = targets.Get(model.strategy.target).facts().name;
  for (const QuantizedLayer& layer : model.layers) {
    achieved[layer.name] = AchievedPrecision(executable, kind, layer.name);
  }
  return achieved;
}

/// Returns whether the inputs fit. If a model leaves more dimensions open than the batch, samples
/// may have other sizes than it was compiled for.
bool Fit(const std::vector<Tensor>& inputs, const Executable& executable) {
  const std::vector<ValueType>& types = executable.input_types();
  return std::equal(inputs.begin(), inputs.end(), types.begin(), types.end(),
                    [](const Tensor& input, const ValueType& type) {
                      return StaticDims(type.shape.value()) == input.dims();
                    });
}

/// Describes outputs of the quantized model that are not finite; empty if all are finite or if the
/// f32 model's are not either.
std::string NotFiniteOf(const Options& options, const Graph& graph, const Strategy& strategy,
                        const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  if (cost::AllFinite(outputs)) return "";
  const TargetRegistry targets = MakeTargets();
  const auto found = cost::FindNotFinite(
      {.canonical = &graph,
       .strategy = &strategy,
       .targets = &targets,
       .compile = {.threads = options.run.threads, .bindings = BindingsFor(graph, inputs)},
       .inputs = inputs,
       .outputs = outputs});
  return found ? NotFiniteText(*found) : "";
}

/// Judges a strategy on test samples. Stores a failure in the result, so that other layers can
/// still be judged.
Judged JudgeLayer(const TestJudge& judge, const Graph& graph, const Strategy& strategy) {
  try {
    return judge.Look(ApplyStrategy(graph, strategy)).judged;
  } catch (const UserError& error) {
    return {.failure = error.what()};
  } catch (const InternalError& error) {
    return {.failure = error.what()};
  }
}

/// Measures the loss of each layer alone and of all layers without it, with weights rounded to
/// nearest: two passes over the test samples per layer. Methods that fit weights to samples are
/// disabled, since they fit each layer to the errors of the layers before it and so say nothing
/// about a layer alone.
Sensitivity MeasureSensitivity(const Options& options, const Graph& graph, const Strategy& base,
                               const SampleSource& samples, const TestJudge& judge,
                               const QuantizedModel& model) {
  const TargetRegistry targets = MakeTargets();
  const QuantizeOptions plain = WithNearestRounding(options.quantize);
  Sensitivity sensitivity;
  sensitivity.samples = judge.samples();
  Strategy all = model.strategy;
  if (!(plain == options.quantize)) {
    all = QuantizeModel(graph, base, samples, plain, options.fitting, targets).strategy;
    sensitivity.calibration = samples.count();
  }
  ProgressLine line;
  const std::int64_t before = judge.passes();
  for (const QuantizedLayer& layer : model.layers) {
    const bool bf16 = layer.precision == Precision::kBF16;
    if (layer.bits == 0 && !bf16) continue;
    line.Show("[sensitivity] " + layer.name);
    Strategy alone = all;
    alone.quantize.layers = {{layer.name, all.quantize.layers.at(layer.name)}};
    std::erase_if(alone.quantize.weights,
                  [&](const auto& grid) { return grid.first != layer.name; });
    Strategy without = all;
    without.quantize.layers[layer.name] = Precision::kF32;
    without.quantize.weights.erase(layer.name);
    SensitivityRow row{.layer = layer.name, .bits = bf16 ? 16 : layer.bits};
    row.alone = JudgeLayer(judge, graph, alone);
    row.without = JudgeLayer(judge, graph, without);
    sensitivity.rows.push_back(std::move(row));
  }
  // Plus one pass of the f32 model, shared by all.
  sensitivity.passes = judge.passes() - before + 1;
  return sensitivity;
}

/// Returns whether the user left to us what is quantized, and to how many bits.
bool IsPlain(const QuantizeOptions& options) {
  // 7 bits are for CPUs without VNNI (TargetFacts::weight_bits), and lose little more than 8.
  return options.activations == Precision::kInt8 && options.bits >= 7 && options.scales.bits == 8 &&
         options.layers.empty() && options.layer_bits.empty();
}

/// Returns which layers may stay in f32.
KeepFloatMode MayKeepFloat(const Options& options) {
  if (options.keep_f32 == "none") return KeepFloatMode::kNone;
  if (options.keep_f32 == "enough") return KeepFloatMode::kEnough;
  const bool keeps = options.keep_f32 == kAuto || IsPlain(options.quantize);
  return keeps ? KeepFloatMode::kHalf : KeepFloatMode::kNone;
}

/// Returns whether the rounding of weights is open.
bool MayFitWeights(const Options& options) {
  if (!options.rounding.empty()) return options.rounding == kAuto;
  return IsPlain(options.quantize) && !options.quantize.reconstruct &&
         !options.quantize.correct_bias;
}

/// Returns whether zero points of activations are open.
bool MayShift(const Options& options) {
  const bool for_tensorrt =
      options.reader == "tensorrt" ||
      (!options.scale_table.empty() && !options.scale_table.ends_with(".json"));
  return IsPlain(options.quantize) && !options.quantize.scales.affine && !options.symmetric &&
         !for_tensorrt;
}

/// Throws UserError if options contradict each other or a file cannot be written, before anything
/// that takes long.
void CheckOptions(const Options& options) {
  CheckSampleOptions(options.samples);
  if (!options.sensitivity.empty() && options.samples.test_images.empty()) {
    throw UserError("--sensitivity needs --test");
  }
  if (options.samples.images.empty()) {
    throw UserError("give --calibration: samples like those of real use, without labels");
  }
  for (const std::string* file : {&options.out, &options.save_plan, &options.page,
                                  &options.sensitivity, &options.scale_table}) {
    CheckWritable(*file);
  }
}

/// Reads the model, and the rules on its layers into the options.
Graph ReadGraph(Options& options) {
  Graph graph = LoadModel(options.model, options.shapes);
  PlaceSamplesOf(graph, options.samples.data,
                 {options.samples.images, options.samples.test_images});
  if (!options.rules.empty()) {
    ReadQuantizeRules(OpenRules(options.rules, "quantizer", graph), graph, options.quantize);
    if (options.quantize.layer_bits.empty()) {
      throw UserError("'" + options.rules + "' has no rule that quantizes a layer's weights");
    }
  }
  ReadLayers(options.layers, options.quantize);  // overrides the rules
  return graph;
}

/// The test samples, and what compares models with f32 on them.
struct OnTest {
  TestSamples samples;
  TestJudge judge;
};

/// Opens the test samples, if there are any, and runs the f32 model on them: labels and limits that
/// do not fit its outputs are refused before anything that takes long.
std::optional<OnTest> OpenOnTest(const Options& options, const Graph& graph,
                                 const TargetRegistry& targets) {
  if (options.samples.test_images.empty()) return std::nullopt;
  const TestSamples test = OpenTest(options.samples, graph);
  std::optional<OnTest> on_test{
      {test, TestJudge(test, graph, options.fitting, targets, options.samples.judged)}};
  PrintForms(on_test->judge.forms());
  return on_test;
}

/// Compares the quantized model with f32 on the test samples, and layer by layer if that is wanted.
void JudgeOnTest(const Options& options, const OnTest& test, const Graph& graph,
                 const Strategy& base, const SampleSource& samples, const QuantizedModel& model,
                 const Graph& applied, QuantizeReport& report) {
  const TargetRegistry targets = MakeTargets();
  const LookedAt looked = test.judge.Look(applied);
  report.quality = looked.judged;
  if (!looked.judged.failure.empty() && report.not_finite.empty()) {
    report.not_finite = NotFiniteOf(options, graph, model.strategy, looked.inputs, looked.outputs);
    if (report.not_finite.empty()) {
      throw UserError("the compressed model: " + looked.judged.failure);
    }
  }
  if (!options.sensitivity.empty()) {
    // Sensitivity to quantization alone: compare with the model after the other changes of the
    // given strategy.
    std::optional<TestJudge> smaller;
    if (!options.strategy.empty()) {
      Strategy f32 = base;
      f32.quantize = {};
      smaller.emplace(test.samples, ApplyStrategy(graph, f32), options.fitting, targets,
                      options.samples.judged);
    }
    report.sensitivity =
        MeasureSensitivity(options, graph, base, samples, smaller ? *smaller : test.judge, model);
  }
}

void Quantize(Options options, AppContext& context) {
  CheckOptions(options);
  const TargetRegistry targets = MakeTargets();
  options.run.target = TargetOf(options.run.target, targets);
  const Graph graph = ReadGraph(options);
  Strategy base;
  if (!options.strategy.empty()) base = LoadStrategy(options.strategy);
  base.target = options.run.target;
  const auto samples = OpenCalibration(options.samples, graph, "");
  const std::vector<Tensor> first =
      InputsOfRows(LayoutOf(graph), samples->Read(0, BatchSize(graph, 1)));
  SetFitting(options, graph, first);
  const std::optional<OnTest> test = OpenOnTest(options, graph, targets);
  Decided decided;
  if (MayShift(options)) {
    options.quantize.scales.affine = true;
    options.quantize.scales.affine_gain = kClearlyFiner;
  }
  const LeftOpen open{
      .ranges = options.method == kAuto && options.quantize.activations == Precision::kInt8,
      .rounding = MayFitWeights(options),
      .keep_float = MayKeepFloat(options)};
  const QuantizedModel model = QuantizeByDefault({.graph = graph,
                                                  .base = base,
                                                  .samples = *samples,
                                                  .targets = targets,
                                                  .run = options.fitting,
                                                  .judged = options.samples.judged},
                                                 open, options.quantize, decided);
  if (!options.scale_table.empty()) CheckScaleTable(model.strategy.quantize);
  const Graph applied = ApplyStrategy(graph, model.strategy);
  const Executable executable = Build(options, graph, model, first, targets);
  QuantizeReport report{.model = options.model,
                        .target = options.run.target,
                        .layers = model.layers,
                        .smoothed = model.smoothed,
                        .achieved = Achieved(executable, model, targets),
                        .weights = LayerWeights(applied),
                        .ranges = std::move(decided.ranges),
                        .rounding = std::move(decided.rounding),
                        .kept = std::move(decided.kept),
                        .has_vnni = DetectIsa().vnni};
  if (Fit(first, executable)) {
    report.not_finite = NotFiniteOf(options, graph, model.strategy, first, executable.Run(first));
  }
  if (test) JudgeOnTest(options, *test, graph, base, *samples, model, applied, report);
  if (!options.scale_table.empty()) {
    WriteScaleTable(model.strategy.quantize, options.scale_table);
  }
  if (report.sensitivity) WriteSensitivityCsv(report.sensitivity->rows, options.sensitivity);
  if (!options.save_plan.empty()) SaveStrategyFor(graph, model.strategy, options.save_plan);
  SummaryInput made{.model = options.model,
                    .shapes = options.shapes,
                    .f32 = &graph,
                    .compressed = &applied,
                    .strategy = &model.strategy,
                    .samples = samples.get(),
                    .run = options.run,
                    .targets = &targets,
                    .plan = options.save_plan,
                    .speed = options.speed,
                    .judged = &options.samples.judged};
  if (report.quality && report.quality->failure.empty()) made.quality = report.quality->quality;
  if (!options.out.empty()) {
    made.written =
        WriteModel(graph, model.strategy,
                   {.original = options.model, .reader = options.reader, .file = options.out});
  }
  report.summary = Summarize(made, context);
  if (!options.page.empty()) WriteFileAtomic(options.page, RenderLayers(ViewOf(report)));
  options.json ? PrintQuantizeJson(report) : PrintQuantizeTable(report);
  ReportProblems(report.summary, context);
  if (report.not_finite.empty()) return;
  std::fprintf(stderr, "mscgym: %s\n", report.not_finite.c_str());
  context.exit_code = kExitFailure;
}

/// Adds --method, --rounding and zero points, which can be left open.
void AddOpenMethods(CLI::App& command, Options& options) {
  command
      .add_option_function<std::string>(
          "--method",
          [&options](const std::string& word) {
            options.method = word;
            if (word != kAuto) options.quantize.scales.method = word;
          },
          "method that chooses ranges of activations: minmax, percentile, entropy or mse; auto = "
          "that of mse, minmax and percentile with which outputs lose least on --calibration")
      ->check(CLI::IsMember({"auto", "minmax", "percentile", "entropy", "mse"}))
      ->default_str(std::string(kAuto));
  command
      .add_option_function<std::string>(
          "--rounding",
          [&options](const std::string& word) {
            options.rounding = word;
            if (word != kAuto) options.quantize.rounding = word;
          },
          "how weights are rounded: nearest; gptq or descent, which keep outputs on the samples "
          "close; auto = nearest, nearest with --correct-bias or gptq with --correct-bias, with "
          "which outputs lose least on --calibration; default: auto, but nearest with "
          "--reconstruct, --correct-bias, fewer "
          "--bits than 7, --layer or --rules")
      ->check(CLI::IsMember({"auto", "nearest", "gptq", "descent"}));
  auto* affine = command.add_flag(
      "--affine", options.quantize.scales.affine,
      "use a zero point for all activations that have both signs; default: only for those whose "
      "steps it makes clearly finer, but symmetric with fewer --bits than 7, --layer or --rules, "
      "for TensorRT, and with --activations f32");
  command.add_flag("--symmetric", options.symmetric, "use no zero point for any activation")
      ->excludes(affine);
}

}  // namespace

void AddQuantize(CLI::App& app, AppContext& context) {
  auto options = std::make_shared<Options>();
  options->run.target = kAutoTarget;
  CLI::App* command =
      app.add_subcommand("quantize", "Quantize a model with unlabelled samples, without training");
  AddModelOptions(*command, options->model, options->shapes);
  command->add_option("--strategy", options->strategy,
                      "start from the channels and fitted weights of this strategy, written by "
                      "mscgym prune or search");
  AddOpenMethods(*command, *options);
  AddQuantizeMethods(*command, options->quantize);
  AddRepeated(*command, "--layer", options->layers,
              "NAME=PRECISION (f32, bf16, int8) or NAME=BITS: precision or bits of one layer; "
              "may be repeated");
  command->add_option("--rules", options->rules,
                      "file of rules with bits and range methods of layers; see docs/rules.md");
  command
      ->add_option("--keep-f32", options->keep_f32,
                   "auto = keep cheap first and last layers in f32 where that pays, and the most "
                   "harmful others, as few as bring the losses of docs/quality.md on --calibration "
                   "below what is suspicious, with at most half of the work; enough = the same, "
                   "whatever is left to quantize; none = quantize all; default: auto, but none "
                   "with fewer --bits than 7, --layer or --rules")
      ->check(CLI::IsMember({"auto", "enough", "none"}));
  AddSampleOptions(*command, options->samples);
  AddSetting(*command, "--target", options->run.target,
             "target that runs the model on the samples and deploys it; auto = the first that has "
             "8-bit kernels for this CPU");
  AddThreadsOption(*command, options->run.threads,
                   "number of threads of the target; without it, 1, and all cores for what only "
                   "decides and fits");
  AddSpeedOptions(*command, options->speed);
  command->add_option("--out", options->out,
                      "write the quantized model to this ONNX file, with Q/DQ nodes");
  AddReaderOption(*command, options->reader);
  command->add_option("--save-plan", options->save_plan,
                      "write the quantization to this strategy file, and its weights beside it");
  command->add_option("--scale-table", options->scale_table,
                      "write ranges of activations to this file: JSON if it ends in .json, "
                      "otherwise a calibration cache of TensorRT");
  command->add_option(
      "--sensitivity", options->sensitivity,
      "write a CSV file with the loss from quantizing each layer alone, and from quantizing all "
      "layers except that one, rounded to the nearest; N layers need 2 N + 1 passes over the test "
      "samples, and one more quantization with another rounding, --reconstruct or --correct-bias");
  command->add_option("--page", options->page,
                      "write a web page with a bar and a line for every layer");
  command->add_flag("--json", options->json, "print the results as JSON");
  command->footer(
      "Exit code 1: an output has a value that is not finite, but is finite in the f32 model. "
      "Exit code 3: a --limit is missed, the result is suspicious, or it is slower than f32 "
      "although activations are quantized. The requested files are written in any case.\n"
      "Example:\n"
      "  mscgym quantize model.onnx --calibration train.npy --format npy --bits 4 --grid mse\n"
      "    --rounding descent --reconstruct --out w4a8.onnx --save-plan w4a8.json");
  command->callback([options, command, &context] {
    options->threads_given = command->count("--threads") > 0;
    Quantize(*options, context);
  });
}

}  // namespace msc::gym
