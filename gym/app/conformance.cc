#include "compiler/pipeline/conformance.h"

#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "gym/app/command.h"
#include "gym/app/json_output.h"
#include "gym/app/options.h"
#include "gym/search/registries.h"

namespace msc::gym {
namespace {

constexpr const char* kInterpreter = "interpreter";

struct Options {
  std::string folder;
  std::string target = kInterpreter;
  ConformanceOptions tolerance;
  bool verbose = false;
  bool json = false;
};

struct Tally {
  int passed = 0;
  int failed = 0;
  int skipped = 0;
  int on_reference = 0;  ///< passed, with nodes that the reference computed for the target
};

const char* WordOf(Verdict verdict) {
  if (verdict == Verdict::kPassed) return "passed";
  return verdict == Verdict::kFailed ? "failed" : "skipped";
}

void Add(const ConformanceResult& result, Tally& tally) {
  const bool passed = result.verdict == Verdict::kPassed;
  ++(passed ? tally.passed : result.verdict == Verdict::kFailed ? tally.failed : tally.skipped);
  if (passed && result.on_reference > 0) ++tally.on_reference;
}

void PrintTally(const std::string& name, const Tally& tally, bool on_target) {
  std::printf("%-24s %d passed, %d failed, %d skipped", name.c_str(), tally.passed, tally.failed,
              tally.skipped);
  if (on_target) std::printf("; %d passed with nodes on reference kernels", tally.on_reference);
  std::printf("\n");
}

void Conformance(Options options, AppContext& context) {
  const TargetRegistry targets = MakeTargets();
  options.target = TargetOf(options.target, targets);
  const Target* target = options.target == kInterpreter ? nullptr : &targets.Get(options.target);
  std::map<std::string, Tally> groups;
  Tally all;
  nlohmann::json rows = nlohmann::json::array();
  for (const ConformanceTest& test : FindConformanceTests(options.folder)) {
    const ConformanceResult result = RunConformanceTest(test, target, targets, options.tolerance);
    Add(result, groups[test.group]);
    Add(result, all);
    if (options.json) {
      rows.push_back({{"group", test.group},
                      {"name", test.name},
                      {"verdict", WordOf(result.verdict)},
                      {"reason", result.reason},
                      {"on_reference", result.on_reference}});
    } else if (options.verbose && result.verdict != Verdict::kPassed) {
      std::printf("%s/%s %s: %s\n", test.group.c_str(), test.name.c_str(), WordOf(result.verdict),
                  result.reason.c_str());
    }
  }
  if (options.json) {
    const nlohmann::json report = {{"target", options.target},
                                   {"passed", all.passed},
                                   {"failed", all.failed},
                                   {"skipped", all.skipped},
                                   {"passed_on_reference", all.on_reference},
                                   {"tests", rows}};
    PrintJsonResult("msc-conformance-1", report);
  } else {
    for (const auto& [name, tally] : groups) PrintTally(name, tally, target != nullptr);
    PrintTally("all", all, target != nullptr);
  }
  if (all.failed > 0) context.exit_code = kExitFailure;
}

}  // namespace

void AddConformance(CLI::App& app, AppContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "conformance", "Run ONNX's backend tests: which operators give correct outputs");
  command
      ->add_option("folder", options->folder,
                   "folder of all ONNX backend tests, of a group, or of one test")
      ->required();
  AddSetting(
      *command, "--target", options->target,
      "target that runs the tests, or interpreter (reference kernels one by one, any shape)");
  AddSetting(*command, "--rtol", options->tolerance.relative, CLI::NonNegativeNumber,
             "relative tolerance of floats");
  AddSetting(*command, "--atol", options->tolerance.absolute, CLI::NonNegativeNumber,
             "absolute tolerance of floats");
  command->add_flag("--verbose", options->verbose, "print why tests failed or were skipped");
  command->add_flag("--json", options->json, "print every test with its reason as JSON");
  command->footer(
      "Example:\n"
      "  mscgym conformance onnx/backend/test/data --target onednn --verbose\n"
      "Exit code 1: a test failed; skipped tests do not count.");
  command->callback([options, &context] { Conformance(*options, context); });
}

}  // namespace msc::gym
