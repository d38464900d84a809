#include "gym/app/batch_option.h"

#include <CLI/CLI.hpp>

#include "compiler/base/error.h"
#include "compiler/pipeline/batch.h"

namespace msc::gym {

void AddBatchOption(CLI::App& command, std::optional<std::int64_t>& batch) {
  command
      .add_option("--batch", batch,
                  "number of samples per call, if the model leaves the batch size open; default: 1")
      ->check(CLI::Range(1, 65536));
}

std::int64_t BatchFor(const Graph& graph, std::optional<std::int64_t> asked,
                      const std::string& option) {
  const std::optional<std::int64_t> fixed = FixedBatch(graph);
  const std::int64_t batch = asked.value_or(fixed.value_or(1));
  if (!asked || asked == fixed || !BatchBindings(graph, batch).empty()) return batch;
  const ValueId input = graph.inputs().front();
  throw UserError(option + " " + std::to_string(batch) + " does not fit input '" +
                  graph.value(input).name + "', which is " + ToString(graph.type(input)) +
                  "; leave out " + option +
                  ", give the size in --shape, or export the model with "
                  "an open first dimension");
}

}  // namespace msc::gym
