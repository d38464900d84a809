#pragma once

#include <tuple>
#include <utility>

#include "gym/search/tasks/compress.h"
#include "gym/search/tasks/distill.h"
#include "gym/search/tasks/partition.h"
#include "gym/search/tasks/prune.h"
#include "gym/search/tasks/quantize.h"
#include "gym/search/tasks/schedule.h"

namespace msc::gym {

template <class... Tasks>
struct TaskList {};

/// Every task. To add one, include its header and name its class here; the order is that of the
/// sections in docs/config.md.
using SearchTasks =
    TaskList<QuantizeTask, PruneTask, CompressTask, PartitionTask, ScheduleTask, DistillTask>;

namespace detail {

template <class Task>
struct SectionOf {
  using Type = std::tuple<>;
};
template <class Task>
requires requires {
  typename Task::Section;
}
struct SectionOf<Task> {
  using Type = std::tuple<typename Task::Section>;
};

template <class List>
struct SectionsOf;
template <class... Tasks>
struct SectionsOf<TaskList<Tasks...>> {
  using Type = decltype(std::tuple_cat(std::declval<typename SectionOf<Tasks>::Type>()...));
};

}  // namespace detail

/// The sections that the tasks add to a config, as a std::tuple.
using TaskSections = detail::SectionsOf<SearchTasks>::Type;

}  // namespace msc::gym
