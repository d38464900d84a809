#include "cost/partition/region_costs.h"

#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/hash.h"
#include "compiler/ir/serialize.h"
#include "cost/cache/caching_evaluator.h"

namespace msc::cost {

LatencyOptions QuickLatency() {
  LatencyOptions latency;
  latency.min_rounds = 5;
  latency.max_rounds = 11;
  latency.min_epoch_us = 200;
  latency.max_ms = 40;
  latency.max_warmup_ms = 40;
  latency.target_width = 0.03;
  latency.settle_calls = 1;
  return latency;
}

RegionCosts::RegionCosts(const RegionSource& source, const TargetRegistry& targets,
                         RegionMeter& meter, const std::string& folder, RegionCostContext context)
    : source_(source),
      targets_(targets),
      meter_(meter),
      store_(folder),
      context_(std::move(context)),
      context_text_(ToJsonText(context_.latency)) {}

const std::string& RegionCosts::StructureOf(const std::vector<std::string>& nodes) {
  const auto it = structures_.find(nodes);
  if (it != structures_.end()) return it->second;
  return structures_.emplace(nodes, StructureHash(source_.Cut(nodes))).first->second;
}

std::string RegionCosts::KeyOf(const MeasuredRegion& region) {
  const Target& target = targets_.Get(region.target);
  Sha256 hash;
  for (const std::string& part :
       {std::string("msc-region-1"), StructureOf(region.nodes), target.spec(),
        target.facts().version, std::to_string(context_.threads), context_.cpu, context_.program,
        context_text_}) {
    hash.Add(std::to_string(part.size()) + ":" + part);
  }
  return hash.Hex();
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
  meter_.Measure(
      groups, {.latency = context_.latency, .tolerance = 0},
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
