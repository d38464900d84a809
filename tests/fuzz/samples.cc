#include <array>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "cost/samples/dataset.h"
#include "cost/samples/image_file.h"
#include "cost/samples/image_fit.h"
#include "tests/fuzz/targets.h"

namespace msc::fuzz {
namespace {

/// A file in memory, as the readers want a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("samples", MFD_CLOEXEC)) {
    Check(
        fd_ >= 0 && ::write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
        "a small file can be written");
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(fd_); }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

template <class Call>
void Refused(const Call& call) {
  try {
    call();
  } catch (const UserError&) {  // NOLINT(bugprone-empty-catch): what a reader may say
  }
}

}  // namespace

void FuzzSamples(std::string_view bytes) {
  const MemoryFile file(bytes);
  constexpr std::array<const char*, 4> kFormats = {"idx", "npy", "npz", "csv"};
  for (const char* format : kFormats) {
    for (const std::uint64_t shuffle : {0, 3}) {
      Refused([&] {
        cost::DataConfig config;
        config.format = format;
        config.images = file.path();
        config.shuffle = shuffle;
        const cost::DatasetSamples samples(config, {Dim::Symbol("n"), Dim::Symbol("any")});
        const std::int64_t last = samples.count() - 1;
        const Tensor one = samples.Read(last, 1)[0];
        config.first = last;
        Check(cost::LoadDataset(config, {Dim::Symbol("n"), Dim::Symbol("any")}).inputs == one,
              "samples are the same in every part");
      });
    }
  }
  Refused([&] {
    (void)cost::FitImage(cost::ReadImage(file.path()),
                         {.resize = cost::Resize::kPad, .antialias = true},
                         {.channels = 3, .height = 4, .width = 5});
  });
}

}  // namespace msc::fuzz
