// Measures points of small search spaces, as `mscgym search` measures candidates, for the tables
// that agents are compared on.
//
//   record_table quality|time --mscgym build/release/bin/mscgym --groups stem:1,body:9,head:1
//                             --run minmax=RUN1 --run percentile=RUN2 [--skip FILE] POINTS.jsonl
//                             > rows.jsonl
//   record_table work --mscgym build/release/bin/mscgym --groups stem:1,body:9,head:1 --run
//   minmax=RUN1
//
// A run is the folder of a search with `--trials 1`: it holds the prepared model, samples and
// scales. The layers with weights are tied in groups, in their order. A point, one JSON line, names
// a run, and for each group a precision, a density or a target:
//
//   {"run": "minmax", "precision": ["f32", "int8", "int8"], "target": ["onednn", "native",
//   "onednn"]}
//
// What it leaves out is f32, 1 and the run's target. Neighbours that share a target are one region,
// from a layer of theirs to the next of others. Points that mean the same strategy are measured
// once, in the order of their first. A row is a point with what was measured of it; points that are
// in the file --skip are left out, so an interrupted recording can go on. Each is timed alone
// beside the uncompressed model, and where weights would be fitted without, as other numbers take
// the same time. The work of the groups is a JSON list: the share of the multiply-adds of each, as
// the envs tell agents.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/ir/serialize.h"
#include "compiler/runtime/threads.h"
#include "compiler/strategy/strategy.h"
#include "cost/measure/folder.h"
#include "cost/measure/local_evaluator.h"
#include "envs/common/work.h"
#include "envs/prune/prune_env.h"
#include "envs/quantize/quantize_env.h"

namespace {

using nlohmann::json;

struct Group {
  std::string name;
  std::size_t layers = 0;
};

std::pair<std::string, std::string> Split(const std::string& text, char at) {
  const std::size_t place = text.find(at);
  if (place == std::string::npos) throw msc::UserError("'" + text + "' lacks a '" + at + "'");
  return {text.substr(0, place), text.substr(place + 1)};
}

std::vector<Group> ParseGroups(const std::string& text) {
  std::vector<Group> groups;
  for (const std::string& part : CLI::detail::split(text, ',')) {
    const auto [name, count] = Split(part, ':');
    groups.push_back({name, static_cast<std::size_t>(std::stoul(count))});
  }
  return groups;
}

struct Run {
  std::unique_ptr<msc::cost::LocalEvaluator> evaluator;
  msc::envs::QuantizeContext context;
  msc::envs::ChannelContext channels;
  std::vector<msc::QuantizableLayer> layers;
  std::string model_hash;
};

Run OpenRun(const std::string& folder, const std::string& mscgym) {
  Run run;
  const msc::cost::PreparedFolder prepared = msc::cost::OpenFolder(folder + "/prepared");
  msc::cost::LocalOptions options;
  options.folder = folder + "/prepared";
  options.child = {mscgym, "measure-child"};
  std::vector<int> cores = msc::AllowedCores();
  cores.resize(std::min(cores.size(), static_cast<std::size_t>(prepared.settings.threads)));
  options.quality_cores = cores;
  options.latency_cores = cores;
  run.evaluator = std::make_unique<msc::cost::LocalEvaluator>(options);
  run.context.graph = std::make_shared<const msc::Graph>(msc::cost::LoadCanonical(prepared));
  run.context.evaluator = run.evaluator.get();
  run.context.target = prepared.settings.target;
  run.context.fit_hash = prepared.fit_hash;
  run.channels.align = 8;
  const json scales = msc::ParseJson(msc::ReadFile(folder + "/scales.json"), "scales.json");
  msc::ReadJson(scales.at("scales"), "scales", run.context.scales);
  run.layers = msc::FindQuantizableLayers(*run.context.graph);
  run.model_hash = msc::GraphHash(*run.context.graph);
  return run;
}

/// Group of every layer of the graph by name: that of its first layers, and so on.
std::map<std::string, std::size_t> GroupsOfLayers(const Run& run,
                                                  const std::vector<Group>& groups) {
  std::map<std::string, std::size_t> group_of;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t i = 0; i < groups[g].layers; ++i) {
      group_of.emplace(run.layers.at(group_of.size()).name, g);
    }
  }
  if (group_of.size() != run.layers.size()) {
    throw msc::UserError("the groups have " + std::to_string(group_of.size()) +
                         " layers, the model " + std::to_string(run.layers.size()));
  }
  return group_of;
}

/// Regions of neighbours that share a target; one for all makes none.
void Partition(const Run& run, const std::map<std::string, std::size_t>& group_of,
               const std::vector<std::string>& targets, msc::Strategy& strategy) {
  std::size_t group = 0;  // nodes before the first layer go with it
  for (const msc::NodeId id : run.context.graph->order()) {
    const std::string& name = run.context.graph->node(id).name;
    if (const auto it = group_of.find(name); it != group_of.end()) group = it->second;
    const std::string& target = targets.at(group);
    if (strategy.partition.empty() || strategy.partition.back().target != target) {
      strategy.partition.push_back({.nodes = {}, .target = target});
    }
    strategy.partition.back().nodes.push_back(name);
  }
  strategy.target = strategy.partition.front().target;
  if (strategy.partition.size() == 1) strategy.partition.clear();
}

msc::Strategy StrategyOf(const Run& run, const std::map<std::string, std::size_t>& group_of,
                         const json& point, bool fit) {
  std::vector<msc::Precision> precisions(run.layers.size(), msc::Precision::kF32);
  for (std::size_t i = 0; i < run.layers.size() && point.contains("precision"); ++i) {
    const std::string word = point["precision"].at(group_of.at(run.layers[i].name));
    const auto wanted = msc::ParsePrecision(word);
    const auto& allowed = run.layers[i].allowed;
    // A layer that does not allow it stays at its first.
    const bool fits = std::find(allowed.begin(), allowed.end(), wanted) != allowed.end();
    precisions[i] = fits ? wanted : allowed.front();
  }
  msc::Strategy strategy =
      msc::envs::MakeQuantizeStrategy(run.context, run.layers, precisions, run.model_hash);
  if (point.contains("density")) {
    const msc::envs::PruneChoices channels(run.context.graph, run.channels);
    std::vector<std::int32_t> choices;
    for (const auto& decision : channels.decisions()) {
      const std::string word = point["density"].at(group_of.at(decision.name));
      choices.push_back(channels.Nearest(choices.size(), std::stod(word)));
    }
    strategy.prune = channels.PlanOf(choices);
    if (fit) msc::envs::FitToSamples(run.context, strategy);
  }
  if (point.contains("target")) {
    Partition(run, group_of, point["target"].get<std::vector<std::string>>(), strategy);
  }
  return strategy;
}

/// A strategy and the points that mean it.
struct Meaning {
  msc::Strategy strategy;
  std::vector<json> points;
};

void Print(const Meaning& meaning, const msc::Result<msc::cost::Outcome>& result) {
  for (const json& point : meaning.points) {
    json row = json::parse(msc::cost::ToJson(result));
    row["point"] = point;
    std::printf("%s\n", row.dump().c_str());
  }
  std::fflush(stdout);
}

void Judge(Run& run, const std::vector<Meaning>& meanings) {
  std::vector<msc::cost::Candidate> batch;
  batch.reserve(meanings.size());
  for (const Meaning& meaning : meanings) {
    batch.push_back({.strategy = meaning.strategy, .measure = msc::cost::Measure::kQuality});
  }
  run.evaluator->Evaluate(batch, [&](std::size_t i, const msc::Result<msc::cost::Outcome>& result) {
    Print(meanings[i], result);
  });
}

void Time(Run& run, const std::vector<Meaning>& meanings) {
  for (const Meaning& meaning : meanings) {
    const auto timed = run.evaluator->TimeOnce({meaning.strategy}, 1);
    if (timed.empty()) throw msc::SystemError("timing was stopped; the same command goes on");
    Print(meaning, timed.front());
  }
}

void PrintWork(const Run& run, const std::vector<Group>& groups) {
  const auto features = msc::envs::LayerFeatures(*run.context.graph, run.layers);
  const std::vector<double> of_layers = msc::envs::WorkOf(features);
  const std::map<std::string, std::size_t> group_of = GroupsOfLayers(run, groups);
  std::vector<double> work(groups.size(), 0.0);
  for (std::size_t i = 0; i < run.layers.size(); ++i) {
    work[group_of.at(run.layers[i].name)] += of_layers[i];
  }
  std::printf("%s\n", json(work).dump().c_str());
}

struct Options {
  std::string what;
  std::string points;
  std::string mscgym;
  std::string groups;
  std::vector<std::string> runs;
  std::string skip;
};

int Main(const Options& options) {
  std::set<std::string> done;
  std::ifstream rows(options.skip);
  for (std::string line; std::getline(rows, line);) {
    done.insert(msc::ParseJson(line, options.skip).at("point").dump());
  }
  std::map<std::string, Run> runs;
  for (const std::string& text : options.runs) {
    const auto [name, folder] = Split(text, '=');
    runs.emplace(name, OpenRun(folder, options.mscgym));
  }
  const std::vector<Group> groups = ParseGroups(options.groups);
  if (options.what == "work") {
    PrintWork(runs.begin()->second, groups);
    return 0;
  }
  if (options.points.empty()) throw msc::UserError("which points? Name a file of JSON lines");
  const bool judge = options.what == "quality";
  std::map<std::string, std::vector<Meaning>> meanings;              // by run
  std::map<std::string, std::pair<std::string, std::size_t>> known;  // of which, by strategies
  std::ifstream wanted(options.points);
  for (std::string line; std::getline(wanted, line);) {
    const json point = msc::ParseJson(line, options.points);
    if (done.contains(point.dump())) continue;
    const std::string name = point.at("run");
    const Run& run = runs.at(name);
    msc::Strategy strategy = StrategyOf(run, GroupsOfLayers(run, groups), point, judge);
    const auto place = std::make_pair(name, meanings[name].size());
    const auto [it, is_new] = known.emplace(msc::ToJson(strategy), place);
    const auto& [owner, index] = it->second;
    if (is_new) meanings[name].push_back({std::move(strategy), {}});
    meanings[owner][index].points.push_back(point);
  }
  for (const auto& [name, own] : meanings) (judge ? Judge : Time)(runs.at(name), own);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures points of a small search space.");
  Options options;
  app.add_option("what", options.what, "quality, time or work")
      ->required()
      ->check(CLI::IsMember({"quality", "time", "work"}));
  app.add_option("points", options.points, "what to measure, JSON lines; none for work")
      ->check(CLI::ExistingFile);
  app.add_option("--mscgym", options.mscgym, "the program whose children measure")->required();
  app.add_option("--groups", options.groups, "layers that share their choices: name:count,...")
      ->required();
  app.add_option("--run", options.runs, "name=folder of a search")->required();
  app.add_option("--skip", options.skip, "rows that are there already");
  CLI11_PARSE(app, argc, argv);
  try {
    return Main(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "record_table: %s\n", error.what());
    return 2;
  }
}
