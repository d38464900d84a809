#pragma once

#include <string>

#include "gym/report/html.h"

namespace msc::gym {

/// Returns a whole document in the style of the reports that loads nothing and runs no script.
[[nodiscard]] std::string StaticPage(const std::string& title, const Html& body);

/// Returns a StaticPage plus the script of the reports: points of charts show details by pointer
/// and keyboard, and tables sort. The content security policy of the page forbids any other script.
[[nodiscard]] std::string ScriptedPage(const std::string& title, const Html& body);

}  // namespace msc::gym
