#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace msc::cost {

/// What the files of a folder hold.
enum class FileKind : unsigned char { kImage, kWave, kNpz, kNpy };

/// Files of one sample each, sorted by path. If all lie in subfolders, these are the classes,
/// numbered by name.
struct SampleList {
  FileKind kind = FileKind::kImage;
  std::vector<std::string> files;
  std::vector<std::int32_t> classes;  ///< one per file; empty if there are no classes
};

/// Lists the samples of a folder and its subfolders: the images (PGM, PPM, PNG, JPEG) if there are
/// any, else the WAV files, else the .npz files, else the .npy files. Skips other files. UserError
/// if there are none.
[[nodiscard]] SampleList ListSamples(const std::string& folder);

}  // namespace msc::cost
