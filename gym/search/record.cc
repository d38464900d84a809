#include "gym/search/record.h"

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/ir/serialize.h"
#include "gym/study/read_record.h"
#include "gym/study/scan.h"
#include "gym/study/trial.h"

namespace msc::gym {
namespace {

using nlohmann::json;

constexpr const char* kSetup = "setup";
constexpr const char* kFindings = "findings";

/// Returns {"type": TYPE, TYPE: {...}}.
template <class T>
std::string Record(const char* type, const T& value) {
  return json{{"type", type}, {type, WriteJson(value)}}.dump(-1, ' ', false,
                                                             json::error_handler_t::replace);
}

template <class T>
T ReadPart(const std::string& text, const std::string& type, const std::string& what) {
  const json record = ParseJson(text, what);
  const auto body = record.find(type);
  if (body == record.end()) throw UserError(what + " has no '" + type + "'");
  return ReadRecord<T>(*body, what, type);
}

}  // namespace

SearchSetup SetupOf(const SearchConfig& config, const Prepared& prepared,
                    const std::vector<Decision>& decisions, std::int64_t samples) {
  SearchSetup setup{.config = config,
                    .machine = prepared.machine,
                    .model_hash = GraphHash(*prepared.graph),
                    .samples = samples,
                    .decisions = decisions,
                    .layers = LayersOf(*prepared.graph),
                    .unsupported = prepared.unsupported,
                    .estimates = prepared.estimates};
  for (const ValueId id : prepared.graph->constants()) {
    setup.weight_bytes += static_cast<std::int64_t>(prepared.graph->constant(id)->bytes());
  }
  return setup;
}

std::string ToRecord(const SearchSetup& setup) {
  return Record(kSetup, setup);
}

std::string ToRecord(const Findings& findings) {
  return Record(kFindings, findings);
}

SearchRecords FindSearchRecords(std::span<const std::string> records) {
  SearchRecords found;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::string type = RecordType(records[i], i);
    const std::string what = "journal record " + std::to_string(i);
    try {
      if (type == kSetup) found.setup = ReadPart<SearchSetup>(records[i], type, what);
      if (type == kFindings) found.findings = ReadPart<Findings>(records[i], type, what);
    } catch (const UserError& error) {
      throw UserError(std::string(error.what()) +
                      "; if an older mscgym wrote this journal, make its report with that one, or "
                      "search again in a new folder");
    }
  }
  return found;
}

JournalText ReadJournal(const std::string& path) {
  const std::string bytes = ReadFile(path, std::uint64_t{4} << 30U);
  const JournalScan scan = ScanJournal(bytes);
  JournalText text{.records = {scan.records.begin(), scan.records.end()},
                   .loss = DescribeLoss(scan, path)};
  if (text.records.empty()) {
    throw UserError(text.loss.empty() ? "'" + path + "' holds no record" : text.loss);
  }
  if (!text.loss.empty() && scan.damage.front().before == 0) {
    throw UserError(text.loss + "; its first record, which describes the study, is lost");
  }
  return text;
}

SearchSetup SetupIn(const SearchRecords& found, const JournalText& journal,
                    const std::string& path) {
  if (found.setup) {
    if (found.setup->model_hash.empty()) {
      throw UserError("'" + path +
                      "' does not say which model was searched: the model_hash of its record "
                      "'setup' is empty");
    }
    return *found.setup;
  }
  if (!journal.loss.empty()) {
    throw UserError(journal.loss + "; the settings of its search are among the lost records");
  }
  throw UserError("'" + path +
                  "' does not contain the settings of its search: the search ended before its "
                  "first trial, or an older mscgym wrote the file");
}

}  // namespace msc::gym
