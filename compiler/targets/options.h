#pragma once

// Typed options of targets. Include from .cc files only: it brings json.hpp. A target lists the
// fields of a struct once, as in compiler/base/fields.h, and registers with KindOf:
//
//   struct BlasOptions {
//     std::string library = "openblas";
//     template <class Self, class Visit>
//     static void Fields(Self& self, Visit& visit) {
//       visit("library", self.library, "who multiplies", Within::OneOf({"openblas", "xsmm"}));
//     }
//   };
//   registry.Add(KindOf<BlasOptions>("blas", MakeBlas));

#include <memory>
#include <string>
#include <utility>

#include "compiler/base/fields.h"
#include "compiler/targets/target.h"

namespace msc {

namespace detail {

/// Option texts as the JSON that ReadJson takes: bare words for strings, JSON for the rest.
struct OptionTexts {
  const OptionMap& given;
  const std::string& target;
  nlohmann::json& json;

  template <class T>
  void operator()(std::string_view key, const T& /*value*/, std::string_view /*help*/,
                  const Within& /*within*/ = {}) {
    const auto it = given.find(std::string(key));
    if (it == given.end()) return;
    if constexpr (std::is_same_v<T, std::string>) {
      json[it->first] = it->second;
    } else {
      json[it->first] = ParseJson(it->second, "option '" + target + ":" + it->first + "'");
    }
  }
};

[[nodiscard]] inline std::string OptionText(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace detail

/// `given` as an Options. UserError for an unknown key, a wrong type, a value out of bounds.
/// Leaves in `given` what is not at its default, in canonical form.
template <class Options>
[[nodiscard]] Options ReadOptions(const std::string& target, OptionMap& given) {
  Options options;
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [key, text] : given) json[key] = text;
  detail::OptionTexts texts{given, target, json};
  Options::Fields(options, texts);
  ReadJson(json, target, options);
  const nlohmann::json defaults = WriteJson(Options{});
  given.clear();
  const nlohmann::json chosen = WriteJson(options);
  for (const auto& [key, value] : chosen.items()) {
    if (value != defaults.at(key)) given[key] = detail::OptionText(value);
  }
  return options;
}

/// What TargetRegistry::Add takes, from a typed factory. `make` throws UserError saying why where
/// the target cannot be had on this machine.
template <class Options>
[[nodiscard]] TargetKind KindOf(std::string name,
                                std::unique_ptr<Target> (*make)(const Options& options)) {
  TargetKind kind{.name = std::move(name), .options = {}, .make = {}};
  for (const FieldHelp& field : DescribeFields<Options>()) {
    kind.options.push_back({.key = field.key,
                            .otherwise = detail::OptionText(ParseJson(field.otherwise, field.key)),
                            .allowed = field.allowed,
                            .help = field.help});
  }
  kind.make = [target = kind.name, make](OptionMap& given) {
    return make(ReadOptions<Options>(target, given));
  };
  return kind;
}

}  // namespace msc
