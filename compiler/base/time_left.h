#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace msc {

/// How long the rest of some work takes, from how long its parts took so far. Parts of one kind
/// take about as long as each other, but for those done first, which may find nothing in any cache.
class TimeLeft {
 public:
  /// `at_once` parts are worked on at a time.
  explicit TimeLeft(std::size_t at_once = 1) : at_once_(at_once) {}

  /// So many parts of a kind are to be done besides those expected already. `each`: seconds that
  /// one is taken for until two (rounds of those at once) are done; 0 = nobody knows.
  void Expect(const std::string& kind, std::size_t parts, double each = 0);
  /// One of them is done, so many seconds after the part before it, of whatever kind: what parts
  /// that are worked on together take counts once.
  void Done(const std::string& kind, double seconds);
  /// Such a part need not be done after all.
  void Skip(const std::string& kind);

  /// Seconds until all is done; nothing while nobody can tell.
  [[nodiscard]] std::optional<double> Seconds() const;

 private:
  /// Parts that were done together.
  struct Burst {
    double seconds = 0;
    std::size_t parts = 0;
  };
  struct Kind {
    std::size_t left = 0;
    double each = 0;
    std::size_t parts = 0;  ///< that are done
    std::vector<Burst> bursts;
  };
  [[nodiscard]] std::optional<double> EachOf(const Kind& kind) const;

  std::size_t at_once_;
  std::map<std::string, Kind> kinds_;
};

}  // namespace msc
