#include "compiler/codegen/onnx/forms.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include <onnx/defs/schema.h>

#include "compiler/base/error.h"
#include "compiler/ops/onnx_sets.h"

namespace msc::detail {
namespace {

constexpr std::size_t kUnlimited = std::numeric_limits<int>::max();

/// A signature as text: lists of words, where an input or output is NAME:TYPE with `?` behind the
/// name if it is optional, `*` if there may be any number of it, and `**` if these may differ in
/// type; an attribute has `!` if it is required. TYPE is an element type or is listed in `types`.
struct NewerForm {
  std::string_view op;
  std::int64_t since = 0;
  std::size_t least_inputs = 0;
  std::size_t least_outputs = 0;
  std::string_view inputs;
  std::string_view outputs;
  std::string_view attrs;
  std::string_view types;  ///< "T1: f32 f64; T2: i64"
};

#include "compiler/codegen/onnx/newer_forms.inc"  // IWYU pragma: keep

std::uint32_t BitOf(DType dtype) {
  return 1U << static_cast<std::uint32_t>(dtype);
}

/// Removes the text up to `end` from the front of `text`, with `end` itself, and returns it.
std::string_view TakeUntil(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
  return taken;
}

/// Returns the element types of a list of words.
std::uint32_t TypesIn(std::string_view words) {
  std::uint32_t types = 0;
  while (!words.empty()) {
    const std::optional<DType> dtype = ParseDType(TakeUntil(words, " "));
    Check(dtype.has_value(), "a newer form lists element types of graphs");
    types |= BitOf(*dtype);
  }
  return types;
}

using AllowedTypes = std::map<std::string_view, std::uint32_t>;

AllowedTypes ParseTypes(std::string_view text) {
  AllowedTypes allowed;
  while (!text.empty()) {
    std::string_view one = TakeUntil(text, "; ");
    const std::string_view name = TakeUntil(one, ": ");
    allowed[name] = TypesIn(one);
  }
  return allowed;
}

std::vector<FormalParameter> ParseParameters(std::string_view text, const AllowedTypes& allowed) {
  std::vector<FormalParameter> parameters;
  while (!text.empty()) {
    std::string_view type = TakeUntil(text, " ");
    std::string_view name = TakeUntil(type, ":");
    FormalParameter& parameter = parameters.emplace_back();
    parameter.alike = !name.ends_with("**");
    if (name.ends_with("*")) parameter.presence = Presence::kVariadic;
    if (name.ends_with("?")) parameter.presence = Presence::kOptional;
    parameter.name = name.substr(0, name.find_first_of("?*"));
    parameter.type = type;
    const auto listed = allowed.find(type);
    // A type that is neither is a sequence or the like.
    const std::optional<DType> dtype = ParseDType(type);
    parameter.allowed = listed != allowed.end() ? listed->second : dtype ? BitOf(*dtype) : 0;
  }
  return parameters;
}

std::size_t MostOf(const std::vector<FormalParameter>& parameters) {
  const bool many = !parameters.empty() && parameters.back().presence == Presence::kVariadic;
  return many ? kUnlimited : parameters.size();
}

OperatorForm Parse(const NewerForm& text) {
  const AllowedTypes allowed = ParseTypes(text.types);
  OperatorForm form{.least_inputs = text.least_inputs,
                    .least_outputs = text.least_outputs,
                    .inputs = ParseParameters(text.inputs, allowed),
                    .outputs = ParseParameters(text.outputs, allowed)};
  form.most_inputs = MostOf(form.inputs);
  form.most_outputs = MostOf(form.outputs);
  for (std::string_view rest = text.attrs; !rest.empty();) {
    const std::string_view word = TakeUntil(rest, " ");
    form.attrs.emplace(word.substr(0, word.find('!')), word.ends_with("!"));
  }
  return form;
}

/// Returns the element types among ONNX's names of types.
std::uint32_t TypesOf(const onnx::DataTypeSet& names) {
  // These follow the order of the enumerators.
  constexpr auto kNames = std::to_array<std::string_view>(
      {"", "tensor(float)", "tensor(uint8)", "tensor(int8)", "tensor(uint16)", "tensor(int16)",
       "tensor(int32)", "tensor(int64)", "tensor(string)", "tensor(bool)", "tensor(float16)",
       "tensor(double)", "tensor(uint32)", "tensor(uint64)", "tensor(complex64)",
       "tensor(complex128)", "tensor(bfloat16)"});
  std::uint32_t types = 0;
  for (const std::string* name : names) {
    const auto* const at = std::find(kNames.begin(), kNames.end(), *name);
    if (at != kNames.end()) types |= 1U << static_cast<std::uint32_t>(at - kNames.begin());
  }
  return types;
}

std::vector<FormalParameter> Converted(
    const std::vector<onnx::OpSchema::FormalParameter>& parameters) {
  std::vector<FormalParameter> converted;
  for (const auto& parameter : parameters) {
    const auto option = parameter.GetOption();
    converted.push_back({.name = parameter.GetName(),
                         .presence = option == onnx::OpSchema::Single     ? Presence::kRequired
                                     : option == onnx::OpSchema::Optional ? Presence::kOptional
                                                                          : Presence::kVariadic,
                         .alike = parameter.GetIsHomogeneous(),
                         .type = parameter.GetTypeStr(),
                         .allowed = TypesOf(parameter.GetTypes())});
  }
  return converted;
}

OperatorForm Converted(const onnx::OpSchema& schema) {
  OperatorForm form{.least_inputs = static_cast<std::size_t>(schema.min_input()),
                    .most_inputs = static_cast<std::size_t>(schema.max_input()),
                    .least_outputs = static_cast<std::size_t>(schema.min_output()),
                    .most_outputs = static_cast<std::size_t>(schema.max_output()),
                    .inputs = Converted(schema.inputs()),
                    .outputs = Converted(schema.outputs())};
  for (const auto& [name, attribute] : schema.attributes()) {
    form.attrs.emplace(name, attribute.required);
  }
  return form;
}

}  // namespace

std::optional<OperatorForm> FormOf(const std::string& op, std::int64_t opset) {
  const NewerForm* newest = nullptr;
  for (const NewerForm& form : kNewerForms) {
    // The sets of an operator are in order.
    if (form.op == op && form.since <= opset) newest = &form;
  }
  if (newest != nullptr) return Parse(*newest);
  const onnx::OpSchema* schema =
      onnx::OpSchemaRegistry::Schema(op, static_cast<int>(std::min(opset, kGraphOpset)), "");
  if (schema == nullptr || schema->Deprecated()) return std::nullopt;
  return Converted(*schema);
}

std::int64_t IrVersionOf(std::int64_t opset) {
  if (opset <= 9) return 4;
  if (opset == 10) return 5;
  if (opset == 11) return 6;
  if (opset <= 14) return 7;
  if (opset <= kGraphOpset) return 8;
  return kNewerIrVersions.at(static_cast<std::size_t>(opset - kGraphOpset - 1));
}

}  // namespace msc::detail
