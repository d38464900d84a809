#pragma once

// Typed configuration: a struct lists its fields once, and this list drives reading and writing of
// JSON, bounds checks, errors about unknown keys, and help.
//
//   struct LatencyConfig {
//     int rounds = 30;
//     static void Fields(auto& self, auto& visit) {
//       visit("rounds", self.rounds, "interleaved rounds", Within{1, 10000});
//     }
//   };
//
// A file that calls WriteJson must include <nlohmann/json.hpp>; other files compile faster without
// it.
//
// An enum, or another type that JSON holds as a string, specializes StringForm (string_form.h).

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "compiler/base/error.h"
#include "compiler/base/json_value.h"
#include "compiler/base/string_form.h"
#include "compiler/base/within.h"

namespace msc {

namespace detail {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsStringMap : std::false_type {};
template <class T>
struct IsStringMap<std::map<std::string, T>> : std::true_type {};
template <class T>
struct IsJsonText : std::false_type {};
template <class T>
struct IsJsonText<JsonText<T>> : std::true_type {};
template <class T>
concept HasStringForm = requires(const T& value) {
  StringForm<T>::Write(value);
};

}  // namespace detail

/// Reads `json` into `value`. `path` names the location in error messages ("study.trials"). Fields
/// whose keys are absent keep their values. Throws UserError for a wrong type, a value out of
/// bounds, or an unknown key.
template <class T>
void ReadJson(const nlohmann::json& json, const std::string& path, T& value,
              const Within& within = {});

namespace detail {

struct Reader {
  const Members& members;
  const std::string& path;
  std::vector<std::string_view> known;

  template <class T>
  void operator()(std::string_view key, T& value, std::string_view /*help*/,
                  const Within& within = {}) {
    known.push_back(key);
    for (const auto& [name, json] : members) {
      if (name == key) ReadJson(*json, Join(path, key), value, within);
    }
  }
};

template <class T>
void ReadStruct(const nlohmann::json& json, const std::string& path, T& value) {
  const Members members = MembersOf(json, path);
  Reader reader{members, path, {}};
  T::Fields(value, reader);
  RejectUnknown(members, path, reader.known);
}

template <class T>
[[nodiscard]] T ReadFromString(const nlohmann::json& json, const std::string& path,
                               const Within& within) {
  const std::string text = ReadString(json, path, within);
  try {
    return StringForm<T>::Read(text);
  } catch (const UserError& error) {
    throw UserError("'" + path + "': " + error.what());
  }
}

template <class T>
void ReadList(const nlohmann::json& json, const std::string& path, std::vector<T>& value,
              const Within& within) {
  const auto items = ItemsOf(json, path);
  value.clear();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string at = path + "[" + std::to_string(i) + "]";
    if constexpr (HasStringForm<T>) {
      value.push_back(ReadFromString<T>(*items[i], at, within));
    } else {
      ReadJson(*items[i], at, value.emplace_back(), within);
    }
  }
}

template <class T>
void ReadMap(const nlohmann::json& json, const std::string& path, std::map<std::string, T>& value,
             const Within& within) {
  const Members members = MembersOf(json, path);
  value.clear();
  for (const auto& [key, item] : members) {
    ReadJson(*item, Join(path, key), value[std::string(key)], within);
  }
}

template <class T>
[[nodiscard]] T ReadInteger(const nlohmann::json& json, const std::string& path,
                            const Within& within) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(ReadSigned(json, path, within, Limits::min(), Limits::max()));
  } else {
    return static_cast<T>(ReadUnsigned(json, path, within, Limits::max()));
  }
}

}  // namespace detail

template <class T>
void ReadJson(const nlohmann::json& json, const std::string& path, T& value, const Within& within) {
  if constexpr (detail::IsOptional<T>::value) {
    if (detail::IsNull(json)) {
      value.reset();
    } else {
      ReadJson(json, path, value.emplace(), within);
    }
  } else if constexpr (detail::IsVector<T>::value) {
    detail::ReadList(json, path, value, within);
  } else if constexpr (detail::IsStringMap<T>::value) {
    detail::ReadMap(json, path, value, within);
  } else if constexpr (detail::HasStringForm<T>) {
    value = detail::ReadFromString<T>(json, path, within);
  } else if constexpr (detail::IsJsonText<T>::value) {
    ReadJson(*detail::SharedJson(detail::ReadString(json, path, within), "'" + path + "'"), path,
             value.value);
  } else if constexpr (std::is_same_v<T, bool>) {
    value = detail::ReadBool(json, path);
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = detail::ReadString(json, path, within);
  } else if constexpr (std::is_integral_v<T>) {
    value = detail::ReadInteger<T>(json, path, within);
  } else if constexpr (std::is_floating_point_v<T>) {
    value = static_cast<T>(detail::ReadDouble(json, path, within, std::numeric_limits<T>::max()));
  } else {
    detail::ReadStruct(json, path, value);
  }
}

namespace detail {

template <class T>
void WriteTo(nlohmann::json& json, const T& value);

struct Writer {
  nlohmann::json& json;

  template <class T>
  void operator()(std::string_view key, const T& value, std::string_view /*help*/,
                  const Within& /*within*/ = {}) {
    WriteTo(AddMember(json, key), value);
  }
};

template <class T>
void WriteTo(nlohmann::json& json, const T& value) {
  if constexpr (IsOptional<T>::value) {
    if (value) WriteTo(json, *value);
  } else if constexpr (IsVector<T>::value) {
    MakeList(json);
    for (const auto& item : value) WriteTo(AddItem(json), item);
  } else if constexpr (IsStringMap<T>::value) {
    MakeObject(json);
    for (const auto& [key, item] : value) WriteTo(AddMember(json, key), item);
  } else if constexpr (HasStringForm<T>) {
    Write(json, StringForm<T>::Write(value));
  } else if constexpr (IsJsonText<T>::value) {
    const auto inner = NullJson();
    WriteTo(*inner, value.value);
    Write(json, TextOf(*inner, -1));
  } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
    Write(json, value);
  } else if constexpr (std::is_floating_point_v<T>) {
    Write(json, double{value});
  } else if constexpr (std::is_unsigned_v<T>) {
    Write(json, std::uint64_t{value});
  } else if constexpr (std::is_integral_v<T>) {
    Write(json, std::int64_t{value});
  } else {
    MakeObject(json);
    Writer writer{json};
    T::Fields(value, writer);
  }
}

}  // namespace detail

/// Returns `value` as JSON. `Json` is a template parameter so that nlohmann::json may be an
/// incomplete type until the call.
template <class T, class Json = nlohmann::json>
[[nodiscard]] Json WriteJson(const T& value) {
  Json json;
  detail::WriteTo(json, value);
  return json;
}

/// Parses `text` and reads it over a default-constructed T. `what` names the text in errors.
template <class T>
[[nodiscard]] T FromJsonText(std::string_view text, const std::string& what) {
  T value{};
  ReadJson(*detail::SharedJson(text, what), "", value);
  return value;
}

/// Returns canonical JSON text: keys sorted, no spaces, the shortest numbers that read back
/// unchanged. Throws UserError if a string in `value` is not UTF-8, as JSON requires.
template <class T>
[[nodiscard]] std::string ToJsonText(const T& value, int indent = -1) {
  const auto json = detail::NullJson();
  detail::WriteTo(*json, value);
  return detail::TextOf(*json, indent);
}

/// Description of one configuration key, for help and documentation.
struct FieldHelp {
  std::string key;        ///< full path: "quality.samples"
  std::string otherwise;  ///< default value, as JSON
  std::string allowed;    ///< bounds or choices; empty if the field has none
  std::string help;
};

namespace detail {

struct Describer {
  std::string path;
  std::vector<FieldHelp>& rows;

  template <class T>
  void operator()(std::string_view key, const T& value, std::string_view help,
                  const Within& within = {}) {
    if constexpr (requires(const T& inner, Describer& visit) { T::Fields(inner, visit); }) {
      Describer inner{Join(path, key), rows};
      T::Fields(value, inner);
    } else {
      rows.push_back({.key = Join(path, key),
                      .otherwise = ToJsonText(value),
                      .allowed = within.Text(""),
                      .help = std::string(help)});
    }
  }
};

}  // namespace detail

/// Returns one row for each key of a T, in the order of its field list; default values come from
/// `defaults`.
template <class T>
[[nodiscard]] std::vector<FieldHelp> DescribeFields(const T& defaults = {}) {
  std::vector<FieldHelp> rows;
  detail::Describer describer{"", rows};
  T::Fields(defaults, describer);
  return rows;
}

}  // namespace msc
