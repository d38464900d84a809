#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/ops/op.h"
#include "envs/register.h"
#include "gym/app/command.h"
#include "gym/app/msc_config.h"
#include "gym/app/registries.h"
#include "gym/app/search_config.h"

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
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("name", self.name, "as it is asked for");
    visit("summary", self.summary, "one line");
    visit("details", self.details, "lines below it");
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

std::vector<Row> Agents() {
  std::vector<Row> rows;
  const agents::AgentRegistry registry = MakeAgents();
  for (const std::string& name : registry.Names()) rows.push_back({name, registry.Summary(name)});
  return rows;
}

std::vector<Row> Envs() {
  std::vector<Row> rows;
  envs::EnvRegistry registry;
  envs::RegisterAll(registry);
  for (const EnvSpec& spec : registry.Specs()) rows.push_back({spec.id, spec.summary});
  return rows;
}

std::vector<Row> Operators() {
  std::vector<Row> rows;
  for (const OpDef* op : Ops().All()) {
    rows.push_back({op->domain.empty() ? op->name : op->domain + "." + op->name, ""});
  }
  return rows;
}

/// Prints the reference of a search's CONFIG.json as markdown, the content of docs/config.md.
void PrintConfigReference() {
  std::printf(
      "# The search configuration\n\n"
      "Every key of CONFIG.json, made by `mscgym list config`. An unknown key is an error that "
      "lists "
      "the known ones. Relative paths are relative to the file.\n\n"
      "| key | default | allowed | meaning |\n|---|---|---|---|\n");
  for (const FieldHelp& row : DescribeFields<SearchConfig>()) {
    std::printf("| `%s` | `%s` | %s | %s |\n", row.key.c_str(), row.otherwise.c_str(),
                row.allowed.c_str(), row.help.c_str());
  }
}

void List(const Options& options) {
  std::vector<Row> rows;
  if (options.what == "config") return PrintConfigReference();
  if (options.what == "msc-config") {
    std::printf("%s", MscConfigReference().c_str());
    return;
  }
  if (options.what == "targets") rows = Targets();
  if (options.what == "agents") rows = Agents();
  if (options.what == "envs") rows = Envs();
  if (options.what == "ops") rows = Operators();
  if (options.json) {
    std::printf("%s\n", ToJsonText(rows, 2).c_str());
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
  CLI::App* command =
      app.add_subcommand("list", "See what is registered, and what a config may hold");
  command->add_option("what", options->what, "envs, agents, targets, ops, config or msc-config")
      ->required()
      ->check(CLI::IsMember({"envs", "agents", "targets", "ops", "config", "msc-config"}));
  command->add_flag("--json", options->json, "for scripts");
  command->footer("Example:\n  mscgym list targets");
  command->callback([options] { List(*options); });
}

}  // namespace msc::gym
