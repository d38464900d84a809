#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace msc::cost {

/// Texts on disk by key: `<folder>/<first two digits>/<the other 62>.json`, each with a checksum.
///
/// Writes are atomic, so that several processes may share a folder; of two who write the same key
/// one wins, and either is right. Not thread-safe for one object.
class OutcomeStore {
 public:
  /// Makes the folder. SystemError if that fails.
  explicit OutcomeStore(std::string folder);

  enum class Found : unsigned char { kNothing, kValue, kDamage };
  struct Answer {
    Found found = Found::kNothing;
    std::string value;  ///< for kValue
  };
  /// `key`: 64 hexadecimal digits. An entry that cannot be read or fails its checksum is kDamage.
  [[nodiscard]] Answer Get(const std::string& key) const;
  /// SystemError if it cannot be written; an older entry is then as it was.
  void Put(const std::string& key, std::string_view value) const;
  [[nodiscard]] std::string PathOf(const std::string& key) const;
  /// Keys of all entries, sorted. Whether one can be read is for Get to say.
  [[nodiscard]] std::vector<std::string> Keys() const;

 private:
  std::string folder_;
};

}  // namespace msc::cost
