#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace msc::cost {

/// Stores texts on disk by key, in `<folder>/<first two digits>/<the other 62>.json`, each with a
/// checksum.
///
/// Writes are atomic, so several processes may share a folder. If two processes write the same key,
/// one of the values remains, and either is correct. One object is not thread-safe.
class OutcomeStore {
 public:
  /// Creates the folder. SystemError if that fails.
  explicit OutcomeStore(std::string folder);

  enum class Found : unsigned char { kNothing, kValue, kDamage };
  struct Answer {
    Found found = Found::kNothing;
    std::string value;  ///< for kValue
  };
  /// Looks up `key` (64 hexadecimal digits). Returns kDamage for an entry that cannot be read or
  /// whose checksum is wrong.
  [[nodiscard]] Answer Get(const std::string& key) const;
  /// Writes an entry. SystemError if that fails; an older entry then remains unchanged.
  void Put(const std::string& key, std::string_view value) const;
  [[nodiscard]] std::string PathOf(const std::string& key) const;
  /// Returns the keys of all entries, sorted, including entries that Get cannot read.
  [[nodiscard]] std::vector<std::string> Keys() const;

 private:
  std::string folder_;
};

}  // namespace msc::cost
