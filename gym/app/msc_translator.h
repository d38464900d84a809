#pragma once

// The translator of MSC configs and its tables. Private to msc_config*.cc.

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "gym/app/msc_config.h"

namespace msc::gym::msc_config {

using nlohmann::json;

class Translator;

/// What becomes of a key.
struct Rule {
  enum class Fate : unsigned char { kMapped, kNoEffect, kRefused };
  std::string_view key;
  Fate fate = Fate::kNoEffect;
  std::string_view why;  ///< what it becomes, or why not
  void (Translator::*map)(const json& value, const std::string& path) = nullptr;
};

/// What stands together in a config.
struct Table {
  std::string_view title;
  std::span<const Rule> rules;
};
enum class Part : unsigned char {
  kTop,
  kDataset,
  kCompile,
  kTool,
  kStrategy,
  kMethod,
  kGym,
  kEnv,
  kAgent,
  kAgentOptions,
  kDistillOptions,
  kOptimizer
};
/// By Part.
[[nodiscard]] std::span<const Table> Tables();

class Translator {
 public:
  explicit Translator(const std::vector<std::string>& targets) : targets_(targets) {}

  MscConfig Run(const json& config);

  // Handlers of rules. `path` is that of `value`.
  void Inputs(const json& value, const std::string& path);
  void Dataset(const json& value, const std::string& path);
  void Loader(const json& value, const std::string& path);
  void NoArguments(const json& value, const std::string& path);
  void Dynamic(const json& value, const std::string& path);
  void Compile(const json& value, const std::string& path);
  void Target(const json& value, const std::string& path);
  void Prune(const json& value, const std::string& path) { Tool("prune", value, path); }
  void Quantize(const json& value, const std::string& path) { Tool("quantize", value, path); }
  /// Kept until it is known what the others search.
  void Distill(const json& value, const std::string& path) { distiller_.emplace(value, path); }
  void Tools(const json& value, const std::string& path);
  void ToolType(const json& value, const std::string& path);
  void StrategyFile(const json& value, const std::string& path);
  void Record(const json& value, const std::string& path);
  void ToolConfig(const json& value, const std::string& path);
  void Strategies(const json& value, const std::string& path);
  void Methods(const json& value, const std::string& path);
  void Method(const json& value, const std::string& path);
  void Bits(const json& value, const std::string& path);
  void Power(const json& value, const std::string& path);
  void Temperature(const json& value, const std::string& path);
  void Epochs(const json& value, const std::string& path);
  void Optimizer(const json& value, const std::string& path) {
    Walk(value, path, Part::kOptimizer);
  }
  void Rate(const json& value, const std::string& path);
  void Stride(const json& value, const std::string& path) { Own("/prune/align", value, path); }
  void Options(const json& value, const std::string& path);
  void Gym(const json& value, const std::string& path);
  void Default(const json& value, const std::string& path);
  void GymEnv(const json& value, const std::string& path);
  void Reward(const json& value, const std::string& path);
  void EnvRole(const json& value, const std::string& path);
  void MaxTasks(const json& value, const std::string& path);
  void GymAgent(const json& value, const std::string& path);
  void AgentType(const json& value, const std::string& path);
  void EnvExecutors(const json& value, const std::string& path) {
    Executors(value, path, Part::kEnv);
  }
  void AgentExecutors(const json& value, const std::string& path) {
    Executors(value, path, Part::kAgent);
  }
  void AgentOptions(const json& value, const std::string& path);
  void MaxSearch(const json& value, const std::string& path) { Own("/trials", value, path); }

 private:
  /// Keeps our own keys of a config as they are; returns the original's.
  json TakeOwn(const json& config);
  void Walk(const json& object, const std::string& path, Part part);
  void Tool(const std::string& kind, const json& value, const std::string& path);
  /// What the distiller's keys become.
  void Train(const json& value, const std::string& path);
  void Executors(const json& value, const std::string& path, Part part);
  /// Keeps the name of a file that is to be written.
  void WriteTo(std::vector<std::string>& files, const json& value, const std::string& path,
               const char* what);
  /// What reward_compare_baseline is given.
  void Loss(const json& executor, const std::string& path);
  void Note(const std::string& path, const std::string& why) {
    notes_.push_back("'" + path + "': " + why);
  }
  [[noreturn]] static void Refuse(const std::string& path, const std::string& why) {
    throw UserError("'" + path + "' of the MSC config: " + why);
  }
  static std::string Word(const json& value, const std::string& path) {
    if (!value.is_string()) Refuse(path, "must be a string");
    return value.get<std::string>();
  }
  /// Sets a key of ours where the config does not have it itself.
  void Own(const char* key, const json& value, const std::string& path) {
    json& place = ours_[json::json_pointer(key)];
    std::string name(key + 1);
    std::replace(name.begin(), name.end(), '/', '.');
    if (place.is_null()) {
      place = value;
      Note(path, "becomes '" + name + "': " + value.dump());
    } else if (place != value) {
      Note(path, "gives way to '" + name + "': " + place.dump());
    }
  }

  const std::vector<std::string>& targets_;
  json ours_ = json::object();
  std::vector<std::string> notes_;
  MscFiles files_;
  std::string tool_;                                       // whose gym is read
  std::vector<std::string> searched_;                      // tools that have one
  bool of_activations_ = false;                            // is the method that is read
  bool calibrates_ = false;                                // is what the stage that is read is for
  std::optional<std::pair<json, std::string>> distiller_;  // and its path
};

}  // namespace msc::gym::msc_config
