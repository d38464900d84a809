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
  /// What each of them is cut out of, as they may compute in different precisions: indices into
  /// RegionRequest::sources. The meter fills them in.
  std::vector<std::int64_t> sources = {};
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("nodes", self.nodes, "node names; none is the whole graph");
    visit("runners", self.runners, "who is compared");
    visit("sources", self.sources, "what it is cut out of, by runner", Within{0, 1e6});
  }
};

/// Files of a RegionSource.
struct SourceFiles {
  std::string graph;               ///< stem of the files of graph()
  std::vector<std::string> added;  ///< added()
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("graph", self.graph, "stem of the graph's files");
    visit("added", self.added, "names of added nodes");
  }
};

/// How the runners of a group are timed.
struct RegionTiming {
  LatencyOptions latency;
  /// Of outputs, in parts of the range, against the group's first runner that computes in the same
  /// precisions; 0: any.
  double tolerance = 0;
  double give_up = 0;  ///< see RivalOptions
  /// So many bytes of other memory are read before every round, as the rest of a model would
  /// between two calls of a region: weights come from where that leaves them. Then inputs, outputs
  /// and the arena are read, which the region's neighbours leave in the caches. 0: all is as warm
  /// as can be.
  std::int64_t cold_bytes = 0;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("latency", self.latency, "how time is measured");
    visit("tolerance", self.tolerance, "largest difference of outputs", Within{0, 1});
    visit("give_up", self.give_up, "factor at which a slow runner is left", Within{0, 1e6});
    visit("cold_bytes", self.cold_bytes, "memory read between rounds", Within{0, 1e10});
  }
};

/// What a child that measures regions is asked: a JSON file.
struct RegionRequest {
  std::vector<SourceFiles> sources;
  std::string answers;  ///< file to which it appends RegionAnswer, one a line
  int threads = 1;
  /// Only generates code and compiles it on all cores it has, into the cache that the measuring
  /// child finds it in.
  bool only_kernels = false;
  RegionTiming timing;
  std::vector<RegionGroup> groups;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("sources", self.sources, "what regions are cut out of");
    visit("answers", self.answers, "file to append to");
    visit("threads", self.threads, "threads", Within{1, 1024});
    visit("only_kernels", self.only_kernels, "compile generated code, measure nothing");
    visit("timing", self.timing, "how runners are timed");
    visit("groups", self.groups, "what is measured");
  }
};

/// One line of the file of answers.
struct RegionAnswer {
  /// "builds" (a runner, before it is compiled and run once; where only kernels are compiled, how
  /// far that is, as if they were those of groups in their order), "times" (a group, before its
  /// timing), "gave" (a runner).
  std::string state = "gave";
  std::size_t group = 0;
  std::size_t runner = 0;
  double at = 0;             ///< seconds since the child began
  std::string outcome = {};  ///< JSON of a Result<Outcome> without quality
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("state", self.state, "what happens", Within::OneOf({"builds", "times", "gave"}));
    visit("group", self.group, "index in the request");
    visit("runner", self.runner, "index in the group");
    visit("at", self.at, "seconds since the start", Within{0, 1e9});
    visit("outcome", self.outcome, "what measuring gave");
  }
};

[[nodiscard]] std::string ToJson(const RegionRequest& request);
[[nodiscard]] std::string ToJson(const RegionAnswer& answer);
/// UserError naming the key at fault.
[[nodiscard]] RegionRequest RegionRequestFromJson(std::string_view text, const std::string& what);
[[nodiscard]] RegionAnswer RegionAnswerFromJson(std::string_view text);

}  // namespace msc::cost
