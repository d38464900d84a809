#include "cost/partition/measuring_time.h"

#include "compiler/base/formatted.h"

namespace msc::cost {
namespace {

constexpr const char* kCompile = "compile";
constexpr const char* kMeasure = "measure";

}  // namespace

void MeasuringTime::Done(const char* kind, std::size_t parts, double seconds) {
  for (std::size_t i = 0; i < parts; ++i) {
    left_.Done(kind, seconds / static_cast<double>(parts));
  }
}

std::string MeasuringTime::Text(const RegionMeter::Progress& now, double seconds) {
  if (!begun_) {
    left_.Expect(kCompile, now.groups);
    left_.Expect(kMeasure, now.runners, each_);
  } else if (now.compiled > heard_.compiled) {
    const std::size_t parts = now.compiled - heard_.compiled;
    const double each = (seconds - heard_at_) / static_cast<double>(parts);
    // Compilers start again for every few kernels, so the first kernels take no longer than others.
    if (heard_.compiled == 0) left_.Expect(kCompile, 0, each);
    Done(kCompile, parts, seconds - heard_at_);
  } else if (now.measured > heard_.measured) {
    Done(kMeasure, now.measured - heard_.measured, seconds - heard_at_);
  }
  begun_ = true;
  heard_ = now;
  heard_at_ = seconds;
  const std::string said =
      now.compiled < now.groups
          ? Formatted("compiling code for %zu regions", now.runners)
          : Formatted("measured %zu of %zu regions", now.measured, now.runners);
  const auto left = left_.Seconds();
  return left ? said + Formatted(", about %.0f s left for this", *left) : said;
}

}  // namespace msc::cost
