#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "compiler/base/file.h"
#include "gym/app/command.h"
#include "gym/app/options.h"
#include "gym/app/warn_of_loss.h"
#include "gym/search/record.h"
#include "gym/study/export.h"

namespace msc::gym {
namespace {

struct Options {
  std::string run;
  std::string to = "csv";
  std::string out;
};

int ExportStudy(const Options& options) {
  const RunPaths paths{options.run};
  const JournalText journal = ReadJournal(paths.journal());
  const StudyHeader header = HeaderFromJson(journal.records.front(), "the journal's header");
  const std::vector<Trial> trials = TrialsOf(journal.records);
  const std::vector<Decision> decisions =
      SetupIn(FindSearchRecords(journal.records), journal, paths.journal()).decisions;
  // Two runs in one Optuna storage need different names.
  const std::string name = std::filesystem::absolute(options.run).lexically_normal().string();
  WriteFileAtomic(options.out, options.to == "csv"
                                   ? StudyAsCsv(header, trials, decisions)
                                   : StudyAsOptuna(header, trials, decisions, name));
  std::printf("wrote %s: %zu trials\n", options.out.c_str(), trials.size());
  return WarnOfLoss(journal.loss);
}

}  // namespace

void AddExportStudy(CLI::App& app, AppContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("export-study", "Write the trials of a run for other tools");
  command->add_option("run", options->run, "run directory")
      ->required()
      ->check(CLI::ExistingDirectory);
  AddSetting(*command, "--to", options->to, CLI::IsMember({"csv", "optuna"}),
             "what to write: a table (csv), or a journal file of Optuna");
  command->add_option("--out", options->out, "file to write")->required();
  command->footer(
      "Examples:\n"
      "  mscgym export-study run --out trials.csv\n"
      "  mscgym export-study run --to optuna --out study.log\n"
      "In Python, with Optuna 4.0 to 5.0 (3.1 calls it JournalFileStorage, of optuna.storages):\n"
      "  from optuna.storages.journal import JournalFileBackend\n"
      "  storage = optuna.storages.JournalStorage(JournalFileBackend('study.log'))\n"
      "  print(optuna.load_study(study_name=None, storage=storage).best_trials)");
  command->callback([options, &context] { context.exit_code = ExportStudy(*options); });
}

}  // namespace msc::gym
