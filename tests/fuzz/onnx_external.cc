#include <filesystem>
#include <string>

#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/import/onnx/import.h"
#include "tests/fuzz/targets.h"

namespace msc::fuzz {
namespace {

/// A folder with the file `weights.bin` of 256 KiB, which models may name as external data: large
/// enough for a tensor that is a view of it. Removed when the process ends.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("fuzz_onnx_external_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
    WriteFileAtomic((path_ / "weights.bin").string(), std::string(std::size_t{1} << 18U, '\x3f'));
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

void FuzzOnnxExternal(std::string_view bytes) {
  static const Folder folder;
  ImportOptions options;
  options.external_folder = folder.path();
  try {
    (void)ImportOnnxBytes(bytes, options);
  } catch (const UserError&) {
  }
}

}  // namespace msc::fuzz
