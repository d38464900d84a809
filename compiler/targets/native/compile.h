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

/// The compiler for generated C++, its limits and the cache.
struct BuildOptions {
  std::string compiler;                        ///< path, see FindCompiler
  std::string cache_dir;                       ///< created if missing; private to this user
  int jobs = 1;                                ///< compilers at a time
  std::chrono::milliseconds timeout{120'000};  ///< for one compiler
  std::int64_t cache_bytes = std::int64_t{512}
                             << 20;  ///< beyond it, least recently used entries are removed
};

/// Looks up an environment variable as std::getenv does: null if it is not set.
using Environment = std::function<const char*(const char* name)>;

/// Returns the path of the system compiler: $MSCGYM_CXX if it is set (a path, or a name in $PATH),
/// else g++, else clang++. Searches the absolute folders of $PATH, or of
/// /usr/local/bin:/usr/bin:/bin if that is not set. UserError with advice if there is none.
[[nodiscard]] std::string FindCompiler(const Environment& environment);

/// Returns $MSCGYM_CACHE, else $XDG_CACHE_HOME/mscgym/kernels, else .cache/mscgym/kernels in $HOME
/// or in the home folder from the user database. Ignores relative paths in the variables. UserError
/// with advice if none is left.
[[nodiscard]] std::string KernelCacheDir(const Environment& environment);

/// Returns options with FindCompiler, KernelCacheDir and one job per core that this process may
/// use.
[[nodiscard]] BuildOptions BuildOptionsFrom(const Environment& environment);

/// One translation unit, and its options besides those that make a shared object.
struct CompileJob {
  std::string text;
  std::vector<std::string> options;
};

/// Returns the loaded shared objects of the jobs, in order; each is closed with its last owner.
/// Compiles equal jobs once, `options.jobs` at a time, and only those missing from the cache. The
/// key of an entry is the SHA-256 of text, options, the compiler's file and the version of this
/// scheme.
///
/// Cache entries are written under another name and then renamed. Each ends in a digest of its key
/// and content; an entry with a wrong digest, owner or mode is never loaded but compiled again.
/// UserError if the cache folder is a link, belongs to another user, or is writable by others.
/// Compilers run without a shell, in an environment of their own, in a private folder that is
/// removed after the build. If this process dies for any reason, its compilers are killed and the
/// folder is removed; if the removal is cut off, the next build removes the folder.
[[nodiscard]] Result<std::vector<std::shared_ptr<void>>> CompileAndLoad(
    std::span<const CompileJob> jobs, const BuildOptions& options);

}  // namespace msc
