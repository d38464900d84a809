#include "compiler/targets/target.h"

#include <utility>

#include "compiler/base/error.h"

namespace msc {

void TargetRegistry::Add(std::unique_ptr<Target> target) {
  const std::string name = target->facts().name;
  Check(!targets_.contains(name), "a target is registered once");
  targets_.emplace(name, std::move(target));
}

void TargetRegistry::AddAbsent(std::string name, std::string why) {
  absent_.insert_or_assign(std::move(name), std::move(why));
}

const Target& TargetRegistry::Get(std::string_view name) const {
  if (const auto it = targets_.find(name); it != targets_.end()) return *it->second;
  if (const auto it = absent_.find(name); it != absent_.end()) {
    throw UserError("target '" + it->first + "' is not in this build: " + it->second);
  }
  std::string known;
  for (const auto& [target, unused] : targets_) known += (known.empty() ? "" : ", ") + target;
  throw UserError("unknown target '" + std::string(name) + "'; known here: " + known);
}

std::vector<const Target*> TargetRegistry::All() const {
  std::vector<const Target*> all;
  for (const auto& [unused, target] : targets_) all.push_back(target.get());
  return all;
}

}  // namespace msc
