#pragma once

#include <functional>
#include <span>
#include <string>

namespace msc::gym {

/// Returns the seconds of a monotonic clock.
[[nodiscard]] double SteadySeconds();

/// The time limit of a search in all its phases, and the time used: since construction plus that of
/// earlier runs. Not thread-safe.
class TimeBudget {
 public:
  using Clock = std::function<double()>;
  /// `seconds` is the total limit; 0 = no limit.
  explicit TimeBudget(double seconds = 0, Clock clock = SteadySeconds);

  /// Adds the time that earlier runs used.
  void AddEarlier(double seconds) { earlier_ += seconds; }
  /// Sets the time to keep back for the phases after the current one.
  void Reserve(double seconds) { reserved_ = seconds; }

  [[nodiscard]] double seconds() const noexcept { return seconds_; }
  [[nodiscard]] bool limited() const noexcept { return seconds_ > 0; }
  [[nodiscard]] double reserved() const noexcept { return reserved_; }
  [[nodiscard]] double Used() const;
  /// Returns the time left: infinite without a limit, 0 when all is used.
  [[nodiscard]] double Left() const;
  /// Returns Left() minus the reserved time, at least 0.
  [[nodiscard]] double Free() const;
  [[nodiscard]] bool Over() const { return Free() <= 0; }

 private:
  double seconds_;
  double earlier_ = 0;
  double reserved_ = 0;
  Clock clock_;
  double began_;
};

/// Returns a journal record of type "tick", without its sequence number, with the time used so far.
[[nodiscard]] std::string TickRecord(double used);
/// Returns the time that all runs of a journal used, from its last record "start", "tick" or "end".
/// If no record holds it (older versions), returns the sum of the trials' seconds. UserError if a
/// record is malformed.
[[nodiscard]] double UsedIn(std::span<const std::string> records);

}  // namespace msc::gym
