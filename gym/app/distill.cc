#include "compiler/pipeline/distill.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "compiler/base/duration_text.h"
#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/base/formatted.h"
#include "compiler/codegen/cpp/isa.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/choose_target.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/distill_state.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/pairs.h"
#include "compiler/pipeline/samples.h"
#include "compiler/pipeline/tool_rules.h"
#include "cost/quality/choose_form.h"
#include "gym/app/command.h"
#include "gym/app/distill_layers.h"
#include "gym/app/distill_print.h"
#include "gym/app/layer_views.h"
#include "gym/app/options.h"
#include "gym/app/quality_print.h"
#include "gym/app/rules.h"
#include "gym/app/samples.h"
#include "gym/app/stop.h"
#include "gym/app/summary.h"
#include "gym/app/test_judge.h"
#include "gym/console/progress_line.h"
#include "gym/search/model.h"
#include "gym/search/registries.h"

namespace msc::gym {
namespace {

struct Options {
  std::string model;
  std::string student;
  std::string strategy;
  std::vector<std::string> shapes;
  std::int64_t weight_bits = 0;
  TrainSettings settings;
  std::optional<std::int64_t> batch;  ///< from --batch, if given
  std::vector<std::string> features;
  std::vector<std::string> attention;
  double feature_weight = 1.0;
  double feature_power = 2.0;
  bool layerwise = false;
  bool blockwise = false;
  std::string rules;
  cost::DataConfig data;
  std::string images;
  std::string labels;
  std::int64_t samples = 0;
  std::int64_t validation = 0;
  std::int64_t calibration = 512;
  std::string test_images;
  cost::LabelPaths test_labels;
  std::int64_t test_samples = 0;
  JudgeOptions judged;
  std::string target = kAutoTarget;
  SpeedOptions speed;
  std::string checkpoint;
  bool resume = false;
  std::string out;
  std::string reader = "any";
  std::string save_strategy;
  std::string page;
  bool json = false;
};

void CheckOptions(const Options& options) {
  if (!options.test_labels.empty() && options.test_images.empty()) {
    throw UserError("--labels needs --test");
  }
  CheckJudgeOptions(options.judged, options.test_images);
  if (options.settings.hard > 0 && options.labels.empty()) {
    throw UserError("--hard needs --data-labels");
  }
  if (options.resume && options.checkpoint.empty()) {
    throw UserError("--resume needs --checkpoint, --save-strategy or --out");
  }
  if (options.resume && !std::filesystem::exists(options.checkpoint)) {
    throw UserError("--resume: '" + options.checkpoint +
                    "' does not exist; name the checkpoint with --checkpoint, or leave out "
                    "--resume to train from the start");
  }
  if (options.student.empty() && options.strategy.empty() && options.weight_bits == 0) {
    throw UserError(
        "the student is the same as the model: give --strategy, --student or --weight-bits");
  }
  if (options.layerwise && options.blockwise) {
    throw UserError("--layerwise and --blockwise exclude each other: leave one out");
  }
  if ((options.layerwise || options.blockwise) &&
      !(options.features.empty() && options.rules.empty())) {
    throw UserError(std::string(options.layerwise ? "--layerwise" : "--blockwise") +
                    " chooses which values are compared; leave out --feature and --rules");
  }
}

/// Parses "NAME" or "NAME=NAME_IN_STUDENT".
DistillFeature ReadFeature(const std::string& text, const Options& options, bool attention) {
  const std::size_t at = text.find('=');
  DistillFeature feature;
  feature.teacher = text.substr(0, at);
  feature.student = at == std::string::npos ? text : text.substr(at + 1);
  feature.attention = attention;
  feature.power = options.feature_power;
  feature.weight = options.feature_weight;
  return feature;
}

std::vector<DistillFeature> ReadFeatures(const Options& options, const Student& student) {
  std::vector<DistillFeature> features;
  if (options.layerwise || options.blockwise) {
    features = options.layerwise ? LayerwiseFeatures(student) : BlockwiseFeatures(student);
    for (DistillFeature& feature : features) {
      feature.power = options.feature_power;
      feature.weight = options.feature_weight;
    }
  }
  for (const std::string& text : options.features) {
    features.push_back(ReadFeature(text, options, false));
  }
  for (const std::string& text : options.attention) {
    features.push_back(ReadFeature(text, options, true));
  }
  return features;
}

/// Shows the progress of a training and its remaining time.
class Watch {
 public:
  explicit Watch(ProgressLine& line) : line_(line) {}

  bool operator()(const TrainProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (progress.phase != phase_) {
      phase_ = progress.phase;
      began_ = now;
      first_ = progress.done;
      return !StopRequested();
    }
    const std::int64_t done = progress.done - first_;
    std::string text =
        "[" + phase_ + "] " + std::to_string(progress.done) + "/" + std::to_string(progress.total);
    if (phase_ == "train") {
      text += Formatted(", epoch %lld, loss %.5f, rate %.2e",
                        static_cast<long long>(progress.epoch + 1), progress.loss, progress.rate);
    }
    if (done > 0) {
      const std::chrono::duration<double> spent = now - began_;
      text += ", " +
              FormatDuration(spent * (static_cast<double>(progress.total - progress.done) /
                                      static_cast<double>(done))) +
              " left";
    }
    line_.Show(text);
    return !StopRequested();
  }

 private:
  ProgressLine& line_;
  std::string phase_;
  std::chrono::steady_clock::time_point began_{};
  std::int64_t first_ = 0;
};

struct Split {
  cost::Dataset train;
  std::optional<cost::Dataset> validation;
  [[nodiscard]] TrainSamples Train() const { return {&train.inputs, train.labels}; }
  [[nodiscard]] TrainSamples Validation() const {
    if (!validation) return {};
    return {&validation->inputs, validation->labels};
  }
};

Split LoadSplit(const Options& options, const Graph& teacher) {
  cost::Dataset all =
      LoadSamples(options.data, teacher, options.images, options.labels, options.samples);
  if (options.validation == 0) return {std::move(all), std::nullopt};
  const std::int64_t train = all.size() - options.validation;
  if (train < 1) {
    throw UserError("--validation takes " + std::to_string(options.validation) + " of " +
                    std::to_string(all.size()) + " samples: none is left to learn from");
  }
  return {cost::Slice(all, 0, train), cost::Slice(all, train, options.validation)};
}

/// Returns a text on the accuracy that kernels without VNNI would lose in the student's int8
/// layers.
std::string PairsOf(const Graph& base, const Strategy& strategy, const SampleSource& samples,
                    const CalibrationRun& run, const TargetRegistry& targets) {
  Strategy f32 = strategy;
  f32.quantize = {};
  const auto worst = FindWorstPairs(
      CheckPairs(strategy.quantize, ApplyStrategy(base, f32), samples, run, targets));
  return worst ? PairsText(*worst, DetectIsa().vnni) : std::string();
}

void Distill(Options options, AppContext& context) {
  if (options.checkpoint.empty()) {
    const std::string& out = options.save_strategy.empty() ? options.out : options.save_strategy;
    if (!out.empty()) options.checkpoint = out + ".training";
  }
  CheckOptions(options);
  for (const std::string* file : {&options.out, &options.save_strategy, &options.page}) {
    CheckWritable(*file);
  }
  if (const std::string problem = TrainerProblem(); !problem.empty()) {
    throw SystemError("training needs libtorch: " + problem);
  }
  const TargetRegistry targets = MakeTargets();
  Strategy start;
  if (options.strategy.empty()) {
    options.target = start.target = TargetOf(options.target, targets);
  } else {
    start = LoadStrategy(options.strategy);
    if (options.target == kAutoTarget) options.target = start.target;
  }
  Graph loaded = LoadModel(options.model, options.shapes);
  PlaceSamplesOf(loaded, options.data, {options.images, options.test_images});
  const Graph teacher = std::move(loaded);
  CheckSampleAxes(teacher);
  const Graph base = options.student.empty() ? teacher : LoadModel(options.student, options.shapes);
  options.settings.batch =
      options.batch ? BatchFor(teacher, options.batch) : BatchSize(teacher, options.settings.batch);
  const Split data = LoadSplit(options, teacher);
  const CalibrationRun run{options.target, options.settings.threads, 32};
  const std::vector<Tensor> calibration = {
      cost::Slice(data.train, 0, std::min(options.calibration, data.train.size())).inputs};
  const Student student =
      MakeStudent(base, start, options.weight_bits, TensorSamples(calibration), run, targets);
  std::vector<DistillFeature> features = ReadFeatures(options, student);
  if (!options.rules.empty()) {
    const RuleBook book = OpenRules(options.rules, "distiller", teacher);
    for (DistillFeature& feature : ReadDistillRules(book, teacher, options.settings)) {
      features.push_back(std::move(feature));
    }
  }
  const TrainProgram teacher_program = MakeTrainProgram(teacher);
  TrainJob job;
  job.student = &student.program;
  job.teacher = &teacher_program;
  job.settings = options.settings;
  job.features = MatchFeatures(features, base, student, teacher_program);
  job.train = data.Train();
  job.validation = data.Validation();
  const std::vector<Tensor> inputs = {data.train.inputs};
  const TensorSamples samples(inputs);
  job.forms = cost::ChooseForms(teacher, samples, run, targets, options.judged.outputs);
  PrintForms(job.forms);
  const std::string hash =
      DistillHash(teacher, student, options.settings, features, job.forms, job.train);

  DistillReport report;
  report.model = options.model;
  report.settings = options.settings;
  std::optional<TestJudge> judge;
  if (!options.test_images.empty()) {
    judge.emplace(WithLabels(OpenSamples(options.data, teacher, options.test_images,
                                         options.test_labels, options.test_samples)),
                  teacher, run, targets, options.judged);
    report.before = judge->Judge(ApplyStrategy(base, student.strategy));
  }

  ProgressLine line;
  TrainState state;
  if (options.resume) {
    state = LoadTrainState(options.checkpoint, hash);
    line.PrintLine("continuing after step " + std::to_string(state.step));
  }
  CatchStopSignals();
  Watch watch(line);
  TrainHooks hooks;
  hooks.progress = [&](const TrainProgress& progress) { return watch(progress); };
  hooks.checkpoint = [&](const TrainState& reached) {
    if (!options.checkpoint.empty()) SaveTrainState(options.checkpoint, reached, hash);
  };
  const TrainResult result = Train(job, hooks, state);
  if (result.stopped) {
    line.PrintLine(options.checkpoint.empty()
                       ? "stopped; nothing is kept, because no file was named"
                       : "stopped after step " + std::to_string(state.step) +
                             "; continue with --resume");
    context.exit_code = kExitFailure;
    return;
  }
  const Strategy strategy = TrainedStrategy(base, student, result, hash);
  const Graph trained = ApplyStrategy(base, strategy);
  if (judge) report.after = judge->Judge(trained);
  report.epochs = result.epochs;
  report.pairs = PairsOf(base, strategy, TensorSamples(calibration), run, targets);
  if (!options.save_strategy.empty()) SaveStrategyFor(base, strategy, options.save_strategy);
  SummaryInput made{.model = options.student.empty() ? options.model : options.student,
                    .shapes = options.shapes,
                    .f32 = &teacher,
                    .compressed = &trained,
                    .strategy = &strategy,
                    .samples = &samples,
                    .run = run,
                    .targets = &targets,
                    .plan = options.save_strategy,
                    .speed = options.speed,
                    .quality = report.after,
                    .judged = &options.judged};
  if (!options.out.empty()) {
    made.written = WriteModel(
        base, strategy, {.original = options.model, .reader = options.reader, .file = options.out});
  }
  if (!options.page.empty()) {
    report.layers =
        CompareLayers({teacher, base, student, ApplyStrategy(base, student.strategy), trained},
                      data.train.inputs, run, targets);
    WriteFileAtomic(options.page, RenderLayers(ViewOf(report)));
  }
  report.summary = Summarize(made, context);
  options.json ? PrintDistillJson(report) : PrintDistillTable(report);
  ReportProblems(report.summary, context);
}

/// Adds --recipe. It is declared before the options that it sets, so that those given beside it are
/// parsed later and override it.
void AddRecipe(CLI::App& command, TrainSettings& settings) {
  command.add_option_function<std::string>(
      "--recipe",
      [&settings](const std::string& file) {
        settings = FromJsonText<TrainSettings>(ReadFile(file), "'" + file + "'");
      },
      "read the options below from a file, such as best/recipe.json of mscgym search --env "
      "distill; options on the command line override it");
}

void AddTraining(CLI::App& command, TrainSettings& settings) {
  AddSetting(command, "--epochs", settings.epochs, CLI::Range(1, 100000),
             "number of passes over the samples");
  AddSetting(command, "--batch", settings.batch, CLI::Range(1, 65536), "samples per step");
  AddSetting(command, "--optimizer", settings.optimizer, CLI::IsMember({"adam", "sgd"}),
             "optimizer: adam (with decoupled weight decay) or sgd (with Nesterov momentum)");
  AddSetting(command, "--rate", settings.rate, CLI::Range(0.0, 1e6), "highest learning rate");
  AddSetting(command, "--momentum", settings.momentum, CLI::Range(0.0, 0.9999), "momentum of sgd");
  AddSetting(command, "--decay", settings.decay, CLI::Range(0.0, 1.0), "weight decay");
  AddSetting(command, "--clip", settings.clip, CLI::Range(0.0, 1e9),
             "largest norm of the gradient; 0 = no limit");
  command.add_flag("--keep-zeros", settings.keep_zeros,
                   "keep weights at zero that are zero, as after mscgym prune --sparsity");
  AddSetting(command, "--schedule", settings.schedule,
             CLI::IsMember({"constant", "cosine", "step"}),
             "course of the learning rate after the warm-up");
  AddSetting(command, "--step-epochs", settings.step_epochs, CLI::Range(1, 100000),
             "number of epochs between steps of --schedule step");
  AddSetting(command, "--step-factor", settings.step_factor, CLI::Range(0.0, 1.0),
             "factor of the rate at each step of --schedule step");
  AddSetting(command, "--warmup", settings.warmup, CLI::Range(0.0, 1.0),
             "share of all training steps in which the rate grows");
  AddSetting(
      command, "--patience", settings.patience, CLI::Range(0, 100000),
      "number of epochs without a better validation loss after which training ends; 0 = never");
  AddSetting(command, "--seed", settings.seed, "seed of the order of samples");
  AddThreadsOption(command, settings.threads);
}

void AddLosses(CLI::App& command, Options& options) {
  TrainSettings& settings = options.settings;
  AddSetting(
      command, "--kl", settings.kl, CLI::Range(0.0, 1e9),
      "weight of the distillation loss of the outputs: KL divergence of classes and decisions, "
      "squared error of numbers (docs/quality.md)");
  AddSetting(command, "--temperature", settings.temperature, CLI::Range(1e-3, 1e3),
             "divisor of the outputs before the softmax or sigmoid");
  AddSetting(command, "--lp", settings.lp, CLI::Range(0.0, 1e9),
             "weight of mean |student - teacher|^power of the outputs");
  AddSetting(command, "--power", settings.power, CLI::Range(0.1, 16.0), "power of --lp");
  AddSetting(command, "--hard", settings.hard, CLI::Range(0.0, 1e9),
             "weight of the cross entropy with --data-labels");
  AddRepeated(command, "--feature", options.features,
              "match a value inside the model to that of the teacher: NAME, or "
              "NAME=NAME_IN_STUDENT; may be repeated");
  AddRepeated(command, "--attention", options.attention,
              "match the attention map of a value, which says where its channels are large; "
              "may be repeated");
  AddSetting(command, "--feature-weight", options.feature_weight, CLI::Range(0.0, 1e9),
             "weight of each --feature and --attention");
  AddSetting(command, "--feature-power", options.feature_power, CLI::Range(0.1, 16.0),
             "power of the distance for --feature, and of the maps for --attention");
  command.add_option("--rules", options.rules,
                     "file of rules with losses of values inside the model, and of the outputs "
                     "(mark \"loss\") instead of --kl and --lp; see docs/rules.md");
  command.add_flag("--layerwise", options.layerwise,
                   "train every layer separately, with inputs from the teacher");
  command.add_flag("--blockwise", options.blockwise,
                   "train every block separately, with inputs from the teacher; a block ends where "
                   "everything after it depends on a single value");
}

void AddSamples(CLI::App& command, Options& options) {
  command.add_option("--data", options.images, "samples to train on; labels are not needed")
      ->required();
  command.add_option("--data-labels", options.labels, "class numbers of --data, for --hard");
  AddSetting(command, "--samples", options.samples, CLI::Range(0, 10000000),
             "number of samples of --data; 0 = all");
  AddSetting(command, "--validation", options.validation, CLI::Range(0, 10000000),
             "number of samples, the last ones of --data, that choose the best epoch and are "
             "not trained on");
  AddFormOptions(command, options.data);
  AddSetting(command, "--calibration-samples", options.calibration, CLI::Range(1, 10000000),
             "number of samples that give the scales for --weight-bits");
  AddJudgeOptions(command, options.judged);
  command.add_option("--test", options.test_images,
                     "samples on which to compare teacher and student");
  AddLabelOptions(command, options.test_labels, options.data);
  AddSetting(command, "--test-samples", options.test_samples, CLI::Range(0, 10000000),
             "number of samples of --test; 0 = all");
  AddSetting(
      command, "--target", options.target,
      "target that runs the models on --test and is timed; auto = that of --strategy, else the "
      "first that has 8-bit kernels for this CPU");
  AddSpeedOptions(command, options.speed);
}

}  // namespace

void AddDistill(CLI::App& app, AppContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("distill", "Train a compressed model to imitate the original model");
  AddModelOptions(*command, options->model, options->shapes,
                  "the teacher: an .onnx file or a saved graph (.json)");
  command->add_option(
      "--strategy", options->strategy,
      "make the student from the model with this strategy: pruned, refitted, quantized");
  command->add_option("--student", options->student, "use another model as the student");
  command
      ->add_option("--weight-bits", options->weight_bits,
                   "quantize the student to weights of 2 to 8 bits and activations of 8 bits; "
                   "quantization scales are trained, too")
      ->check(CLI::Range(2, 8));
  AddSamples(*command, *options);
  AddRecipe(*command, options->settings);
  AddLosses(*command, *options);
  AddTraining(*command, options->settings);
  command->add_option("--checkpoint", options->checkpoint,
                      "file that stores the training after every epoch and when it is stopped; "
                      "default: beside the output");
  command->add_flag("--resume", options->resume,
                    "continue where an earlier call with the same options was stopped");
  command->add_option("--out", options->out, "write the trained model to this ONNX file");
  AddReaderOption(*command, options->reader);
  command->add_option("--save-strategy", options->save_strategy,
                      "write the student to this strategy file, and the trained weights beside it");
  command->add_option("--page", options->page,
                      "write a web page with the distance of each layer from the teacher, before "
                      "and after training");
  command->add_flag("--json", options->json, "print the results as JSON");
  command->footer(
      "Example:\n  mscgym distill model.onnx --strategy half.json --data train.npy --format npy\n"
      "    --epochs 3 --out half.onnx --save-strategy trained.json");
  command->callback([options, command, &context] {
    if (command->count("--batch") > 0) options->batch = options->settings.batch;
    Distill(*options, context);
  });
}

}  // namespace msc::gym
