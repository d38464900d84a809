#pragma once

#include <string>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"

namespace msc::gym {

/// Reads a record of a journal, or the part of it under the key `path`. UserError, naming `what`,
/// if it is malformed.
template <class T>
[[nodiscard]] T ReadRecord(const nlohmann::json& record, const std::string& what,
                           const std::string& path = "") {
  T value;
  try {
    ReadJson(record, path, value);
  } catch (const UserError& error) {
    throw UserError(what + ": " + error.what());
  }
  return value;
}

}  // namespace msc::gym
