#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/base/error.h"

namespace msc::gym {

/// Maps names to factories. A plain object: tests make their own, and nothing registers itself
/// before main. `Args` are the arguments that a factory takes.
template <class T, class... Args>
class Registry {
 public:
  using Factory = std::function<std::unique_ptr<T>(Args...)>;

  /// Adds a factory. Throws InternalError if `name` is taken.
  void Add(std::string name, std::string summary, Factory make) {
    const bool added =
        makers_.emplace(std::move(name), Entry{std::move(summary), std::move(make)}).second;
    Check(added, "a name is registered once");
  }
  /// Makes the object `name`. Throws UserError, listing the known names, if `name` is unknown.
  [[nodiscard]] std::unique_ptr<T> Make(std::string_view name, Args... args) const {
    const auto it = makers_.find(name);
    if (it != makers_.end()) return it->second.make(std::forward<Args>(args)...);
    std::string known;
    for (const auto& [key, unused] : makers_) known += (known.empty() ? "" : ", ") + key;
    throw UserError("unknown name '" + std::string(name) + "'; known: " + known);
  }
  [[nodiscard]] std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [key, unused] : makers_) names.push_back(key);
    return names;
  }
  /// Returns the line that `mscgym list` prints for `name`; empty if unknown.
  [[nodiscard]] std::string Summary(std::string_view name) const {
    const auto it = makers_.find(name);
    return it == makers_.end() ? "" : it->second.summary;
  }

 private:
  struct Entry {
    std::string summary;
    Factory make;
  };
  std::map<std::string, Entry, std::less<>> makers_;
};

}  // namespace msc::gym
