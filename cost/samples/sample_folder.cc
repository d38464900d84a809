#include "cost/samples/sample_folder.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

#include "compiler/base/error.h"

namespace msc::cost {
namespace {

/// Returns what the ending of a file name says, in either case.
std::optional<FileKind> KindOf(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::array<std::string_view, 5> kImages = {".png", ".jpg", ".jpeg", ".ppm", ".pgm"};
  if (std::find(kImages.begin(), kImages.end(), ending) != kImages.end()) return FileKind::kImage;
  if (ending == ".wav") return FileKind::kWave;
  if (ending == ".npz") return FileKind::kNpz;
  if (ending == ".npy") return FileKind::kNpy;
  return std::nullopt;
}

}  // namespace

SampleList ListSamples(const std::string& folder) {
  std::error_code failed;
  std::map<FileKind, std::vector<std::filesystem::path>> by_kind;
  std::filesystem::recursive_directory_iterator it(folder, failed);
  if (failed) throw UserError("cannot read the folder '" + folder + "': " + failed.message());
  for (; it != std::filesystem::recursive_directory_iterator(); it.increment(failed)) {
    if (failed) throw UserError("cannot read the folder '" + folder + "': " + failed.message());
    const auto kind = KindOf(it->path());
    if (kind && it->is_regular_file(failed)) by_kind[*kind].push_back(it->path());
  }
  if (by_kind.empty()) {
    throw UserError("the folder '" + folder +
                    "' holds no images (PNG, JPEG, PPM, PGM), no .wav, .npz or .npy files");
  }
  // Kinds are in the order in which they are preferred; the system lists a folder in any order.
  auto& [kind, found] = *by_kind.begin();
  std::sort(found.begin(), found.end());
  SampleList list{.kind = kind, .files = {}, .classes = {}};
  std::map<std::string, std::int32_t> classes;
  bool all = true;
  for (const std::filesystem::path& path : found) {
    list.files.push_back(path.string());
    const std::filesystem::path inside = path.lexically_relative(folder);
    all = all && std::distance(inside.begin(), inside.end()) > 1;
    classes.emplace(inside.begin()->string(), 0);
  }
  if (!all) return list;
  std::int32_t number = 0;
  for (auto& [name, index] : classes) index = number++;
  for (const std::filesystem::path& path : found) {
    list.classes.push_back(classes.at(path.lexically_relative(folder).begin()->string()));
  }
  return list;
}

}  // namespace msc::cost
