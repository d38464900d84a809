#include "gym/app/options.h"

#include <cstdio>

#include "compiler/base/error.h"
#include "compiler/compress/quantize/reader.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/choose_target.h"

namespace msc::gym {

void AddModelOptions(CLI::App& command, std::string& model, std::vector<std::string>& shapes,
                     const std::string& help) {
  command.add_option("model", model, help)->required();
  AddRepeated(command, "--shape", shapes,
              "shape of an input with dimensions that the model leaves open, as "
              "NAME=1x3x640x640; NAME:=16000 fixes the value of an input, which is one no longer; "
              "may be repeated for other inputs");
}

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

void AddReaderOption(CLI::App& command, std::string& reader) {
  std::vector<std::string> names;
  for (const ReaderRules& rules : AllReaders()) names.emplace_back(rules.name);
  AddSetting(command, "--for", reader, CLI::IsMember(names),
             "runtime that will read the ONNX file: int8 layers get the form that its integer "
             "kernels need");
}

std::string TargetOf(const std::string& option, const TargetRegistry& targets) {
  if (option != kAutoTarget) return option;
  std::string target = ChooseTarget(targets);
  std::fprintf(stderr, "target: %s (auto)\n", target.c_str());
  return target;
}

void AddThreadsOption(CLI::App& command, int& threads, const std::string& help) {
  AddSetting(command, "--threads", threads, CLI::Range(1, 1024), help);
}

void AddRepeated(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                 const std::string& help) {
  command.add_option(name, values, help)->allow_extra_args(false);
}

}  // namespace msc::gym
