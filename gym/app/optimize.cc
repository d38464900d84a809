#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "compiler/base/duration_text.h"
#include "compiler/pipeline/choose_target.h"
#include "gym/app/command.h"
#include "gym/app/console_listener.h"
#include "gym/app/optimize_config.h"
#include "gym/app/options.h"
#include "gym/app/stop.h"
#include "gym/search/report/report.h"
#include "gym/search/search.h"

namespace msc::gym {
namespace {

struct Options {
  OptimizeRequest request;
  std::string time = "10m";
  std::string out = "optimized";
  int workers = 1;
};

int Optimize(Options options, const AppContext& context) {
  const auto began = std::chrono::steady_clock::now();
  options.request.seconds = ParseDuration(options.time, "--time").count();
  CheckJudgeOptions(options.request.samples.judged, options.request.samples.test_images);
  CatchStopSignals();
  const OptimizePlan plan = PlanOptimize(options.request, began);
  for (const std::string& reason : plan.reasons) std::fprintf(stderr, "%s\n", reason.c_str());
  std::fprintf(stderr, "ends within %s; Ctrl-C ends it with the best so far\n",
               FormatDuration(std::chrono::duration<double>(plan.config.time_budget_s)).c_str());
  ConsoleListener listener;
  const SearchHost host{.program = context.self, .listener = listener};
  const SearchOutcome outcome =
      RunSearch(plan.config, {.folder = options.out, .workers = options.workers}, host);
  (void)WriteReport({options.out});
  listener.End();
  std::printf("%s", outcome.summary.c_str());
  const char* const folder = options.out.c_str();
  std::printf("config: %s/config.json, which mscgym search replays\n", folder);
  if (outcome.interrupted) {
    std::printf("interrupted; continue with mscgym search %s/config.json --out %s --resume\n",
                folder, folder);
    return kExitFailure;
  }
  if (!outcome.best.empty()) {
    std::printf("next: mscgym run %s/artefact --input INPUT.npy --out OUTPUTS\n",
                outcome.best.c_str());
  }
  return outcome.feasible && outcome.suspicions.empty() ? kExitOk : kExitInfeasible;
}

}  // namespace

void AddOptimize(CLI::App& app, AppContext& context) {
  auto options = std::make_shared<Options>();
  OptimizeRequest& request = options->request;
  SampleOptions& samples = request.samples;
  CLI::App* command = app.add_subcommand(
      "optimize", "Make a model as fast as it gets within limits: no config needed");
  AddModelOptions(*command, request.model, request.shapes);
  command
      ->add_option("--samples", samples.test_images,
                   "samples like those of real use: a file or a folder (docs/samples.md)")
      ->required();
  command->add_option("--calibration", samples.images,
                      "other samples, without labels, that calibrate; default: a quarter of "
                      "--samples, at most 256, in a random order");
  AddLabelOptions(*command, samples.test_labels, samples.data);
  AddFormOptions(*command, samples.data);
  AddJudgeOptions(*command, samples.judged, "--samples");
  command
      ->add_option("--faster", request.faster,
                   "times as fast as our f32 model; then as little as possible is lost at that "
                   "speed, instead of the most speed within the limits")
      ->check(CLI::Range(1.0, 1000.0));
  AddSetting(*command, "--time", options->time,
             "wall time for everything, such as 90s, 10m or 1.5h");
  AddSetting(*command, "--out", options->out, "run directory: folder for all files");
  AddSetting(*command, "--target", request.target,
             "target that runs the model; auto = the one on which it is fastest, in f32 or int8");
  AddThreadsOption(*command, request.threads, "number of threads that the model runs on");
  AddSetting(*command, "--workers", options->workers, CLI::Range(1, 1024),
             "number of candidates measured at the same time, each on its own cores");
  AddSetting(*command, "--seed", request.seed, "seed of the search");
  command->footer(
      "Exit code 3: nothing keeps the limits, or the result is suspicious.\n"
      "Examples:\n"
      "  mscgym optimize model.onnx --samples photos/ --mean 0.485,0.456,0.406 "
      "--std 0.229,0.224,0.225\n"
      "  mscgym optimize model.onnx --samples test.npy --labels labels.npy "
      "--limit accuracy_drop=0.3 --time 5m\n"
      "  mscgym optimize model.onnx --samples test.npy --faster 3 --out three_times");
  command->callback([options, &context] { context.exit_code = Optimize(*options, context); });
}

}  // namespace msc::gym
