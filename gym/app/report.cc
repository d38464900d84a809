#include "gym/search/report/report.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "compiler/base/error.h"
#include "gym/app/command.h"
#include "gym/app/warn_of_loss.h"
#include "gym/search/record.h"
#include "gym/search/report/comparison.h"
#include "gym/search/run_paths.h"

namespace msc::gym {
namespace {

struct Options {
  std::vector<std::string> runs;
  std::string out;
};

int Report(const Options& options) {
  if (options.runs.size() > 1) {
    const std::string file = options.out.empty() ? "comparison.html" : options.out;
    const std::vector<std::string> losses = WriteComparison(options.runs, file);
    std::printf("wrote %s\n", file.c_str());
    for (const std::string& loss : losses) (void)WarnOfLoss(loss);
    return losses.empty() ? kExitOk : kExitFailure;
  }
  if (!options.out.empty()) {
    throw UserError(
        "--out is for a comparison: the report of a single run is written into its folder");
  }
  const RunPaths paths{options.runs.front()};
  const WrittenReport written = WriteReport(paths);
  std::printf("wrote %s\n", paths.At("report.html").c_str());
  if (!written.finished) {
    std::printf(
        "the search was not finished, so the report shows its trials; continue with mscgym search "
        "--resume\n");
  }
  return WarnOfLoss(written.loss);
}

}  // namespace

void AddReport(CLI::App& app, AppContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("report",
                                         "Rebuild report.html of a run directory from its "
                                         "trials.journal, or compare several searches on one page");
  command->add_option("run", options->runs, "run directory; several run directories are compared")
      ->required()
      ->check(CLI::ExistingDirectory);
  command->add_option(
      "--out", options->out,
      "file to write the comparison to; default: comparison.html in the current folder");
  command->footer(
      "Examples:\n  mscgym report run\n"
      "  mscgym report auto_run tpe_run evolution_run --out agents.html");
  command->callback([options, &context] { context.exit_code = Report(*options); });
}

}  // namespace msc::gym
