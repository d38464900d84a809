#include "compiler/targets/options.h"

#include <nlohmann/json.hpp>

namespace msc::detail {

using nlohmann::json;

std::shared_ptr<const json> OptionsJson(const OptionMap& given, const std::string& target,
                                        const std::vector<FieldHelp>& defaults) {
  auto options = std::make_shared<json>(json::object());
  for (const auto& [key, text] : given) (*options)[key] = text;
  for (const FieldHelp& field : defaults) {
    const auto it = given.find(field.key);
    if (it == given.end() || field.otherwise.starts_with('"')) continue;
    (*options)[it->first] = ParseJson(it->second, "option '" + target + ":" + it->first + "'");
  }
  return options;
}

std::string OptionText(const std::string& json_text) {
  const json value = json::parse(json_text);
  return value.is_string() ? value.get<std::string>() : json_text;
}

OptionMap ChangedOptions(const std::vector<FieldHelp>& chosen,
                         const std::vector<FieldHelp>& defaults) {
  OptionMap changed;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i].otherwise == defaults[i].otherwise) continue;
    changed[chosen[i].key] = OptionText(chosen[i].otherwise);
  }
  return changed;
}

}  // namespace msc::detail
