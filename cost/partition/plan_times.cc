#include "cost/partition/plan_times.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/ir/serialize.h"
#include "cost/cache/caching_evaluator.h"

namespace msc::cost {
namespace {

/// Value of a cache entry.
struct Entry {
  std::string taken;
  std::vector<Result<Outcome>> outcomes;
  static void Fields(auto& self, auto& visit) {
    visit("taken", self.taken, "when it was measured");
    visit("outcomes", self.outcomes, "results of the measurement, by runner");
  }
};

struct RunnerList {
  std::vector<RegionRunner> runners;
  static void Fields(auto& self, auto& visit) {
    visit("runners", self.runners, "runners that are compared");
  }
};

std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 40> text{};
  (void)std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &utc);
  return text.data();
}

}  // namespace

PlanTimes::PlanTimes(const RegionSource& source, const TargetRegistry& targets, RegionMeter& meter,
                     const std::string& folder, RegionCostContext context, bool fresh)
    : source_(source),
      targets_(targets),
      meter_(meter),
      store_(folder),
      context_(std::move(context)),
      fresh_(fresh) {}

std::string PlanTimes::KeyOf(std::span<const RegionRunner> runners) {
  if (graph_hash_.empty()) graph_hash_ = GraphHash(source_.graph());
  std::set<std::string> specs;
  std::vector<std::string> others;  // hashes of graphs in other precisions
  for (const RegionRunner& runner : runners) {
    const RegionSource& source = source_.ForPlan(runner.target, runner.partition);
    if (&source != &source_) others.push_back(GraphHash(source.graph()));
    specs.insert(runner.target);
    for (const PartitionRegion& region : runner.partition) specs.insert(region.target);
  }
  std::vector<std::string> parts = {"msc-plans-2",
                                    graph_hash_,
                                    ToJsonText(RunnerList{{runners.begin(), runners.end()}}),
                                    std::to_string(context_.threads),
                                    context_.cpu,
                                    context_.program,
                                    ToJsonText(context_.timing)};
  parts.insert(parts.end(), others.begin(), others.end());
  for (const std::string& spec : specs) {
    const Target& target = targets_.Get(spec);
    parts.insert(parts.end(), {target.spec(), target.facts().version});
  }
  return KeyFrom(parts);
}

PlanTimes::Timed PlanTimes::Read(const std::string& key, std::size_t runners) const {
  const OutcomeStore::Answer answer = store_.Get(key);
  if (answer.found != OutcomeStore::Found::kValue) return {};
  try {
    auto entry = FromJsonText<Entry>(answer.value, "a kept measurement");
    const auto is_usable = [](const Result<Outcome>& got) {
      return !got.ok() || (got.value().latency && got.value().latency->median_ns > 0);
    };
    if (entry.outcomes.size() != runners || entry.taken.empty() ||
        !std::all_of(entry.outcomes.begin(), entry.outcomes.end(), is_usable)) {
      return {};
    }
    return {.outcomes = std::move(entry.outcomes), .taken = std::move(entry.taken)};
  } catch (const UserError&) {
    return {};  // written by another version or by hand, so it is measured again
  }
}

void PlanTimes::Keep(const std::string& key, const Timed& timed) const {
  // The key does not contain the memory limit, so failures that depend on it are not cached.
  const auto is_lasting = [](const auto& got) { return IsLasting(got) && !RanOutOfMemory(got); };
  if (!std::all_of(timed.outcomes.begin(), timed.outcomes.end(), is_lasting)) return;
  store_.Put(key, ToJsonText(Entry{.taken = Now(), .outcomes = timed.outcomes}));
}

PlanTimes::Timed PlanTimes::Time(std::span<const RegionRunner> runners,
                                 const std::function<bool()>& stop) {
  const std::string list = KeyOf(runners);
  // A repeated request is another measurement, so it has a key of its own.
  const std::string key = KeyFrom({list, std::to_string(asked_[list]++)});
  if (!fresh_) {
    Timed kept = Read(key, runners.size());
    if (!kept.outcomes.empty()) return kept;
  }
  const RegionGroup group{.runners = {runners.begin(), runners.end()}};
  Timed timed{.outcomes = std::vector<Result<Outcome>>(
                  runners.size(), Failure{FailureKind::kLost, "was not timed: stopped"})};
  spent_ += meter_.Measure(
      {&group, 1}, context_.timing,
      [&](std::size_t /*group*/, std::size_t runner, const Result<Outcome>& outcome) {
        timed.outcomes[runner] = outcome;
      },
      stop);
  Keep(key, timed);
  return timed;
}

}  // namespace msc::cost
