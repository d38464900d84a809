#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"

namespace msc::gym {

/// An ONNX file that a subcommand wrote.
struct WrittenModel {
  std::string file;
  std::string reader;   ///< as in --for
  std::string runtime;  ///< its name for messages
  std::int64_t opset = 0;
  std::uint64_t bytes = 0;
  std::string original;                 ///< the file that the model was read from
  std::uint64_t original_bytes = 0;     ///< 0 if that is no ONNX file
  std::vector<std::string> notes = {};  ///< as ReaderModel::notes
};
/// What WriteModel writes, and where.
struct WriteRequest {
  std::string original;  ///< the file that the model was read from
  std::string reader = "any";
  std::optional<std::int64_t> opset = {};
  std::string file;
};
/// Writes the model under `strategy` in the form of a reader (WriteForReader).
[[nodiscard]] WrittenModel WriteModel(const Graph& canonical, const Strategy& strategy,
                                      const WriteRequest& request);

/// Prints "wrote FILE for RUNTIME: opset 13, 1.20 MB, 26 % of ORIGINAL" and a line for each note.
void PrintWritten(const WrittenModel& model);
[[nodiscard]] nlohmann::json WrittenJson(const WrittenModel& model);

}  // namespace msc::gym
