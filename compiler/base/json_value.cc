#include "compiler/base/json_value.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"

namespace msc {

using nlohmann::json;

namespace {

[[noreturn]] void Reject(const std::string& path, const std::string& wanted, const json& got) {
  std::string text = got.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  throw UserError("'" + path + "' must be " + wanted + ", not " + text);
}

template <class T>
T ReadInteger(const json& value, const std::string& path, const Within& within, T least, T most) {
  const auto fits = [&](auto number) {
    return std::cmp_less_equal(least, number) && std::cmp_less_equal(number, most);
  };
  if (!value.is_number_integer()) Reject(path, "an integer", value);
  if (!(value.is_number_unsigned() ? fits(value.get<std::uint64_t>())
                                   : fits(value.get<std::int64_t>())) ||
      !within.Allows(value.get<double>())) {
    Reject(path, within.Text("an integer that fits"), value);
  }
  return value.get<T>();
}

/// Returns "line 3, column 14" of the byte with that number, from 1. Columns count characters, of
/// which UTF-8 continues all but the first byte with 10xxxxxx.
std::string PlaceOf(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : std::min(byte - 1, text.size()));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
  const auto columns = std::count_if(before.begin() + static_cast<std::ptrdiff_t>(begin),
                                     before.end(), [](char c) { return (c & 0xC0) != 0x80; });
  return "line " + std::to_string(lines + 1) + ", column " + std::to_string(columns + 1);
}

}  // namespace

json ParseJson(std::string_view text, const std::string& what) {
  // A deeply nested text would overflow the stack of recursive code that walks the tree. MSCGym's
  // own files nest only a few levels.
  constexpr int kMaxDepth = 64;
  try {
    const auto refuse_deep = [&](int depth, json::parse_event_t /*event*/, json& /*parsed*/) {
      if (depth > kMaxDepth) throw UserError(what + ": JSON nested deeper than 64 levels");
      return true;
    };
    return json::parse(text.begin(), text.end(), refuse_deep);
  } catch (const json::parse_error& error) {
    throw UserError(what + " is not valid JSON at " + PlaceOf(text, error.byte));
  } catch (const json::out_of_range&) {
    throw UserError(what + " holds a number that is out of range");
  }
}

namespace detail {

std::string Join(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

std::shared_ptr<const json> SharedJson(std::string_view text, const std::string& what) {
  return std::make_shared<const json>(ParseJson(text, what));
}

std::shared_ptr<json> NullJson() {
  return std::make_shared<json>();
}

std::string TextOf(const json& value, int indent) {
  try {
    return value.dump(indent);
  } catch (const json::type_error&) {
    throw UserError("a name or text is not UTF-8 and cannot be written as JSON");
  }
}

bool IsNull(const json& value) {
  return value.is_null();
}

Members MembersOf(const json& value, const std::string& path) {
  if (!value.is_object()) Reject(path, "an object", value);
  Members members;
  members.reserve(value.size());
  for (const auto& [key, member] : value.get_ref<const json::object_t&>()) {
    members.emplace_back(key, &member);
  }
  return members;
}

std::vector<const json*> ItemsOf(const json& value, const std::string& path) {
  if (!value.is_array()) Reject(path, "a list", value);
  std::vector<const json*> items;
  items.reserve(value.size());
  for (const json& item : value) items.push_back(&item);
  return items;
}

bool ReadBool(const json& value, const std::string& path) {
  if (!value.is_boolean()) Reject(path, "true or false", value);
  return value.get<bool>();
}

std::string ReadString(const json& value, const std::string& path, const Within& within) {
  if (!value.is_string()) Reject(path, within.choices.empty() ? "a string" : within.Text(), value);
  auto text = value.get<std::string>();
  if (!within.Allows(text)) Reject(path, within.Text(), value);
  return text;
}

std::int64_t ReadSigned(const json& value, const std::string& path, const Within& within,
                        std::int64_t least, std::int64_t most) {
  return ReadInteger(value, path, within, least, most);
}

std::uint64_t ReadUnsigned(const json& value, const std::string& path, const Within& within,
                           std::uint64_t most) {
  return ReadInteger<std::uint64_t>(value, path, within, 0, most);
}

double ReadDouble(const json& value, const std::string& path, const Within& within, double most) {
  if (!value.is_number()) Reject(path, "a number", value);
  const auto number = value.get<double>();
  if (!within.Allows(number) || std::abs(number) > most) Reject(path, within.Text(), value);
  return number;
}

void RejectUnknown(const Members& members, const std::string& path,
                   const std::vector<std::string_view>& known) {
  for (const auto& [key, member] : members) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string names;
    for (const auto name : known) names += (names.empty() ? "" : ", ") + std::string(name);
    throw UserError("unknown key '" + Join(path, key) + "'; known here: " + names);
  }
}

void Write(json& value, bool flag) {
  value = flag;
}

void Write(json& value, std::int64_t number) {
  value = number;
}

void Write(json& value, std::uint64_t number) {
  value = number;
}

void Write(json& value, double number) {
  value = number;
}

void Write(json& value, const std::string& text) {
  value = text;
}

void MakeList(json& value) {
  value = json::array();
}

void MakeObject(json& value) {
  value = json::object();
}

json& AddItem(json& list) {
  return list.emplace_back();
}

json& AddMember(json& object, std::string_view key) {
  return object[std::string(key)];
}

}  // namespace detail
}  // namespace msc
