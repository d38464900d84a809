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
#include "cost/learned/region_features.h"

namespace msc::cost {

namespace {

/// Most samples to read. Keys are hashes, so those that come first are a random choice.
constexpr std::size_t kMaxSamples = 30'000;

/// A sample of a cost, and the conditions under which it was measured.
struct SampleRecord {
  std::string format = "msc-region-sample-2";
  std::string place;  ///< processor, program, threads
  CostSample sample;
  static void Fields(auto& self, auto& visit) {
    visit("format", self.format, "version of this record's form",
          Within::OneOf({"msc-region-sample-2"}));
    visit("place", self.place, "where it was measured");
    visit("target", self.sample.target, "spec and version");
    visit("model", self.sample.model, "hash of the graph");
    visit("features", self.sample.features, "of the region", Within{-1e30, 1e30});
    visit("micros", self.sample.micros, "measured time in microseconds", Within{0, 1e15});
  }
};

/// Returns how many bytes of weights a model with `bytes` of them moves through the caches between
/// two calls of a region: all of its own. One and a half times the largest cache leaves nothing of
/// the region there, so more is not needed. Below that, powers of two let models of similar size
/// share costs.
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
  timing.cold_bytes = ColdBytes(CountContents(graph).weight_bytes);
  return timing;
}

std::string KeyFrom(const std::vector<std::string>& parts) {
  Sha256 hash;
  for (const std::string& part : parts) hash.Add(std::to_string(part.size()) + ":" + part);
  return hash.Hex();
}

/// State that Learn enables, and the model, which is fitted on demand.
struct RegionCosts::Learned {
  OutcomeStore store;
  std::string place;
  std::string model_hash;
  std::set<std::string> kept = {};  ///< keys of the stored samples
  bool keeps = true;                ///< false once a sample could not be written
  std::optional<RegionModel> model = {};
  std::map<std::string, std::vector<double>> features = {};  ///< by structure
};

RegionCosts::RegionCosts(const RegionSource& source, const TargetRegistry& targets,
                         RegionMeter& meter, const std::string& folder, RegionCostContext context)
    : source_(source),
      targets_(targets),
      meter_(meter),
      folder_(folder),
      store_(folder),
      context_(std::move(context)),
      context_text_(ToJsonText(context_.timing)) {}

RegionCosts::~RegionCosts() = default;

void RegionCosts::Learn() {
  std::optional<OutcomeStore> store;
  try {
    store.emplace(folder_ + "/samples");
  } catch (const SystemError&) {
    return;  // a read-only cache without samples
  }
  learned_ = std::make_unique<Learned>(
      Learned{.store = *std::move(store),
              .place = KeyFrom({context_.cpu, context_.program, std::to_string(context_.threads)}),
              .model_hash = GraphHash(source_.graph()),
              .keeps = true});
  for (const std::string& key : learned_->store.Keys()) learned_->kept.insert(key);
}

const RegionModel* RegionCosts::model() {
  if (!learned_) return nullptr;
  if (learned_->model) return &*learned_->model;
  std::vector<CostSample> samples;
  for (const std::string& key : learned_->kept) {
    if (samples.size() == kMaxSamples) break;
    const OutcomeStore::Answer answer = learned_->store.Get(key);
    if (answer.found != OutcomeStore::Found::kValue) continue;
    try {
      auto record = FromJsonText<SampleRecord>(answer.value, "a sample");
      if (record.place != learned_->place || record.sample.model == learned_->model_hash) continue;
      samples.push_back(std::move(record.sample));
    } catch (const UserError&) {
      continue;  // of another version of this program
    }
  }
  return &learned_->model.emplace(samples);
}

std::string RegionCosts::SampledTarget(const std::string& spec) const {
  const Target& target = targets_.Get(spec);
  return target.spec() + " " + target.facts().version;
}

const std::vector<double>& RegionCosts::FeaturesOf(const MeasuredRegion& region) {
  const auto [it, is_new] = learned_->features.try_emplace(StructureOf(region));
  if (is_new) it->second = RegionFeatures(Cut(region), context_.timing.cold_bytes);
  return it->second;
}

bool RegionCosts::CanPredict(const std::string& target) {
  const RegionModel* const learned = model();
  if (learned == nullptr) return false;
  const auto it = learned->errors().find(SampledTarget(target));
  return it != learned->errors().end() && it->second.trusted;
}

std::optional<RegionModel::Prediction> RegionCosts::Predict(const MeasuredRegion& region) {
  const RegionModel* const learned = model();
  if (learned == nullptr) return std::nullopt;
  return learned->Predict(SampledTarget(region.target), FeaturesOf(region));
}

void RegionCosts::Sample(const std::string& key, const MeasuredRegion& region,
                         const Result<Outcome>& outcome) {
  if (!learned_ || !learned_->keeps || !outcome.ok()) return;
  SampleRecord record;
  const std::string name = KeyFrom({record.format, key});
  if (!learned_->kept.insert(name).second) return;
  record.place = learned_->place;
  record.sample = {.target = SampledTarget(region.target),
                   .model = learned_->model_hash,
                   .features = FeaturesOf(region),
                   .micros = outcome.value().latency.value().median_ns * 1e-3};
  try {
    learned_->store.Put(name, ToJsonText(record));
  } catch (const SystemError&) {
    // A read-only cache still answers. Only the costs themselves must be stored.
    learned_->keeps = false;
  }
}

Graph RegionCosts::Cut(const MeasuredRegion& region) const {
  return source_.For(region.target)
      .Cut(region.nodes, targets_.Get(region.target).ExchangesChannelsLast());
}

const std::string& RegionCosts::StructureOf(const MeasuredRegion& region) {
  return StructureOf(source_.For(region.target), region.nodes,
                     targets_.Get(region.target).ExchangesChannelsLast());
}

const std::string& RegionCosts::StructureOf(const RegionSource& source,
                                            const std::vector<std::string>& nodes,
                                            bool channels_last) {
  const auto [it, is_new] = structures_.try_emplace({&source, nodes, channels_last});
  if (is_new) it->second = StructureHash(source.Cut(nodes, channels_last));
  return it->second;
}

std::string RegionCosts::KeyOf(const MeasuredRegion& region) {
  const Target& target = targets_.Get(region.target);
  return KeyFrom({"msc-region-3", StructureOf(region), target.spec(), target.facts().version,
                  std::to_string(context_.threads), context_.cpu, context_.program, context_text_});
}

std::optional<Result<Outcome>> RegionCosts::Read(const std::string& key) {
  if (const auto it = known_.find(key); it != known_.end()) return it->second;
  const OutcomeStore::Answer answer = store_.Get(key);
  if (answer.found != OutcomeStore::Found::kValue) return std::nullopt;
  try {
    const Result<Outcome> outcome = OutcomeFromJson(answer.value);
    // Written under this key by another version or by hand, so it is measured again.
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
  // The key does not contain the memory limit, so failures that depend on it are not cached.
  if (IsLasting(outcome) && !RanOutOfMemory(outcome)) store_.Put(key, ToJson(outcome));
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

double RegionCosts::ExpectedSeconds() const {
  constexpr double kBuild = 0.01;
  constexpr double kWarmUp = 4;          // rounds
  constexpr double kBytesASecond = 8e9;  // read speed of the memory that is read before every round
  const LatencyOptions& latency = context_.timing.latency;
  const double round = 1e-6 * static_cast<double>(latency.min_epoch_us) +
                       static_cast<double>(context_.timing.cold_bytes) / kBytesASecond;
  return kBuild + (kWarmUp + static_cast<double>(latency.max_rounds)) * round;
}

void RegionCosts::Measure(std::span<const MeasuredRegion> regions, const Done& done,
                          const std::function<bool()>& stop, const RegionMeter::Watch& watch) {
  // A group contains regions whose structures are equal in every precision, dense and channels
  // last. Each key has one runner, and all regions of that key wait for it.
  std::set<const RegionSource*> sources = {&source_};
  for (const MeasuredRegion& region : regions) sources.insert(&source_.For(region.target));
  std::map<std::string, std::size_t> group_of;
  std::vector<RegionGroup> groups;
  std::vector<std::vector<std::string>> keys;
  std::map<std::string, std::vector<std::size_t>> waiting;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const std::string key = KeyOf(regions[i]);
    if (const auto known = Read(key)) {
      ++counts_.found;
      Sample(key, regions[i], *known);
      done(i, *known);
      continue;
    }
    std::vector<std::size_t>& waits = waiting[key];
    waits.push_back(i);
    if (waits.size() > 1) continue;
    const std::vector<std::string>& nodes = regions[i].nodes;
    std::string structure;
    for (const RegionSource* source : sources) {
      structure += StructureOf(*source, nodes, false) + StructureOf(*source, nodes, true);
    }
    const auto [it, is_new] = group_of.emplace(structure, groups.size());
    if (is_new) {
      groups.push_back({.nodes = nodes});
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
        Sample(key, regions[waits.front()], outcome);
        for (const std::size_t region : waits) done(region, outcome);
      },
      stop, watch);
}

}  // namespace msc::cost
