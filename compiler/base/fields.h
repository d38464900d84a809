#pragma once

// Typed configuration: a struct lists its fields once, and that list gives JSON in and out, bounds,
// unknown-key errors and help. Include from .cc files only: it brings json.hpp.
//
//   struct LatencyConfig {
//     int rounds = 30;
//     template <class Self, class Visit>
//     static void Fields(Self& self, Visit& visit) {
//       visit("rounds", self.rounds, "interleaved rounds", Within{1, 10000});
//     }
//   };

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
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

}  // namespace detail

/// Reads `json` into `value`. `path` names the place in error messages ("study.trials").
/// Absent keys keep their value. Throws UserError for a wrong type, a value out of bounds, an
/// unknown key.
template <class T>
void ReadJson(const nlohmann::json& json, const std::string& path, T& value,
              const Within& within = {});

template <class T>
[[nodiscard]] nlohmann::json WriteJson(const T& value);

namespace detail {

inline std::string Join(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

[[noreturn]] inline void Refuse(const std::string& path, const std::string& wanted,
                                const nlohmann::json& got) {
  std::string text = got.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  throw UserError("'" + path + "' must be " + wanted + ", not " + text);
}

struct Reader {
  const nlohmann::json& json;
  const std::string& path;
  std::vector<std::string_view> known;

  template <class T>
  void operator()(std::string_view key, T& value, std::string_view /*help*/, Within within = {}) {
    known.push_back(key);
    const auto it = json.find(key);
    if (it != json.end()) ReadJson(*it, Join(path, key), value, within);
  }
};

struct Writer {
  nlohmann::json& json;

  template <class T>
  void operator()(std::string_view key, const T& value, std::string_view /*help*/,
                  const Within& /*within*/ = {}) {
    json[std::string(key)] = WriteJson(value);
  }
};

}  // namespace detail

namespace detail {

template <class T>
void ReadList(const nlohmann::json& json, const std::string& path, std::vector<T>& value,
              const Within& within) {
  if (!json.is_array()) Refuse(path, "a list", json);
  value.clear();
  for (std::size_t i = 0; i < json.size(); ++i) {
    ReadJson(json[i], path + "[" + std::to_string(i) + "]", value.emplace_back(), within);
  }
}

template <class T>
void ReadMap(const nlohmann::json& json, const std::string& path, std::map<std::string, T>& value,
             const Within& within) {
  if (!json.is_object()) Refuse(path, "an object", json);
  value.clear();
  for (const auto& [key, item] : json.items()) {
    ReadJson(item, Join(path, key), value[key], within);
  }
}

inline void ReadString(const nlohmann::json& json, const std::string& path, std::string& value,
                       const Within& within) {
  if (!json.is_string()) Refuse(path, within.choices.empty() ? "a string" : within.Text(), json);
  value = json.get<std::string>();
  if (!within.Allows(value)) Refuse(path, within.Text(), json);
}

template <class T>
void ReadInteger(const nlohmann::json& json, const std::string& path, T& value,
                 const Within& within) {
  if (!json.is_number_integer()) Refuse(path, "an integer", json);
  const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>())
                                              : std::in_range<T>(json.get<std::int64_t>());
  if (!fits || !within.Allows(json.get<double>())) {
    Refuse(path, within.Text("an integer that fits"), json);
  }
  value = json.get<T>();
}

template <class T>
void ReadFloat(const nlohmann::json& json, const std::string& path, T& value,
               const Within& within) {
  if (!json.is_number()) Refuse(path, "a number", json);
  const auto wide = json.get<double>();
  if (!within.Allows(wide) || std::abs(wide) > std::numeric_limits<T>::max()) {
    Refuse(path, within.Text(), json);
  }
  value = static_cast<T>(wide);
}

template <class T>
void ReadStruct(const nlohmann::json& json, const std::string& path, T& value) {
  if (!json.is_object()) Refuse(path, "an object", json);
  Reader reader{json, path, {}};
  T::Fields(value, reader);
  for (const auto& [key, item] : json.items()) {
    if (std::find(reader.known.begin(), reader.known.end(), key) != reader.known.end()) continue;
    std::string known;
    for (const auto name : reader.known) known += (known.empty() ? "" : ", ") + std::string(name);
    throw UserError("unknown key '" + Join(path, key) + "'; known here: " + known);
  }
}

}  // namespace detail

template <class T>
void ReadJson(const nlohmann::json& json, const std::string& path, T& value, const Within& within) {
  if constexpr (detail::IsOptional<T>::value) {
    if (json.is_null()) {
      value.reset();
    } else {
      ReadJson(json, path, value.emplace(), within);
    }
  } else if constexpr (detail::IsVector<T>::value) {
    detail::ReadList(json, path, value, within);
  } else if constexpr (detail::IsStringMap<T>::value) {
    detail::ReadMap(json, path, value, within);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) detail::Refuse(path, "true or false", json);
    value = json.get<bool>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    detail::ReadString(json, path, value, within);
  } else if constexpr (std::is_integral_v<T>) {
    detail::ReadInteger(json, path, value, within);
  } else if constexpr (std::is_floating_point_v<T>) {
    detail::ReadFloat(json, path, value, within);
  } else {
    detail::ReadStruct(json, path, value);
  }
}

template <class T>
nlohmann::json WriteJson(const T& value) {
  if constexpr (detail::IsOptional<T>::value) {
    return value ? WriteJson(*value) : nlohmann::json();
  } else if constexpr (detail::IsVector<T>::value) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& item : value) list.push_back(WriteJson(item));
    return list;
  } else if constexpr (detail::IsStringMap<T>::value) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& [key, item] : value) object[key] = WriteJson(item);
    return object;
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return value;
  } else {
    nlohmann::json object = nlohmann::json::object();
    detail::Writer writer{object};
    T::Fields(value, writer);
    return object;
  }
}

/// One configuration key, for help and documentation.
struct FieldHelp {
  std::string key;        ///< with the keys around it: "quality.samples"
  std::string otherwise;  ///< its default, as JSON
  std::string allowed;    ///< bounds or choices; empty where there are none
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
                      .otherwise = WriteJson(value).dump(),
                      .allowed = within.Text(""),
                      .help = std::string(help)});
    }
  }
};

}  // namespace detail

/// Every key of a T with its default, in the order in which its fields are listed.
template <class T>
[[nodiscard]] std::vector<FieldHelp> DescribeFields() {
  std::vector<FieldHelp> rows;
  detail::Describer describer{"", rows};
  const T defaults{};
  T::Fields(defaults, describer);
  return rows;
}

/// Parses text that came from outside. Throws UserError naming `what` and the byte of the mistake.
[[nodiscard]] nlohmann::json ParseJson(std::string_view text, const std::string& what);

/// Reads `text` as a T: ParseJson, then ReadJson over a default T.
template <class T>
[[nodiscard]] T FromJsonText(std::string_view text, const std::string& what) {
  T value{};
  ReadJson(ParseJson(text, what), "", value);
  return value;
}

/// Canonical text: sorted keys, no spaces, shortest numbers that read back the same. UserError if a
/// text in it is not UTF-8, which JSON cannot hold.
template <class T>
[[nodiscard]] std::string ToJsonText(const T& value, int indent = -1) {
  try {
    return WriteJson(value).dump(indent);
  } catch (const nlohmann::json::type_error&) {
    throw UserError("a name or text is not UTF-8 and cannot be written as JSON");
  }
}

}  // namespace msc
