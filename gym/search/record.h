#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cost/measure/machine.h"
#include "gym/core/problem.h"
#include "gym/search/config.h"
#include "gym/search/estimate_table.h"
#include "gym/search/findings.h"
#include "gym/search/layers.h"
#include "gym/search/prepare.h"

namespace msc::gym {

/// Facts of a search before its first trial, which its report shows: a journal record "setup".
struct SearchSetup {
  SearchConfig config = {};
  cost::MachineFacts machine = {};
  std::string model_hash = {};    ///< of the canonical graph
  std::int64_t weight_bytes = 0;  ///< of the uncompressed model
  std::int64_t samples = 0;       ///< available for judging candidates
  std::vector<Decision> decisions = {};
  std::vector<LayerEntry> layers = {};
  /// By layer, precisions that the target does not support; they are not among the choices.
  std::map<std::string, std::vector<Precision>> unsupported = {};
  std::uint64_t known = 0;       ///< trials that an earlier search had measured (seeds.h)
  EstimateTable estimates = {};  ///< that the agent started from
  static void Fields(auto& self, auto& visit) {
    visit("config", self.config, "resolved config");
    visit("machine", self.machine, "machine of the coordinator, and versions");
    visit("model_hash", self.model_hash, "hash of the canonical graph");
    visit("weight_bytes", self.weight_bytes, "bytes of the uncompressed model's weights",
          Within{.least = 0});
    visit("samples", self.samples, "number of samples to judge candidates on", Within{.least = 0});
    visit("decisions", self.decisions, "decisions that assignments make");
    visit("layers", self.layers, "layers that can be quantized");
    visit("lacked", self.unsupported, "precisions that the target does not support, by layer");
    visit("known", self.known, "trials taken from an earlier search, not measured");
    visit("estimates", self.estimates,
          "estimated effects of single decisions that the agent received");
  }
};

/// Returns the setup; `samples` as in SearchSetup.
[[nodiscard]] SearchSetup SetupOf(const SearchConfig& config, const Prepared& prepared,
                                  const std::vector<Decision>& decisions, std::int64_t samples);

/// Return journal records, without their sequence numbers. Bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string ToRecord(const SearchSetup& setup);
[[nodiscard]] std::string ToRecord(const Findings& findings);

/// The last record of each kind in a journal. A search that was resumed with another config has two
/// setups; one that was resumed after its end has two findings.
struct SearchRecords {
  std::optional<SearchSetup> setup;  ///< absent in journals of format 1, and before the first trial
  std::optional<Findings> findings;  ///< absent until the search has results
};
/// Finds the records. UserError, naming the record, if one is malformed.
[[nodiscard]] SearchRecords FindSearchRecords(std::span<const std::string> records);

/// The readable part of a journal.
struct JournalText {
  std::vector<std::string> records;  ///< payloads; the study's header first
  std::string loss;  ///< DescribeLoss: records that are damaged and missing here; empty = none
};
/// Reads a journal. UserError if the file does not exist, holds no record, or has lost its first.
[[nodiscard]] JournalText ReadJournal(const std::string& path);

/// Returns the last setup of a journal. UserError, saying what is missing in `path`, if there is
/// none.
[[nodiscard]] SearchSetup SetupIn(const SearchRecords& found, const JournalText& journal,
                                  const std::string& path);

}  // namespace msc::gym
