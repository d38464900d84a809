#pragma once

// Private to this folder: files of a package that do not depend on the model.

#include <string_view>

namespace msc {

[[nodiscard]] std::string_view PackageHeaderText();
/// Follows the tables: see package.cc.
[[nodiscard]] std::string_view PackageRuntimeText();
[[nodiscard]] std::string_view PackageTestText();

}  // namespace msc
