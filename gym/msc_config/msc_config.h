#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/msc_config/msc_files.h"

namespace msc::gym {

/// A config of TVM's MSC, the predecessor of this project, translated to a config of `mscgym
/// search`.
struct MscConfig {
  std::string text;                ///< the translated config, as JSON
  std::vector<std::string> notes;  ///< "'quantize.target': ...": keys without effect here, and why
  MscFiles files;                  ///< files that the search must write
};

/// Translates a config of an MSC pipeline with gyms for its pruner and quantizer. Settings that a
/// search needs besides (`model`, samples, a goal) are given next to MSC's keys under our names and
/// pass through. Returns nothing if the text is no such config. Tolerates the trailing commas,
/// typographic quotes and dots of MSC's documentation. UserError, naming the key and an
/// alternative, if a key cannot be translated. Source: TVM RFC 101 "MSC"
/// (github.com/apache/tvm-rfcs), and tvm.contrib.msc before 2026-02.
[[nodiscard]] std::optional<MscConfig> TranslateMscConfig(std::string_view text,
                                                          const std::vector<std::string>& targets);

/// A key of such a config.
struct MscConfigKey {
  std::string section;
  std::string key;
  std::string becomes;  ///< its translation, or that it has no effect or is rejected, and why
};
/// Returns all keys, those of a section in a row.
[[nodiscard]] std::vector<MscConfigKey> MscConfigKeys();

/// Returns markdown that lists every key and its translation, the content of docs/msc_config.md.
[[nodiscard]] std::string MscConfigReference();

}  // namespace msc::gym
