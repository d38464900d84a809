#pragma once

// Files of an exported package that do not depend on the model. Private to this folder.

#include <string_view>

namespace msc {

[[nodiscard]] std::string_view PackageHeaderText();
/// Returns the text behind the tables in model.cc; see package.cc.
[[nodiscard]] std::string_view PackageRuntimeText();
[[nodiscard]] std::string_view PackageTestText();

}  // namespace msc
