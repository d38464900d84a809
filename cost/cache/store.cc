#include "cost/cache/store.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/base/hash.h"

namespace msc::cost {
namespace {

constexpr std::size_t kDigits = 64;
constexpr std::size_t kFolderDigits = 2;
constexpr const char* kEnding = ".json";

/// Contents of one file. The checksum includes the key, so that a file moved to another key is
/// rejected.
struct Entry {
  std::string format = "msc-outcome-1";
  std::string key;
  std::string value;
  std::string sha256;
  static void Fields(auto& self, auto& visit) {
    visit("format", self.format, "version of this file's form", Within::OneOf({"msc-outcome-1"}));
    visit("key", self.key, "key of the value");
    visit("value", self.value, "JSON text of an outcome");
    visit("sha256", self.sha256, "SHA-256 of key and value");
  }
};

std::string Checksum(const Entry& entry) {
  return Sha256Hex(entry.key + "\n" + entry.value);
}

bool IsHex(std::string_view text, std::size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

OutcomeStore::OutcomeStore(std::string folder) : folder_(std::move(folder)) {
  MakeFolders(folder_);
}

std::string OutcomeStore::PathOf(const std::string& key) const {
  Check(IsHex(key, kDigits), "a cache key is 64 hexadecimal digits");
  return folder_ + "/" + key.substr(0, kFolderDigits) + "/" + key.substr(kFolderDigits) + kEnding;
}

OutcomeStore::Answer OutcomeStore::Get(const std::string& key) const {
  const std::string path = PathOf(key);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {};
  constexpr std::uint64_t kLimit = 1U << 20U;
  try {
    auto entry = FromJsonText<Entry>(ReadFile(path, kLimit), "'" + path + "'");
    if (entry.key != key || entry.sha256 != Checksum(entry)) return {Found::kDamage, ""};
    return {Found::kValue, std::move(entry.value)};
  } catch (const UserError&) {
    return {Found::kDamage, ""};
  } catch (const SystemError&) {
    return {Found::kDamage, ""};
  }
}

std::vector<std::string> OutcomeStore::Keys() const {
  namespace fs = std::filesystem;
  std::vector<std::string> keys;
  // Other processes may add or remove files meanwhile; the list may or may not contain those. Files
  // that are not entries are skipped.
  std::error_code error;
  for (fs::directory_iterator folder(folder_, error), end; !error && folder != end;
       folder.increment(error)) {
    const std::string first = folder->path().filename().string();
    if (!IsHex(first, kFolderDigits)) continue;
    std::error_code inner;
    for (fs::directory_iterator file(folder->path(), inner); !inner && file != end;
         file.increment(inner)) {
      const std::string rest = file->path().stem().string();
      if (file->path().extension() != kEnding || !IsHex(rest, kDigits - kFolderDigits)) continue;
      keys.push_back(first + rest);
    }
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

void OutcomeStore::Put(const std::string& key, std::string_view value) const {
  const std::string path = PathOf(key);
  Entry entry;
  entry.key = key;
  entry.value = value;
  entry.sha256 = Checksum(entry);
  MakeFolders(std::filesystem::path(path).parent_path().string());
  WriteFileAtomic(path, ToJsonText(entry) + "\n");
}

}  // namespace msc::cost
