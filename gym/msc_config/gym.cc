// Translates the gyms of an MSC config: envs, agents and the executors of their slots.

#include <algorithm>
#include <initializer_list>

#include "gym/msc_config/translator.h"

namespace msc::gym::msc_config {

void Translator::Gym(const json& value, const std::string& path) {
  if (tool_ == "distill")
    Reject(path, "must be removed; the distiller of the original MSC has no gym");
  const json list = value.is_array() ? value : json::array({value});
  if (list.empty()) Reject(path, "must list at least one gym");
  searched_.push_back(tool_);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string at = value.is_array() ? path + "[" + std::to_string(i) + "]" : path;
    // Run one after the other, each gym would decide the same layers again, ignoring the gyms
    // before it.
    if (i > 0)
      Note(at,
           "is searched together with the first gym; if both set a key, the value of the first "
           "counts");
    if (list[i] != json("default")) Walk(list[i], at, Part::kGym);
  }
}

void Translator::Default(const json& value, const std::string& path) {
  if (Word(value, path) != "default") Reject(path, "must be default");
}

void Translator::GymEnv(const json& value, const std::string& path) {
  Walk(value, path, Part::kEnv);
}

void Translator::Reward(const json& value, const std::string& path) {
  const std::string name = Word(value, path);
  if (name != "distill_loss" && name != "accuracy") {
    Reject(path, "must be distill_loss or accuracy; set other metrics in 'objective.minimize'");
  }
  Own("/objective/minimize",
      json::array({"latency", name == "accuracy" ? "accuracy_drop" : "distill_loss"}), path);
}

void Translator::EnvRole(const json& value, const std::string& path) {
  const std::string name = Word(value, path);
  if (name != "default" && name != tool_ && name != tool_ + ".default") {
    Reject(path, "must be " + tool_ + ".default here");
  }
}

void Translator::MaxTasks(const json& value, const std::string& path) {
  if (value.is_number_unsigned() && value != json(0U)) {
    return Own(tool_ == "prune" ? "/prune/first_groups" : "/quantize/first_layers", value, path);
  }
  // Compared with an unsigned number, -1 would equal the largest one.
  const bool all = !value.is_number_unsigned() && value == json(-1);
  if (!all) Reject(path, "must be a whole number of at least 1, or -1 for all");
}

void Translator::GymAgent(const json& value, const std::string& path) {
  Walk(value, path, Part::kAgent);
}

void Translator::AgentType(const json& value, const std::string& path) {
  const std::string name = Word(value, path);
  const auto one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (one_of({"grid_search", "search.grid"})) return Own("/agent", "sweep", path);
  if (one_of({"binary_search", "search.binary"})) return Own("/agent", "bisection", path);
  Own("/agent", name, path);
}

namespace {

/// An executor that MSC has for a slot of an env or agent. Without a method, any method is
/// accepted.
struct Executor {
  std::string_view slot;
  std::string_view method;
  std::vector<std::string_view> arguments = {};
};

const std::vector<Executor>& ExecutorsOf(Part part) {
  static const std::vector<Executor> of_env = {
      {"create_tasks", "tasks_tool_extract"},
      {"action_space", "action_linear_space", {"start", "end", "step"}},
      {"action_space", "action_prune_density", {"start", "end", "step"}},
      {"action_space", "action_quantize_scale", {"start", "end", "step"}},
      {"observation", ""},
      {"reward_outputs", "reward_compare_baseline", {"loss_type", "loss_config"}},
      {"reward_runner", "reward_compare_baseline", {"loss_type", "loss_config"}}};
  static const std::vector<Executor> of_agent = {{"evaluate", "evaluate_by_thresh", {"thresh"}},
                                                 {"evaluate", "evaluate_by_loss"}};
  return part == Part::kAgent ? of_agent : of_env;
}

std::string Below(const std::string& path, const std::string& key) {
  return path + "." + key;
}

/// Rejects unknown arguments of the method.
void CheckArguments(const json& executor, const std::vector<std::string_view>& arguments,
                    const std::string& path) {
  if (!executor.is_object()) return;
  for (const auto& [key, value] : executor.items()) {
    const std::string& name = key;
    const bool known = name == "method" || (name == "method_type" && value == "default") ||
                       std::find(arguments.begin(), arguments.end(), name) != arguments.end();
    if (known) continue;
    throw UserError("'" + Below(path, name) + "' of the MSC config: is not an argument of " +
                    executor["method"].dump() + "; remove it");
  }
}

std::string Listed(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) {
    text += (text.empty() ? "" : ", ") + std::string(word);
  }
  return text;
}

}  // namespace

void Translator::Loss(const json& executor, const std::string& path) {
  constexpr const char* kDivergence =
      "the search compares outputs by KL(softmax of the model || softmax of the candidate) over "
      "the last axis, in nats, averaged over samples and outputs. The original MSC adds up the "
      "mean |difference|^power of each output instead; that grows with the scale of the outputs, "
      "so one limit would not suit two models. Outputs whose last axis has size 1 do not "
      "contribute. The record of each trial has 'mse', the nearest equivalent of power 2, relative "
      "to the variance of the output";
  const json arguments = executor.is_object() ? executor : json::object();
  const json type = arguments.value("loss_type", json("lp_norm"));
  const std::string config_path = path + ".loss_config";
  const json config = arguments.value("loss_config", json::object());
  if (type != json("lp_norm"))
    Reject(path + ".loss_type", "must be lp_norm, the only loss of the original MSC");
  if (!config.is_object()) Reject(config_path, "must be an object");
  for (const auto& [key, value] : config.items()) {
    if (key != "power") {
      throw UserError("unknown key '" + Below(config_path, key) +
                      "' of an MSC config; known here: power");
    }
    if (!value.is_number() || value <= json(0)) {
      Reject(config_path + ".power", "must be a number above 0");
    }
  }
  for (const char* key : {"loss_type", "loss_config"}) {
    if (arguments.contains(key)) Note(Below(path, key), "no effect");
  }
  Note(path, kDivergence);
}

void Translator::Executors(const json& value, const std::string& path, Part part) {
  if (!value.is_object()) Reject(path, "must be an object");
  for (const auto& [key, executor] : value.items()) {
    const std::string& slot = key;
    const std::string at = Below(path, slot);
    const std::string method =
        Word(executor.is_object() ? executor.value("method", json()) : executor, at + ".method");
    std::vector<std::string_view> methods;
    const Executor* found = nullptr;
    for (const Executor& one : ExecutorsOf(part)) {
      if (one.slot != slot) continue;
      methods.push_back(one.method);
      if (one.method == method || one.method.empty()) found = &one;
    }
    if (methods.empty()) Reject(at, "is not an executor of the original MSC; remove it");
    if (found == nullptr) {
      Reject(at, "unknown method '" + method + "'; known here: " + Listed(methods));
    }
    if (slot == "observation") {
      Note(at, "no effect; agents see features of layers, costs and sensitivities");
      continue;
    }
    CheckArguments(executor, found->arguments, at);
    if (method == "reward_compare_baseline") {
      Reward("distill_loss", at);
      Loss(executor, at);
    } else if (method == "evaluate_by_thresh") {
      Note(at, "no effect; set limits in 'objective.subject_to' instead");
    } else {
      Note(at, "no effect; the env defines the decisions and choices, see --dry-run");
    }
  }
}

void Translator::AgentOptions(const json& value, const std::string& path) {
  Walk(value, path, Part::kAgentOptions);
}

}  // namespace msc::gym::msc_config
