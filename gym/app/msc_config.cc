#include "gym/app/msc_config.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "compiler/base/fields.h"
#include "gym/app/msc_translator.h"

namespace msc::gym {
namespace msc_config {
namespace {

bool HasAny(const json& object, std::span<const std::string_view> keys) {
  return object.is_object() && std::any_of(keys.begin(), keys.end(), [&](std::string_view key) {
           return object.contains(key);
         });
}

/// Of a tool; our own `prune` has none of them.
constexpr std::array<std::string_view, 7> kToolKeys = {
    "strategy_file", "plan_file", "target", "run_type", "gym", "gym_configs", "strategys"};
/// That no config of ours has.
constexpr std::array<std::string_view, 10> kMscKeys = {
    "workspace", "tools",   "track",   "baseline",   "optimize",
    "compile",   "dataset", "profile", "model_type", "verbose"};
/// Of our `distill`.
constexpr std::array<std::string_view, 3> kStudentKeys = {"weight_bits", "samples", "batch"};
/// Of our `quantize`.
constexpr std::array<std::string_view, 5> kOfferKeys = {"bits", "ranges", "range_of", "rounding",
                                                        "first_layers"};

bool IsMsc(const json& config) {
  if (!config.is_object()) return false;
  const auto prune = config.find("prune");
  const auto quantize = config.find("quantize");
  return HasAny(config, kMscKeys) || (quantize != config.end() && !HasAny(*quantize, kOfferKeys)) ||
         (prune != config.end() && HasAny(*prune, kToolKeys));
}

std::span<const Rule> RulesOf(Part part) {
  return Tables()[static_cast<std::size_t>(part)].rules;
}

}  // namespace

void Translator::Walk(const json& object, const std::string& path, Part part) {
  if (!object.is_object()) Refuse(path, "must be an object");
  const std::span<const Rule> rules = RulesOf(part);
  const std::string prefix = path.empty() ? "" : path + ".";
  for (const auto& [key, value] : object.items()) {
    const std::string& name = key;
    const auto rule =
        std::find_if(rules.begin(), rules.end(), [&](const Rule& r) { return r.key == name; });
    if (rule == rules.end()) {
      std::string known;
      for (const Rule& r : rules) known += (known.empty() ? "" : ", ") + std::string(r.key);
      throw UserError("unknown key '" + prefix + key + "' of an MSC config; known here: " + known);
    }
    if (rule->fate == Rule::Fate::kRefused) Refuse(prefix + key, std::string(rule->why));
    if (rule->fate == Rule::Fate::kNoEffect) {
      Note(prefix + key, "no effect; " + std::string(rule->why));
    } else {
      (this->*rule->map)(value, prefix + key);
    }
  }
}

MscConfig Translator::Run(const json& config) {
  json theirs = json::object();
  for (const auto& [key, value] : config.items()) {
    const std::string& name = key;
    const std::span<const Rule> top = RulesOf(Part::kTop);
    const bool known =
        std::any_of(top.begin(), top.end(), [&](const Rule& r) { return r.key == name; });
    const bool own = (name == "prune" && !HasAny(value, kToolKeys)) ||
                     (name == "quantize" && HasAny(value, kOfferKeys)) ||
                     (name == "distill" && HasAny(value, kStudentKeys));
    (known && !own ? theirs : ours_)[key] = value;
  }
  Walk(theirs, "", Part::kTop);
  if (distiller_) Train(distiller_->first, distiller_->second);
  if (searched_.empty()) {
    throw UserError(
        "no tool of the MSC config has a gym, so there is nothing to search; add \"gym\": "
        "[\"default\"] to 'prune' or 'quantize'");
  }
  if (!ours_.contains("env")) ours_["env"] = searched_.size() > 1 ? "compress" : searched_.front();
  if (!ours_.contains("model")) {
    throw UserError(
        "'model' is missing: put \"model\": \"net.onnx\", 'calibration' and 'quality' beside the "
        "keys of MSC");
  }
  return {.text = ours_.dump(), .notes = std::move(notes_)};
}

void Translator::Inputs(const json& value, const std::string& path) {
  if (!value.is_array()) Refuse(path, "must be a list of [name, shape, type]");
  json shapes = json::array();
  for (const json& input : value) {
    if (!input.is_array() || input.size() < 2 || !input[0].is_string() || !input[1].is_array()) {
      Refuse(path, "must be a list of [name, shape, type]");
    }
    std::string sizes;
    for (const json& size : input[1]) {
      if (!size.is_number_integer()) sizes += '?';
      sizes += (sizes.empty() ? "" : "x") + size.dump();
    }
    if (sizes.empty() || sizes.find('?') != std::string::npos) {
      Note(path, "no effect for '" + input[0].get<std::string>() + "', whose sizes stay open");
    } else {
      shapes.push_back(input[0].get<std::string>() + "=" + sizes);
    }
  }
  if (!shapes.empty()) Own("/shapes", shapes, path);
}

void Translator::Dataset(const json& value, const std::string& path) {
  if (!value.is_object()) Refuse(path, "must be an object");
  for (const auto& [stage, data] : value.items()) {
    const std::string at = path + "." + stage;
    if (!data.is_object() || !data.contains("loader")) Refuse(at, "must have a 'loader'");
    const json& loader = data["loader"];
    const std::string file = loader.is_string() ? loader.get<std::string>() : "";
    const bool numpy = file.ends_with(".npy");
    if (!numpy && !file.ends_with("ubyte") && !file.ends_with("ubyte.gz")) {
      Refuse(at + ".loader",
             "must be an IDX or NumPy file (*-ubyte, *-ubyte.gz, *.npy); leave 'dataset' out where "
             "'calibration.data' and 'quality.data' name samples");
    }
    if (stage != "prepare") {
      Note(at, "no effect; samples of 'prepare' calibrate, those of 'quality.data' judge");
      continue;
    }
    Own("/calibration/data/images", file, at + ".loader");
    Own("/calibration/data/format", numpy ? "npy" : "idx", at + ".loader");
  }
}

void Translator::Dynamic(const json& value, const std::string& path) {
  if (value == json(false)) return;
  Refuse(path, "models are not captured from programs; export them as ONNX");
}

void Translator::Compile(const json& value, const std::string& path) {
  Walk(value, path, Part::kCompile);
}

void Translator::Target(const json& value, const std::string& path) {
  const std::string name = Word(value, path);
  if (std::find(targets_.begin(), targets_.end(), name) != targets_.end()) {
    Own("/target", name, path);
    return;
  }
  constexpr std::array<std::string_view, 5> kFrameworks = {"msc", "tensorflow", "tensorrt", "torch",
                                                           "tvm"};
  if (std::find(kFrameworks.begin(), kFrameworks.end(), name) == kFrameworks.end()) {
    Refuse(path, "unknown target '" + name + "'; see mscgym list targets");
  }
  Note(path, "no effect; " + name + " is no target here, 'target' names one");
}

void Translator::Tool(const std::string& kind, const json& value, const std::string& path) {
  tool_ = kind;
  const std::size_t before = searched_.size();
  if (std::find(searched_.begin(), searched_.end(), kind) != searched_.end()) {
    Refuse(path, "is a second tool that would " + kind +
                     "; give every search a config of its own, and share --cache");
  }
  Walk(value, path, Part::kTool);
  if (searched_.size() > before) return;
  Refuse(path,
         "it has no gym, so nothing is searched for it; leave it out, or add \"gym\": "
         "[\"default\"]");
}

void Translator::Tools(const json& value, const std::string& path) {
  if (!value.is_array()) Refuse(path, "must be a list");
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = path + "[" + std::to_string(i) + "]";
    if (!value[i].is_object()) Refuse(at, "must be an object");
    const std::string type = Word(value[i].value("tool_type", json()), at + ".tool_type");
    if (type == "tracker") {
      Note(at, "no effect; see mscgym track");
    } else if (type == "pruner" || type == "quantizer") {
      Tool(type == "pruner" ? "prune" : "quantize", value[i], at);
    } else if (type == "distiller") {
      Distill(value[i], at);
    } else {
      Refuse(at + ".tool_type", "must be pruner, quantizer, distiller or tracker");
    }
  }
}

void Translator::ToolConfig(const json& value, const std::string& path) {
  Walk(value, path, Part::kTool);
}

void Translator::Strategies(const json& value, const std::string& path) {
  if (!value.is_array()) Refuse(path, "must be a list");
  for (std::size_t i = 0; i < value.size(); ++i) {
    Walk(value[i], path + "[" + std::to_string(i) + "]", Part::kStrategy);
  }
}

void Translator::Methods(const json& value, const std::string& path) {
  if (!value.is_object()) Refuse(path, "must be an object");
  for (const auto& [kind, method] : value.items()) {
    const std::string at = path + "." + kind;
    of_activations_ = kind == "input" || kind == "output";
    if (method.is_string()) {
      Method(method, at);
    } else {
      Walk(method, at, Part::kMethod);
    }
  }
}

void Translator::Method(const json& value, const std::string& path) {
  std::string name = Word(value, path);
  name = name.substr(name.rfind('.') + 1);  // "style.method"
  if (name.ends_with("_kl_divergence")) return Own("/calibration/options/method", "entropy", path);
  if (name.ends_with("_maxmin")) return Own("/calibration/options/method", "minmax", path);
  for (const char* same :
       {"per_channel", "gather_max_per_channel", "quantize_normal", "dequantize_normal"}) {
    if (name == same) return;
  }
  if (tool_ == "distill" && (name == "loss_lp_norm" || name == "loss_kl_divergence")) {
    // Ours is the divergence plus so much of the squared distance.
    return Own("/compress/distill/lp", json::array({name == "loss_lp_norm" ? 1 : 0}), path);
  }
  Refuse(path, "unknown method '" + name + "'");
}

void Translator::Bits(const json& value, const std::string& path) {
  if (value == json(-1)) {
    return Note(path, "no effect; the search decides which layers stay in floats");
  }
  const bool whole = value.is_number_integer() && value >= json(2) && value <= json(8);
  if (!whole) Refuse(path, "must be 2 to 8, or -1 for none");
  if (!of_activations_) return Own("/quantize/bits", json::array({value}), path);
  if (value == json(8)) return;
  Refuse(path, "activations have 8 bits in a search; fewer only in mscgym quantize");
}

void Translator::Options(const json& value, const std::string& path) {
  if (tool_ == "distill") return Walk(value, path, Part::kDistillOptions);
  if (!value.is_object()) Refuse(path, "must be an object");
  for (const auto& [key, option] : value.items()) {
    if (key != "main_wtypes" && key != "relation_wtypes") {
      Refuse(path + "." + key, "is no option that a search here has");
    }
    Note(path + "." + key, "no effect; which channels go together is found from the model");
  }
}

void Translator::Gym(const json& value, const std::string& path) {
  if (tool_ == "distill") Refuse(path, "is nothing that the original's distiller has");
  const json list = value.is_array() ? value : json::array({value});
  if (list.empty()) Refuse(path, "must have a gym");
  searched_.push_back(tool_);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string at = value.is_array() ? path + "[" + std::to_string(i) + "]" : path;
    // One after the other they would decide the same layers again, the last as if it were alone.
    if (i > 0) Note(at, "is searched together with the first, whose keys go before");
    if (list[i] != json("default")) Walk(list[i], at, Part::kGym);
  }
}

void Translator::Default(const json& value, const std::string& path) {
  if (Word(value, path) != "default") Refuse(path, "must be default");
}

void Translator::GymEnv(const json& value, const std::string& path) {
  Walk(value, path, Part::kEnv);
}

void Translator::Reward(const json& value, const std::string& path) {
  const std::string name = Word(value, path);
  if (name != "distill_loss" && name != "accuracy") {
    Refuse(path, "must be distill_loss or accuracy; 'objective' takes any other");
  }
  Own("/objective/minimize",
      json::array({"latency", name == "accuracy" ? "accuracy_drop" : "distill_loss"}), path);
}

void Translator::EnvRole(const json& value, const std::string& path) {
  const std::string name = Word(value, path);
  if (name != "default" && name != tool_ && name != tool_ + ".default") {
    Refuse(path, "must be " + tool_ + ".default here");
  }
}

void Translator::MaxTasks(const json& value, const std::string& path) {
  if (value.is_number_unsigned() && value != json(0U)) {
    return Own(tool_ == "prune" ? "/prune/first_groups" : "/quantize/first_layers", value, path);
  }
  // Of a number beyond the signed ones -1 would be equal to the largest.
  const bool all = !value.is_number_unsigned() && value == json(-1);
  if (!all) Refuse(path, "must be a whole number from 1 on, or -1 for all");
}

void Translator::GymAgent(const json& value, const std::string& path) {
  Walk(value, path, Part::kAgent);
}

void Translator::AgentType(const json& value, const std::string& path) {
  const std::string name = Word(value, path);
  const auto one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (one_of({"grid_search", "search.grid"})) return Own("/agent", "grid", path);
  if (one_of({"binary_search", "search.binary"})) return Own("/agent", "bisection", path);
  Own("/agent", name, path);
}

namespace {

/// What the original has to fill a slot of an env or agent; without a method, any.
struct Executor {
  std::string_view slot;
  std::string_view method;
  std::vector<std::string_view> arguments = {};
};

const std::vector<Executor>& ExecutorsOf(Part part) {
  static const std::vector<Executor> kOfEnv = {
      {"create_tasks", "tasks_tool_extract"},
      {"action_space", "action_linear_space", {"start", "end", "step"}},
      {"action_space", "action_prune_density", {"start", "end", "step"}},
      {"action_space", "action_quantize_scale", {"start", "end", "step"}},
      {"observation", ""},
      {"reward_outputs", "reward_compare_baseline", {"loss_type", "loss_config"}},
      {"reward_runner", "reward_compare_baseline", {"loss_type", "loss_config"}}};
  static const std::vector<Executor> kOfAgent = {{"evaluate", "evaluate_by_thresh", {"thresh"}},
                                                 {"evaluate", "evaluate_by_loss"}};
  return part == Part::kAgent ? kOfAgent : kOfEnv;
}

/// What is given to the method beside its name.
void CheckArguments(const json& executor, const std::vector<std::string_view>& arguments,
                    const std::string& path) {
  if (!executor.is_object()) return;
  for (const auto& [key, value] : executor.items()) {
    const std::string& name = key;
    const bool known = name == "method" || (name == "method_type" && value == "default") ||
                       std::find(arguments.begin(), arguments.end(), name) != arguments.end();
    if (known) continue;
    throw UserError("'" + path + "." + name + "' of the MSC config: is nothing that " +
                    executor["method"].dump() + " takes");
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

void Translator::Executors(const json& value, const std::string& path, Part part) {
  if (!value.is_object()) Refuse(path, "must be an object");
  for (const auto& [key, executor] : value.items()) {
    const std::string& slot = key;
    const std::string at = path + "." + slot;
    const std::string method =
        Word(executor.is_object() ? executor.value("method", json()) : executor, at + ".method");
    std::vector<std::string_view> methods;
    const Executor* found = nullptr;
    for (const Executor& one : ExecutorsOf(part)) {
      if (one.slot != slot) continue;
      methods.push_back(one.method);
      if (one.method == method || one.method.empty()) found = &one;
    }
    if (methods.empty()) Refuse(at, "is no executor of the original's");
    if (found == nullptr) {
      Refuse(at, "unknown method '" + method + "'; known here: " + Listed(methods));
    }
    if (slot == "observation") {
      Note(at, "no effect; agents see features of layers, costs and sensitivities");
      continue;
    }
    CheckArguments(executor, found->arguments, at);
    if (method == "reward_compare_baseline") {
      Reward("distill_loss", at);
    } else if (method == "evaluate_by_thresh") {
      Note(at, "no effect; what is good enough is a limit in 'objective.subject_to'");
    } else {
      Note(at, "no effect; decisions and choices are the env's, see --dry-run");
    }
  }
}

void Translator::AgentOptions(const json& value, const std::string& path) {
  Walk(value, path, Part::kAgentOptions);
}

namespace {

/// Text that strict JSON refuses, put right: typographic quotes, "..." for what was left out, and
/// commas before a bracket that closes.
std::string Tidied(std::string_view text) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    const bool curly = rest.starts_with("\u201c") || rest.starts_with("\u201d");
    if (curly || text[i] == '"') {
      quoted = !quoted;
      out += '"';
      if (curly) i += 2;
    } else if (quoted && text[i] == '\\') {
      out += rest.substr(0, 2);
      ++i;
    } else if (!quoted && rest.starts_with("...")) {
      i += 2;
    } else if (!quoted && (text[i] == '}' || text[i] == ']')) {
      while (!out.empty() &&
             (std::isspace(static_cast<unsigned char>(out.back())) != 0 || out.back() == ',')) {
        out.pop_back();
      }
      out += text[i];
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace
}  // namespace msc_config

std::optional<MscConfig> TranslateMscConfig(std::string_view text,
                                            const std::vector<std::string>& targets) {
  using nlohmann::json;
  // What cannot be read either way is left to who reads our own configs, and says why.
  const auto parsed = [](std::string_view form) -> std::optional<json> {
    try {
      return ParseJson(form, "the config");
    } catch (const UserError&) {
      return std::nullopt;
    }
  };
  std::optional<json> config = parsed(text);
  if (!config) config = parsed(msc_config::Tidied(text));
  if (!config || !msc_config::IsMsc(*config)) return std::nullopt;
  try {
    return msc_config::Translator(targets).Run(*config);
  } catch (const json::exception& error) {
    throw UserError(std::string("the MSC config does not fit together: ") + error.what());
  }
}

}  // namespace msc::gym
