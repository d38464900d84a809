#include "gym/app/typo.h"

#include <algorithm>
#include <vector>

#include <CLI/CLI.hpp>

#include "compiler/base/nearest.h"

namespace msc::gym {
namespace {

bool IsOption(const std::string& word) {
  return word.starts_with('-');
}

/// Returns the names of all options of a command, "--trials".
std::vector<std::string> OptionsOf(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace

std::string UnknownSubcommand(const CLI::App& app, const std::string& first) {
  if (first.empty() || IsOption(first)) return "";
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == first) return "";
    // Subcommands without a group are not for people.
    if (!command->get_group().empty()) known.push_back(command->get_name());
  }
  return "unknown subcommand '" + first + "'" + DidYouMean(first, known);
}

std::string OptionHint(const CLI::App& app, int argc, const char* const* argv) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  if (parsed.empty()) return "";
  const std::vector<std::string> known = OptionsOf(*parsed.front());
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("--") || std::ranges::find(known, name) != known.end()) continue;
    const std::string hint = DidYouMean(name, known);
    // Without a similar name it lists all of them, which --help does better.
    if (hint.find("did you mean") != std::string::npos) return hint;
  }
  return "";
}

}  // namespace msc::gym
