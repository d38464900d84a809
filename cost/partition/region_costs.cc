#include "cost/partition/region_costs.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/hash.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/serialize.h"
#include "cost/cache/caching_evaluator.h"

namespace msc::cost {

namespace {

/// Weights that a model of `bytes` pushes out of the caches between two calls of a region: all up
/// to its own size. Half as much again as the largest cache holds leaves nothing there. A power of
/// two up to that, so that models of about one size share costs.
std::int64_t ColdBytes(std::int64_t bytes) {
  constexpr std::int64_t kUsualCache = std::int64_t{32} << 20;
  std::int64_t cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (cache <= 0) cache = kUsualCache;
  const auto wanted = static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 1))));
  return std::min(wanted, cache + cache / 2);
}

}  // namespace

RegionTiming QuickTiming(const Graph& graph) {
  RegionTiming timing;
  timing.latency.min_rounds = 5;
  timing.latency.max_rounds = 11;
  timing.latency.min_epoch_us = 200;
  timing.latency.max_ms = 40;
  timing.latency.max_warmup_ms = 10;
  timing.latency.target_width = 0.03;
  timing.give_up = 2;
  timing.cold_bytes = ColdBytes(Count(graph).weight_bytes);
  return timing;
}

std::string KeyFrom(const std::vector<std::string>& parts) {
  Sha256 hash;
  for (const std::string& part : parts) hash.Add(std::to_string(part.size()) + ":" + part);
  return hash.Hex();
}

RegionCosts::RegionCosts(const RegionSource& source, const TargetRegistry& targets,
                         RegionMeter& meter, const std::string& folder, RegionCostContext context)
    : source_(source),
      targets_(targets),
      meter_(meter),
      store_(folder),
      context_(std::move(context)),
      context_text_(ToJsonText(context_.timing)) {}

const std::string& RegionCosts::StructureOf(const std::vector<std::string>& nodes) {
  const auto it = structures_.find(nodes);
  if (it != structures_.end()) return it->second;
  return structures_.emplace(nodes, StructureHash(source_.Cut(nodes))).first->second;
}

std::string RegionCosts::KeyOf(const MeasuredRegion& region) {
  const Target& target = targets_.Get(region.target);
  return KeyFrom({"msc-region-2", StructureOf(region.nodes), target.spec(), target.facts().version,
                  std::to_string(context_.threads), context_.cpu, context_.program, context_text_});
}

std::optional<Result<Outcome>> RegionCosts::Read(const std::string& key) {
  if (const auto it = known_.find(key); it != known_.end()) return it->second;
  const OutcomeStore::Answer answer = store_.Get(key);
  if (answer.found != OutcomeStore::Found::kValue) return std::nullopt;
  try {
    const Result<Outcome> outcome = OutcomeFromJson(answer.value);
    // Written by a version that kept something else under this key, or by hand: measured anew.
    if (outcome.ok() && !(outcome.value().latency && outcome.value().latency->median_ns > 0)) {
      return std::nullopt;
    }
    return known_.emplace(key, outcome).first->second;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

void RegionCosts::Keep(const std::string& key, const Result<Outcome>& outcome) {
  known_.insert_or_assign(key, outcome);
  if (IsLasting(outcome)) store_.Put(key, ToJson(outcome));
}

std::optional<Result<Outcome>> RegionCosts::Find(const MeasuredRegion& region) {
  return Read(KeyOf(region));
}

std::vector<std::uint32_t> RegionCosts::Alike(std::span<const MeasuredRegion> regions) {
  std::map<std::string, std::uint32_t> numbers;
  std::vector<std::uint32_t> alike;
  for (const MeasuredRegion& region : regions) {
    const auto next = static_cast<std::uint32_t>(numbers.size());
    alike.push_back(numbers.emplace(KeyOf(region), next).first->second);
  }
  return alike;
}

std::size_t RegionCosts::CountUnknown(std::span<const MeasuredRegion> regions) {
  std::set<std::string> unknown;
  for (const MeasuredRegion& region : regions) {
    const std::string key = KeyOf(region);
    if (!Read(key)) unknown.insert(key);
  }
  return unknown.size();
}

void RegionCosts::Measure(std::span<const MeasuredRegion> regions, const Done& done,
                          const std::function<bool()>& stop) {
  // One group for each structure, one runner for each key; who waits for it.
  std::map<std::string, std::size_t> group_of;
  std::vector<RegionGroup> groups;
  std::vector<std::vector<std::string>> keys;
  std::map<std::string, std::vector<std::size_t>> waiting;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const std::string key = KeyOf(regions[i]);
    if (const auto known = Read(key)) {
      ++counts_.found;
      done(i, *known);
      continue;
    }
    std::vector<std::size_t>& waits = waiting[key];
    waits.push_back(i);
    if (waits.size() > 1) continue;
    const auto [it, is_new] = group_of.emplace(StructureOf(regions[i].nodes), groups.size());
    if (is_new) {
      groups.push_back({.nodes = regions[i].nodes, .runners = {}});
      keys.emplace_back();
    }
    groups[it->second].runners.push_back({.target = regions[i].target});
    keys[it->second].push_back(key);
  }
  if (groups.empty()) return;
  spent_ += meter_.Measure(
      groups, context_.timing,
      [&](std::size_t group, std::size_t runner, const Result<Outcome>& outcome) {
        const std::string& key = keys[group][runner];
        Keep(key, outcome);
        ++counts_.measured;
        counts_.failed += outcome.ok() ? 0 : 1;
        const std::vector<std::size_t>& waits = waiting.at(key);
        counts_.found += static_cast<std::int64_t>(waits.size()) - 1;
        for (const std::size_t region : waits) done(region, outcome);
      },
      stop);
}

}  // namespace msc::cost
