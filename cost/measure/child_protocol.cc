#include "cost/measure/child_protocol.h"

#include "compiler/base/fields.h"

namespace msc::cost {

std::string ToJson(const Profile& profile, int indent) {
  return ToJsonText(profile, indent);
}

std::string WeightsPath(const std::string& folder, const Strategy& strategy) {
  return folder + "/" + strategy.fit.weights + ".weights";
}

std::string ToJson(const ChildRequest& request) {
  return ToJsonText(request);
}

std::string ToJson(const ChildAnswer& answer) {
  return ToJsonText(answer);
}

ChildRequest RequestFromJson(std::string_view text, const std::string& what) {
  return FromJsonText<ChildRequest>(text, what);
}

ChildAnswer AnswerFromJson(std::string_view text) {
  return FromJsonText<ChildAnswer>(text, "the child's answer");
}

}  // namespace msc::cost
