#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "gym/app/command.h"
#include "gym/app/search_record.h"
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
  CLI::App* command = app.add_subcommand("journal", "Print, check or rescue a trials.journal");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* help) {
    CLI::App* verb = command->add_subcommand(name, help);
    verb->add_option("path", options->path, "a journal, or the run directory it is in")->required();
    return verb;
  };
  add("dump", "all records as JSON lines; exit code 1 if damaged ones are left out")
      ->callback([options, &context] { context.exit_code = Dump(*options); });
  add("verify", "say whether it is whole; exit code 2 if not, or if it is empty")
      ->callback([options, &context] { context.exit_code = Verify(*options); });
  CLI::App* salvage = add("salvage", "write every good record to a new journal");
  salvage->add_option("--out", options->out, "the new file")->required();
  salvage->callback([options] { Salvage(*options); });
  command->footer("Example:\n  mscgym journal dump run | head");
}

}  // namespace msc::gym
