#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace msc {

/// Option values as text, by key.
using OptionMap = std::map<std::string, std::string>;

/// A target as one asks for it: a name and the options that are not at their defaults. As text
/// "name:key=value:key=value", which is what `--targets`, strategies, manifests and cache keys
/// hold: "onednn", "blas:library=xsmm:threads=2". Values hold neither ':' nor ','.
struct TargetSpec {
  std::string name;
  OptionMap options;
  bool operator==(const TargetSpec&) const = default;
};

/// UserError where the text has another form or gives a key twice. Nothing is looked up.
[[nodiscard]] TargetSpec ParseTargetSpec(std::string_view text);
/// Options in the order of their keys: equal specs have equal texts.
[[nodiscard]] std::string ToString(const TargetSpec& spec);

/// One option of a target, for help.
struct TargetOption {
  std::string key;
  std::string otherwise;  ///< its default
  std::string allowed;    ///< bounds or choices; empty where there are none
  std::string help;
};

}  // namespace msc
