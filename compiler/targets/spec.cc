#include "compiler/targets/spec.h"

#include "compiler/base/error.h"

namespace msc {

TargetSpec ParseTargetSpec(std::string_view text) {
  const auto refuse = [&](const std::string& why) {
    throw UserError("target '" + std::string(text) + "': " + why +
                    "; the form is name:key=value:key=value");
  };
  TargetSpec spec;
  std::string_view rest = text;
  for (bool first = true; first || !rest.empty(); first = false) {
    const std::size_t end = rest.find(':');
    const std::string_view part = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (end != std::string_view::npos && rest.empty()) refuse("it ends in ':'");
    if (first) {
      if (part.empty()) refuse("the name is missing");
      spec.name = part;
      continue;
    }
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == part.size()) {
      refuse("'" + std::string(part) + "' is not key=value");
    }
    std::string key(part.substr(0, equals));
    if (!spec.options.emplace(key, part.substr(equals + 1)).second) {
      refuse("'" + key + "' is given twice");
    }
  }
  return spec;
}

std::string ToString(const TargetSpec& spec) {
  std::string text = spec.name;
  for (const auto& [key, value] : spec.options) {
    text.append(":").append(key).append("=").append(value);
  }
  return text;
}

}  // namespace msc
