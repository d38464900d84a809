#pragma once

#include <cstddef>
#include <string>

#include "compiler/base/time_left.h"
#include "cost/partition/region_meter.h"

namespace msc::cost {

/// What there is to say while regions are measured: how far that is, and how long it still takes.
/// Compiling their code and measuring them have little to do with each other.
class MeasuringTime {
 public:
  /// `each`: seconds that building and timing one is taken for until one is done.
  explicit MeasuringTime(double each) : each_(each) {}

  /// "compiling code for 40 regions, about 12 s left of that", then "measured 3 of 40 regions,
  /// about 4 s left of that". `seconds`: the time by any clock.
  [[nodiscard]] std::string Text(const RegionMeter::Progress& now, double seconds);
  /// As the last text says.
  [[nodiscard]] double Left() const { return left_.Seconds().value_or(0); }

 private:
  void Done(const char* kind, std::size_t parts, double seconds);

  double each_;
  TimeLeft left_;
  RegionMeter::Progress heard_;
  bool begun_ = false;
  double heard_at_ = 0;
};

}  // namespace msc::cost
