#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/onnx/export.h"
#include "compiler/compress/quantize/reader.h"
#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"

namespace msc {

/// A compressed model in the form of a reader.
struct ReaderModel {
  Graph graph;
  /// What of the strategy an ONNX file cannot hold, and where the numbers differ from those that
  /// our targets compute: one sentence each.
  std::vector<std::string> notes = {};
};
/// Applies a strategy and gives the result the form of a reader (FitToReader). UserError as
/// ApplyStrategy.
[[nodiscard]] ReaderModel ModelForReader(const Graph& canonical, const Strategy& strategy,
                                         const ReaderRules& reader);

/// Writes the model as ONNX. If `opset` is missing, uses the oldest operator set, from the reader's
/// least one on, that has all operators of the model. The model properties "msc.reader" and
/// "msc.notes" (a JSON list) hold the reader's name and the notes. UserError as ExportOnnxBytes.
[[nodiscard]] OnnxFile WriteForReader(const ReaderModel& model, const ReaderRules& reader,
                                      std::optional<std::int64_t> opset = std::nullopt);

}  // namespace msc
