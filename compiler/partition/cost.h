#pragma once

#include <cstdint>
#include <string>

namespace msc {

/// What running a candidate costs, in microseconds: a finite number, not known yet (with a lower
/// bound), or Invalid with the reason why it cannot run. Adds up: Invalid before Unknown before
/// finite.
class Cost {
 public:
  /// No candidate may cost more: sums of 90,000 of them stay exact.
  static constexpr double kMaxMicros = 1e8;

  /// Unknown, at least 0.
  Cost() = default;
  /// UserError unless 0 <= micros <= kMaxMicros.
  [[nodiscard]] static Cost Micros(double micros);
  /// `at_least` as in Micros.
  [[nodiscard]] static Cost Unknown(double at_least = 0);
  [[nodiscard]] static Cost Invalid(std::string reason);

  [[nodiscard]] bool known() const noexcept { return kind_ == Kind::kKnown; }
  [[nodiscard]] bool unknown() const noexcept { return kind_ == Kind::kUnknown; }
  [[nodiscard]] bool invalid() const noexcept { return kind_ == Kind::kInvalid; }
  /// InternalError unless known().
  [[nodiscard]] double micros() const;
  /// micros(), the lower bound of an unknown cost, or infinity.
  [[nodiscard]] double at_least() const noexcept;
  /// Empty unless invalid().
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

/// "12.5 us", "unknown, at least 3 us", "invalid: REASON".
[[nodiscard]] std::string ToString(const Cost& cost);

/// Searches add in whole picoseconds, so that equal sums are equal in whatever order they are made.
using Picoseconds = std::int64_t;
[[nodiscard]] Picoseconds ToPicoseconds(double micros);
[[nodiscard]] double ToMicros(Picoseconds picoseconds);

}  // namespace msc
