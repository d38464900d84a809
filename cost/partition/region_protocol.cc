#include "cost/partition/region_protocol.h"

#include "compiler/base/fields.h"

namespace msc::cost {

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
