#include "cost/cache/caching_evaluator.h"

#include <array>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/hash.h"

namespace msc::cost {

bool IsLasting(const Result<Outcome>& result) {
  if (result.ok()) return true;
  switch (result.failure().kind) {
    case FailureKind::kUnsupported:
    case FailureKind::kCompile:
    case FailureKind::kWrongOutput:
    case FailureKind::kOutOfMemory:
      return true;
    // These depend on the load of the machine or on other processes, so the next measurement may
    // differ.
    case FailureKind::kTimeout:
    case FailureKind::kCrash:
    case FailureKind::kLost:
      return false;
  }
  return false;
}

bool RanOutOfMemory(const Result<Outcome>& result) {
  return !result.ok() && result.failure().kind == FailureKind::kOutOfMemory;
}

namespace {

std::string_view Word(Measure measure) {
  constexpr std::array<std::string_view, 5> kWords = {"quality", "quality+latency", "rough",
                                                      "roughest", "probe"};
  return kWords.at(static_cast<std::size_t>(measure));
}

std::string HashOf(const std::vector<std::string>& parts) {
  Sha256 hash;
  // The length in front of each part prevents two different lists from giving the same bytes.
  for (const std::string& part : parts) hash.Add(std::to_string(part.size()) + ":" + part);
  return hash.Hex();
}

}  // namespace

std::string CacheKey(const CacheContext& context, const Candidate& candidate) {
  const auto version_of = [&](const std::string& target) {
    const auto version = context.targets.find(target);
    Check(version != context.targets.end(), "the version of every target in use is known");
    return version->second;
  };
  const std::string& target = candidate.strategy.target;
  std::string versions = version_of(target);
  for (const PartitionRegion& region : candidate.strategy.partition) {
    versions += "\n" + version_of(region.target);
  }
  // The version is 2 because entries of "msc-outcome-1" may report out_of_memory for a child that
  // another process killed.
  return HashOf({"msc-outcome-2", context.graph_hash, context.samples_hash, context.cpu,
                 context.settings, context.program, target, versions,
                 StrategyHash(candidate.strategy), std::string(Word(candidate.measure))});
}

std::string MemoryKey(const CacheContext& context, const Candidate& candidate) {
  return HashOf({CacheKey(context, candidate), context.memory});
}

CachingEvaluator::CachingEvaluator(Evaluator& inner, const std::string& folder,
                                   CacheContext context, Warn warn)
    : inner_(inner), store_(folder), context_(std::move(context)), warn_(std::move(warn)) {}

std::optional<Result<Outcome>> CachingEvaluator::Read(const std::string& key) {
  const OutcomeStore::Answer answer = store_.Get(key);
  if (answer.found == OutcomeStore::Found::kNothing) return std::nullopt;
  if (answer.found == OutcomeStore::Found::kValue) {
    try {
      return OutcomeFromJson(answer.value);
    } catch (const UserError&) {
      // The checksum is right, but another version of this program wrote the text: treated as
      // damaged.
    }
  }
  ++counts_.damaged;
  if (warn_) warn_("the cache entry '" + store_.PathOf(key) + "' is damaged; measuring again");
  return std::nullopt;
}

std::optional<Result<Outcome>> CachingEvaluator::Find(const Candidate& candidate) {
  auto found = Read(CacheKey(context_, candidate));
  if (!found) found = Read(MemoryKey(context_, candidate));
  if (found || candidate.measure != Measure::kQuality) return found;
  // A measurement with latency has the same quality.
  found = Read(CacheKey(context_, {candidate.strategy, Measure::kQualityAndLatency}));
  if (found && found->ok()) found->value().latency.reset();
  return found;
}

void CachingEvaluator::Store(const Candidate& candidate, const Result<Outcome>& result) {
  if (!IsLasting(result)) return;
  try {
    store_.Put(
        RanOutOfMemory(result) ? MemoryKey(context_, candidate) : CacheKey(context_, candidate),
        ToJson(result));
  } catch (const SystemError& error) {
    // A result that cannot be stored is still reported.
    if (warn_) warn_(std::string("cannot keep an outcome: ") + error.what());
  }
}

void CachingEvaluator::DoEvaluate(std::span<const Candidate> batch, const Done& done,
                                  const std::function<bool()>& stop) {
  std::vector<Candidate> missing;
  std::map<std::string, std::size_t> place_of;   // key -> index into `missing`
  std::vector<std::vector<std::size_t>> askers;  // by index into `missing`: indices into `batch`
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (stop && stop()) return;
    if (const auto found = Find(batch[i])) {
      ++counts_.hits;
      done(i, *found);
      continue;
    }
    ++counts_.misses;
    const auto [at, fresh] = place_of.emplace(CacheKey(context_, batch[i]), missing.size());
    if (fresh) {
      missing.push_back(batch[i]);
      askers.emplace_back();
    }
    askers[at->second].push_back(i);
  }
  if (missing.empty()) return;
  inner_.Evaluate(
      missing,
      [&](std::size_t index, const Result<Outcome>& result) {
        Store(missing[index], result);
        for (const std::size_t asker : askers[index]) done(asker, result);
      },
      stop);
}

}  // namespace msc::cost
