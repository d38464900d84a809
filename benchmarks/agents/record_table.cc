// Measures every point of a small search space, as `mscgym search` measures candidates, for the
// tables that agents are compared on.
//
//   record_table quality --mscgym build/release/bin/mscgym --groups stem:1,body:9,head:1
//                        --run minmax=RUN1 --run percentile=RUN2 [--skip FILE] > rows.jsonl
//   record_table time    likewise
//
// A run is the folder of a search with `--trials 1`: it holds the prepared model, samples and
// scales. The layers with weights are tied in groups, in their order; a point is a precision a
// group and the run (how activations were calibrated). Points that mean the same strategy are
// measured once. One JSON line a point, in whatever order; points in the file --skip are left out,
// so an interrupted recording can go on.

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
#include "compiler/runtime/threads.h"
#include "compiler/strategy/strategy.h"
#include "cost/measure/folder.h"
#include "cost/measure/local_evaluator.h"
#include "envs/quantize/quantize_env.h"
#include "gym/core/problem.h"

namespace {

using msc::gym::Assignment;
using msc::gym::Decision;
using msc::gym::SearchProblem;
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
  std::string calibration;
  std::unique_ptr<msc::cost::LocalEvaluator> evaluator;
  std::unique_ptr<msc::gym::Env> env;
};

Run OpenRun(const std::string& text, const std::string& mscgym) {
  auto [calibration, folder] = Split(text, '=');
  Run run{.calibration = calibration, .evaluator = nullptr, .env = nullptr};
  const msc::cost::PreparedFolder prepared = msc::cost::OpenFolder(folder + "/prepared");
  msc::cost::LocalOptions options;
  options.folder = folder + "/prepared";
  options.child = {mscgym, "measure-child"};
  std::vector<int> cores = msc::AllowedCores();
  cores.resize(std::min(cores.size(), static_cast<std::size_t>(prepared.settings.threads)));
  options.quality_cores = cores;
  options.latency_cores = cores;
  run.evaluator = std::make_unique<msc::cost::LocalEvaluator>(options);
  msc::envs::EnvContext context;
  context.graph = std::make_shared<const msc::Graph>(msc::cost::LoadCanonical(prepared));
  context.evaluator = run.evaluator.get();
  context.target = prepared.settings.target;
  context.labels = prepared.labelled ? msc::envs::Labels::kPresent : msc::envs::Labels::kAbsent;
  const json scales = msc::ParseJson(msc::ReadFile(folder + "/scales.json"), "scales.json");
  msc::ReadJson(scales.at("scales"), "scales", context.scales);
  run.env = msc::envs::MakeQuantizeEnv(context);
  return run;
}

/// The tied precisions for every layer. A layer that does not allow one stays at its first.
Assignment Untie(const SearchProblem& problem, const std::vector<Group>& groups,
                 const std::vector<std::string>& precisions) {
  Assignment assignment;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t i = 0; i < groups[g].layers; ++i) {
      const Decision& layer = problem.decisions().at(assignment.size());
      const auto it = std::find(layer.choices.begin(), layer.choices.end(), precisions[g]);
      assignment.push_back(
          it == layer.choices.end() ? 0 : static_cast<std::int32_t>(it - layer.choices.begin()));
    }
  }
  return assignment;
}

std::vector<std::vector<std::string>> AllPrecisions(std::size_t groups) {
  std::vector<std::vector<std::string>> all = {{}};
  for (std::size_t g = 0; g < groups; ++g) {
    std::vector<std::vector<std::string>> longer;
    for (const auto& head : all) {
      for (const char* precision : {"f32", "bf16", "int8"}) {
        longer.push_back(head);
        longer.back().emplace_back(precision);
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::string Key(const json& row) {
  return row.at("calibration").get<std::string>() + " " + row.at("precisions").dump();
}

/// Points by the strategy they mean.
using Points = std::map<std::string, std::pair<Assignment, std::vector<json>>>;

void Record(Run& run, const Points& points, msc::cost::Measure measure) {
  std::vector<msc::cost::Candidate> batch;
  std::vector<const std::vector<json>*> rows;
  for (const auto& [strategy, point] : points) {
    batch.push_back({.strategy = msc::StrategyFromJson(strategy, "a point"), .measure = measure});
    rows.push_back(&point.second);
  }
  const auto report = [&](std::size_t i, const msc::Result<msc::cost::Outcome>& result) {
    for (json row : *rows[i]) {
      row.update(json::parse(msc::cost::ToJson(result)));
      std::printf("%s\n", row.dump().c_str());
    }
    std::fflush(stdout);
  };
  run.evaluator->Evaluate(batch, report);
}

struct Options {
  std::string what;
  std::string mscgym;
  std::string groups;
  std::vector<std::string> runs;
  std::string skip;
};

int Main(const Options& options) {
  const auto& [what, mscgym, groups_text, run_texts, skip] = options;
  const std::vector<Group> groups = ParseGroups(groups_text);
  std::set<std::string> done;
  std::ifstream known(skip);
  for (std::string line; std::getline(known, line);) done.insert(Key(json::parse(line)));
  std::vector<Run> runs;
  for (const std::string& text : run_texts) runs.push_back(OpenRun(text, mscgym));
  std::vector<Points> points(runs.size());
  std::map<std::string, std::size_t> owner;  // the first run that a strategy appears in
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const SearchProblem& problem = *runs[r].env->problem();
    for (const auto& precisions : AllPrecisions(groups.size())) {
      const json row = {{"calibration", runs[r].calibration}, {"precisions", precisions}};
      if (done.contains(Key(row))) continue;
      const Assignment assignment = Untie(problem, groups, precisions);
      const std::string strategy = problem.Describe(assignment);
      const std::size_t first = owner.emplace(strategy, r).first->second;
      auto& point = points[first][strategy];
      point.first = assignment;
      point.second.push_back(row);
    }
  }
  const auto measure =
      what == "time" ? msc::cost::Measure::kQualityAndLatency : msc::cost::Measure::kQuality;
  for (std::size_t r = 0; r < runs.size(); ++r) Record(runs[r], points[r], measure);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures every point of a small search space.");
  Options options;
  app.add_option("what", options.what, "quality or time")
      ->required()
      ->check(CLI::IsMember({"quality", "time"}));
  app.add_option("--mscgym", options.mscgym, "the program whose children measure")->required();
  app.add_option("--groups", options.groups, "layers that share a precision: name:count,...")
      ->required();
  app.add_option("--run", options.runs, "calibration=folder of a search")->required();
  app.add_option("--skip", options.skip, "rows that are there already");
  CLI11_PARSE(app, argc, argv);
  try {
    return Main(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "record_table: %s\n", error.what());
    return 2;
  }
}
