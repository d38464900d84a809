#include "gym/core/env_registry.h"

#include <algorithm>

namespace msc::gym {

namespace {

// Not std::isalnum, which depends on the locale.
bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsWord(std::string_view text, std::string_view extra) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || IsDigit(c) ||
           extra.find(c) != std::string_view::npos;
  });
}

bool IsVersion(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit) &&
         (text.size() == 1 || text.front() != '0');
}

bool IsEnvId(std::string_view id) {
  if (const std::size_t slash = id.find('/'); slash != std::string_view::npos) {
    if (!IsWord(id.substr(0, slash), "_:-")) return false;
    id.remove_prefix(slash + 1);
  }
  const std::size_t dash = id.rfind("-v");
  return dash != std::string_view::npos && IsWord(id.substr(0, dash), "_:.-") &&
         IsVersion(id.substr(dash + 2));
}

}  // namespace

void CheckEnvId(std::string_view id) {
  if (IsEnvId(id)) return;
  throw UserError("env id '" + std::string(id) + "' must look like Name-v0 or namespace/Name-v0");
}

void CheckKeepsSpec(const EnvFacts& facts, const EnvSpec& spec) {
  Check(facts.id == spec.id, "an env has the id it is registered under");
  Check(facts.nondeterministic == spec.nondeterministic,
        "an env is as deterministic as it is registered");
  Check(!spec.max_steps || facts.max_steps == spec.max_steps,
        "an env has the max_steps it is registered with");
}

}  // namespace msc::gym
