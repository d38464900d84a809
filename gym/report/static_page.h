#pragma once

#include <string>

#include "gym/report/html.h"

namespace msc::gym {

/// A whole page in the report's style around `body`. Its policy forbids scripts and loading.
[[nodiscard]] std::string StaticPage(const std::string& title, const Html& body);

}  // namespace msc::gym
