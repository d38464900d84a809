#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "gym/app/command.h"
#include "gym/app/warn_of_loss.h"
#include "gym/search/record.h"
#include "gym/study/scan.h"

namespace msc::gym {
namespace {

constexpr std::uint64_t kMaxJournalBytes = std::uint64_t{4} << 30U;

struct Options {
  std::string path;
  std::string out;
};

/// Returns the path of the journal; a run directory stands for the journal in it.
std::string JournalPath(const std::string& path) {
  return std::filesystem::is_directory(path) ? path + "/trials.journal" : path;
}

int Dump(const Options& options) {
  const std::string path = JournalPath(options.path);
  const std::string bytes = ReadFile(path, kMaxJournalBytes);
  const JournalScan scan = ScanJournal(bytes);
  std::fputs(DumpJournal(scan).c_str(), stdout);
  if (scan.complete() && scan.records.empty()) throw UserError("'" + path + "' holds no record");
  return WarnOfLoss(DescribeLoss(scan, path));
}

int Verify(const Options& options) {
  const std::string path = JournalPath(options.path);
  const std::string bytes = ReadFile(path, kMaxJournalBytes);
  const JournalScan scan = ScanJournal(bytes);
  std::printf("%s", DescribeJournal(scan, path).c_str());
  return scan.ok() && !scan.records.empty() ? kExitOk : kExitUsage;
}

void Salvage(const Options& options) {
  const std::string path = JournalPath(options.path);
  const std::string bytes = ReadFile(path, kMaxJournalBytes);
  if (std::filesystem::exists(options.out)) {
    throw UserError("'" + options.out + "' exists; salvage writes a new file");
  }
  const JournalScan scan = ScanJournal(bytes);
  if (scan.records.empty()) throw UserError("'" + path + "' holds no record");
  WriteFileAtomic(options.out, SalvageJournal(scan));
  std::printf("wrote %zu records to %s\n", scan.records.size(), options.out.c_str());
}

}  // namespace

void AddJournal(CLI::App& app, AppContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("journal", "Print, check or repair a trials.journal");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* help) {
    CLI::App* verb = command->add_subcommand(name, help);
    verb->add_option("path", options->path, "journal, or the run directory that contains it")
        ->required();
    return verb;
  };
  add("dump", "print all records as JSON lines; exit code 1 if damaged records were skipped")
      ->callback([options, &context] { context.exit_code = Dump(*options); });
  add("verify", "check the journal for damage; exit code 2 if it is damaged or empty")
      ->callback([options, &context] { context.exit_code = Verify(*options); });
  CLI::App* salvage = add("salvage", "write all undamaged records to a new journal");
  salvage->add_option("--out", options->out, "new file to write")->required();
  salvage->callback([options] { Salvage(*options); });
  command->footer("Example:\n  mscgym journal dump run | head");
}

}  // namespace msc::gym
