#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/app/msc_files.h"

namespace msc::gym {

/// A config of TVM's MSC, where the gym comes from, as one of ours.
struct MscConfig {
  std::string text;                ///< a search's config, as JSON
  std::vector<std::string> notes;  ///< "'quantize.target': ...": what has no effect here, and why
  MscFiles files;                  ///< that its search is to write
};

/// Translates the configs of MSC's pipeline with gyms for its pruner and quantizer. What a search
/// needs besides (`model`, samples, a goal) stands beside their keys under our names, which pass
/// through. Nothing where the text is no such config. The commas, typographic quotes and dots
/// that its documentation has too many are forgiven. UserError naming the key that cannot be
/// followed, and what to do instead.
/// Source: TVM RFC 101 "MSC" (github.com/apache/tvm-rfcs), and tvm.contrib.msc before 2026-02.
[[nodiscard]] std::optional<MscConfig> TranslateMscConfig(std::string_view text,
                                                          const std::vector<std::string>& targets);

/// Every key with what becomes of it, as markdown: what docs/msc_config.md holds.
[[nodiscard]] std::string MscConfigReference();

}  // namespace msc::gym
