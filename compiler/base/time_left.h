#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace msc {

/// Estimates the remaining time of a job from the durations of its completed parts. Assumes that
/// parts of one kind take about equally long, except the first ones, which may run with cold
/// caches.
class TimeLeft {
 public:
  /// Constructs an estimate for jobs that run `at_once` parts concurrently.
  explicit TimeLeft(std::size_t at_once = 1) : at_once_(at_once) {}

  /// Adds `parts` expected parts of `kind`. `each` is a prior estimate, in seconds per part, used
  /// until enough parts are done: two, or two per concurrent slot. 0 means that there is no
  /// estimate.
  void Expect(const std::string& kind, std::size_t parts, double each = 0);
  /// Records that one part of `kind` is done, `seconds` after the previous part of any kind. The
  /// time between completions counts concurrent work only once.
  void Done(const std::string& kind, double seconds);
  /// Removes one expected part of `kind`, which will not run.
  void Skip(const std::string& kind);

  /// Returns the seconds until all expected parts are done, or nullopt if some kind has no estimate
  /// yet.
  [[nodiscard]] std::optional<double> Seconds() const;

 private:
  /// Parts that completed at about the same time.
  struct Burst {
    double seconds = 0;
    std::size_t parts = 0;
  };
  struct Kind {
    std::size_t left = 0;
    double each = 0;
    std::size_t parts = 0;  ///< completed
    std::vector<Burst> bursts;
  };
  [[nodiscard]] std::optional<double> EachOf(const Kind& kind) const;

  std::size_t at_once_;
  std::map<std::string, Kind> kinds_;
};

}  // namespace msc
