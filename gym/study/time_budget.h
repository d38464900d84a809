#pragma once

#include <functional>
#include <span>
#include <string>

namespace msc::gym {

/// Seconds of a clock that never goes back.
[[nodiscard]] double SteadySeconds();

/// How long a search may take with all that belongs to it, and how much of that is used: since this
/// was made, and before by what it goes on with. For one thread.
class TimeBudget {
 public:
  using Clock = std::function<double()>;
  /// `seconds` in total; 0 = no limit.
  explicit TimeBudget(double seconds = 0, Clock clock = SteadySeconds);

  /// Counts what earlier starts used.
  void AddEarlier(double seconds) { earlier_ += seconds; }
  /// Keeps so much back for what comes after what goes on now.
  void Reserve(double seconds) { reserved_ = seconds; }

  [[nodiscard]] double seconds() const noexcept { return seconds_; }
  [[nodiscard]] bool limited() const noexcept { return seconds_ > 0; }
  [[nodiscard]] double reserved() const noexcept { return reserved_; }
  [[nodiscard]] double Used() const;
  /// Infinite without a limit; 0 when all is used.
  [[nodiscard]] double Left() const;
  /// Likewise, without what is kept back.
  [[nodiscard]] double Free() const;
  [[nodiscard]] bool Over() const { return Free() <= 0; }

 private:
  double seconds_;
  double earlier_ = 0;
  double reserved_ = 0;
  Clock clock_;
  double began_;
};

/// A journal record of type "tick", without its sequence number: how much time is used by now.
[[nodiscard]] std::string TickRecord(double used);
/// What a journal's starts used together, as its last record "start", "tick" or "end" says; of a
/// journal whose records do not say it, what its trials took. UserError if a record is not of this
/// program's making.
[[nodiscard]] double UsedIn(std::span<const std::string> records);

}  // namespace msc::gym
