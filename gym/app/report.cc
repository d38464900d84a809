#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "gym/app/command.h"
#include "gym/app/search_run.h"

namespace msc::gym {

void AddReport(CLI::App& app, AppContext& /*context*/) {
  auto folder = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "report", "Rebuild report.html of a run directory from its trials.journal alone");
  command->add_option("run", *folder, "run directory")->required()->check(CLI::ExistingDirectory);
  command->footer("Example:\n  mscgym report run");
  command->callback([folder] {
    const RunPaths paths{*folder};
    const bool finished = WriteReport(paths);
    std::printf("wrote %s\n", paths.At("report.html").c_str());
    if (finished) return;
    std::printf(
        "the search was not finished: this shows its trials; mscgym search --resume goes on\n");
  });
}

}  // namespace msc::gym
