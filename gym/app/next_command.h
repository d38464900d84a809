#pragma once

#include <string>
#include <vector>

#include "compiler/targets/target.h"

namespace msc::gym {

/// What a tool wrote, as far as the next command depends on it.
struct Written {
  std::string model = {};                ///< file that the strategy belongs to
  std::vector<std::string> shapes = {};  ///< as in --shape
  std::string onnx = {};                 ///< ONNX file that was written; empty = none
  std::string plan = {};                 ///< strategy file that was written; empty = none
  std::string target = {};
  int threads = 1;
  bool slower = false;  ///< than the f32 model on `target`
};

/// Returns the command to run next, as a line for a shell:
/// - nothing was written: `words`, the command that ran, with --out;
/// - what was written is slower: mscgym bench on all targets of this machine;
/// - a strategy alone: mscgym export;
/// - a strategy and an ONNX file: mscgym compile;
/// - an ONNX file alone: mscgym bench.
[[nodiscard]] std::string NextCommand(const Written& written, const std::vector<std::string>& words,
                                      const TargetRegistry& targets);

/// Returns words as a line for a shell.
[[nodiscard]] std::string ShellLine(const std::vector<std::string>& words);

}  // namespace msc::gym
