#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/enum_form.h"
#include "compiler/base/result.h"
#include "compiler/base/string_form.h"
#include "compiler/base/within.h"
#include "compiler/strategy/strategy.h"
#include "cost/measure/latency.h"
#include "cost/model/outcome.h"

namespace msc::cost {

/// What runs a region: one target, or several by a plan.
struct RegionRunner {
  std::string target;
  std::vector<PartitionRegion> partition = {};  ///< only for the whole graph
  bool operator==(const RegionRunner&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("target", self.target, "spec");
    visit("partition", self.partition, "regions and their targets; empty = all on `target`");
  }
};

/// Runners that are timed against each other, interleaved, on the same region.
struct RegionGroup {
  std::vector<std::string> nodes = {};  ///< node names; empty = the whole graph
  std::vector<RegionRunner> runners = {};
  /// By runner, the source to cut the region from, since runners may compute in different
  /// precisions: an index into RegionRequest::sources. RegionMeter sets it.
  std::vector<std::int64_t> sources = {};
  static void Fields(auto& self, auto& visit) {
    visit("nodes", self.nodes, "node names; empty = the whole graph");
    visit("runners", self.runners, "runners that are compared");
    visit("sources", self.sources, "index of the source graph, by runner", Within{0, 1e6});
  }
};

/// Files of a RegionSource.
struct SourceFiles {
  std::string graph;  ///< stem of the files of RegionSource::graph()
  /// Names of the nodes in RegionSource::added().
  std::vector<std::string> added;
  static void Fields(auto& self, auto& visit) {
    visit("graph", self.graph, "stem of the graph's files");
    visit("added", self.added, "names of added nodes");
  }
};

/// How the runners of a group are timed.
struct RegionTiming {
  LatencyOptions latency;
  /// Largest difference of outputs, relative to their range, from the group's first runner in the
  /// same precisions; 0 = not checked.
  double tolerance = 0;
  double give_up = 0;  ///< see RivalOptions
  /// Bytes of other memory to read before every round, as the rest of a model would between two
  /// calls of a region, so that the weights leave the nearer caches. Then inputs and outputs are
  /// read, because the neighbours of a region leave those in the caches. 0 = everything is as warm
  /// as possible.
  std::int64_t cold_bytes = 0;
  static void Fields(auto& self, auto& visit) {
    visit("latency", self.latency, "how time is measured");
    visit("tolerance", self.tolerance, "largest difference of outputs", Within{0, 1});
    visit("give_up", self.give_up, "factor at which a slow runner is dropped", Within{0, 1e6});
    visit("cold_bytes", self.cold_bytes, "memory read between rounds", Within{0, 1e10});
  }
};

/// Request to a child that measures regions, sent as a JSON file.
struct RegionRequest {
  std::vector<SourceFiles> sources;
  std::string answers;  ///< file to which the child appends a RegionAnswer per line
  int threads = 1;
  /// Whether to only generate code and compile it on all cores, into the cache in which the child
  /// that measures will find it.
  bool only_kernels = false;
  RegionTiming timing;
  std::vector<RegionGroup> groups;
  static void Fields(auto& self, auto& visit) {
    visit("sources", self.sources, "graphs that regions are cut out of");
    visit("answers", self.answers, "file to append to");
    visit("threads", self.threads, "threads", Within{1, 1024});
    visit("only_kernels", self.only_kernels, "compile generated code, measure nothing");
    visit("timing", self.timing, "how runners are timed");
    visit("groups", self.groups, "groups of runners to measure");
  }
};

/// What a child that measures regions reports.
enum class RegionEvent : std::uint8_t {
  /// A runner, before it is compiled and run once. If only kernels are compiled, the progress of
  /// that, as if it were proportional to groups.
  kBuilds,
  kTimes,  ///< a group, before its timing
  kGave,   ///< the result of a runner
};
inline constexpr std::array<std::string_view, 3> kRegionEvents = {"builds", "times", "gave"};

}  // namespace msc::cost

namespace msc {

template <>
struct StringForm<cost::RegionEvent> : EnumForm<cost::RegionEvent, cost::kRegionEvents> {};

}  // namespace msc

namespace msc::cost {

/// One line of the file of answers.
struct RegionAnswer {
  RegionEvent state = RegionEvent::kGave;
  std::size_t group = 0;
  std::size_t runner = 0;
  double at = 0;                        ///< seconds since the child started
  Result<Outcome> outcome = Failure{};  ///< for kGave; without quality
  static void Fields(auto& self, auto& visit) {
    visit("state", self.state, "event");
    visit("group", self.group, "index in the request");
    visit("runner", self.runner, "index in the group");
    visit("at", self.at, "seconds since the start", Within{0, 1e9});
    visit("outcome", self.outcome, "results of the measurement");
  }
};

[[nodiscard]] std::string ToJson(const RegionRequest& request);
[[nodiscard]] std::string ToJson(const RegionAnswer& answer);
/// Parse a request or an answer. UserError naming the key at fault.
[[nodiscard]] RegionRequest RegionRequestFromJson(std::string_view text, const std::string& what);
[[nodiscard]] RegionAnswer RegionAnswerFromJson(std::string_view text);

}  // namespace msc::cost
