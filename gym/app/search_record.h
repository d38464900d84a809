#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cost/measure/machine.h"
#include "gym/app/estimate_table.h"
#include "gym/app/search_config.h"
#include "gym/app/search_layers.h"
#include "gym/app/search_run.h"
#include "gym/core/problem.h"

namespace msc::gym {

/// What a search knows before its first trial, and its report shows: a journal record "setup".
struct SearchSetup {
  SearchConfig config = {};
  cost::MachineFacts machine = {};
  std::string model_hash = {};    ///< of the canonical graph
  std::int64_t weight_bytes = 0;  ///< of the uncompressed model
  std::int64_t samples = 0;       ///< that there are to judge candidates by
  std::vector<Decision> decisions = {};
  std::vector<LayerEntry> layers = {};
  /// Precisions that the target does not compute itself, by layer: they were not offered.
  std::map<std::string, std::vector<std::string>> lacked = {};
  std::uint64_t known = 0;       ///< trials that an earlier search had measured; see search_seeds.h
  EstimateTable estimates = {};  ///< that the agent began with
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("config", self.config, "as it was resolved");
    visit("machine", self.machine, "who coordinates, and versions");
    visit("model_hash", self.model_hash, "hash of the canonical graph");
    visit("weight_bytes", self.weight_bytes, "of the uncompressed model", Within{.least = 0});
    visit("samples", self.samples, "to judge candidates by", Within{.least = 0});
    visit("decisions", self.decisions, "what assignments choose");
    visit("layers", self.layers, "that can be quantized");
    visit("lacked", self.lacked, "precisions that the target does not compute, by layer");
    visit("known", self.known, "trials taken from an earlier search, not measured");
    visit("estimates", self.estimates, "what decisions do alone, as the agent was told");
  }
};

/// `samples` as in SearchSetup.
[[nodiscard]] SearchSetup SetupOf(const SearchConfig& config, const Prepared& prepared,
                                  const std::vector<Decision>& decisions, std::int64_t samples);

/// Journal records, without their sequence numbers. Text that is not UTF-8 is replaced.
[[nodiscard]] std::string ToRecord(const SearchSetup& setup);
[[nodiscard]] std::string ToRecord(const Findings& findings);

/// The last of each in a journal. A search that goes on with another config has two setups, and one
/// that goes on when it was finished has two findings.
struct SearchRecords {
  std::optional<SearchSetup> setup;  ///< none in journals of format 1, and before the first trial
  std::optional<Findings> findings;  ///< none before the search has come to its results
};
/// UserError naming the record that is not of this program's making.
[[nodiscard]] SearchRecords FindSearchRecords(std::span<const std::string> records);

/// What can be read of a journal.
struct JournalText {
  std::vector<std::string> records;  ///< payloads, the study's first
  std::string loss;  ///< DescribeLoss: what of it is damaged and left out; empty = nothing
};
/// UserError where the file is not there, holds no record, or has lost its first.
[[nodiscard]] JournalText ReadJournal(const std::string& path);
/// Says on stderr what an output lacks. The exit code of who made it: a failure where it lacks
/// anything.
[[nodiscard]] int WarnOfLoss(const std::string& loss);

/// The last setup in a journal. UserError, saying what `path` lacks or has lost, where there is
/// none.
[[nodiscard]] SearchSetup SetupIn(const SearchRecords& found, const JournalText& journal,
                                  const std::string& path);

}  // namespace msc::gym
