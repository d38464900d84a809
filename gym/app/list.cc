#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/nearest.h"
#include "compiler/ops/op.h"
#include "gym/app/command.h"
#include "gym/app/json_output.h"
#include "gym/msc_config/msc_config.h"
#include "gym/search/config.h"
#include "gym/search/registries.h"
#include "gym/search/task_registry.h"

namespace msc::gym {
namespace {

struct Options {
  std::string what;
  bool json = false;
};

struct Row {
  std::string name;
  std::string summary;
  std::vector<std::string> details = {};  ///< lines below the summary
  static void Fields(auto& self, auto& visit) {
    visit("name", self.name, "name to request it by");
    visit("summary", self.summary, "summary in one line");
    visit("details", self.details, "lines below the summary");
  }
};

/// Returns a line "key = default (allowed): help" per option.
std::vector<std::string> OptionLines(const TargetKind& kind) {
  std::vector<TargetOption> options = TargetRegistry::CommonOptions();
  options.insert(options.end(), kind.options.begin(), kind.options.end());
  std::vector<std::string> lines;
  for (const TargetOption& option : options) {
    std::string line = option.key + " = " + option.otherwise;
    if (!option.allowed.empty()) line += " (" + option.allowed + ")";
    lines.push_back(line + ": " + option.help);
  }
  return lines;
}

/// Returns the row of a target. A target that this machine cannot run is listed as absent, like one
/// that the build lacks.
Row TargetRow(const TargetRegistry& targets, const TargetKind& kind) {
  try {
    const TargetFacts& facts = targets.Get(kind.name).facts();
    return {kind.name, facts.device + ", " + facts.version, OptionLines(kind)};
  } catch (const UserError& error) {
    return {kind.name, std::string("absent: ") + error.what(), {}};
  }
}

std::vector<Row> Targets() {
  std::vector<Row> rows;
  const TargetRegistry targets = MakeTargets();
  for (const auto& [name, kind] : targets.kinds()) rows.push_back(TargetRow(targets, kind));
  for (const auto& [name, why] : targets.absent()) rows.push_back({name, "absent: " + why});
  return rows;
}

std::string AimLine(agents::AgentAim aim) {
  switch (aim) {
    case agents::AgentAim::kAnswer:
      return "finds the best value of the first objective within the limits";
    case agents::AgentAim::kFront:
      return "finds the Pareto front of all objectives, or the best value of one";
    case agents::AgentAim::kCover:
      return "finds the best partition of a model that is placed on several targets";
    case agents::AgentAim::kNothing:
      return "ignores the results of trials";
  }
  return "";
}

std::vector<Row> Agents() {
  std::vector<Row> rows;
  const agents::AgentRegistry registry = MakeAgents();
  for (const std::string& name : registry.Names()) {
    rows.push_back({name, registry.Summary(name), {AimLine(agents::AimOf(name))}});
  }
  return rows;
}

std::vector<Row> Envs() {
  std::vector<Row> rows;
  for (const EnvSpec& spec : AllEnvSpecs()) rows.push_back({spec.id, spec.summary});
  return rows;
}

std::vector<Row> Operators() {
  std::vector<Row> rows;
  for (const OpDef* op : Ops().All()) {
    rows.push_back({op->domain.empty() ? op->name : op->domain + "." + op->name, ""});
  }
  return rows;
}

/// Returns the section that a key belongs to; empty for a key of the top level.
std::string SectionOf(const std::string& key) {
  const std::size_t dot = key.find('.');
  return dot == std::string::npos ? "" : key.substr(0, dot);
}

/// Prints the reference of a search's CONFIG.json as markdown, the content of docs/config.md.
void PrintConfigReference() {
  std::printf(
      "# The search configuration\n\n"
      "All keys of CONFIG.json, the file that `mscgym search` reads. The key `quality.samples` is "
      "the key `samples` in the section `quality`. An unknown key is an error that lists the known "
      "ones. Relative paths are relative to the folder of the file. `mscgym list config` prints "
      "this page.\n");
  const std::vector<FieldHelp> rows = DescribeFields<SearchConfig>();
  std::vector<std::string> sections = {""};  // in order of appearance
  for (const FieldHelp& row : rows) {
    const std::string section = SectionOf(row.key);
    if (!section.empty() && section != sections.back()) sections.push_back(section);
  }
  for (const std::string& section : sections) {
    const std::string title = section.empty() ? "Top level" : "Section `" + section + "`";
    std::printf("\n## %s\n| key | default | allowed | meaning |\n|---|---|---|---|\n",
                title.c_str());
    for (const FieldHelp& row : rows) {
      if (SectionOf(row.key) != section) continue;
      std::printf("| `%s` | `%s` | %s | %s |\n", row.key.c_str(), row.otherwise.c_str(),
                  row.allowed.c_str(), row.help.c_str());
    }
  }
}

void PrintRowsJson(const std::string& what, nlohmann::json rows) {
  PrintJsonResult("msc-list-1", nlohmann::json{{"what", what}, {"rows", std::move(rows)}});
}

/// Prints the keys of a config for programs.
void PrintConfigJson() {
  nlohmann::json rows = nlohmann::json::array();
  for (const FieldHelp& row : DescribeFields<SearchConfig>()) {
    rows.push_back({{"key", row.key},
                    {"default", row.otherwise},
                    {"allowed", row.allowed},
                    {"meaning", row.help}});
  }
  PrintRowsJson("config", std::move(rows));
}

/// Prints the keys of a config of the original MSC for programs.
void PrintMscConfigJson() {
  nlohmann::json rows = nlohmann::json::array();
  for (const MscConfigKey& row : MscConfigKeys()) {
    rows.push_back({{"section", row.section}, {"key", row.key}, {"becomes", row.becomes}});
  }
  PrintRowsJson("msc-config", std::move(rows));
}

/// What can be listed.
constexpr auto kLists = std::to_array<std::pair<const char*, const char*>>({
    {"envs", "the spaces that a search can search"},
    {"agents", "the search algorithms"},
    {"targets", "the libraries that run models here, with their options"},
    {"ops", "the operators of models"},
    {"config", "the keys of a search's config"},
    {"msc-config", "the keys of a config of the original MSC"},
});

/// Prints what can be listed; for programs as a list of lists.
void PrintLists(bool json) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [what, summary] : kLists) {
    if (!json) std::printf("mscgym list %-12s %s\n", what, summary);
    rows.push_back({{"name", what}, {"summary", summary}});
  }
  if (json) PrintRowsJson("lists", std::move(rows));
}

/// Throws UserError for a list that there is not.
void CheckList(const std::string& what) {
  std::vector<std::string> known;
  for (const auto& [name, summary] : kLists) known.emplace_back(name);
  if (what.empty() || std::ranges::find(known, what) != known.end()) return;
  throw UserError("unknown list '" + what + "'" + DidYouMean(what, known));
}

void List(const Options& options) {
  CheckList(options.what);
  std::vector<Row> rows;
  if (options.what.empty()) return PrintLists(options.json);
  if (options.what == "config" && options.json) return PrintConfigJson();
  if (options.what == "config") return PrintConfigReference();
  if (options.what == "msc-config" && options.json) return PrintMscConfigJson();
  if (options.what == "msc-config") {
    std::printf("%s", MscConfigReference().c_str());
    return;
  }
  if (options.what == "targets") rows = Targets();
  if (options.what == "agents") rows = Agents();
  if (options.what == "envs") rows = Envs();
  if (options.what == "ops") rows = Operators();
  if (options.json) {
    PrintRowsJson(options.what, WriteJson(rows));
    return;
  }
  for (const Row& row : rows) {
    std::printf("%-24s %s\n", row.name.c_str(), row.summary.c_str());
    for (const std::string& line : row.details) std::printf("    %s\n", line.c_str());
  }
}

}  // namespace

void AddList(CLI::App& app, AppContext& /*context*/) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "list", "List envs, agents, targets and operators, or the keys of a config");
  command->add_option("what", options->what,
                      "what to list: envs, agents, targets, ops, config or msc-config; default: "
                      "the names of these lists");
  command->add_flag("--json", options->json, "print JSON");
  command->footer("Example:\n  mscgym list targets");
  command->callback([options] { List(*options); });
}

}  // namespace msc::gym
