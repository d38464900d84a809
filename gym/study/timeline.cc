#include "gym/study/timeline.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "compiler/base/fields.h"
#include "gym/study/read_record.h"
#include "gym/study/trial.h"

namespace msc::gym {
namespace {

using nlohmann::json;

struct TaskRecord {
  std::uint64_t seq = 0;
  std::string type = "task";
  TaskSpan task;
  static void Fields(auto& self, auto& visit) {
    constexpr double kMaxSeconds = 1e9;
    visit("seq", self.seq, "place in the journal");
    visit("type", self.type, "kind of record", Within::OneOf({"task"}));
    visit("worker", self.task.worker, "number of the worker", Within{1, 1e9});
    visit("strategy", self.task.strategy, "hash of the strategy that it evaluated");
    visit("from", self.task.from, "seconds since the program was started", Within{0, kMaxSeconds});
    visit("to", self.task.to, "likewise", Within{0, kMaxSeconds});
    visit("end", self.task.end, "how it ended", Within::OneOf({"result", "nothing", "lost"}));
  }
};

}  // namespace

std::string ToJson(const TaskSpan& task) {
  json value = WriteJson(TaskRecord{.seq = 0, .type = "task", .task = task});
  value.erase("seq");
  return value.dump();
}

std::vector<TaskSpan> TasksOf(std::span<const std::string> records) {
  std::vector<TaskSpan> tasks;
  double before = 0;  // end of the previous run
  double last = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::string type = RecordType(records[i], i);
    if (type == "start") before = last;
    if (type != "task") continue;
    const std::string what = "journal record " + std::to_string(i);
    auto record = ReadRecord<TaskRecord>(ParseJson(records[i], what), what);
    TaskSpan& task = tasks.emplace_back(std::move(record.task));
    task.from += before;
    task.to = std::max(task.from, task.to + before);
    last = std::max(last, task.to);
  }
  return tasks;
}

}  // namespace msc::gym
