#include "cost/partition/region_protocol.h"

#include <array>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"

namespace msc::cost {
namespace {

constexpr std::array<std::string_view, 3> kEvents = {"builds", "times", "gave"};

}  // namespace

std::string_view Name(RegionEvent event) {
  return kEvents.at(static_cast<std::size_t>(event));
}

RegionEvent ParseRegionEvent(std::string_view name) {
  for (std::size_t i = 0; i < kEvents.size(); ++i) {
    if (kEvents.at(i) == name) return static_cast<RegionEvent>(i);
  }
  throw UserError("'" + std::string(name) + "' is not one of builds, times, gave");
}

std::string ToJson(const RegionRequest& request) {
  return ToJsonText(request);
}

std::string ToJson(const RegionAnswer& answer) {
  return ToJsonText(answer);
}

RegionRequest RegionRequestFromJson(std::string_view text, const std::string& what) {
  return FromJsonText<RegionRequest>(text, what);
}

RegionAnswer RegionAnswerFromJson(std::string_view text) {
  return FromJsonText<RegionAnswer>(text, "the child's answer");
}

}  // namespace msc::cost
