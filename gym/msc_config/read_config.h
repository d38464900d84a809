#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gym/msc_config/msc_files.h"
#include "gym/search/config.h"

namespace msc::gym {

/// A config file of a search, in our form or translated from one of the original MSC.
struct ReadConfig {
  SearchConfig config;
  std::vector<std::string> notes = {};  ///< a line per key of the original without effect, and why
  MscFiles files = {};                  ///< files that the original wants written
};

/// Parses a config as ParseSearchConfig does, after TranslateMscConfig if it is one of the original
/// MSC. UserError names `what` and the invalid key.
[[nodiscard]] ReadConfig ParseConfig(std::string_view text, const std::string& folder,
                                     const std::string& what);
/// Reads a config file, whose relative paths are relative to its own folder. UserError as
/// ParseConfig, and if the file cannot be read.
[[nodiscard]] ReadConfig ReadConfigFile(const std::string& path);

}  // namespace msc::gym
