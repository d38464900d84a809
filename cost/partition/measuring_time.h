#pragma once

#include <cstddef>
#include <string>

#include "compiler/base/time_left.h"
#include "cost/partition/region_meter.h"

namespace msc::cost {

/// Progress text for the measurement of regions, with an estimate of the remaining time. The times
/// of compiling and of measuring are estimated separately.
class MeasuringTime {
 public:
  /// `each`: assumed seconds to build and time a region, until the first one is done.
  explicit MeasuringTime(double each) : each_(each) {}

  /// Returns "compiling code for 40 regions, about 12 s left of that", then "measured 3 of 40
  /// regions, about 4 s left of that". `seconds` is the time of any clock.
  [[nodiscard]] std::string Text(const RegionMeter::Progress& now, double seconds);
  /// Returns the remaining seconds of the last text.
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
