#pragma once

// JSON without json.hpp, which takes two seconds to compile: what fields.h needs of nlohmann's
// library, behind functions. A file that handles `nlohmann::json` itself includes
// <nlohmann/json.hpp>.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "compiler/base/within.h"

namespace msc {

/// Parses text that came from outside. Throws UserError naming `what` and the byte of the mistake.
[[nodiscard]] nlohmann::json ParseJson(std::string_view text, const std::string& what);

namespace detail {

/// "study" and "trials" as "study.trials".
[[nodiscard]] std::string Join(const std::string& path, std::string_view key);

/// ParseJson for those who cannot hold one.
[[nodiscard]] std::shared_ptr<const nlohmann::json> SharedJson(std::string_view text,
                                                               const std::string& what);
[[nodiscard]] std::shared_ptr<nlohmann::json> NullJson();

/// UserError if a text in it is not UTF-8, which JSON cannot hold.
[[nodiscard]] std::string TextOf(const nlohmann::json& json, int indent);

// Reading: UserError naming `path` where `json` is of another type or not `within` the bounds.

using Members = std::vector<std::pair<std::string_view, const nlohmann::json*>>;

[[nodiscard]] bool IsNull(const nlohmann::json& json);
[[nodiscard]] Members MembersOf(const nlohmann::json& json, const std::string& path);
[[nodiscard]] std::vector<const nlohmann::json*> ItemsOf(const nlohmann::json& json,
                                                         const std::string& path);
[[nodiscard]] bool ReadBool(const nlohmann::json& json, const std::string& path);
[[nodiscard]] std::string ReadString(const nlohmann::json& json, const std::string& path,
                                     const Within& within);
[[nodiscard]] std::int64_t ReadSigned(const nlohmann::json& json, const std::string& path,
                                      const Within& within, std::int64_t least, std::int64_t most);
[[nodiscard]] std::uint64_t ReadUnsigned(const nlohmann::json& json, const std::string& path,
                                         const Within& within, std::uint64_t most);
[[nodiscard]] double ReadDouble(const nlohmann::json& json, const std::string& path,
                                const Within& within, double most);
void RefuseUnknown(const Members& members, const std::string& path,
                   const std::vector<std::string_view>& known);

// Writing: `json` is null before.

void Write(nlohmann::json& json, bool value);
void Write(nlohmann::json& json, std::int64_t value);
void Write(nlohmann::json& json, std::uint64_t value);
void Write(nlohmann::json& json, double value);
void Write(nlohmann::json& json, const std::string& value);
void MakeList(nlohmann::json& json);
void MakeObject(nlohmann::json& json);

/// A null at the end of a list or under a new key of an object.
[[nodiscard]] nlohmann::json& AddItem(nlohmann::json& list);
[[nodiscard]] nlohmann::json& AddMember(nlohmann::json& object, std::string_view key);

}  // namespace detail
}  // namespace msc
