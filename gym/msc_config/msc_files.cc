#include "gym/msc_config/msc_files.h"

#include <filesystem>
#include <system_error>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/strategy/strategy.h"

namespace msc::gym {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// Marks a record of this program.
constexpr const char* kFormat = "mscgym record";

fs::path Place(const std::string& name, const std::string& run) {
  return fs::path(run) / name;  // an absolute name replaces the run directory
}

bool Exists(const fs::path& file) {
  std::error_code error;  // if the check fails, writing reports the error
  return fs::exists(file, error);
}

fs::path WeightsOf(fs::path strategy) {
  return strategy.replace_extension(".weights");
}

bool IsStrategy(const fs::path& file) {
  try {
    (void)StrategyFromJson(ReadFile(file.string()), "it");
    return true;
  } catch (const UserError&) {
    return false;
  }
}

bool IsRecord(const fs::path& file) {
  try {
    const json document = ParseJson(ReadFile(file.string()), "it");
    return document.is_object() && document.value("format", json()) == kFormat;
  } catch (const UserError&) {
    return false;
  }
}

/// Returns why a strategy must not be written there; empty if it may.
std::string StrategyObstacle(const fs::path& file) {
  if (Exists(file)) return IsStrategy(file) ? "" : "exists and is not a strategy of mscgym";
  if (!Exists(WeightsOf(file))) return "";
  return "would store its weights in '" + WeightsOf(file).string() + "', which already exists";
}

std::string RecordObstacle(const fs::path& file) {
  return !Exists(file) || IsRecord(file) ? "" : "exists and is not a record of mscgym";
}

using Obstacle = std::string (*)(const fs::path& file);

void CheckEach(const std::vector<std::string>& names, const std::string& run, const char* key,
               Obstacle obstacle) {
  for (const std::string& name : names) {
    const fs::path file = Place(name, run);
    const std::string why = obstacle(file);
    if (!why.empty()) {
      throw UserError("'" + file.string() + "' " + why + "; move it away, or set '" + key +
                      "' to another file");
    }
    if (fs::path(name).is_absolute()) CheckWritable(file.string());
  }
}

void CopyStrategy(const std::string& best, const fs::path& file) {
  if (fs::path(best).lexically_normal() == file.lexically_normal()) return;
  const Strategy strategy = LoadStrategy(best);
  // Remove the weights of the earlier strategy of ours.
  if (strategy.fit.weights.empty()) fs::remove(WeightsOf(file));
  SaveStrategy(strategy, file.string());
}

/// Writes each file by `write` and adds a line on it.
template <class Write>
void WriteEach(const std::vector<std::string>& names, const std::string& run, const char* key,
               Obstacle obstacle, const Write& write, std::vector<std::string>& lines) {
  for (const std::string& name : names) {
    const fs::path file = Place(name, run);
    const std::string line = std::string(key) + ": " + file.string();
    if (const std::string why = obstacle(file); !why.empty()) {
      lines.push_back(line + " was not written: it " + why);
      continue;
    }
    const bool again = Exists(file);
    MakeFolders(file.parent_path().string());
    write(file);
    lines.push_back(line + (again ? ", replacing an earlier one" : ""));
  }
}

}  // namespace

void CheckMscFiles(const MscFiles& files, const std::string& run) {
  CheckEach(files.strategies, run, "strategy_file", StrategyObstacle);
  CheckEach(files.records, run, "record", RecordObstacle);
}

std::string MscRecord(std::span<const Decision> decisions, std::span<const Trial> trials) {
  json list = json::array();
  for (const Trial& trial : trials) {
    json actions = json::object();
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      actions[decisions[i].name] =
          decisions[i].choices.at(static_cast<std::size_t>(trial.assignment.at(i)));
    }
    json entry = {{"trial", trial.number}, {"source", trial.source}, {"actions", actions}};
    if (trial.evaluation.failure) {
      entry["failure"] = trial.evaluation.failure->detail;
    } else {
      entry["rewards"] = trial.evaluation.metrics;
    }
    list.push_back(std::move(entry));
  }
  const json document = {{"format", kFormat}, {"version", 1}, {"trials", std::move(list)}};
  return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::vector<std::string> WriteMscFiles(const MscFiles& files, const std::string& run,
                                       const std::string& best, const std::string& record) {
  std::vector<std::string> lines;
  if (best.empty()) {
    for (const std::string& name : files.strategies) {
      lines.push_back("strategy_file: " + Place(name, run).string() +
                      " was not written: no candidate keeps the limits");
    }
  } else {
    WriteEach(
        files.strategies, run, "strategy_file", StrategyObstacle,
        [&](const fs::path& file) { CopyStrategy(best, file); }, lines);
  }
  WriteEach(
      files.records, run, "record", RecordObstacle,
      [&](const fs::path& file) { WriteFileAtomic(file.string(), record); }, lines);
  return lines;
}

}  // namespace msc::gym
