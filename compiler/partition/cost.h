#pragma once

#include <cstdint>
#include <string>

namespace msc {

/// Cost of running a candidate, in microseconds: known (a finite number), unknown (with a lower
/// bound), or invalid (with the reason why the candidate cannot run). A sum is invalid if a term is
/// invalid, else unknown if a term is unknown, else known.
class Cost {
 public:
  /// Upper limit of a candidate's cost. Sums of 90,000 such costs in picoseconds fit into 64 bits.
  static constexpr double kMaxMicros = 1e8;

  /// Builds an unknown cost with the lower bound 0.
  Cost() = default;
  /// Builds a known cost. UserError unless 0 <= micros <= kMaxMicros.
  [[nodiscard]] static Cost Micros(double micros);
  /// Builds an unknown cost with a lower bound. UserError unless 0 <= at_least <= kMaxMicros.
  [[nodiscard]] static Cost Unknown(double at_least = 0);
  [[nodiscard]] static Cost Invalid(std::string reason);

  [[nodiscard]] bool known() const noexcept { return kind_ == Kind::kKnown; }
  [[nodiscard]] bool unknown() const noexcept { return kind_ == Kind::kUnknown; }
  [[nodiscard]] bool invalid() const noexcept { return kind_ == Kind::kInvalid; }
  /// Returns the known cost in microseconds. InternalError unless known().
  [[nodiscard]] double micros() const;
  /// Returns micros(), the lower bound of an unknown cost, or infinity for an invalid one.
  [[nodiscard]] double at_least() const noexcept;
  /// Returns why the candidate cannot run; empty unless invalid().
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

  Cost& operator+=(const Cost& other);
  friend Cost operator+(Cost a, const Cost& b) { return a += b; }
  bool operator==(const Cost&) const = default;

 private:
  enum class Kind : std::uint8_t { kKnown, kUnknown, kInvalid };
  Kind kind_ = Kind::kUnknown;
  double micros_ = 0;
  std::string reason_;
};

/// Returns "12.5 us", "unknown, at least 3 us" or "invalid: REASON".
[[nodiscard]] std::string ToString(const Cost& cost);

/// Searches add costs in whole picoseconds, so that a sum does not depend on the order of its
/// terms.
using Picoseconds = std::int64_t;
[[nodiscard]] Picoseconds ToPicoseconds(double micros);
[[nodiscard]] double ToMicros(Picoseconds picoseconds);

}  // namespace msc
