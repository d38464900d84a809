#pragma once

#include <string_view>

namespace msc::gym {

/// Return page.css and page.js of this folder, embedded by the build.
[[nodiscard]] std::string_view PageStyle();
[[nodiscard]] std::string_view PageScript();

/// Return the parts of D3 that zooming needs, and charts.js, which zooms with them; both empty if
/// the build did not find D3.
[[nodiscard]] std::string_view ChartLibrary();
[[nodiscard]] std::string_view ChartScript();

}  // namespace msc::gym
