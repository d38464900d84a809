#pragma once

#include <string_view>

namespace msc::gym {

/// page.css and page.js of this folder, as the build found them.
[[nodiscard]] std::string_view PageStyle();
[[nodiscard]] std::string_view PageScript();

/// What of D3 the charts are zoomed with, and charts.js, which does it; both empty where D3 was not
/// found by the build.
[[nodiscard]] std::string_view ChartLibrary();
[[nodiscard]] std::string_view ChartScript();

}  // namespace msc::gym
