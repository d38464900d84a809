#pragma once

// The part of nlohmann's JSON library that fields.h needs, behind functions, because including
// json.hpp adds two seconds to each compilation. A file that uses `nlohmann::json` itself includes
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

/// Parses untrusted text, nested at most 64 levels deep. Throws UserError with `what` and the line
/// and column of the error.
[[nodiscard]] nlohmann::json ParseJson(std::string_view text, const std::string& what);

namespace detail {

/// Joins two keys into a path: "study" and "trials" become "study.trials".
[[nodiscard]] std::string Join(const std::string& path, std::string_view key);

/// Does the same as ParseJson, for callers that see only the incomplete type.
[[nodiscard]] std::shared_ptr<const nlohmann::json> SharedJson(std::string_view text,
                                                               const std::string& what);
[[nodiscard]] std::shared_ptr<nlohmann::json> NullJson();

/// Throws UserError if a string in `json` is not UTF-8, as JSON requires.
[[nodiscard]] std::string TextOf(const nlohmann::json& json, int indent);

// Readers. Each throws UserError, which names `path`, if `json` has another type or is out of
// bounds.

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
void RejectUnknown(const Members& members, const std::string& path,
                   const std::vector<std::string_view>& known);

// Writers. `json` must be null before the call.

void Write(nlohmann::json& json, bool value);
void Write(nlohmann::json& json, std::int64_t value);
void Write(nlohmann::json& json, std::uint64_t value);
void Write(nlohmann::json& json, double value);
void Write(nlohmann::json& json, const std::string& value);
void MakeList(nlohmann::json& json);
void MakeObject(nlohmann::json& json);

/// Appends a null to a list, or adds a null under a new key of an object, and returns it.
[[nodiscard]] nlohmann::json& AddItem(nlohmann::json& list);
[[nodiscard]] nlohmann::json& AddMember(nlohmann::json& object, std::string_view key);

}  // namespace detail
}  // namespace msc
