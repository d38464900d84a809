#include "compiler/strategy/schedule.h"

#include "compiler/base/fields.h"

namespace msc {

std::string Name(const KernelSchedule& schedule) {
  std::string name = schedule.algorithm + " " + std::to_string(schedule.columns) + "x" +
                     std::to_string(schedule.vectors) + " " + schedule.order;
  if (schedule.join_rows) name += " joined";
  if (schedule.unroll != 1) name += " unroll " + std::to_string(schedule.unroll);
  return name;
}

std::string ToText(const KernelSchedule& schedule) {
  return ToJsonText(schedule);
}

KernelSchedule ScheduleFromText(std::string_view text, const std::string& what) {
  return FromJsonText<KernelSchedule>(text, what);
}

}  // namespace msc
