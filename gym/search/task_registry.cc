#include "gym/search/task_registry.h"

#include <algorithm>
#include <string>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/nearest.h"
#include "envs/register.h"
#include "gym/search/tasks/list.h"

namespace msc::gym {
namespace {

template <class... Tasks>
void AddAll(TaskRegistry& registry, const TaskList<Tasks...>& /*list*/) {
  (registry.Add(std::make_unique<Tasks>()), ...);
}

}  // namespace

void TaskRegistry::Add(std::unique_ptr<const SearchTask> task) {
  CheckEnvId(task->spec().id);
  Check(Find(task->spec().id) == nullptr && Find(task->name()) == nullptr,
        "a task is registered once");
  tasks_.push_back(std::move(task));
}

const SearchTask* TaskRegistry::Find(std::string_view name) const {
  const auto it = std::find_if(tasks_.begin(), tasks_.end(), [&](const auto& task) {
    return task->spec().id == name || task->name() == name;
  });
  return it == tasks_.end() ? nullptr : it->get();
}

const SearchTask& TaskRegistry::Get(std::string_view name) const {
  if (const SearchTask* task = Find(name)) return *task;
  std::vector<std::string> known;
  for (const auto& task : tasks_) known.push_back(task->name());
  throw UserError("unknown env '" + std::string(name) + "'" + DidYouMean(name, known));
}

std::vector<const SearchTask*> TaskRegistry::All() const {
  std::vector<const SearchTask*> all;
  for (const auto& task : tasks_) all.push_back(task.get());
  return all;
}

TaskRegistry MakeTasks() {
  TaskRegistry registry;
  AddAll(registry, SearchTasks());
  return registry;
}

const TaskRegistry& BuiltInTasks() {
  static const TaskRegistry registry = MakeTasks();
  return registry;
}

std::vector<EnvSpec> AllEnvSpecs() {
  envs::EnvRegistry toys;
  envs::RegisterToys(toys);
  std::vector<EnvSpec> specs = toys.Specs();
  for (const SearchTask* task : BuiltInTasks().All()) specs.push_back(task->spec());
  std::sort(specs.begin(), specs.end(),
            [](const EnvSpec& a, const EnvSpec& b) { return a.id < b.id; });
  return specs;
}

}  // namespace msc::gym
