#include "gym/search/report/shipping.h"

#include <string>
#include <vector>

#include "compiler/strategy/strategy.h"
#include "gym/search/config.h"
#include "gym/search/report/text.h"

namespace msc::gym {
namespace {

/// Returns the commands that use the best configuration. Paths with blanks are quoted.
std::vector<ReportCommand> ShippingCommands(const SearchRun& run, const std::string& best) {
  const SearchConfig& config = run.setup.config;
  const std::string model = ShellWord(config.model);
  const std::string strategy = ShellWord(best + "/strategy.json");
  std::vector<ReportCommand> commands = {
      {"run the compiled model on this machine; without --input it gets random numbers",
       "mscgym run " + ShellWord(best + "/artefact")},
      {"compile it on another machine with the same kind of CPU",
       "mscgym compile " + model + " --strategy " + strategy + " --out artefact"},
      {"open it in ONNX Runtime",
       "python3 -c " + ShellWord("import onnxruntime; print([each.name for each in "
                                 "onnxruntime.InferenceSession(\"" +
                                 best + "/model.onnx\").get_inputs()])")}};
  const Strategy& chosen = run.findings.finalists.at(*run.findings.best).strategy;
  if (chosen.partition.empty()) {
    commands.push_back(
        {"write it as C++ that builds without dependencies",
         "mscgym export " + model + " --strategy " + strategy + " --to cpp --out model_cpp"});
    commands.push_back({"time it beside the uncompressed model and ONNX Runtime",
                        "mscgym bench " + model + " --targets " + ShellWord(config.target) +
                            " --precision f32 --strategy " + strategy + " --peer"});
  }
  return commands;
}

}  // namespace

void TellShipping(const SearchRun& run, const RunPaths& paths, ReportInput& input) {
  if (run.findings.best) {
    input.shipping = ShippingCommands(run, paths.best());
    input.files = {{"best/model.onnx", "the compressed model, for ONNX Runtime and other tools"},
                   {"best/strategy.json", "all decisions, for mscgym compile and export"},
                   {"best/artefact/", "the compiled model, for mscgym run and the C++ library"}};
  }
  if (!run.finished) return;
  input.files.push_back({"results.json", "what the final phase measured"});
  input.files.push_back({"pareto.json", "the Pareto set"});
  input.files.push_back({"sensitivity.csv", "the loss of each decision alone"});
  input.files.push_back({"trials.journal", "all that the search recorded"});
}

}  // namespace msc::gym
