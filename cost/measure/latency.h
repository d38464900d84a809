#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "compiler/base/within.h"
#include "cost/model/outcome.h"

namespace msc::cost {

/// How long and how carefully time is taken.
struct LatencyOptions {
  std::int64_t min_rounds = 11;
  std::int64_t max_rounds = 61;
  std::int64_t min_epoch_us = 1000;  ///< calls are repeated until an epoch takes this long
  std::int64_t max_ms = 3000;        ///< budget of one measurement, a candidate, without warm-up
  std::int64_t max_warmup_ms = 500;  ///< a side
  double target_width = 0.01;        ///< width of the 95 % interval of the ratio to stop at
  double max_spread = 0.03;          ///< median percentage error above which it is noisy
  std::uint64_t seed = 0;            ///< of the bootstrap
  /// Calls before every epoch that are not timed: where the sides are different libraries, each
  /// finds its caches, and the cores free of the other's threads, as it does when it runs alone.
  std::int64_t settle_calls = 0;
  bool operator==(const LatencyOptions&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("min_rounds", self.min_rounds, "interleaved rounds at least", Within{3, 10000});
    visit("max_rounds", self.max_rounds, "and at most", Within{3, 10000});
    visit("min_epoch_us", self.min_epoch_us, "microseconds an epoch", Within{1, 1e6});
    visit("max_ms", self.max_ms, "budget a candidate in milliseconds", Within{1, 1e6});
    visit("max_warmup_ms", self.max_warmup_ms, "warm-up a side in milliseconds", Within{0, 1e6});
    visit("target_width", self.target_width, "interval width to stop at", Within{0, 1});
    visit("max_spread", self.max_spread, "median percentage error that is noise", Within{0, 1});
    visit("seed", self.seed, "seed of the bootstrap");
    visit("settle_calls", self.settle_calls, "calls before an epoch that are not timed",
          Within{0, 1000});
  }
};

/// What the protocol asks of the machine. A test gives one that is made up.
struct Probe {
  std::function<std::chrono::nanoseconds()> now;  ///< monotonic
  /// Time that threads of this process were ready to run and had no core, so far.
  std::function<std::chrono::nanoseconds()> waited;
  /// Time that a hypervisor took from the machine so far.
  std::function<std::chrono::nanoseconds()> stolen;
  /// A fixed piece of work of some 10 microseconds, whose time tells the speed of the core.
  std::function<void()> yardstick;
};
[[nodiscard]] Probe SystemProbe();

using Call = std::function<void()>;

/// Times `candidates` against `reference`, all in this process, on the cores it is bound to.
///
/// Each side is warmed up until three epochs in a row were no more than 2 % faster than the fastest
/// before. Then rounds: one epoch of each side, in an order that turns round every time, so that a
/// drift of the machine cancels. A candidate's ratio is the median over rounds of its time by the
/// reference's, with a bootstrap interval. A round that waited for a core for over 1 %, or around
/// which the yardstick moved by more than 3 %, does not count and another is measured, unless more
/// than half the rounds are so disturbed: on such a machine others would be no better, and all
/// count. `noisy` is set then, or where the ratio's spread is above `max_spread`, or where a
/// hypervisor stole more than 1 % of the time. Ends when every interval was narrower than
/// `target_width` at two looks five rounds apart, or at the budget, but not before 3 rounds. Equal
/// sides are called different about 7 times in 100: the 5 of a 95 % interval, and some for stopping
/// by it.
[[nodiscard]] std::vector<Latency> MeasureTogether(const Call& reference,
                                                   std::span<const Call> candidates,
                                                   const LatencyOptions& options,
                                                   const Probe& probe);

/// How rivals are timed: ways to do one job, of which the fast ones matter.
struct RivalOptions {
  LatencyOptions latency;
  /// A rival is timed no longer once its fastest time is more than so many times the median of the
  /// fastest one: after three rounds, and after the warm-up where it is twice that. 0: never.
  double give_up = 0;
  /// Called outside of the times where given: before every round, and before every call of a rival.
  /// With either, an epoch is one call: what comes before is to last for it.
  Call before_round = {};
  std::function<void(std::size_t rival)> before_call = {};
};

/// As MeasureTogether, a result for each of `rivals`; ratios are to the first, which is timed to
/// the end and has 1. One that was given up has the rounds it took part in; with none, what the
/// warm-up told, marked as noisy.
[[nodiscard]] std::vector<Latency> MeasureRivals(std::span<const Call> rivals,
                                                 const RivalOptions& options, const Probe& probe);

/// One candidate, on the real machine.
[[nodiscard]] Latency MeasureLatency(const Call& run_reference, const Call& run_candidate,
                                     const LatencyOptions& options);

/// One result out of repeated measurements of the same candidate: the medians of medians and
/// ratios, and the hull of the intervals; noisy if one was; likewise of their energy, where all
/// have it. At least one.
[[nodiscard]] Latency Combine(std::span<const Latency> repeats);

}  // namespace msc::cost
