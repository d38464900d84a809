#include "cost/measure/latency.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "compiler/base/error.h"
#include "cost/measure/statistics.h"

namespace msc::cost {
namespace {

using std::chrono::nanoseconds;

constexpr double kWarmTolerance = 0.02;
constexpr int kWarmEpochs = 3;
constexpr double kYardstickTolerance = 0.03;
constexpr double kStolenTolerance = 0.01;
constexpr double kWaitedTolerance = 0.01;
constexpr std::int64_t kLeastRounds = 3;
constexpr std::int64_t kLookEvery = 5;
constexpr int kNarrowLooks = 2;
/// Factor on RivalOptions::give_up when only warm-up times are known.
constexpr double kWarmUpDoubt = 2;
/// Most calls per epoch: a call that takes no time must not be repeated forever.
constexpr std::int64_t kMaxRepeats = 1 << 24;

double Count(nanoseconds time) {
  return static_cast<double>(time.count());
}

/// One side of the comparison: the call, and how often an epoch repeats it.
struct Side {
  const Call* call = nullptr;
  std::int64_t repeats = 1;
  /// Time per call of each warm-up epoch; never empty after WarmUp.
  std::vector<double> warm_up = {};
  bool given_up = false;
};

/// Returns the time of one epoch of `side`.
nanoseconds TimeEpoch(const Side& side, const Probe& probe) {
  const nanoseconds start = probe.now();
  for (std::int64_t i = 0; i < side.repeats; ++i) (*side.call)();
  return probe.now() - start;
}

/// Calls until calls get no faster, and chooses the number of calls per epoch meanwhile. A cold
/// call is slow and becomes faster, but a busy machine can make any epoch slow at any time. Waiting
/// for equal epochs would mean waiting for a quiet machine.
Side WarmUp(const Call& call, const RivalOptions& options, const Probe& probe) {
  Side side{.call = &call};
  const bool single_calls = options.before_round || options.before_call;
  const nanoseconds wanted =
      std::chrono::microseconds(single_calls ? 0 : options.latency.min_epoch_us);
  const nanoseconds deadline =
      probe.now() + std::chrono::milliseconds(options.latency.max_warmup_ms);
  double fastest = std::numeric_limits<double>::infinity();
  for (int no_faster = 0;;) {
    const nanoseconds time = TimeEpoch(side, probe);
    if (time < wanted && side.repeats < kMaxRepeats) {
      // A little more than needed, so that a faster epoch later is still long enough.
      const double factor = 1.2 * Count(wanted) / std::max(Count(time), 1.0);
      // A short epoch is timed imprecisely, so a step grows at most tenfold.
      const double repeats = std::ceil(static_cast<double>(side.repeats) * std::min(factor, 10.0));
      side.repeats = std::max(side.repeats + 1, static_cast<std::int64_t>(repeats));
      // Epochs of other lengths are not comparable.
      side.warm_up.clear();
      fastest = std::numeric_limits<double>::infinity();
      no_faster = 0;
      continue;
    }
    side.warm_up.push_back(Count(time) / static_cast<double>(side.repeats));
    ++no_faster;
    if (Count(time) < fastest * (1 - kWarmTolerance)) {
      fastest = Count(time);
      no_faster = 0;
    }
    if (no_faster >= kWarmEpochs || probe.now() >= deadline) return side;
  }
}

/// Stands for the time of a dropped side.
constexpr double kNoTime = std::numeric_limits<double>::quiet_NaN();

/// Epoch times of one round, per call and by side, and whether the round was undisturbed.
struct Round {
  std::vector<double> times;
  bool clean = true;
};

nanoseconds TimeYardstick(const Probe& probe) {
  // The shortest of three, because only the speed of the core matters, not interruptions.
  nanoseconds shortest = nanoseconds::max();
  for (int i = 0; i < 3; ++i) {
    const nanoseconds start = probe.now();
    probe.yardstick();
    shortest = std::min(shortest, probe.now() - start);
  }
  return shortest;
}

class Rounds {
 public:
  Rounds(std::vector<Side> sides, const RivalOptions& options, const Probe& probe)
      : sides_(std::move(sides)), options_(options), probe_(probe) {}

  void Add() {
    Round round;
    round.times.assign(sides_.size(), kNoTime);
    if (options_.before_round) options_.before_round();
    const bool forward = rounds_.size() % 2 == 0;
    const nanoseconds start = probe_.now();
    const nanoseconds waited = probe_.waited();
    const nanoseconds before = TimeYardstick(probe_);
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      const std::size_t side = forward ? i : sides_.size() - 1 - i;
      if (sides_[side].given_up) continue;
      for (std::int64_t call = 0; call < options_.latency.settle_calls; ++call) {
        (*sides_[side].call)();
      }
      if (options_.before_call) options_.before_call(side);
      round.times[side] =
          Count(TimeEpoch(sides_[side], probe_)) / static_cast<double>(sides_[side].repeats);
    }
    const nanoseconds after = TimeYardstick(probe_);
    // Every machine has kernel threads that take the core for microseconds; the tolerance allows
    // for them.
    round.clean =
        Count(probe_.waited() - waited) <= kWaitedTolerance * Count(probe_.now() - start) &&
        std::abs(Count(after) / std::max(Count(before), 1.0) - 1) < kYardstickTolerance;
    clean_ += round.clean ? 1 : 0;
    rounds_.push_back(std::move(round));
  }

  /// Drops sides that are so much slower than the fastest that further rounds would show nothing
  /// new. Never drops the first side, because ratios refer to it.
  void GiveUp() {
    if (options_.give_up <= 0) return;
    const bool begun = all() >= kLeastRounds;
    const double factor = begun ? options_.give_up : kWarmUpDoubt * options_.give_up;
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      if (!sides_[i].given_up) best = std::min(best, Median(TimesOrWarmUp(i)));
    }
    for (std::size_t i = 1; i < sides_.size(); ++i) {
      if (sides_[i].given_up) continue;
      // A disturbance only adds time, so the fastest epoch is the fairest to a side that is to be
      // dropped.
      const std::vector<double> times = begun ? AllTimes(i) : sides_[i].warm_up;
      sides_[i].given_up = *std::min_element(times.begin(), times.end()) > factor * best;
    }
  }

  [[nodiscard]] std::size_t sides() const { return sides_.size(); }
  [[nodiscard]] bool given_up(std::size_t side) const { return sides_[side].given_up; }
  [[nodiscard]] std::int64_t clean() const { return clean_; }
  [[nodiscard]] std::int64_t all() const { return static_cast<std::int64_t>(rounds_.size()); }
  /// Returns how many rounds count.
  [[nodiscard]] std::int64_t counted() const { return disturbed() ? all() : clean_; }
  /// Returns whether too few rounds are clean to use only those.
  [[nodiscard]] bool disturbed() const { return clean_ < kLeastRounds || 2 * clean_ < all(); }

  /// Returns the times of `side` in the rounds that count; empty if it was dropped before.
  [[nodiscard]] std::vector<double> Times(std::size_t side) const {
    std::vector<double> times;
    for (const Round& round : rounds_) {
      if (Counts(round, side)) times.push_back(round.times[side]);
    }
    return times;
  }
  [[nodiscard]] std::vector<double> TimesOrWarmUp(std::size_t side) const {
    std::vector<double> times = Times(side);
    return times.empty() ? sides_[side].warm_up : times;
  }
  /// Returns the ratios of `side` to side 0 in the rounds that count.
  [[nodiscard]] std::vector<double> Ratios(std::size_t side) const {
    std::vector<double> ratios;
    for (const Round& round : rounds_) {
      if (Counts(round, side)) ratios.push_back(round.times[side] / round.times[0]);
    }
    return ratios;
  }

 private:
  [[nodiscard]] bool Counts(const Round& round, std::size_t side) const {
    return (round.clean || disturbed()) && !std::isnan(round.times[side]);
  }
  [[nodiscard]] std::vector<double> AllTimes(std::size_t side) const {
    std::vector<double> times;
    for (const Round& round : rounds_) times.push_back(round.times[side]);
    return times;
  }

  std::vector<Side> sides_;
  const RivalOptions& options_;
  const Probe& probe_;
  std::vector<Round> rounds_;
  std::int64_t clean_ = 0;
};

/// Returns whether every ratio is known as precisely as requested.
bool NarrowEnough(const Rounds& rounds, const LatencyOptions& options) {
  for (std::size_t side = 1; side < rounds.sides(); ++side) {
    if (rounds.given_up(side)) continue;
    const Interval interval = BootstrapMedian(rounds.Ratios(side), options.seed);
    if (interval.high - interval.low > options.target_width) return false;
  }
  return true;
}

Latency Summarize(const Rounds& rounds, std::size_t side, const LatencyOptions& options) {
  // Ratios within a round cancel what slows both sides down.
  const std::vector<double> ratios = rounds.Ratios(side);
  Latency latency;
  latency.median_ns = Median(rounds.TimesOrWarmUp(side));
  latency.reference_median_ns = Median(rounds.Times(0));
  latency.rounds = static_cast<std::int64_t>(ratios.size());
  if (ratios.empty()) {
    latency.ratio = latency.median_ns / latency.reference_median_ns;
    latency.ratio_low = latency.ratio_high = latency.ratio;
    latency.noisy = true;
    return latency;
  }
  latency.ratio = Median(ratios);
  const Interval interval = BootstrapMedian(ratios, options.seed);
  latency.ratio_low = interval.low;
  latency.ratio_high = interval.high;
  // The first side has ratio 1 in every round, so the spread of its times replaces that of its
  // ratios.
  latency.noisy = rounds.disturbed() ||
                  MedianPercentageError(side == 0 ? rounds.Times(0) : ratios) > options.max_spread;
  return latency;
}

/// Returns a result for each of `sides`; `budget` limits the rounds of all sides together.
std::vector<Latency> MeasureSides(std::span<const Call* const> sides, const RivalOptions& options,
                                  nanoseconds budget, const Probe& probe) {
  const LatencyOptions& latency = options.latency;
  std::vector<Side> warm;
  warm.reserve(sides.size());
  for (const Call* side : sides) warm.push_back(WarmUp(*side, options, probe));

  Rounds rounds(std::move(warm), options, probe);
  rounds.GiveUp();
  const nanoseconds start = probe.now();
  const nanoseconds stolen = probe.stolen();
  // Checking after every round and stopping at the first narrow interval would select lucky
  // moments.
  std::int64_t looked_at = 0;
  int narrow_looks = 0;
  // At most about twice as many rounds run: once more than half of them are disturbed, all count.
  while (rounds.counted() < latency.max_rounds) {
    rounds.Add();
    if (rounds.all() < kLeastRounds) continue;
    rounds.GiveUp();
    if (probe.now() - start >= budget) break;
    const std::int64_t clean = rounds.clean();
    if (clean < latency.min_rounds || clean == looked_at) continue;
    if ((clean - latency.min_rounds) % kLookEvery != 0) continue;
    looked_at = clean;
    narrow_looks = NarrowEnough(rounds, latency) ? narrow_looks + 1 : 0;
    if (narrow_looks == kNarrowLooks) break;
  }
  const nanoseconds taken = probe.now() - start;
  const bool robbed = Count(probe.stolen() - stolen) > kStolenTolerance * Count(taken);

  std::vector<Latency> latencies;
  latencies.reserve(sides.size());
  for (std::size_t side = 0; side < sides.size(); ++side) {
    latencies.push_back(Summarize(rounds, side, latency));
    latencies.back().noisy = latencies.back().noisy || robbed;
  }
  return latencies;
}

void AddTo(std::vector<const Call*>& sides, std::span<const Call> calls) {
  for (const Call& call : calls) sides.push_back(&call);
}

}  // namespace

std::vector<Latency> MeasureTogether(const Call& reference, std::span<const Call> candidates,
                                     const LatencyOptions& options, const Probe& probe) {
  Check(!candidates.empty(), "there is a candidate to measure");
  std::vector<const Call*> sides = {&reference};
  AddTo(sides, candidates);
  const nanoseconds budget = std::chrono::milliseconds(options.max_ms) * candidates.size();
  std::vector<Latency> latencies = MeasureSides(sides, {.latency = options}, budget, probe);
  latencies.erase(latencies.begin());
  return latencies;
}

std::vector<Latency> MeasureRivals(std::span<const Call> rivals, const RivalOptions& options,
                                   const Probe& probe) {
  Check(!rivals.empty(), "there is a rival to measure");
  const nanoseconds budget = std::chrono::milliseconds(options.latency.max_ms) * rivals.size();
  std::vector<const Call*> sides;
  AddTo(sides, rivals);
  return MeasureSides(sides, options, budget, probe);
}

Latency MeasureLatency(const Call& run_reference, const Call& run_candidate,
                       const LatencyOptions& options) {
  return MeasureTogether(run_reference, {&run_candidate, 1}, options, SystemProbe())[0];
}

namespace {

/// Combines the energy of all measurements like Combine; nothing if one has none.
std::optional<Energy> CombineEnergy(std::span<const Latency> repeats) {
  std::vector<double> joules;
  std::vector<double> references;
  std::vector<double> ratios;
  std::optional<Energy> all = repeats[0].energy;
  for (const Latency& one : repeats) {
    if (!one.energy) return std::nullopt;
    joules.push_back(one.energy->joules);
    references.push_back(one.energy->reference_joules);
    ratios.push_back(one.energy->ratio);
    all->ratio_low = std::min(all->ratio_low, one.energy->ratio_low);
    all->ratio_high = std::max(all->ratio_high, one.energy->ratio_high);
  }
  all->joules = Median(joules);
  all->reference_joules = Median(references);
  all->ratio = Median(ratios);
  return all;
}

}  // namespace

Latency CombineLatencies(std::span<const Latency> repeats) {
  Check(!repeats.empty(), "there is a measurement to combine");
  std::vector<double> medians;
  std::vector<double> references;
  std::vector<double> ratios;
  medians.reserve(repeats.size());
  references.reserve(repeats.size());
  ratios.reserve(repeats.size());
  Latency all = repeats[0];
  all.rounds = 0;
  for (const Latency& one : repeats) {
    medians.push_back(one.median_ns);
    references.push_back(one.reference_median_ns);
    ratios.push_back(one.ratio);
    all.ratio_low = std::min(all.ratio_low, one.ratio_low);
    all.ratio_high = std::max(all.ratio_high, one.ratio_high);
    all.rounds += one.rounds;
    all.noisy = all.noisy || one.noisy;
  }
  all.median_ns = Median(medians);
  all.reference_median_ns = Median(references);
  all.ratio = Median(ratios);
  all.energy = CombineEnergy(repeats);
  return all;
}

}  // namespace msc::cost
