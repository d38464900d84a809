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
/// Calls an epoch at most: a call that takes no time at all must not be repeated for ever.
constexpr std::int64_t kMostRepeats = 1 << 24;

double Count(nanoseconds time) {
  return static_cast<double>(time.count());
}

/// One side of the comparison: what is called and how often an epoch.
struct Side {
  const Call* call = nullptr;
  std::int64_t repeats = 1;
};

/// Time of one epoch of `side`.
nanoseconds TimeEpoch(const Side& side, const Probe& probe) {
  const nanoseconds start = probe.now();
  for (std::int64_t i = 0; i < side.repeats; ++i) (*side.call)();
  return probe.now() - start;
}

/// Calls until they get no faster, choosing on the way how many calls make an epoch. What is cold
/// is slow and becomes faster, while a busy machine makes any epoch slow at any time: to wait until
/// epochs are equal would be to wait for a quiet machine.
Side WarmUp(const Call& call, const LatencyOptions& options, const Probe& probe) {
  Side side{&call, 1};
  const nanoseconds wanted = std::chrono::microseconds(options.min_epoch_us);
  const nanoseconds deadline = probe.now() + std::chrono::milliseconds(options.max_warmup_ms);
  double fastest = std::numeric_limits<double>::infinity();
  for (int no_faster = 0;;) {
    const nanoseconds time = TimeEpoch(side, probe);
    if (time < wanted && side.repeats < kMostRepeats) {
      // A little more than needed, so that a faster epoch later is still long enough.
      const double factor = 1.2 * Count(wanted) / std::max(Count(time), 1.0);
      const double repeats = std::ceil(static_cast<double>(side.repeats) * std::min(factor, 10.0));
      side.repeats = std::max(side.repeats + 1, static_cast<std::int64_t>(repeats));
      fastest = std::numeric_limits<double>::infinity();
      no_faster = 0;
      continue;
    }
    ++no_faster;
    if (Count(time) < fastest * (1 - kWarmTolerance)) {
      fastest = Count(time);
      no_faster = 0;
    }
    if (no_faster >= kWarmEpochs || probe.now() >= deadline) return side;
  }
}

/// Epoch times of one round by side, a call, and whether the machine let it alone.
struct Round {
  std::vector<double> times;
  bool clean = true;
};

nanoseconds TimeYardstick(const Probe& probe) {
  // The shortest of three: what is asked is the speed of the core, not who interrupted.
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
  Rounds(std::vector<Side> sides, std::int64_t settle_calls, const Probe& probe)
      : sides_(std::move(sides)), settle_calls_(settle_calls), probe_(probe) {}

  void Add() {
    Round round;
    round.times.assign(sides_.size(), 0.0);
    const bool forward = rounds_.size() % 2 == 0;
    const nanoseconds start = probe_.now();
    const nanoseconds waited = probe_.waited();
    const nanoseconds before = TimeYardstick(probe_);
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      const std::size_t side = forward ? i : sides_.size() - 1 - i;
      for (std::int64_t call = 0; call < settle_calls_; ++call) (*sides_[side].call)();
      round.times[side] =
          Count(TimeEpoch(sides_[side], probe_)) / static_cast<double>(sides_[side].repeats);
    }
    const nanoseconds after = TimeYardstick(probe_);
    // A kernel thread that takes the core for microseconds is part of every machine's life.
    round.clean =
        Count(probe_.waited() - waited) <= kWaitedTolerance * Count(probe_.now() - start) &&
        std::abs(Count(after) / std::max(Count(before), 1.0) - 1) < kYardstickTolerance;
    clean_ += round.clean ? 1 : 0;
    rounds_.push_back(std::move(round));
  }

  [[nodiscard]] std::int64_t clean() const { return clean_; }
  [[nodiscard]] std::int64_t all() const { return static_cast<std::int64_t>(rounds_.size()); }
  /// Whether the machine interfered too often for the clean rounds to speak alone.
  [[nodiscard]] bool disturbed() const { return clean_ < kLeastRounds || 2 * clean_ < all(); }

  /// Of the rounds that count, the time of `side`.
  [[nodiscard]] std::vector<double> Times(std::size_t side) const {
    std::vector<double> times;
    for (const Round& round : rounds_) {
      if (Counts(round)) times.push_back(round.times[side]);
    }
    return times;
  }
  /// Of the rounds that count, the time of `side` by that of side 0.
  [[nodiscard]] std::vector<double> Ratios(std::size_t side) const {
    std::vector<double> ratios = Times(side);
    const std::vector<double> reference = Times(0);
    for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] /= reference[i];
    return ratios;
  }

 private:
  [[nodiscard]] bool Counts(const Round& round) const { return round.clean || disturbed(); }

  std::vector<Side> sides_;
  std::int64_t settle_calls_;
  const Probe& probe_;
  std::vector<Round> rounds_;
  std::int64_t clean_ = 0;
};

/// Whether every ratio is known as exactly as was asked for.
bool NarrowEnough(const Rounds& rounds, std::size_t candidates, const LatencyOptions& options) {
  for (std::size_t side = 1; side <= candidates; ++side) {
    const Interval interval = BootstrapMedian(rounds.Ratios(side), options.seed);
    if (interval.high - interval.low > options.target_width) return false;
  }
  return true;
}

Latency Summarize(const Rounds& rounds, std::size_t side, const LatencyOptions& options) {
  const std::vector<double> ratios = rounds.Ratios(side);
  Latency latency;
  latency.median_ns = Median(rounds.Times(side));
  latency.reference_median_ns = Median(rounds.Times(0));
  latency.ratio = Median(ratios);
  const Interval interval = BootstrapMedian(ratios, options.seed);
  latency.ratio_low = interval.low;
  latency.ratio_high = interval.high;
  latency.rounds = static_cast<std::int64_t>(ratios.size());
  latency.noisy = rounds.disturbed() || MedianPercentageError(ratios) > options.max_spread;
  return latency;
}

}  // namespace

std::vector<Latency> MeasureTogether(const Call& reference, std::span<const Call> candidates,
                                     const LatencyOptions& options, const Probe& probe) {
  Check(!candidates.empty(), "there is a candidate to measure");
  std::vector<Side> sides = {WarmUp(reference, options, probe)};
  sides.reserve(candidates.size() + 1);
  for (const Call& candidate : candidates) sides.push_back(WarmUp(candidate, options, probe));

  Rounds rounds(std::move(sides), options.settle_calls, probe);
  const nanoseconds start = probe.now();
  const nanoseconds stolen = probe.stolen();
  const nanoseconds budget = std::chrono::milliseconds(options.max_ms) * candidates.size();
  // To look every time and to stop at the first narrow interval would find lucky moments.
  std::int64_t looked_at = 0;
  int narrow_looks = 0;
  // As many again as were asked for may be thrown away.
  while (rounds.clean() < options.max_rounds && rounds.all() < 2 * options.max_rounds) {
    rounds.Add();
    if (rounds.all() < kLeastRounds) continue;
    if (probe.now() - start >= budget) break;
    const std::int64_t clean = rounds.clean();
    if (clean < options.min_rounds || clean == looked_at) continue;
    if ((clean - options.min_rounds) % kLookEvery != 0) continue;
    looked_at = clean;
    narrow_looks = NarrowEnough(rounds, candidates.size(), options) ? narrow_looks + 1 : 0;
    if (narrow_looks == kNarrowLooks) break;
  }
  const nanoseconds taken = probe.now() - start;
  const bool robbed = Count(probe.stolen() - stolen) > kStolenTolerance * Count(taken);

  std::vector<Latency> latencies;
  latencies.reserve(candidates.size());
  for (std::size_t side = 1; side <= candidates.size(); ++side) {
    latencies.push_back(Summarize(rounds, side, options));
    latencies.back().noisy = latencies.back().noisy || robbed;
  }
  return latencies;
}

Latency MeasureLatency(const Call& run_reference, const Call& run_candidate,
                       const LatencyOptions& options) {
  return MeasureTogether(run_reference, {&run_candidate, 1}, options, SystemProbe())[0];
}

Latency Combine(std::span<const Latency> repeats) {
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
  return all;
}

}  // namespace msc::cost
