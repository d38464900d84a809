#pragma once

// Typed options of targets. A target lists the fields of a struct once, as in
// compiler/base/fields.h, and registers with KindOf:
//
//   struct BlasOptions {
//     std::string library = "openblas";
//     static void Fields(auto& self, auto& visit) {
//       visit("library", self.library, "BLAS library", Within::OneOf({"openblas", "xsmm"}));
//     }
//   };
//   registry.Add(KindOf<BlasOptions>("blas", MakeBlas));

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/fields.h"
#include "compiler/targets/target.h"

namespace msc {

namespace detail {

/// Returns `given` as the JSON that ReadJson takes. Users write strings as bare words and other
/// values as JSON; `defaults` tells the types.
[[nodiscard]] std::shared_ptr<const nlohmann::json> OptionsJson(
    const OptionMap& given, const std::string& target, const std::vector<FieldHelp>& defaults);

/// Returns a JSON value as users write it: a string becomes a bare word.
[[nodiscard]] std::string OptionText(const std::string& json);

/// Returns the options in `chosen` that differ from `defaults`.
[[nodiscard]] OptionMap ChangedOptions(const std::vector<FieldHelp>& chosen,
                                       const std::vector<FieldHelp>& defaults);

}  // namespace detail

/// Parses `given` into an Options struct. UserError for an unknown key, a wrong type or a value out
/// of bounds. Leaves in `given` only the options that differ from their defaults, in canonical
/// form.
template <class Options>
[[nodiscard]] Options ReadOptions(const std::string& target, OptionMap& given) {
  const std::vector<FieldHelp> defaults = DescribeFields<Options>();
  Options options;
  ReadJson(*detail::OptionsJson(given, target, defaults), target, options);
  given = detail::ChangedOptions(DescribeFields(options), defaults);
  return options;
}

/// Returns a kind for TargetRegistry::Add, made from a typed factory. `make` throws UserError with
/// the reason if the target cannot run on this machine.
template <class Options>
[[nodiscard]] TargetKind KindOf(std::string name,
                                std::unique_ptr<Target> (*make)(const Options& options)) {
  TargetKind kind{.name = std::move(name), .options = {}, .make = {}};
  for (const FieldHelp& field : DescribeFields<Options>()) {
    kind.options.push_back({.key = field.key,
                            .otherwise = detail::OptionText(field.otherwise),
                            .allowed = field.allowed,
                            .help = field.help});
  }
  kind.make = [target = kind.name, make](OptionMap& given) {
    return make(ReadOptions<Options>(target, given));
  };
  return kind;
}

}  // namespace msc
