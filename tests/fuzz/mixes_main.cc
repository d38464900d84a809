// Every layer of the networks of docs/benchmarks.md alone in each precision, and the networks at
// several batches, on targets, compared with the reference kernels:
//
//   mixes --models ppocr_rec,vit_b_16 --targets onednn,native --step 3

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "compiler/base/file.h"
#include "compiler/ir/serialize.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/targets/register.h"
#include "cost/samples/array_file.h"
#include "tests/support/layer_sweep.h"
#include "tests/support/suite.h"

namespace {

using namespace msc;

struct Options {
  std::vector<std::string> models;
  std::vector<std::string> targets;
  std::size_t first = 0;
  std::size_t step = 1;
  std::string layer;
  bool whole = false;
  std::string save;
};

struct Counts {
  int cases = 0;
  int wrong = 0;
};

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// For mscgym track: a graph, its strategy and its inputs.
void Save(const LayerCase& failed, const Strategy& strategy, const std::string& folder) {
  std::string name = failed.layer + "_" + std::string(Name(failed.precision));
  std::ranges::replace(name, '/', '_');
  const std::string path = folder + "/" + name;
  MakeFolders(folder);
  SaveGraph(failed.graph, path);
  SaveStrategy(strategy, path + ".strategy.json");
  for (std::size_t i = 0; i < failed.inputs.size(); ++i) {
    cost::WriteNpy(path + ".input_" + std::to_string(i) + ".npy", failed.inputs[i]);
  }
}

void TryLayer(const LayerSweep& sweep, const QuantizableLayer& layer, const Options& options,
              const TargetRegistry& registry, Counts& counts) {
  for (const Precision precision : layer.allowed) {
    const LayerCase made =
        sweep.CaseOf(layer, precision, options.whole ? Extent::kWhole : Extent::kNear);
    const Strategy strategy = StrategyOf(made);
    const Agreement agreement(ApplyStrategy(made.graph, strategy), made.inputs);
    for (const std::string& target : options.targets) {
      ++counts.cases;
      const auto wrong = WrongOn(target, made, strategy, agreement, registry);
      if (!wrong) continue;
      ++counts.wrong;
      std::printf("  %s in %s on %s: %s\n", layer.name.c_str(),
                  std::string(Name(precision)).c_str(), target.c_str(), wrong->c_str());
      std::fflush(stdout);
      if (!options.save.empty()) Save(made, strategy, options.save);
    }
  }
}

Counts TryModel(const SuiteModel& model, const Options& options, const TargetRegistry& registry) {
  Counts counts;
  const auto start = std::chrono::steady_clock::now();
  const LayerSweep sweep(LoadSuiteModel(model, 1), 1);
  std::printf("%s: %zu layers, values in %.1f s\n", model.name.c_str(), sweep.layers().size(),
              SecondsSince(start));
  std::fflush(stdout);
  for (std::size_t i = options.first; i < sweep.layers().size(); i += options.step) {
    const QuantizableLayer& layer = sweep.layers()[i];
    if (!options.layer.empty() && layer.name != options.layer) continue;
    TryLayer(sweep, layer, options, registry, counts);
  }
  std::printf("%s: %d cases, %d wrong, %.1f s\n", model.name.c_str(), counts.cases, counts.wrong,
              SecondsSince(start));
  std::fflush(stdout);
  return counts;
}

int Run(const Options& options) {
  TargetRegistry registry;
  RegisterAllTargets(registry);
  Counts all;
  for (const SuiteModel& model : Suite()) {
    const bool wanted = options.models.empty() ||
                        std::ranges::find(options.models, model.name) != options.models.end();
    if (!wanted) continue;
    if (const std::string absence = AbsenceOf(model); !absence.empty()) {
      std::printf("%s\n", absence.c_str());
      continue;
    }
    const Counts counts = TryModel(model, options, registry);
    all.cases += counts.cases;
    all.wrong += counts.wrong;
  }
  std::printf("%d cases, %d wrong\n", all.cases, all.wrong);
  return all.wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Layers of networks alone in each precision, compared with the reference kernels");
  app.add_option("--models", options.models, "names; all without it")->delimiter(',');
  app.add_option("--targets", options.targets, "whom to compare")->delimiter(',')->required();
  app.add_option("--first", options.first, "number of the first layer of each network");
  app.add_option("--step", options.step, "try every so many layers")->check(CLI::Range(1, 100000));
  app.add_option("--layer", options.layer, "try this one alone");
  app.add_flag("--whole", options.whole, "compute the whole network for each, not what is near");
  app.add_option("--save", options.save, "folder for what fails, as mscgym track reads it");
  CLI11_PARSE(app, argc, argv);
  try {
    return Run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mixes: %s\n", error.what());
    return 2;
  }
}
