#pragma once

#include <string_view>

namespace msc::gym {

/// page.css and page.js of this folder, as the build found them.
[[nodiscard]] std::string_view PageStyle();
[[nodiscard]] std::string_view PageScript();

}  // namespace msc::gym
