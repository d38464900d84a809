#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace msc::gym {

/// How long one worker was busy with one candidate: a journal record "task".
struct TaskSpan {
  std::int64_t worker = 1;  ///< from 1
  std::string strategy;     ///< its hash, as it is in the records of trials
  double from = 0;          ///< seconds since the program was started
  double to = 0;
  /// "result", "nothing" (cancelled, or to be tried again), or "lost" with the worker.
  std::string end = "result";
  bool operator==(const TaskSpan&) const = default;
};

/// The record, without its sequence number.
[[nodiscard]] std::string ToJson(const TaskSpan& task);

/// Those of a journal, in its order. What each later start of the program did follows, in seconds
/// too, on what was done before. UserError if one is not of this program's making.
[[nodiscard]] std::vector<TaskSpan> TasksOf(std::span<const std::string> records);

}  // namespace msc::gym
