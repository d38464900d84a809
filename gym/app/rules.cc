#include "gym/app/rules.h"

#include <cstdio>

#include "compiler/pipeline/tool_rules.h"

namespace msc::gym {

RuleBook OpenRules(const std::string& path, const std::string& tool, const Graph& graph) {
  RuleBook book = LoadRules(path, tool, graph);
  for (const std::string& note : PassedOver(book)) {
    std::fprintf(stderr, "note: %s: %s\n", path.c_str(), note.c_str());
  }
  return book;
}

}  // namespace msc::gym
