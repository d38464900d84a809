#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "compiler/base/within.h"
#include "cost/measure/probe.h"
#include "cost/model/outcome.h"

namespace msc::cost {

/// How long and how carefully to measure time.
struct LatencyOptions {
  std::int64_t min_rounds = 11;
  std::int64_t max_rounds = 61;
  std::int64_t min_epoch_us = 1000;  ///< an epoch repeats calls until it takes this long
  std::int64_t max_ms = 3000;  ///< budget of one measurement for each candidate, without warm-up
  std::int64_t max_warmup_ms = 500;  ///< of each side
  double target_width = 0.01;  ///< stop once the 95 % interval of the ratio is narrower than this
  double max_spread = 0.03;    ///< median percentage error above which a result is noisy
  std::uint64_t seed = 0;      ///< seed of the bootstrap
  /// Untimed calls before every epoch. If the sides are different libraries, each then finds its
  /// own caches, and no thread of the other library on its cores, as if it ran alone.
  std::int64_t settle_calls = 0;
  bool operator==(const LatencyOptions&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("min_rounds", self.min_rounds, "smallest number of interleaved rounds, if max_ms allows",
          Within{3, 10000});
    visit("max_rounds", self.max_rounds, "largest number of interleaved rounds", Within{3, 10000});
    visit("min_epoch_us", self.min_epoch_us,
          "shortest epoch in microseconds; an epoch repeats calls until it takes this long",
          Within{1, 1e6});
    visit("max_ms", self.max_ms, "time limit for a candidate in milliseconds, without warm-up",
          Within{1, 1e6});
    visit("max_warmup_ms", self.max_warmup_ms,
          "time limit for the warm-up of each side in milliseconds", Within{0, 1e6});
    visit("target_width", self.target_width,
          "width of the 95 % interval of the ratio at which measuring stops", Within{0, 1});
    visit("max_spread", self.max_spread,
          "spread of the ratio (median percentage error) above which a time counts as noisy",
          Within{0, 1});
    visit("seed", self.seed, "seed of the bootstrap intervals");
    visit("settle_calls", self.settle_calls, "number of untimed calls before every epoch",
          Within{0, 1000});
  }
};

using Call = std::function<void()>;

/// Times `candidates` against `reference`, all in this process, on the cores that it is bound to.
///
/// Warm-up: each side runs until three epochs in a row are not more than 2 % faster than the
/// fastest one so far. Then rounds follow, each with one epoch of every side. The order reverses
/// every round, so that a drift of the machine cancels. The ratio of a candidate is the median over
/// rounds of its time / the reference's time, with a bootstrap interval.
///
/// A round is disturbed if threads waited for a core for over 1 % of it, or if the yardstick
/// changed by more than 3 % around it. Disturbed rounds are measured again. But if more than half
/// of all rounds are disturbed, further rounds would be no better, and all rounds count. `noisy` is
/// set in that case, if the ratio's spread is above `max_spread`, or if a hypervisor stole more
/// than 1 % of the time.
///
/// The measurement ends when every interval is narrower than `target_width` at two checks five
/// rounds apart, after `max_rounds`, or when the budget is used up, but not before 3 rounds. Equal
/// sides are reported as different about 7 times in 100: 5 times because of the 95 % interval, the
/// rest because the stopping rule looks at it. InternalError if there are no candidates.
[[nodiscard]] std::vector<Latency> MeasureTogether(const Call& reference,
                                                   std::span<const Call> candidates,
                                                   const LatencyOptions& options,
                                                   const Probe& probe);

/// How to time rivals: alternatives for the same job, of which only the fast ones matter.
struct RivalOptions {
  LatencyOptions latency;
  /// A rival is dropped once its fastest time is more than this factor times the median of the
  /// fastest rival: after three rounds, or after warm-up at twice the factor. 0 = never.
  double give_up = 0;
  /// Called outside of the timed parts (optional): before every round, and before every call of a
  /// rival. If either is set, an epoch is a single call, so that the preparation still has its
  /// effect.
  Call before_round = {};
  std::function<void(std::size_t rival)> before_call = {};
};

/// Times `rivals` like MeasureTogether. Ratios are relative to the first rival, which is never
/// dropped and has ratio 1. A dropped rival has the results of the rounds that it took part in. If
/// there are none, it has those of its warm-up, marked as noisy.
[[nodiscard]] std::vector<Latency> MeasureRivals(std::span<const Call> rivals,
                                                 const RivalOptions& options, const Probe& probe);

/// Times one candidate on the real machine.
[[nodiscard]] Latency MeasureLatency(const Call& run_reference, const Call& run_candidate,
                                     const LatencyOptions& options);

/// Combines repeated measurements of the same candidate: medians of medians and of ratios, and the
/// hull of the intervals; noisy if one of them is. Combines energy likewise if all have it.
/// InternalError if there are none.
[[nodiscard]] Latency CombineLatencies(std::span<const Latency> repeats);

}  // namespace msc::cost
