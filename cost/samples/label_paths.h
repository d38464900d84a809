#pragma once

#include <map>
#include <string>
#include <utility>

#include "compiler/base/fields.h"
#include "compiler/base/within.h"

namespace msc::cost {

/// Files with labels. JSON: a string, or an object with one for each output.
struct LabelPaths {
  /// By output; "" = the first output that can have such labels.
  std::map<std::string, std::string> files;
  LabelPaths() = default;
  LabelPaths(std::string file) {  // NOLINT(google-explicit-constructor)
    if (!file.empty()) files.emplace("", std::move(file));
  }
  // NOLINTNEXTLINE(google-explicit-constructor)
  LabelPaths(const char* file) : LabelPaths(std::string(file)) {}
  [[nodiscard]] bool empty() const { return files.empty(); }
  bool operator==(const LabelPaths&) const = default;
};

/// Value that is not a file: the subfolders of the samples are their classes.
inline constexpr const char* kLabelFolders = "folders";

/// Adds "FILE" or "OUTPUT=FILE", as on a command line. A text is a file if one has that name, or if
/// it has no '='. UserError if an output gets two files.
void AddLabels(const std::string& text, LabelPaths& paths);

}  // namespace msc::cost

namespace msc {

template <>
void ReadJson(const nlohmann::json& json, const std::string& path, cost::LabelPaths& value,
              const Within& within);

namespace detail {
template <>
void WriteTo(nlohmann::json& json, const cost::LabelPaths& value);
}  // namespace detail

}  // namespace msc
