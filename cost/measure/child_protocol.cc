#include "cost/measure/child_protocol.h"

#include <array>
#include <cstddef>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"

namespace msc::cost {
namespace {

constexpr std::array<std::string_view, 4> kModes = {"fit", "quality", "latency", "profile"};

}  // namespace

std::string_view Name(ChildMode mode) {
  return kModes.at(static_cast<std::size_t>(mode));
}

ChildMode ParseChildMode(std::string_view name) {
  for (std::size_t i = 0; i < kModes.size(); ++i) {
    if (kModes.at(i) == name) return static_cast<ChildMode>(i);
  }
  throw UserError("'" + std::string(name) + "' is not one of fit, quality, latency, profile");
}

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
