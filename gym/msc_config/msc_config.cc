#include "gym/msc_config/msc_config.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "compiler/base/fields.h"
#include "envs/quantize/quantize_config.h"
#include "gym/msc_config/translator.h"
#include "gym/search/config.h"

namespace msc::gym {
namespace msc_config {
namespace {

std::span<const Rule> RulesOf(Part part) {
  return PartTables()[static_cast<std::size_t>(part)].rules;
}

bool Has(Part part, std::string_view key) {
  const std::span<const Rule> rules = RulesOf(part);
  return std::any_of(rules.begin(), rules.end(), [&](const Rule& r) { return r.key == key; });
}

/// Keys that no config of ours has.
constexpr std::array<std::string_view, 10> kMscKeys = {
    "workspace", "tools",   "track",   "baseline",   "optimize",
    "compile",   "dataset", "profile", "model_type", "verbose"};

/// Collects the keys of a section.
struct Keys {
  std::vector<std::string> found;
  template <class T>
  void operator()(std::string_view key, const T& /*value*/, std::string_view /*help*/,
                  const Within& /*within*/ = {}) {
    found.emplace_back(key);
  }
};

template <class Section>
std::vector<std::string> KeysOf() {
  Section section;
  Keys keys;
  Section::Fields(section, keys);
  return keys.found;
}

/// Returns our keys of a section that MSC has too; empty for other sections.
std::vector<std::string> OwnKeys(const std::string& section) {
  if (section == "prune") return KeysOf<PruneConfig>();
  if (section == "quantize") return KeysOf<envs::QuantizeConfig>();
  if (section == "distill") return KeysOf<DistillConfig>();
  return {};
}

bool IsMsc(const json& config) {
  if (!config.is_object()) return false;
  for (const std::string_view key : kMscKeys) {
    if (config.contains(key)) return true;
  }
  for (const char* section : {"prune", "quantize", "distill"}) {
    const auto tool = config.find(section);
    if (tool == config.end() || !tool->is_object()) continue;
    for (const auto& [key, value] : tool->items()) {
      if (Has(Part::kTool, key)) return true;
    }
  }
  return false;
}

}  // namespace

void Translator::Walk(const json& object, const std::string& path, Part part) {
  if (!object.is_object()) Reject(path, "must be an object");
  const std::span<const Rule> rules = RulesOf(part);
  const std::string prefix = path.empty() ? "" : path + ".";
  for (const auto& [key, value] : object.items()) {
    const std::string& name = key;
    const auto rule =
        std::find_if(rules.begin(), rules.end(), [&](const Rule& r) { return r.key == name; });
    if (rule == rules.end()) {
      std::string known;
      for (const Rule& r : rules) known += (known.empty() ? "" : ", ") + std::string(r.key);
      for (const std::string& own : OwnKeys(path)) known += ", " + own;
      throw UserError("unknown key '" + prefix + key + "' of an MSC config; known here: " + known);
    }
    if (rule->fate == Rule::Fate::kRefused) Reject(prefix + key, std::string(rule->why));
    if (rule->fate == Rule::Fate::kNoEffect) {
      Note(prefix + key, "no effect; " + std::string(rule->why));
    } else {
      (this->*rule->map)(value, prefix + key);
    }
  }
}

json Translator::TakeOwn(const json& config) {
  json theirs = json::object();
  for (const auto& [section, value] : config.items()) {
    const std::vector<std::string> own = OwnKeys(section);
    if (own.empty() || !value.is_object()) {
      (Has(Part::kTop, section) ? theirs : ours_)[section] = value;
      continue;
    }
    for (const auto& [key, item] : value.items()) {
      const bool is_own = std::find(own.begin(), own.end(), key) != own.end();
      (is_own ? ours_ : theirs)[section][key] = item;
    }
  }
  return theirs;
}

MscConfig Translator::Run(const json& config) {
  const json theirs = TakeOwn(config);
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
  return {.text = ours_.dump(), .notes = std::move(notes_), .files = std::move(files_)};
}

void Translator::Dynamic(const json& value, const std::string& path) {
  if (value == json(false)) return;
  Reject(
      path,
      "must be false; mscgym does not capture models from programs, so export the model as ONNX");
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
    Reject(path, "unknown target '" + name + "'; see mscgym list targets");
  }
  Note(path, "no effect; " + name + " is not a target of mscgym; set 'target' instead");
}

void Translator::Tool(const std::string& kind, const json& value, const std::string& path) {
  tool_ = kind;
  const std::size_t before = searched_.size();
  if (std::find(searched_.begin(), searched_.end(), kind) != searched_.end()) {
    Reject(path, "is a second '" + kind +
                     "' tool, but a search can have only one; write a separate config for each "
                     "search, and share results with --cache");
  }
  Walk(value, path, Part::kTool);
  if (searched_.size() > before) return;
  Reject(
      path,
      "has no gym, so there is nothing to search for it; remove it, or add \"gym\": [\"default\"]");
}

namespace {

/// Returns the section for a tool type of MSC; empty if unknown.
std::string SectionOf(const std::string& tool_type) {
  if (tool_type == "pruner") return "prune";
  if (tool_type == "quantizer") return "quantize";
  if (tool_type == "distiller") return "distill";
  return tool_type == "tracker" ? "track" : "";
}

}  // namespace

void Translator::ToolType(const json& value, const std::string& path) {
  const std::string section = SectionOf(Word(value, path));
  if (section.empty()) Reject(path, "must be pruner, quantizer, distiller or tracker");
  if (section == tool_) return;
  Reject(path, "is a tool for '" + section + "', but is set in a tool for '" + tool_ + "'");
}

void Translator::Tools(const json& value, const std::string& path) {
  if (!value.is_array()) Reject(path, "must be a list");
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = path + "[" + std::to_string(i) + "]";
    if (!value[i].is_object()) Reject(at, "must be an object");
    const std::string section =
        SectionOf(Word(value[i].value("tool_type", json()), at + ".tool_type"));
    if (section == "track") {
      Note(at, "no effect; see mscgym track");
    } else if (section == "distill") {
      Distill(value[i], at);
    } else if (!section.empty()) {
      Tool(section, value[i], at);
    } else {
      Reject(at + ".tool_type", "must be pruner, quantizer, distiller or tracker");
    }
  }
}

void Translator::ToolConfig(const json& value, const std::string& path) {
  Walk(value, path, Part::kTool);
}

void Translator::Strategies(const json& value, const std::string& path) {
  if (!value.is_array()) Reject(path, "must be a list");
  for (std::size_t i = 0; i < value.size(); ++i) {
    Walk(value[i], path + "[" + std::to_string(i) + "]", Part::kStrategy);
  }
}

void Translator::Methods(const json& value, const std::string& path) {
  if (!value.is_object()) Reject(path, "must be an object");
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
  name = name.substr(name.rfind('.') + 1);  // the name may be "style.method"
  if (name.ends_with("_kl_divergence")) return Own("/calibration/options/method", "entropy", path);
  if (name.ends_with("_maxmin")) return Own("/calibration/options/method", "minmax", path);
  for (const char* same :
       {"per_channel", "gather_max_per_channel", "quantize_normal", "dequantize_normal"}) {
    if (name == same) return;
  }
  if (tool_ == "distill" && (name == "loss_lp_norm" || name == "loss_kl_divergence")) {
    // Our loss is the divergence plus `lp` times the squared distance.
    return Own("/compress/distill/lp", json::array({name == "loss_lp_norm" ? 1 : 0}), path);
  }
  Reject(path, "unknown method '" + name + "'");
}

void Translator::Bits(const json& value, const std::string& path) {
  if (value == json(-1)) {
    return Note(path, "no effect; the search decides which layers stay in floating point");
  }
  const bool whole = value.is_number_integer() && value >= json(2) && value <= json(8);
  if (!whole) Reject(path, "must be 2 to 8, or -1 for none");
  if (!of_activations_) return Own("/quantize/bits", json::array({value}), path);
  if (value == json(8)) return;
  Reject(path, "must be 8 for activations in a search; mscgym quantize also supports fewer");
}

void Translator::Options(const json& value, const std::string& path) {
  if (tool_ == "distill") return Walk(value, path, Part::kDistillOptions);
  if (!value.is_object()) Reject(path, "must be an object");
  for (const auto& [key, option] : value.items()) {
    if (key != "main_wtypes" && key != "relation_wtypes") {
      Reject(path + "." + key, "is not an option of a search in mscgym; remove it");
    }
    Note(path + "." + key,
         "no effect; mscgym derives from the model which channels belong together");
  }
}

namespace {

/// Returns text that strict JSON rejects in a form that it accepts: plain quotes for typographic
/// ones, and neither "..." nor a comma before a closing bracket.
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
  // Text that parses in neither form is left to the reader of our own configs, which reports the
  // error.
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
    throw UserError(std::string("the MSC config is inconsistent: ") + error.what());
  }
}

}  // namespace msc::gym
