#include "gym/study/time_budget.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "gym/study/trial.h"

namespace msc::gym {

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

TimeBudget::TimeBudget(double seconds, Clock clock)
    : seconds_(seconds), clock_(std::move(clock)), began_(clock_()) {}

double TimeBudget::Used() const {
  return earlier_ + clock_() - began_;
}

double TimeBudget::Left() const {
  if (!limited()) return std::numeric_limits<double>::infinity();
  return std::max(seconds_ - Used(), 0.0);
}

double TimeBudget::Free() const {
  return std::max(Left() - reserved_, 0.0);
}

std::string TickRecord(double used) {
  return nlohmann::json{{"type", "tick"}, {"used", used}}.dump();
}

double UsedIn(std::span<const std::string> records) {
  for (std::size_t i = records.size(); i-- > 0;) {
    const std::string type = RecordType(records[i], i);
    if (type != "start" && type != "tick" && type != "end") continue;
    const std::string what = "journal record " + std::to_string(i);
    const nlohmann::json record = ParseJson(records[i], what);
    const auto used = record.find("used");
    if (used == record.end()) continue;  // written by an older version
    if (!used->is_number() || *used < 0) {
      throw UserError(what + ": 'used' must be a number of seconds, not " + used->dump());
    }
    return *used;
  }
  // Journals of older versions do not hold the time used; their trials took at least this.
  double seconds = 0;
  for (const Trial& trial : TrialsOf(records)) seconds += trial.seconds;
  return seconds;
}

}  // namespace msc::gym
