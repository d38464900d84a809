#include "compiler/pipeline/fitting_batch.h"

#include <algorithm>
#include <vector>

#include "compiler/ir/sample_axes.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/batch.h"

namespace msc {
namespace {

/// Returns about how many bytes a run on `inputs` takes: outputs of `graph` are held twice, in the
/// arena and by the caller, and at least two other values at once. 0 if shapes are not known.
double BytesOf(Graph graph, std::span<const Tensor> inputs) {
  InferTypes(graph, BindingsFor(graph, inputs));
  const auto bytes_of = [&](ValueId id) {
    const ValueType& type = graph.type(id);
    const auto dims = type.shape ? StaticDims(*type.shape) : std::nullopt;
    return dims ? static_cast<double>(ElementCount(*dims)) *
                      static_cast<double>(ByteSize(type.dtype))
                : 0.0;
  };
  double largest = 0;
  for (const NodeId id : graph.order()) {
    for (const ValueId value : graph.node(id).outputs) {
      if (value != kNoValue) largest = std::max(largest, bytes_of(value));
    }
  }
  double bytes = 2 * largest;
  for (const ValueId value : graph.outputs()) bytes += 2 * bytes_of(value);
  return bytes;
}

}  // namespace

std::int64_t FittingBatch(const Graph& graph, std::span<const std::string> values,
                          const SampleSource& samples, std::int64_t most, double most_bytes) {
  if (samples.inputs() != graph.inputs().size() || FixedBatch(graph)) return most;
  Graph part = graph;
  std::vector<ValueId> outputs;
  for (const std::string& name : values) {
    const ValueId id = part.FindValue(name);
    const bool is_input = std::ranges::find(graph.inputs(), id) != graph.inputs().end();
    const bool is_known = std::ranges::find(outputs, id) != outputs.end();
    if (id != kNoValue && !is_input && !is_known) outputs.push_back(id);
  }
  part.SetOutputs(outputs);
  RemoveDeadCode(part);
  double bytes = 0;
  for (std::int64_t first = 0; first < samples.count(); first = samples.GroupEnd(first)) {
    bytes = std::max(bytes, BytesOf(part, InputsOfRows(LayoutOf(graph), samples.Read(first, 1))));
  }
  if (bytes == 0) return most;
  return std::min(most, static_cast<std::int64_t>(std::max(1.0, most_bytes / bytes)));
}

}  // namespace msc
