#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/within.h"
#include "compiler/strategy/strategy.h"
#include "cost/measure/latency.h"

namespace msc::cost {

/// Who runs a region: one target, or several by a plan of their own.
struct RegionRunner {
  std::string target;
  std::vector<PartitionRegion> partition = {};  ///< of the whole graph alone
  bool operator==(const RegionRunner&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("target", self.target, "spec");
    visit("partition", self.partition, "who runs what, where it is not all the target");
  }
};

/// Runners that are timed against each other, in turn, on the same region.
struct RegionGroup {
  std::vector<std::string> nodes;  ///< names; none is the whole graph
  std::vector<RegionRunner> runners;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("nodes", self.nodes, "node names; none is the whole graph");
    visit("runners", self.runners, "who is compared");
  }
};

/// What a child that measures regions is asked: a JSON file.
struct RegionRequest {
  std::string graph;               ///< stem of the files of RegionSource::graph()
  std::vector<std::string> added;  ///< RegionSource::added()
  std::string answers;             ///< file to which it appends RegionAnswer, one a line
  int threads = 1;
  double tolerance = 0;  ///< largest difference from the first runner, of the range; 0: any
  LatencyOptions latency;
  std::vector<RegionGroup> groups;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("graph", self.graph, "stem of the graph's files");
    visit("added", self.added, "names of added nodes");
    visit("answers", self.answers, "file to append to");
    visit("threads", self.threads, "threads", Within{1, 1024});
    visit("tolerance", self.tolerance, "largest difference of outputs", Within{0, 1});
    visit("latency", self.latency, "how time is measured");
    visit("groups", self.groups, "what is measured");
  }
};

/// One line of the file of answers.
struct RegionAnswer {
  /// "builds" (a runner, before it is compiled and run once), "times" (a group, before its timing),
  /// "gave" (a runner).
  std::string state = "gave";
  std::size_t group = 0;
  std::size_t runner = 0;
  std::string outcome;  ///< JSON of a Result<Outcome> without quality
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("state", self.state, "what happens", Within::OneOf({"builds", "times", "gave"}));
    visit("group", self.group, "index in the request");
    visit("runner", self.runner, "index in the group");
    visit("outcome", self.outcome, "what measuring gave");
  }
};

[[nodiscard]] std::string ToJson(const RegionRequest& request);
[[nodiscard]] std::string ToJson(const RegionAnswer& answer);
/// UserError naming the key at fault.
[[nodiscard]] RegionRequest RegionRequestFromJson(std::string_view text, const std::string& what);
[[nodiscard]] RegionAnswer RegionAnswerFromJson(std::string_view text);

}  // namespace msc::cost
