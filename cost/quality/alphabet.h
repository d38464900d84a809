#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace msc::cost {

/// The texts of the classes of a ctc output, which spell its labels.
class Alphabet {
 public:
  /// `lines` are the texts of the file `path`, in the order of the classes: of all `classes`, of
  /// all but the `blank` (below 0 from the end), or of all but the blank and a space that is the
  /// last class. UserError for another number of lines.
  Alphabet(const std::vector<std::string>& lines, const std::string& path, std::int64_t classes,
           std::int64_t blank);

  /// Returns the classes that spell `text`, the longest that fits first. UserError naming `sample`
  /// for a character that no class has.
  [[nodiscard]] std::vector<float> ClassesOf(std::string_view text,
                                             const std::string& sample) const;

 private:
  std::string path_;
  std::unordered_map<std::string, std::int64_t> classes_;
  std::size_t longest_ = 0;
};

}  // namespace msc::cost
