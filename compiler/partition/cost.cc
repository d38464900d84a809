#include "compiler/partition/cost.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "compiler/base/error.h"

namespace msc {
namespace {

std::string Text(double micros) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g us", micros);
  return text.data();
}

double Checked(double micros) {
  if (!(micros >= 0 && micros <= Cost::kMaxMicros)) {
    throw UserError("a cost must be between 0 and 1e8 microseconds, not " + std::to_string(micros));
  }
  return micros;
}

}  // namespace

Cost Cost::Micros(double micros) {
  Cost cost;
  cost.kind_ = Kind::kKnown;
  cost.micros_ = Checked(micros);
  return cost;
}

Cost Cost::Unknown(double at_least) {
  Cost cost;
  cost.micros_ = Checked(at_least);
  return cost;
}

Cost Cost::Invalid(std::string reason) {
  Cost cost;
  cost.kind_ = Kind::kInvalid;
  cost.reason_ = std::move(reason);
  return cost;
}

double Cost::micros() const {
  Check(known(), "only a known cost has a number");
  return micros_;
}

double Cost::at_least() const noexcept {
  return invalid() ? std::numeric_limits<double>::infinity() : micros_;
}

Cost& Cost::operator+=(const Cost& other) {
  if (invalid()) return *this;
  if (other.invalid()) return *this = other;
  micros_ += other.micros_;
  if (other.unknown()) kind_ = Kind::kUnknown;
  return *this;
}

std::string ToString(const Cost& cost) {
  if (cost.invalid()) return "invalid: " + cost.reason();
  if (cost.unknown()) return "unknown, at least " + Text(cost.at_least());
  return Text(cost.micros());
}

Picoseconds ToPicoseconds(double micros) {
  // The product is at most 1e14 and thus below 2^53, so a double holds every picosecond.
  return std::llround(micros * 1e6);
}

double ToMicros(Picoseconds picoseconds) {
  return static_cast<double>(picoseconds) * 1e-6;
}

}  // namespace msc
