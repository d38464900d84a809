#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/within.h"
#include "compiler/strategy/strategy.h"

namespace msc::cost {

/// What a measuring child is asked: a JSON file.
struct ChildRequest {
  std::string folder;                ///< a prepared one
  std::string mode = "quality";      ///< "fit", "quality", "latency" or "profile"
  std::vector<Strategy> strategies;  ///< candidates; to be fitted, or of quality, exactly one
  std::string weights;               ///< folder of <digest>.weights: those fitted before, or now
  std::int64_t first = 0;            ///< for quality: number of the sample to begin with
  std::int64_t samples = 0;          ///< for quality: how many from that one on; 0 = all
  std::int64_t most = 0;             ///< for quality: up to so many while the verdict is open
  std::int64_t fresh = 0;            ///< for quality: from this one on also told apart; 0 = none
  std::int64_t repeats = 1;          ///< of the whole latency measurement; of profiled runs
  std::int64_t part = 1;             ///< latency is measured in this part of the rounds and time
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("folder", self.folder, "prepared folder");
    visit("mode", self.mode, "what to find out",
          Within::OneOf({"fit", "quality", "latency", "profile"}));
    visit("strategies", self.strategies, "candidates");
    visit("weights", self.weights, "folder of fitted weights");
    visit("first", self.first, "sample to begin with", Within{0, 1e9});
    visit("samples", self.samples, "samples to judge by; 0 = all", Within{0, 1e9});
    visit("most", self.most, "samples while the verdict is open", Within{0, 1e9});
    visit("fresh", self.fresh, "sample from which on they are also told apart; 0 = none",
          Within{0, 1e9});
    visit("repeats", self.repeats, "how often all is measured", Within{1, 1e6});
    visit("part", self.part, "divides rounds and time", Within{1, 1000});
  }
};

/// Time of one step of an executable.
struct StepProfile {
  std::string name;
  std::string target;
  std::string precision;           ///< what it really ran in; "" for data movement
  std::vector<std::string> nodes;  ///< graph nodes it computed; empty for a reorder
  double median_ns = 0;
  std::map<std::string, std::string> precisions = {};  ///< as Step::precisions
  bool operator==(const StepProfile&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("name", self.name, "step");
    visit("target", self.target, "who made it");
    visit("precision", self.precision, "arithmetic it ran in");
    visit("nodes", self.nodes, "graph nodes it computed");
    visit("median_ns", self.median_ns, "nanoseconds");
    visit("precisions", self.precisions, "of its layers, where they are known one by one");
  }
};

/// Steps of one executable in the order in which they run.
struct Profile {
  std::vector<StepProfile> steps;
  std::optional<std::string> failure;  ///< why there are none
  bool operator==(const Profile&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("steps", self.steps, "steps in order");
    visit("failure", self.failure, "why there are none");
  }
};
[[nodiscard]] std::string ToJson(const Profile& profile, int indent = -1);

/// What a measuring child answers: one record.
struct ChildAnswer {
  std::vector<std::string> outcomes;      ///< JSON of a Result<Outcome> for each strategy
  std::vector<Profile> profiles;          ///< of the reference, then of each strategy
  std::vector<Strategy> fitted;           ///< of a fit: the candidate, or a failure in outcomes
  std::optional<std::string> user_error;  ///< the request makes no sense
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("outcomes", self.outcomes, "what measuring gave");
    visit("profiles", self.profiles, "times of steps");
    visit("fitted", self.fitted, "the candidate with what samples decide");
    visit("user_error", self.user_error, "why the request makes no sense");
  }
};

/// Where the fitted weights of a strategy lie in ChildRequest::weights.
[[nodiscard]] std::string WeightsPath(const std::string& folder, const Strategy& strategy);

[[nodiscard]] std::string ToJson(const ChildRequest& request);
[[nodiscard]] std::string ToJson(const ChildAnswer& answer);
/// UserError naming the key at fault.
[[nodiscard]] ChildRequest RequestFromJson(std::string_view text, const std::string& what);
[[nodiscard]] ChildAnswer AnswerFromJson(std::string_view text);

}  // namespace msc::cost
