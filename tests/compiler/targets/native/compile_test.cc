#include "compiler/targets/native/compile.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/temporary_folder.h"
#include "compiler/targets/native/module.h"

namespace msc {
namespace {

namespace fs = std::filesystem;

CompileJob Returning(int value) {
  return {"extern \"C\" int answer() { return " + std::to_string(value) + "; }\n", {"-O0"}};
}

class Compile : public testing::Test {
 protected:
  // Tests run side by side, each in a process of its own.
  Compile() : folder_(testing::TempDir() + "/msc_compile_test_" + std::to_string(::getpid())) {
    fs::remove_all(folder_);
    MakeFolders(folder_);
    options_.compiler = FindCompiler(std::getenv);
    options_.cache_dir = Path("cache");
  }
  ~Compile() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] std::vector<fs::path> Entries() const {
    std::vector<fs::path> entries;
    for (const auto& entry : fs::directory_iterator(Path("cache"))) {
      entries.push_back(entry.path());
    }
    std::sort(entries.begin(), entries.end());
    return entries;
  }
  /// A program that writes a line to `log` each time it is run, then does what `then` says.
  std::string Script(const std::string& name, const std::string& then) {
    const std::string path = Path(name);
    std::ofstream(path) << "#!/bin/sh\necho run >> " << Path("log") << "\n" << then << "\n";
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  /// The real compiler, counted.
  std::string Counting() { return Script("cxx", "exec " + options_.compiler + " \"$@\""); }
  [[nodiscard]] std::size_t Runs() const {
    std::ifstream log(Path("log"));
    return static_cast<std::size_t>(
        std::count(std::istreambuf_iterator<char>(log), std::istreambuf_iterator<char>(), '\n'));
  }
  [[nodiscard]] pid_t PidIn(const std::string& name) const {
    pid_t pid = 0;
    std::ifstream(Path(name)) >> pid;
    return pid;
  }
  /// Whether a process is there, and not only waits to be reaped.
  static bool Runs(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(file, line);
    const std::size_t state = line.rfind(") ");
    return state != std::string::npos && line[state + 2] != 'Z';
  }
  static bool Soon(const std::function<bool()>& holds) {
    for (int i = 0; i < 2000; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  static int Answer(const std::shared_ptr<void>& library) {
    return reinterpret_cast<int (*)()>(::dlsym(library.get(), "answer"))();
  }
  [[nodiscard]] int AnswerOf(int value) const {
    const CompileJob job = Returning(value);
    const auto loaded = CompileAndLoad({&job, 1}, options_);
    return loaded.ok() ? Answer(loaded.value()[0]) : -1;
  }
  template <class Make>
  static std::string Refusal(const Make& make) {
    try {
      (void)make();
    } catch (const UserError& error) {
      return error.what();
    }
    return "none";
  }

  std::string folder_;
  BuildOptions options_;
};

TEST_F(Compile, CompilesOnceAndKeepsIt) {
  options_.compiler = Counting();
  const std::vector<CompileJob> jobs = {Returning(1), Returning(2), Returning(1)};
  const auto loaded = CompileAndLoad(jobs, options_);
  ASSERT_TRUE(loaded.ok()) << loaded.failure().detail;
  EXPECT_EQ(Answer(loaded.value()[0]), 1);
  EXPECT_EQ(Answer(loaded.value()[1]), 2);
  EXPECT_EQ(Answer(loaded.value()[2]), 1);
  EXPECT_EQ(Runs(), 2U);
  EXPECT_EQ(AnswerOf(2), 2);
  EXPECT_EQ(Runs(), 2U);
  // Nothing but two entries is left.
  EXPECT_EQ(Entries().size(), 2U);
  struct stat status {};
  ASSERT_EQ(::stat(options_.cache_dir.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
}

TEST_F(Compile, CompilesAnewWithOtherOptions) {
  options_.compiler = Counting();
  EXPECT_EQ(AnswerOf(1), 1);
  CompileJob job = Returning(1);
  job.options = {"-O1"};
  ASSERT_TRUE(CompileAndLoad({&job, 1}, options_).ok());
  EXPECT_EQ(Runs(), 2U);
}

TEST_F(Compile, MakesDamagedEntriesAgain) {
  options_.compiler = Counting();
  ASSERT_EQ(AnswerOf(1), 1);
  const std::string entry = Entries().at(0).string();
  const std::string whole = ReadFile(entry);
  std::string flipped = whole;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
  std::size_t runs = 1;
  for (const std::string& damaged :
       {std::string(), std::string("not an object"), whole.substr(0, whole.size() / 2),
        whole.substr(0, whole.size() - 1), whole + "x", flipped}) {
    std::ofstream(entry, std::ios::binary) << damaged;
    EXPECT_EQ(AnswerOf(1), 1);
    EXPECT_EQ(Runs(), ++runs);
    EXPECT_EQ(ReadFile(entry).size(), whole.size());
  }
}

TEST_F(Compile, TakesNoEntryForAnother) {
  options_.compiler = Counting();
  ASSERT_EQ(AnswerOf(1), 1);
  const fs::path one = Entries().at(0);
  ASSERT_EQ(AnswerOf(2), 2);
  const fs::path two = Entries().at(0) == one ? Entries().at(1) : Entries().at(0);
  // Whole, sealed and ours, but under the name of another.
  fs::copy_file(one, two, fs::copy_options::overwrite_existing);
  EXPECT_EQ(AnswerOf(2), 2);
  EXPECT_EQ(Runs(), 3U);
  EXPECT_EQ(AnswerOf(1), 1);
  EXPECT_EQ(Runs(), 3U);
}

TEST_F(Compile, TrustsNoEntryThatOthersMayHaveWritten) {
  options_.compiler = Counting();
  ASSERT_EQ(AnswerOf(1), 1);
  const fs::path entry = Entries().at(0);
  fs::permissions(entry, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(AnswerOf(1), 1);
  EXPECT_EQ(Runs(), 2U);
  // A link, even to a whole entry.
  fs::rename(entry, Path("elsewhere"));
  fs::create_symlink(Path("elsewhere"), entry);
  EXPECT_EQ(AnswerOf(1), 1);
  EXPECT_EQ(Runs(), 3U);
  EXPECT_FALSE(fs::is_symlink(entry));
}

TEST_F(Compile, RefusesAFolderThatOthersMayWriteTo) {
  fs::create_directory(options_.cache_dir);
  fs::permissions(options_.cache_dir, fs::perms::all);
  EXPECT_EQ(Refusal([&] { return AnswerOf(1); }),
            "other users may write to kernel cache '" + options_.cache_dir +
                "': remove it, or make it yours alone (chmod 700); set MSCGYM_CACHE to a folder of "
                "your own");
}

TEST_F(Compile, RefusesALinkOrAFile) {
  fs::create_directory(Path("real"));
  fs::create_symlink(Path("real"), options_.cache_dir);
  const std::string want = "kernel cache '" + options_.cache_dir +
                           "' is not a folder; set MSCGYM_CACHE to a folder of your own";
  EXPECT_EQ(Refusal([&] { return AnswerOf(1); }), want);
  fs::remove(options_.cache_dir);
  std::ofstream(options_.cache_dir) << "file";
  EXPECT_EQ(Refusal([&] { return AnswerOf(1); }), want);
}

TEST_F(Compile, RefusesAFolderOfAnotherUser) {
  fs::create_directory(options_.cache_dir);
  if (::geteuid() != 0 || ::chown(options_.cache_dir.c_str(), 1, 1) != 0) {
    GTEST_SKIP() << "only root can give a folder away";
  }
  EXPECT_EQ(Refusal([&] { return AnswerOf(1); }),
            "kernel cache '" + options_.cache_dir +
                "' belongs to another user; set MSCGYM_CACHE to a folder of your own");
}

TEST_F(Compile, SaysWhatTheCompilerSaid) {
  const CompileJob job{"int broken = ;\n", {}};
  const auto loaded = CompileAndLoad({&job, 1}, options_);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.failure().kind, FailureKind::kCompile);
  EXPECT_NE(loaded.failure().detail.find("refused generated code"), std::string::npos);
  EXPECT_NE(loaded.failure().detail.find("kernel.cc:1"), std::string::npos);
  EXPECT_TRUE(Entries().empty());
}

TEST_F(Compile, SurvivesCompilersThatMisbehave) {
  options_.compiler = Script("crash", "kill -SEGV $$");
  const CompileJob job = Returning(1);
  auto loaded = CompileAndLoad({&job, 1}, options_);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.failure().detail,
            "'" + options_.compiler + "' died of signal 11: it says nothing");

  options_.compiler = Script("idle", "exit 0");
  loaded = CompileAndLoad({&job, 1}, options_);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.failure().detail, "'" + options_.compiler + "' wrote no shared object");

  options_.compiler = Script("hang", "sleep 100");
  options_.timeout = std::chrono::milliseconds(200);
  loaded = CompileAndLoad({&job, 1}, options_);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.failure(), (Failure{FailureKind::kTimeout,
                                       "'" + options_.compiler + "' was stopped after 200 ms"}));
  EXPECT_TRUE(Entries().empty());
}

TEST_F(Compile, DoesNotBlameTheCodeWhereOthersKillTheCompiler) {
  const CompileJob job = Returning(1);
  for (const std::string& end :
       {std::string("kill -KILL $$"), std::string("kill -TERM $$"),
        std::string("echo 'g++: fatal error: Killed signal terminated program cc1plus'; exit 1")}) {
    options_.compiler = Script("killed", end);
    const auto loaded = CompileAndLoad({&job, 1}, options_);
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.failure(),
              (Failure{FailureKind::kLost, "'" + options_.compiler + "' was killed from outside"}));
  }
  EXPECT_TRUE(Entries().empty());
}

TEST_F(Compile, LeavesNothingRunningThatACompilerStarted) {
  options_.compiler = Script("stray", "sleep 100 & echo $! > " + Path("pid") + "; exit 1");
  const CompileJob job = Returning(1);
  ASSERT_FALSE(CompileAndLoad({&job, 1}, options_).ok());
  EXPECT_FALSE(Runs(PidIn("pid")));
}

TEST_F(Compile, LeavesNeitherCompilerNorFolderWhoeverEndsIt) {
  for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGKILL}) {
    fs::remove(Path("pid"));
    // As g++ does, it has another at work for it.
    options_.compiler = Script("slow", "sleep 100 & echo $! > " + Path("new") + "; mv " +
                                           Path("new") + " " + Path("pid") + "; wait");
    const pid_t builder = ::fork();
    if (builder == 0) {
      const CompileJob job = Returning(1);
      ::_exit(CompileAndLoad({&job, 1}, options_).ok() ? 0 : 1);
    }
    ASSERT_TRUE(Soon([&] { return fs::exists(Path("pid")); }));
    EXPECT_EQ(Entries().size(), 1U);
    ASSERT_EQ(::kill(builder, signal), 0);
    ASSERT_EQ(::waitpid(builder, nullptr, 0), builder);
    EXPECT_TRUE(Soon([&] { return !Runs(PidIn("pid")); })) << signal;
    EXPECT_TRUE(Soon([&] { return Entries().empty(); })) << signal;
  }
}

TEST_F(Compile, RemovesWhatKilledBuildsLeftAndNothingElse) {
  MakeFolders(options_.cache_dir);
  fs::permissions(options_.cache_dir, fs::perms::owner_all);
  fs::create_directory(Path("cache/.build-killed"));
  std::ofstream(Path("cache/.build-killed/kernel.cc")) << "int";
  for (const char* const name : {"cache/.msc-killed", "cache/.msc-live"}) {
    std::ofstream(Path(name)) << "half of an entry";
  }
  fs::last_write_time(Path("cache/.msc-killed"),
                      fs::file_time_type::clock::now() - std::chrono::hours(25));
  const TemporaryFolder live(options_.cache_dir, ".build-");
  EXPECT_EQ(AnswerOf(1), 1);
  EXPECT_FALSE(fs::exists(Path("cache/.build-killed")));
  EXPECT_TRUE(fs::exists(live.path()));
  EXPECT_FALSE(fs::exists(Path("cache/.msc-killed")));
  EXPECT_TRUE(fs::exists(Path("cache/.msc-live")));
}

TEST_F(Compile, RefusesObjectsThatCannotBeLoaded) {
  options_.compiler =
      Script("junk", "while [ \"$1\" != -o ]; do shift; done; echo junk > \"$2\"; chmod +x \"$2\"");
  const CompileJob job = Returning(1);
  const auto loaded = CompileAndLoad({&job, 1}, options_);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.failure().kind, FailureKind::kCompile);
  EXPECT_NE(loaded.failure().detail.find("cannot be loaded"), std::string::npos);
}

TEST_F(Compile, GivesTheCompilerNothingOfOurs) {
  ::setenv("CPATH", "/nowhere", 1);
  ::setenv("LD_PRELOAD_OF_TEST", "x", 1);
  options_.compiler =
      Script("env", "env | sort > " + Path("seen") + "; exec " + options_.compiler + " \"$@\"");
  EXPECT_EQ(AnswerOf(1), 1);
  std::ifstream seen(Path("seen"));
  std::vector<std::string> names;
  for (std::string line; std::getline(seen, line);) names.push_back(line.substr(0, line.find('=')));
  // The shell of the script adds the last three.
  for (const std::string& name : names) {
    EXPECT_TRUE(name == "LC_ALL" || name == "PATH" || name == "TMPDIR" || name == "PWD" ||
                name == "OLDPWD" || name == "_" || name == "SHLVL")
        << name;
  }
}

TEST_F(Compile, BuildsFromSeveralThreadsAtOnce) {
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 6; ++t) {
      threads.emplace_back([&] { right += AnswerOf(7) == 7 ? 1 : 0; });
    }
  }
  EXPECT_EQ(right, 6);
  EXPECT_EQ(Entries().size(), 1U);
}

TEST_F(Compile, ForgetsWhatWasUsedLongestAgo) {
  ASSERT_EQ(AnswerOf(1), 1);
  const fs::path first = Entries().at(0);
  const auto size = static_cast<std::int64_t>(fs::file_size(first));
  ASSERT_EQ(AnswerOf(2), 2);
  const auto ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const fs::path& entry : Entries()) fs::last_write_time(entry, ago);
  ASSERT_EQ(AnswerOf(1), 1);  // used again
  options_.cache_bytes = 2 * size + size / 2;
  ASSERT_EQ(AnswerOf(3), 3);
  EXPECT_EQ(Entries().size(), 2U);
  EXPECT_TRUE(fs::exists(first));
}

TEST_F(Compile, LoadsWithoutLeavingNamesToOthers) {
  const CompileJob job = Returning(5);
  const auto loaded = CompileAndLoad({&job, 1}, options_);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(::dlsym(RTLD_DEFAULT, "answer"), nullptr);
}

/// getenv over a map.
Environment Of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

TEST_F(Compile, FindsTheCompiler) {
  const std::string gcc = Script("g++", "");
  const std::string clang = Script("clang++", "");
  const std::string own = Script("own", "");
  EXPECT_EQ(FindCompiler(Of({{"PATH", "/nowhere:" + folder_}})), gcc);
  EXPECT_EQ(FindCompiler(Of({{"PATH", folder_}, {"MSCGYM_CXX", own}})), own);
  EXPECT_EQ(FindCompiler(Of({{"PATH", folder_}, {"MSCGYM_CXX", "own"}})), own);
  fs::remove(gcc);
  EXPECT_EQ(FindCompiler(Of({{"PATH", folder_}})), clang);
}

TEST_F(Compile, SearchesNoRelativeFolders) {
  (void)Script("g++", "");
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  const std::string refusal = Refusal([&] { return FindCompiler(Of({{"PATH", ".::nowhere"}})); });
  const std::string relative = Refusal([&] {
    return FindCompiler(Of({{"PATH", folder_}, {"MSCGYM_CXX", "./g++"}}));
  });
  fs::current_path(before);
  EXPECT_EQ(refusal,
            "no C++ compiler in PATH: install g++ (Debian package g++) or set MSCGYM_CXX to the "
            "path of one");
  EXPECT_EQ(relative,
            "MSCGYM_CXX is './g++', which is no program: give the absolute path of g++ or clang++");
}

TEST_F(Compile, FindsAFolderForTheCache) {
  EXPECT_EQ(KernelCacheDir(Of({{"MSCGYM_CACHE", "/a"}, {"XDG_CACHE_HOME", "/b"}})), "/a");
  EXPECT_EQ(KernelCacheDir(Of({{"XDG_CACHE_HOME", "/b"}, {"HOME", "/c"}})), "/b/mscgym/kernels");
  EXPECT_EQ(KernelCacheDir(Of({{"XDG_CACHE_HOME", "b"}, {"HOME", "/c"}})),
            "/c/.cache/mscgym/kernels");
  // Without any variable, as in a measuring child: the home of the user database.
  EXPECT_EQ(KernelCacheDir(Of({})).front(), '/');
}

}  // namespace
}  // namespace msc
