#include <string>

#include "compiler/base/error.h"
#include "gym/study/scan.h"
#include "tests/fuzz/targets.h"

namespace msc::fuzz {

void FuzzJournal(std::string_view bytes) {
  const gym::JournalScan scan = gym::ScanJournal(bytes);
  (void)gym::DescribeJournal(scan, "trials.journal");
  const std::string saved = gym::SalvageJournal(scan);
  const gym::JournalScan again = gym::ScanJournal(saved);
  Check(again.ok() && again.records.size() == scan.records.size(),
        "a salvaged journal is whole and keeps every valid record");
}

}  // namespace msc::fuzz
