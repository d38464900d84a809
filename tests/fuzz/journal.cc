#include <string>
#include <vector>

#include "compiler/base/error.h"
#include "gym/study/scan.h"
#include "gym/study/study.h"
#include "gym/study/timeline.h"
#include "gym/study/trial.h"
#include "tests/fuzz/targets.h"

namespace msc::fuzz {

namespace {

void ReadRecords(const std::vector<std::string>& records) {
  try {
    (void)gym::ReadStudy(records);
  } catch (const UserError&) {
  }
  try {
    (void)gym::TasksOf(records);
  } catch (const UserError&) {
  }
}

/// The records without what guards them: checksums would keep almost every damaged one away.
std::vector<std::string> Unguarded(std::string_view bytes) {
  std::vector<std::string> records;
  while (!bytes.empty()) {
    const std::string_view line = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(line.size() + (line.size() < bytes.size() ? 1 : 0));
    const std::size_t start = line.find('{');
    if (start != std::string_view::npos) records.emplace_back(line.substr(start));
  }
  return records;
}

}  // namespace

void FuzzJournal(std::string_view bytes) {
  const gym::JournalScan scan = gym::ScanJournal(bytes);
  (void)gym::DescribeJournal(scan, "trials.journal");
  const std::string saved = gym::SalvageJournal(scan);
  const gym::JournalScan again = gym::ScanJournal(saved);
  Check(again.ok() && again.records.size() == scan.records.size(),
        "a salvaged journal is whole and keeps every valid record");
  ReadRecords({scan.records.begin(), scan.records.end()});
  ReadRecords(Unguarded(bytes));
}

}  // namespace msc::fuzz
