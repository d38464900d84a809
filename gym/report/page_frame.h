#pragma once

#include <string>
#include <string_view>

#include "gym/report/html.h"

namespace msc::gym {

/// Returns a whole document in the style of the reports that loads nothing and runs no script.
[[nodiscard]] std::string StaticPage(const std::string& title, const Html& body);

/// Returns a StaticPage plus the script of the reports: points of charts show details by pointer
/// and keyboard, and tables sort. The content security policy of the page forbids any other script.
[[nodiscard]] std::string ScriptedPage(const std::string& title, const Html& body);

/// Returns a box around content that may be wider than the page, for pages without script. Tab
/// reaches it and the arrow keys scroll it. `label` names its content for screen readers.
[[nodiscard]] Html ScrollingBox(std::string_view label, const Html& content);

}  // namespace msc::gym
