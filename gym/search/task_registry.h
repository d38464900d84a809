#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "gym/search/task.h"

namespace msc::gym {

/// The tasks that a search may have. A plain object: a program may add tasks of its own to
/// MakeTasks() and search with them (SearchHost::tasks).
class TaskRegistry {
 public:
  /// Throws UserError if the id is malformed, InternalError if its id or name is taken.
  void Add(std::unique_ptr<const SearchTask> task);
  /// Returns the task with an id or a name, nullptr if there is none.
  [[nodiscard]] const SearchTask* Find(std::string_view name) const;
  /// Returns the task with an id or a name. Throws UserError, listing the known names.
  [[nodiscard]] const SearchTask& Get(std::string_view name) const;
  /// Returns all tasks, in the order in which they were added.
  [[nodiscard]] std::vector<const SearchTask*> All() const;

 private:
  std::vector<std::unique_ptr<const SearchTask>> tasks_;
};

/// Returns a registry of the tasks in list.h.
[[nodiscard]] TaskRegistry MakeTasks();
/// Returns the registry that a search uses unless it is given another one.
[[nodiscard]] const TaskRegistry& BuiltInTasks();
/// Returns the specs of all envs, those of tasks and those that need no model, in order of id.
[[nodiscard]] std::vector<EnvSpec> AllEnvSpecs();

}  // namespace msc::gym
