#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/result.h"

namespace msc {

/// By what, and where, generated C++ becomes machine code.
struct BuildOptions {
  std::string compiler;                        ///< path, see FindCompiler
  std::string cache_dir;                       ///< made if it is not there; of this user alone
  int jobs = 1;                                ///< compilers at a time
  std::chrono::milliseconds timeout{120'000};  ///< for one compiler
  std::int64_t cache_bytes = std::int64_t{512}
                             << 20;  ///< after a build, what was used longest ago goes
};

/// Answers as std::getenv does: null for what is not set.
using Environment = std::function<const char*(const char* name)>;

/// Path of the system compiler: $MSCGYM_CXX where it is set (a path, or a name in $PATH), else g++,
/// else clang++, searched in the absolute folders of $PATH, or of /usr/local/bin:/usr/bin:/bin
/// where that is not set. UserError saying what to install or set if there is none.
[[nodiscard]] std::string FindCompiler(const Environment& environment);

/// $MSCGYM_CACHE, else $XDG_CACHE_HOME/mscgym/kernels, else .cache/mscgym/kernels in $HOME or the
/// home of the user database. Relative paths in the variables count as not set. UserError naming
/// them if nothing is left.
[[nodiscard]] std::string KernelCacheDir(const Environment& environment);

/// Both of the above, and a job for each core this process may use.
[[nodiscard]] BuildOptions BuildOptionsFrom(const Environment& environment);

/// One translation unit and the options it needs besides those that make a shared object.
struct CompileJob {
  std::string text;
  std::vector<std::string> options;
};

/// Loaded shared objects, one for each job, in order; closed with the last owner. Equal jobs are
/// compiled once, `jobs` at a time, and only if the cache lacks them. Key of an entry: SHA-256 of
/// text, options, the compiler's file and the version of this scheme.
///
/// The cache: entries are written whole under another name, then renamed; each ends in a digest of
/// its key and what precedes, and an entry whose digest, owner or mode is wrong is never loaded but
/// made again.
/// UserError if the folder is a link, or not this user's, or others may write to it. Compilers are
/// started without a shell, with an environment of their own, in a private folder that goes
/// with the build. Where this process ends meanwhile, however it does, they end too and the folder
/// goes; where all of it is cut off at once, the next build removes the folder.
[[nodiscard]] Result<std::vector<std::shared_ptr<void>>> CompileAndLoad(
    std::span<const CompileJob> jobs, const BuildOptions& options);

}  // namespace msc
