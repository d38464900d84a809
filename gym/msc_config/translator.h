#pragma once

// Translator of MSC configs and its tables. Private to msc_config*.cc. "Ours" is a key of MSCGym's
// own config.

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "gym/msc_config/msc_config.h"

namespace msc::gym::msc_config {

using nlohmann::json;

class Translator;

/// How a key of an MSC config is handled.
struct Rule {
  enum class Fate : unsigned char { kMapped, kNoEffect, kRefused };
  std::string_view key;
  Fate fate = Fate::kNoEffect;
  std::string_view why;  ///< what it becomes, or why it has no effect
  void (Translator::*map)(const json& value, const std::string& path) = nullptr;
};

/// The keys of one section of a config, as documented together.
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
/// Returns the tables, indexed by Part.
[[nodiscard]] std::span<const Table> PartTables();

class Translator {
 public:
  explicit Translator(const std::vector<std::string>& targets) : targets_(targets) {}

  MscConfig Run(const json& config);

  // Handlers of rules. `path` is the path of `value` in the config.
  void Inputs(const json& value, const std::string& path);
  void Dataset(const json& value, const std::string& path);
  void Loader(const json& value, const std::string& path);
  void NoArguments(const json& value, const std::string& path);
  void Dynamic(const json& value, const std::string& path);
  void Compile(const json& value, const std::string& path);
  void Target(const json& value, const std::string& path);
  void Prune(const json& value, const std::string& path) { Tool("prune", value, path); }
  void Quantize(const json& value, const std::string& path) { Tool("quantize", value, path); }
  /// Stored until it is known what the other tools search.
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
  /// Keeps MSCGym's own keys of a config unchanged; returns the keys of MSC.
  json TakeOwn(const json& config);
  void Walk(const json& object, const std::string& path, Part part);
  void Tool(const std::string& kind, const json& value, const std::string& path);
  /// Translates the keys of the distiller.
  void Train(const json& value, const std::string& path);
  void Executors(const json& value, const std::string& path, Part part);
  /// Stores the name of a file to write.
  void WriteTo(std::vector<std::string>& files, const json& value, const std::string& path,
               const char* what);
  /// Translates the arguments of reward_compare_baseline.
  void Loss(const json& executor, const std::string& path);
  void Note(const std::string& path, const std::string& why) {
    notes_.push_back("'" + path + "': " + why);
  }
  [[noreturn]] static void Reject(const std::string& path, const std::string& why) {
    throw UserError("'" + path + "' of the MSC config: " + why);
  }
  static std::string Word(const json& value, const std::string& path) {
    if (!value.is_string()) Reject(path, "must be a string");
    return value.get<std::string>();
  }
  /// Sets a key of ours unless the config has it already.
  void Own(const char* key, const json& value, const std::string& path) {
    json& place = ours_[json::json_pointer(key)];
    std::string name(key + 1);
    std::replace(name.begin(), name.end(), '/', '.');
    if (place.is_null()) {
      place = value;
      Note(path, "becomes '" + name + "': " + value.dump());
    } else if (place != value) {
      Note(path, "ignored; '" + name + "' is already " + place.dump());
    }
  }

  const std::vector<std::string>& targets_;
  json ours_ = json::object();
  std::vector<std::string> notes_;
  MscFiles files_;
  std::string tool_;                   // the tool whose gym is being read
  std::vector<std::string> searched_;  // tools that have a gym
  bool of_activations_ = false;        // the method being read is for activations
  bool calibrates_ = false;            // the stage being read is for calibration
  std::optional<std::pair<json, std::string>> distiller_;  // with its path
};

}  // namespace msc::gym::msc_config
