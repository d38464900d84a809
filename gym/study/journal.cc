#include "gym/study/journal.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "gym/study/scan.h"

namespace msc::gym {
namespace {

/// Returns whether bytes without any valid record can be a first record that a kill cut short (a
/// prefix of it) or a power cut blanked (zeros in its place). Any other content is a foreign file.
bool CanBeTornStart(std::string_view bytes) {
  constexpr std::string_view kMark = "J1 ";
  const std::string_view start = bytes.substr(0, kMark.size());
  return std::equal(start.begin(), start.end(), kMark.begin(),
                    [](char got, char wanted) { return got == wanted || got == '\0'; });
}

}  // namespace

Journal::Journal(const std::string& path) : Journal(OpenJournalFile(path)) {}

Journal::Journal(std::unique_ptr<JournalFile> file) : file_(std::move(file)) {
  const std::string bytes = file_->Read();
  const JournalScan scan = ScanJournal(bytes);
  if (scan.records.empty() && !bytes.empty() && !CanBeTornStart(bytes)) {
    throw UserError("'" + file_->Path() + "' is not a journal");
  }
  if (!scan.ok() && !scan.torn()) {
    const JournalDamage& damage = scan.damage.front();
    throw UserError("'" + file_->Path() + "' is damaged at byte " + std::to_string(damage.offset) +
                    ", record " + std::to_string(damage.before) + ": " + damage.why +
                    "; 'mscgym journal salvage' writes the intact records to a new file");
  }
  for (const auto payload : scan.records) records_.emplace_back(payload);
  end_ = scan.good_end;
  next_ = records_.size();
  if (end_ < bytes.size()) CutTornTail(std::string_view(bytes).substr(end_));
}

Journal::~Journal() = default;

void Journal::CutTornTail(std::string_view tail) {
  const std::string beside = file_->KeepTorn(tail);
  file_->Truncate(end_);
  file_->Sync();
  warnings_.push_back("cut " + std::to_string(tail.size()) + " bytes of a torn record off '" +
                      file_->Path() + "'; they are kept in '" + beside + "'");
}

void Journal::Append(std::string_view json) {
  if (broken_) {
    throw SystemError("'" + file_->Path() +
                      "' had a disk error and accepts no more records; resume the study");
  }
  const nlohmann::json parsed = ParseJson(json, "a journal record");
  Check(parsed.is_object() && !parsed.contains("seq"), "a journal record is an object without seq");
  const std::string line = JournalLine(next_, json);
  try {
    file_->Write(end_, line);
  } catch (const SystemError&) {
    broken_ = true;  // cleared once the partial record is cut off
    file_->Truncate(end_);
    broken_ = false;
    throw;
  }
  // A failed sync may have dropped the pages and cleared the error, so a second sync that succeeds
  // would prove nothing.
  broken_ = true;
  file_->Sync();
  broken_ = false;
  end_ += line.size();
  ++next_;
}

}  // namespace msc::gym
