#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace msc::gym {

/// The time one worker spent on one candidate: a journal record "task".
struct TaskSpan {
  std::int64_t worker = 1;  ///< counts from 1
  std::string strategy;     ///< its hash, as in trial records
  double from = 0;          ///< seconds since the program started
  double to = 0;
  /// "result", "nothing" (cancelled, or to be retried), or "lost" with the worker.
  std::string end = "result";
  bool operator==(const TaskSpan&) const = default;
};

/// Returns the record, without its sequence number.
[[nodiscard]] std::string ToJson(const TaskSpan& task);

/// Returns the tasks of a journal, in its order. Times are in seconds; those of a resumed run are
/// shifted to begin where the previous run ended. UserError if a record is malformed.
[[nodiscard]] std::vector<TaskSpan> TasksOf(std::span<const std::string> records);

}  // namespace msc::gym
