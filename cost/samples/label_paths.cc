#include "cost/samples/label_paths.h"

#include <filesystem>
#include <system_error>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"

namespace msc::cost {

void AddLabels(const std::string& text, LabelPaths& paths) {
  std::error_code error;  // reading reports it later
  const std::size_t equals =
      std::filesystem::exists(text, error) ? std::string::npos : text.find('=');
  const bool named = equals != std::string::npos;
  const std::string output = named ? text.substr(0, equals) : "";
  const std::string file = named ? text.substr(equals + 1) : text;
  if (file.empty()) throw UserError("labels '" + text + "': write FILE or OUTPUT=FILE");
  if (paths.files.emplace(output, file).second) return;
  throw UserError("labels '" + text + "': " +
                  (named ? "output '" + output + "' has labels already"
                         : "another file came without an output; write OUTPUT=FILE"));
}

}  // namespace msc::cost

namespace msc {

template <>
void ReadJson(const nlohmann::json& json, const std::string& path, cost::LabelPaths& value,
              const Within& within) {
  if (json.is_string()) {
    value = cost::LabelPaths(json.get<std::string>());
  } else if (json.is_object()) {
    ReadJson(json, path, value.files, within);
    std::erase_if(value.files, [](const auto& entry) { return entry.second.empty(); });
  } else {
    throw UserError("'" + path + "' must be a file, or an object of files by output");
  }
}

namespace detail {
template <>
void WriteTo(nlohmann::json& json, const cost::LabelPaths& value) {
  const auto first = value.files.find("");
  if (value.files.empty()) {
    json = "";
  } else if (value.files.size() == 1 && first != value.files.end()) {
    json = first->second;
  } else {
    json = value.files;
  }
}
}  // namespace detail

}  // namespace msc
