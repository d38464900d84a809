#pragma once

#include <string>
#include <string_view>

#include "gym/report/html.h"

namespace msc::gym {

/// A whole document in the style of the reports that loads nothing and runs no script.
[[nodiscard]] std::string StaticPage(const std::string& title, const Html& body);

/// As StaticPage, with the script of the reports: points of charts tell what they are under the
/// pointer and by keys, tables sort. The page forbids itself any other script.
[[nodiscard]] std::string ScriptedPage(const std::string& title, const Html& body);

/// A box around what may be wider than the page, for pages without script: it can be reached by the
/// Tab key and scrolled by the arrow keys. `label` says to a screen reader what is in it.
[[nodiscard]] Html Scrolling(std::string_view label, const Html& content);

}  // namespace msc::gym
