#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace msc {

/// Option texts by key.
using OptionMap = std::map<std::string, std::string>;

/// A target as users name it: the kind and the options that differ from their defaults. Its text
/// form "name:key=value:key=value" appears in `--targets`, strategies, manifests and cache keys:
/// "onednn", "blas:library=xsmm:threads=2". Values contain neither ':' nor ','.
struct TargetSpec {
  std::string name;
  OptionMap options;
  bool operator==(const TargetSpec&) const = default;
};

/// Parses the text form. UserError if the form is wrong or a key occurs twice. Checks neither the
/// name nor the keys.
[[nodiscard]] TargetSpec ParseTargetSpec(std::string_view text);
/// Returns the text form with options sorted by key: equal specs have equal texts.
[[nodiscard]] std::string ToString(const TargetSpec& spec);

/// The description of one option of a target, for help texts.
struct TargetOption {
  std::string key;
  std::string otherwise;  ///< the default
  std::string allowed;    ///< bounds or choices; empty if there are none
  std::string help;
};

}  // namespace msc
