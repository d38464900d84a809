#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/enum_form.h"
#include "compiler/base/result.h"
#include "compiler/base/string_form.h"
#include "compiler/base/within.h"
#include "compiler/strategy/strategy.h"
#include "cost/model/outcome.h"
#include "cost/quality/changed_samples.h"

namespace msc::cost {

/// What a child that measures is to do.
enum class ChildMode : std::uint8_t { kFit, kQuality, kLatency, kProfile, kChanged };
inline constexpr std::array<std::string_view, 5> kChildModes = {"fit", "quality", "latency",
                                                                "profile", "changed"};

}  // namespace msc::cost

namespace msc {

template <>
struct StringForm<cost::ChildMode> : EnumForm<cost::ChildMode, cost::kChildModes> {};

}  // namespace msc

namespace msc::cost {

/// Request to a child that measures, sent as a JSON file.
struct ChildRequest {
  std::string folder;  ///< prepared folder
  ChildMode mode = ChildMode::kQuality;
  std::vector<Strategy> strategies;  ///< candidates; exactly one for kFit, kQuality and kChanged
  std::string weights;       ///< folder with <digest>.weights, to read and write fitted weights
  std::int64_t first = 0;    ///< quality, changed: number of the first sample
  std::int64_t samples = 0;  ///< quality: number of samples; 0 = all from the first one on
  std::int64_t most = 0;     ///< quality: most samples while the verdict is undecided
  /// Quality: samples from this number on are held out and also judged separately; 0 = none.
  std::int64_t held_out = 0;
  /// Quality: folder for the candidate's outputs on these samples (OutputFiles); empty = not
  /// needed.
  std::string outputs;
  std::int64_t repeats = 1;  ///< of the whole latency measurement, or of profiled runs
  std::int64_t part = 1;     ///< latency: divides the rounds and the time
  /// Latency: the candidates are models exported for this reader (FindReader); empty = they are as
  /// our targets compute them.
  std::string reader;
  std::string loss;  ///< changed: loss to measure the change of a sample by
  static void Fields(auto& self, auto& visit) {
    visit("folder", self.folder, "prepared folder");
    visit("mode", self.mode, "what to do");
    visit("strategies", self.strategies, "candidates");
    visit("weights", self.weights, "folder of fitted weights");
    visit("first", self.first, "first sample", Within{0, 1e9});
    visit("samples", self.samples, "samples to judge by; 0 = all", Within{0, 1e9});
    visit("most", self.most, "largest number of samples while the verdict is undecided",
          Within{0, 1e9});
    visit("fresh", self.held_out, "first sample of those that are also judged separately; 0 = none",
          Within{0, 1e9});
    visit("outputs", self.outputs, "folder for outputs");
    visit("repeats", self.repeats, "number of repeats of all measurements", Within{1, 1e6});
    visit("part", self.part, "divisor of rounds and time", Within{1, 1000});
    visit("reader", self.reader, "reader that candidates are exported for; empty = none");
    visit("loss", self.loss, "loss to measure the change of a sample by");
  }
};

/// Time of one step of an executable.
struct StepProfile {
  std::string name;
  std::string target;
  std::string precision;           ///< as Step::precision
  std::vector<std::string> nodes;  ///< graph nodes that it computes; empty for a reorder
  double median_ns = 0;
  std::map<std::string, std::string> precisions = {};  ///< like Step::precisions
  bool operator==(const StepProfile&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("name", self.name, "step");
    visit("target", self.target, "target that built the step");
    visit("precision", self.precision, "arithmetic it ran in");
    visit("nodes", self.nodes, "graph nodes it computed");
    visit("median_ns", self.median_ns, "nanoseconds");
    visit("precisions", self.precisions, "precisions of its layers, if known separately");
  }
};

/// Step times of one executable, in execution order.
struct Profile {
  std::vector<StepProfile> steps;
  std::optional<std::string> failure;  ///< why there are no steps
  bool operator==(const Profile&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("steps", self.steps, "steps in order");
    visit("failure", self.failure, "why there are none");
  }
};
[[nodiscard]] std::string ToJson(const Profile& profile, int indent = -1);

/// Answer of a child that measures, sent as one record.
struct ChildAnswer {
  std::vector<Result<Outcome>> outcomes;  ///< by strategy
  std::vector<Profile> profiles;          ///< of the uncompressed model, then of each strategy
  std::vector<Strategy> fitted;  ///< kFit: the fitted candidate; a failed fit is in `outcomes`
  /// kChanged: the samples that the candidate changes most; a failure is in `outcomes`.
  std::vector<ChangedSample> changed;
  std::optional<std::string> user_error;  ///< why the request was rejected
  static void Fields(auto& self, auto& visit) {
    visit("outcomes", self.outcomes, "results of the measurement");
    visit("profiles", self.profiles, "times of steps");
    visit("fitted", self.fitted, "the candidate with all values that samples determine");
    visit("changed", self.changed, "the samples that changed most");
    visit("user_error", self.user_error, "why the request is invalid");
  }
};

/// Returns the path of a strategy's fitted weights in ChildRequest::weights or a prepared folder.
[[nodiscard]] std::string WeightsPath(const std::string& folder, const Strategy& strategy);

[[nodiscard]] std::string ToJson(const ChildRequest& request);
[[nodiscard]] std::string ToJson(const ChildAnswer& answer);
/// Parse a request or an answer. UserError naming the key at fault.
[[nodiscard]] ChildRequest RequestFromJson(std::string_view text, const std::string& what);
[[nodiscard]] ChildAnswer AnswerFromJson(std::string_view text);

}  // namespace msc::cost
