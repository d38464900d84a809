#include "compiler/targets/native/compile.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include <dlfcn.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/hash.h"
#include "compiler/base/parallel.h"
#include "compiler/base/temporary_folder.h"
#include "compiler/targets/native/kernel_cache.h"
#include "compiler/targets/native/run_program.h"

namespace msc {
namespace {

constexpr const char* kUsualPath = "/usr/local/bin:/usr/bin:/bin";
/// Changes whenever existing entries become invalid.
constexpr std::string_view kScheme = "mscgym kernels 2";

std::string Value(const Environment& environment, const char* name) {
  const char* const value = environment(name);
  return value == nullptr ? "" : value;
}

bool IsProgram(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

/// Returns the first program of that name in the absolute folders of `path`. Relative folders are
/// skipped, because they depend on the working directory.
std::optional<std::string> Search(const std::string& path, const std::string& name) {
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty() || folder.front() != '/') continue;
    std::string candidate = folder + "/" + name;
    if (IsProgram(candidate)) return candidate;
  }
  return std::nullopt;
}

std::string HomeOfUser() {
  std::array<char, 4096> space{};
  struct passwd entry {};
  struct passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, space.data(), space.size(), &found) != 0) return "";
  return found == nullptr || found->pw_dir == nullptr ? "" : found->pw_dir;
}

/// Identifies a version of a compiler by its file, size and time of change. This is cheaper than
/// running the compiler, and an upgrade writes a new file.
std::string Identity(const std::string& compiler) {
  std::array<char, 4096> real{};
  const bool resolved = ::realpath(compiler.c_str(), real.data()) != nullptr;
  struct stat status {};
  if (!resolved || ::stat(real.data(), &status) != 0) {
    throw UserError("cannot find the compiler '" + compiler +
                    "'; set MSCGYM_CXX to the path of g++ or clang++");
  }
  return std::string(real.data()) + " " + std::to_string(status.st_size) + " " +
         std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec);
}

std::string KeyOf(const CompileJob& job, const std::string& identity) {
  Sha256 hash;
  const auto add = [&](std::string_view part) {
    hash.Add(std::to_string(part.size()) + ":");
    hash.Add(part);
  };
  add(kScheme);
  add(identity);
  add(std::to_string(job.options.size()));
  for (const std::string& option : job.options) add(option);
  add(job.text);
  return hash.Hex();
}

/// Returns the start of the compiler's messages on one line.
std::string Complaint(const std::string& output) {
  std::string text = output.substr(0, 600);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.empty() ? "it says nothing" : text;
}

/// Returns whether a signal from outside ended the compiler, or a program that it ran, which g++
/// reports in its output.
bool WasInterrupted(const ProgramEnd& end) {
  constexpr std::array kOutside = {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT};
  if (std::find(kOutside.begin(), kOutside.end(), end.signal) != kOutside.end()) return true;
  const auto says = [&](std::string_view text) { return end.output.find(text) != text.npos; };
  return end.status != 0 &&
         (says("Killed signal terminated program") || says("Terminated signal terminated program"));
}

std::optional<Failure> Compile(const CompileJob& job, const std::string& key,
                               const BuildOptions& options, KernelCache& cache) {
  const TemporaryFolder folder(cache.folder(), kBuildPrefix);
  const std::string source = folder.path() + "/kernel.cc";
  const std::string object = folder.path() + "/kernel.so";
  std::ofstream text(source, std::ios::binary);
  text << job.text;
  text.close();
  if (!text) throw SystemError("cannot write '" + source + "'", errno);

  Program program;
  program.argv = {options.compiler, "-O3", "-shared", "-fPIC", "-nostdlib", "-g0"};
  program.argv.insert(program.argv.end(), job.options.begin(), job.options.end());
  program.argv.insert(program.argv.end(), {"-o", object, source});
  // The compiler finds its assembler and linker in PATH.
  program.environment = {"LC_ALL=C", "PATH=" + std::string(kUsualPath), "TMPDIR=" + folder.path()};
  program.timeout = options.timeout;
  program.folder = folder.path();
  const ProgramEnd end = RunProgram(program, folder.path() + "/output");
  if (end.timed_out) {
    return Failure{FailureKind::kTimeout, "'" + options.compiler + "' was stopped after " +
                                              std::to_string(options.timeout.count()) + " ms"};
  }
  if (WasInterrupted(end)) {
    return Failure{FailureKind::kLost, "'" + options.compiler + "' was killed from outside"};
  }
  if (end.signal != 0) {
    return Failure{FailureKind::kCompile, "'" + options.compiler + "' died of signal " +
                                              std::to_string(end.signal) + ": " +
                                              Complaint(end.output)};
  }
  if (end.status != 0) {
    return Failure{FailureKind::kCompile,
                   "'" + options.compiler + "' refused generated code: " + Complaint(end.output)};
  }
  if (!IsProgram(object)) {
    return Failure{FailureKind::kCompile, "'" + options.compiler + "' wrote no shared object"};
  }
  cache.Put(key, ReadFile(object));
  return std::nullopt;
}

struct Need {
  const CompileJob* job = nullptr;
  std::shared_ptr<void> library;
  std::optional<Failure> failure;
};

/// Loads a job's code from the cache, compiling it if needed. Another process may remove the entry
/// between compiling and loading; tries again then.
void Provide(const std::string& key, Need& need, const BuildOptions& options, KernelCache& cache) {
  constexpr int kAttempts = 3;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if ((need.library = cache.Load(key))) return;
    need.failure = Compile(*need.job, key, options, cache);
    if (need.failure) return;
  }
  need.library = cache.Load(key);
  if (!need.library) {
    need.failure = Failure{FailureKind::kCompile, "compiled code cannot be loaded from '" +
                                                      cache.folder() + "': " + cache.LastError()};
  }
}

}  // namespace

std::string FindCompiler(const Environment& environment) {
  std::string path = Value(environment, "PATH");
  if (path.empty()) path = kUsualPath;
  const std::string chosen = Value(environment, "MSCGYM_CXX");
  if (!chosen.empty()) {
    if (chosen.front() == '/' && IsProgram(chosen)) return chosen;
    if (chosen.find('/') == std::string::npos) {
      if (auto found = Search(path, chosen)) return *found;
    }
    throw UserError("MSCGYM_CXX is '" + chosen +
                    "', which is no program: give the absolute path of g++ or clang++");
  }
  for (const char* const name : {"g++", "clang++"}) {
    if (auto found = Search(path, name)) return *found;
  }
  throw UserError(
      "no C++ compiler in PATH: install g++ (Debian package g++) or set MSCGYM_CXX to the path of "
      "one");
}

std::string KernelCacheDir(const Environment& environment) {
  const auto absolute = [&](const char* name) {
    std::string value = Value(environment, name);
    return !value.empty() && value.front() == '/' ? value : std::string();
  };
  if (std::string own = absolute("MSCGYM_CACHE"); !own.empty()) return own;
  if (const std::string xdg = absolute("XDG_CACHE_HOME"); !xdg.empty()) {
    return xdg + "/mscgym/kernels";
  }
  std::string home = absolute("HOME");
  if (home.empty()) home = HomeOfUser();
  if (home.empty() || home.front() != '/') {
    throw UserError("no folder to keep compiled kernels in: set MSCGYM_CACHE to an absolute path");
  }
  return home + "/.cache/mscgym/kernels";
}

BuildOptions BuildOptionsFrom(const Environment& environment) {
  BuildOptions options;
  options.compiler = FindCompiler(environment);
  options.cache_dir = KernelCacheDir(environment);
  options.jobs = CoreCount();
  return options;
}

Result<std::vector<std::shared_ptr<void>>> CompileAndLoad(std::span<const CompileJob> jobs,
                                                          const BuildOptions& options) {
  Check(options.jobs >= 1, "at least one compiler at a time");
  const std::string identity = Identity(options.compiler);
  KernelCache cache(options.cache_dir);
  std::map<std::string, Need> needs;
  std::vector<std::string> keys;
  for (const CompileJob& job : jobs) {
    keys.push_back(KeyOf(job, identity));
    needs[keys.back()].job = &job;
  }
  // Tries the cache first, which starts no thread if nothing is missing.
  std::vector<std::pair<const std::string, Need>*> missing;
  for (auto& entry : needs) {
    entry.second.library = cache.Load(entry.first);
    if (!entry.second.library) missing.push_back(&entry);
  }
  // Removes folders of builds that were killed. Skips this if there is nothing to build.
  if (!missing.empty()) SweepTemporaryFolders(cache.folder(), kBuildPrefix);
  // Compiles the longest text first, because it takes longest.
  std::stable_sort(missing.begin(), missing.end(), [](const auto* a, const auto* b) {
    return a->second.job->text.size() > b->second.job->text.size();
  });
  std::atomic<bool> failed = false;
  ForEachOnThreads(options.jobs, missing.size(), [&](std::size_t i) {
    if (failed) return;
    Provide(missing[i]->first, missing[i]->second, options, cache);
    if (missing[i]->second.failure) failed = true;
  });
  for (const auto* entry : missing) {
    if (entry->second.failure) return *entry->second.failure;
  }
  if (!missing.empty()) cache.Shrink(options.cache_bytes);
  std::vector<std::shared_ptr<void>> libraries;
  for (const std::string& key : keys) libraries.push_back(needs[key].library);
  return libraries;
}

}  // namespace msc
