#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/nearest.h"
#include "compiler/compress/rules/rules.h"

namespace msc {
namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string>;

const Names kKinds = {"input", "output", "weights", "weight", "bias",   "gamma",
                      "beta",  "mean",   "var",     "slope",  "tensor", "mark"};

/// How a key of the relax form picks tensors.
struct Selector {
  std::string_view key;
  std::string_view by;
};
constexpr std::array kSelectors = {
    Selector{"marks", "mark"}, Selector{"tensor_names", "tensor"}, Selector{"tensor_ids", "tensor"},
    Selector{"op_types", "op_type"}, Selector{"op_names", "op_name"}};

class RuleReader {
 public:
  RuleReader(std::string what, std::string stage)
      : what_(std::move(what)), stage_(std::move(stage)) {}

  RuleFile Read(const Json& json) {
    if (json.is_array()) {
      ReadStrategys(json, "");
    } else if (json.is_object() && json.contains("rules")) {
      CheckKeys(json, "", {"rules", "marks"});
      ReadMarks(json);
      const Json& rules = ListAt(json, "rules", "");
      for (std::size_t i = 0; i < rules.size(); ++i) ReadRule(rules[i], Item("rules", i));
    } else if (json.is_object() && json.contains("tool_config")) {
      // The command line sets files, tracing and drawing instead.
      CheckKeys(json, "", {"tool_type", "tool_config", "run_type", "visualize"});
      ReadToolType(json);
      ReadToolConfig(json.at("tool_config"), "tool_config");
    } else {
      ReadToolConfig(json, "");
    }
    for (const ToolRule& rule : file_.rules) CheckRule(rule);
    return std::move(file_);
  }

 private:
  [[noreturn]] void Reject(const std::string& place, const std::string& why) const {
    throw UserError(what_ + ": " + (place.empty() ? "" : "'" + place + "' ") + why);
  }
  static std::string Item(const std::string& list, std::size_t i) {
    return list + "[" + std::to_string(i) + "]";
  }

  void CheckKeys(const Json& json, const std::string& place, const Names& known) const {
    if (!json.is_object()) Reject(place, "must be an object");
    for (const auto& [key, value] : json.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      throw UserError(what_ + ": unknown key '" + detail::Join(place, key) + "'" +
                      DidYouMean(key, known));
    }
  }
  [[nodiscard]] const Json& ListAt(const Json& json, const std::string& key,
                                   const std::string& place) const {
    const auto it = json.find(key);
    if (it == json.end() || !it->is_array()) Reject(detail::Join(place, key), "must be a list");
    return *it;
  }
  [[nodiscard]] std::string Text(const Json& json, const std::string& place) const {
    if (!json.is_string()) Reject(place, "must be a text");
    return json.get<std::string>();
  }
  [[nodiscard]] Names Texts(const Json& json, const std::string& place) const {
    if (!json.is_array() || json.empty()) Reject(place, "must be a list of names");
    Names names;
    for (std::size_t i = 0; i < json.size(); ++i) names.push_back(Text(json[i], Item(place, i)));
    return names;
  }
  [[nodiscard]] Names Stages(const Json& json, const std::string& place) const {
    if (!json.contains("stages")) return {stage_};
    constexpr std::size_t kMost = 16;  // limits names times stages, which are all stored
    Names stages = Texts(json.at("stages"), detail::Join(place, "stages"));
    if (stages.size() > kMost) Reject(detail::Join(place, "stages"), "lists too many");
    return stages;
  }

  void ReadMarks(const Json& json) {
    if (!json.contains("marks")) return;
    CheckKeys(json.at("marks"), "marks", KeysOf(json.at("marks")));
    for (const auto& [mark, names] : json.at("marks").items()) {
      file_.marks[mark] = Texts(names, "marks." + mark);
    }
  }
  static Names KeysOf(const Json& json) {
    Names keys;
    if (!json.is_object()) return keys;
    for (const auto& [key, value] : json.items()) keys.push_back(key);
    return keys;
  }

  void ReadToolType(const Json& json) {
    if (!json.contains("tool_type")) return;
    const Names known = {"pruner", "quantizer", "distiller", "tracker"};
    file_.tool = Text(json.at("tool_type"), "tool_type");
    if (std::find(known.begin(), known.end(), file_.tool) == known.end()) {
      Reject("tool_type", "is '" + file_.tool + "'" + DidYouMean(file_.tool, known));
    }
  }

  void ReadToolConfig(const Json& json, const std::string& place) {
    // Only strategies and marks matter here. The other keys say how the original tools run; the
    // command line does that.
    CheckKeys(json, place,
              {"strategys", "marks", "tool_type", "plan_file", "options", "cache_processed",
               "tool_style", "config_style", "visualize", "debug_level", "verbose_step"});
    if (json.contains("options") && !json.at("options").empty()) {
      Reject(detail::Join(place, "options"), "are given on the command line here");
    }
    ReadToolType(json);
    ReadMarks(json);
    (void)ListAt(json, "strategys", place);
    ReadStrategys(json.at("strategys"), detail::Join(place, "strategys"));
  }

  void ReadStrategys(const Json& list, const std::string& place) {
    for (std::size_t i = 0; i < list.size(); ++i) ReadStrategy(list[i], Item(place, i));
  }

  void ReadStrategy(const Json& json, const std::string& place) {
    Names keys = {"methods", "stages"};
    for (const Selector& selector : kSelectors) keys.emplace_back(selector.key);
    CheckKeys(json, place, keys);
    ToolRule rule;
    rule.stages = Stages(json, place);
    for (const Selector& selector : kSelectors) {
      const std::string key(selector.key);
      if (!json.contains(key)) continue;
      if (rule.by != "default") Reject(place, "selects in two ways; write two of them");
      rule.by = selector.by;
      rule.names = Texts(json.at(key), detail::Join(place, key));
    }
    const std::string methods = detail::Join(place, "methods");
    if (!json.contains("methods") || !json.at("methods").is_object()) {
      Reject(methods, "must be an object");
    }
    for (const auto& [of, method] : json.at("methods").items()) {
      rule.of = of;
      rule.method = ReadMethod(method, detail::Join(methods, of), "method_name");
      file_.rules.push_back(rule);
    }
  }

  void ReadRule(const Json& json, const std::string& place) {
    CheckKeys(json, place, {"by", "names", "of", "stages", "method"});
    ToolRule rule;
    if (json.contains("by")) rule.by = Text(json.at("by"), detail::Join(place, "by"));
    const Names ways = {"tensor", "op_name", "op_type", "mark", "default"};
    if (std::find(ways.begin(), ways.end(), rule.by) == ways.end()) {
      Reject(detail::Join(place, "by"), "is '" + rule.by + "'" + DidYouMean(rule.by, ways));
    }
    if (rule.by == "tensor" || rule.by == "mark") rule.of = rule.by;
    if (json.contains("of")) rule.of = Text(json.at("of"), detail::Join(place, "of"));
    if (json.contains("names") == (rule.by == "default")) {
      Reject(place,
             rule.by == "default" ? "is for all by default: it takes no 'names'" : "needs 'names'");
    }
    if (json.contains("names")) {
      rule.names = Texts(json.at("names"), detail::Join(place, "names"));
    }
    rule.stages = Stages(json, place);
    if (!json.contains("method")) Reject(place, "needs 'method'");
    rule.method = ReadMethod(json.at("method"), detail::Join(place, "method"), "name");
    file_.rules.push_back(std::move(rule));
  }

  [[nodiscard]] RuleMethod ReadMethod(const Json& json, const std::string& place,
                                      const std::string& name_key) const {
    RuleMethod method;
    if (json.is_string()) {
      method.name = json.get<std::string>();
    } else if (json.is_object() && json.contains(name_key)) {
      method.name = Text(json.at(name_key), detail::Join(place, name_key));
    } else {
      Reject(place, "must be a name, or an object with '" + name_key + "'");
    }
    // In "style.method", the only style here is "default".
    if (method.name.starts_with("default.")) method.name = method.name.substr(8);
    if (json.is_string()) return method;
    for (const auto& [key, value] : json.items()) {
      if (key == name_key) continue;
      if (value.is_boolean()) {
        method.numbers[key] = value.get<bool>() ? 1 : 0;
      } else if (value.is_number()) {
        method.numbers[key] = value.get<double>();
      } else {
        method.words[key] = value.is_string() ? value.get<std::string>() : value.dump();
      }
    }
    return method;
  }

  void CheckRule(const ToolRule& rule) const {
    if (std::find(kKinds.begin(), kKinds.end(), rule.of) == kKinds.end()) {
      throw UserError(what_ + ": unknown type of tensor '" + rule.of + "'" +
                      DidYouMean(rule.of, kKinds));
    }
    const bool by_itself = rule.by == "tensor" || rule.by == "mark";
    const bool says_itself = rule.of == "tensor" || rule.of == "mark";
    if ((by_itself || says_itself) && rule.by != rule.of) {
      throw UserError(what_ + ": a rule by " + rule.by + " is for " +
                      (by_itself ? rule.by : std::string("tensors of an operator")) + ", not '" +
                      rule.of + "'");
    }
  }

  std::string what_;
  std::string stage_;
  RuleFile file_;
};

}  // namespace

RuleFile ParseRules(std::string_view text, const std::string& what, const std::string& stage) {
  return RuleReader(what, stage).Read(ParseJson(text, what));
}

}  // namespace msc
